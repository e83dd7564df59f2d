"""What applying would do, asked of the cluster by dry runs before anything is written."""

from locktender.integrations.kube.planning.asking import Item as Item
from locktender.integrations.kube.planning.surveying import Survey as Survey
from locktender.integrations.kube.planning.surveying import survey as survey
