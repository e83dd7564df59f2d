"""Observation of clusters by list-then-watch, shared by all who look at the same things with the same rights."""
