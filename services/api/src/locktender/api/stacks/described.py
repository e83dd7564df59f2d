"""What stacks add to the HTTP interface."""

from locktender.api.http.operations import Part
from locktender.api.stacks.catalogue.described import PART as CATALOGUE
from locktender.api.stacks.deciding.described import PART as DECIDING
from locktender.api.stacks.deploying.described import PART as DEPLOYING
from locktender.api.stacks.identity.described import PART as IDENTITY
from locktender.api.stacks.inventory.described import PART as INVENTORY
from locktender.api.stacks.logs.described import PART as LOGS
from locktender.api.stacks.reading.described import PART as READING
from locktender.api.stacks.remote.described import PART as REMOTE
from locktender.api.stacks.runs.described import PART as RUNS
from locktender.api.stacks.states.described import PART as STATES
from locktender.api.stacks.variables.described import PART as VARIABLES
from locktender.api.stacks.watching.described import PART as WATCHING

PARTS: tuple[Part, ...] = (
    CATALOGUE, VARIABLES, READING, WATCHING, INVENTORY, DEPLOYING, DECIDING, STATES, LOGS, RUNS, REMOTE, IDENTITY,
)  # fmt: skip
