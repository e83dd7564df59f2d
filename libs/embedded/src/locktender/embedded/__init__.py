"""The local mode behind `locktender up`: supervisors for PostgreSQL, NATS and the services, and a sandbox cluster."""
