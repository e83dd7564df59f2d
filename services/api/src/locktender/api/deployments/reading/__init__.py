"""Tasks as people read them, one by one, in lists and by project."""
