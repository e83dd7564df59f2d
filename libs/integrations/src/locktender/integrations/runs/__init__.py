"""What a runner does with a run it has taken over, whichever runner it is."""
