"""Deployments of stacks as people read them, and what waits in a workspace."""
