"""Retention of what stacks leave in the object store.

Plan files go when their deployment is over; logs and analyses, old versions of states, and what nobody stands for any
more go by age. Every step is a bounded page that may be repeated: a crash anywhere loses nothing but time.
"""
