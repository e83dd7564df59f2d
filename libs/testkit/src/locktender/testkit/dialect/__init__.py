"""Documents that YAML readers disagree on, and what kubectl makes of them."""
