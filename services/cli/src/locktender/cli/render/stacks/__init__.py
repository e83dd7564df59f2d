"""Stacks in the terminal and in comments."""
