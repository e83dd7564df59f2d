"""This machine: threads beside the event loop, programs of others, and folders that nobody else reads."""
