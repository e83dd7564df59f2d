"""The object store: states, plans, analyses, logs and sources, each encrypted before it leaves this process.

`store` is the whole of it for most callers, `keys` reads the keys of the settings, `cipher` also serves values that are
kept elsewhere, such as in a column.
"""
