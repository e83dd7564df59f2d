"""What an ordinary run leaves to `LOCKTENDER_CHAOS=long`, because of the time that it takes."""

import os

collect_ignore = [] if os.environ.get("LOCKTENDER_CHAOS") == "long" else ["test_stack_service_kills.py"]
