"""The cleanup service: removes what is over, and nothing that it cannot prove."""
