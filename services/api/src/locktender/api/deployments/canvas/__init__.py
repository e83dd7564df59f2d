"""Where a canvas shows a task."""
