"""Renders what the code declares into files that people read. Pure: nothing here writes or connects."""
