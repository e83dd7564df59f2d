"""Deployment tasks: what is asked for, decided, read, followed and placed."""
