"""The `locktender` command."""

from locktender.runtime.loading import loading


def main() -> None:
    """Run the command line."""
    with loading():
        from locktender.cli.app import app
    app()


if __name__ == "__main__":
    main()
