"""Custom kinds: from a stored definition to a kind that is served."""
