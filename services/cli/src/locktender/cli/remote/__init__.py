"""A remote runner: it asks an API for runs, and carries them out on its own machine."""
