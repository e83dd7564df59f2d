"""What makes a cluster live: one controller a kind, woken by changes and by timers, idle otherwise."""
