"""Stacks themselves: made, shown, changed, deleted."""
