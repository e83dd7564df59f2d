"""The `locktender` command."""

import os
import sys

from locktender.runtime.loading import loading


def main() -> None:
    """Run the command line. Whatever goes wrong outside of a command is told in a line as well."""
    try:
        with loading():
            from locktender.cli.app import app
        app()
    except KeyboardInterrupt:
        sys.exit(130)
    except Exception as error:
        if os.environ.get("LOCKTENDER_DEBUG"):
            raise
        hint = "LOCKTENDER_DEBUG=1 shows where it happened."
        sys.stderr.write(f"error: unexpected error: {type(error).__name__}\n{hint}\n")
        sys.exit(1)


if __name__ == "__main__":
    main()
