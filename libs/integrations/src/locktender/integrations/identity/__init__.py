"""The keys by which identity tokens are signed."""
