"""What every process needs, and nothing of the domain."""
