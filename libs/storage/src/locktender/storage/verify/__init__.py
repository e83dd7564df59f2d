"""Whether the rows tell a true story: the invariants that hold of any database of ours, after any fault.

    I01  no transition is lost: every event was told, or waits to be told with a named reason, in order
    I02  one effect: an epoch has one owner, and nobody writes under an epoch that was never taken
    I03  no write below the row's epoch, and none after the end
    I04  terminal is final, and a cancel that was accepted is never overwritten
    I06  no orphan: whoever is not over has a live lease, or waits with a deadline that has not passed
"""

from locktender.storage.verify.check import Tolerance, Violation
from locktender.storage.verify.run import UNCHECKED, violations

__all__ = ["UNCHECKED", "Tolerance", "Violation", "violations"]
