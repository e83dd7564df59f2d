"""Whether the rows tell a true story: the invariants that hold of any database of ours, after any fault.

They are listed in `INVARIANTS`.
"""

from locktender.storage.verify.check import Tolerance, Violation
from locktender.storage.verify.run import INVARIANTS, UNCHECKED, violations

__all__ = ["INVARIANTS", "UNCHECKED", "Tolerance", "Violation", "violations"]
