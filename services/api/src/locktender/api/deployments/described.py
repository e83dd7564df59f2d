"""What deployment tasks add to the HTTP interface."""

from locktender.api.deployments.canvas.described import PART as CANVAS
from locktender.api.deployments.deciding.described import PART as DECIDING
from locktender.api.deployments.deploying.described import PART as DEPLOYING
from locktender.api.deployments.reading.described import PART as READING
from locktender.api.deployments.watching.described import PART as WATCHING
from locktender.api.http.operations import Part

PARTS: tuple[Part, ...] = (DEPLOYING, READING, DECIDING, CANVAS, WATCHING)
