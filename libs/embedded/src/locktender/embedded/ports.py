"""TCP ports on loopback: chosen once, kept in the state file, chosen anew only when somebody else took them."""

import random
import socket

HOST = "127.0.0.1"
# Below the range from which kernels hand out ports for outgoing connections, so that a stored port is
# not taken by a passing client between two runs.
_STABLE_RANGE = range(20_000, 32_000)
_TRIES = 64


def is_free(port: int) -> bool:
    """Whether a server could listen on `port` now. Somebody may still take it a moment later."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        # Servers set this option as well; without it a connection in TIME_WAIT would look like an owner.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
            probe.listen(1)
        except OSError:
            return False
    return True


def choose(preferred: int | None = None) -> int:
    """A port that is free now: `preferred` where possible, else a random one outside the ephemeral range."""
    if preferred is not None and is_free(preferred):
        return preferred
    pick = random.SystemRandom()
    for _ in range(_TRIES):
        port = pick.choice(_STABLE_RANGE)
        if is_free(port):
            return port
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])
