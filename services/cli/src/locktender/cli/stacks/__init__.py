"""Stacks: what is asked of the API, and following what becomes of it."""
