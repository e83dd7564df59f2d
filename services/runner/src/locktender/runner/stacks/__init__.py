"""Runs of stacks: taken in Postgres, carried out by an engine, told over the run protocol."""
