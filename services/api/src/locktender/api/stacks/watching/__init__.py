"""Deployments of stacks, followed as they change."""
