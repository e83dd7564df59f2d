"""What the runs of stacks found out: plans, inventories, graphs."""
