"""What people decide about a task under way: its inputs, and its end."""
