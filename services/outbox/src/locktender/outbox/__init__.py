"""The outbox service: publishes what Postgres has committed, and declares streams and consumers."""
