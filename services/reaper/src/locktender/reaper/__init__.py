"""The reaper: turns passed deadlines and expired leases into honest states, and sends lost hints again."""
