"""Tasks and projects, followed as they change."""
