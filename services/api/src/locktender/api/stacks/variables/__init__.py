"""The values that runs of a stack are given."""
