"""`python -m tests.bench.profiled FILE SERVICE`: a service under cProfile. For looking for costs, never for figures."""

import cProfile
import runpy
import sys
import time
from contextlib import suppress


def main() -> int:
    """Run the service to its end and write the profile."""
    path, service = sys.argv[1], sys.argv[2]
    profile, code = cProfile.Profile(time.process_time), 0
    sys.argv = sys.argv[:1]
    profile.enable()
    try:
        runpy.run_module(f"locktender.{service}", run_name="__main__")
    except SystemExit as end:
        with suppress(TypeError, ValueError):
            code = int(end.code or 0)
    finally:
        profile.disable()
        profile.dump_stats(path)
    return code


if __name__ == "__main__":
    raise SystemExit(main())
