"""What a request asks for: what of it may be stored, what only memory may hold, and every fault of it."""
