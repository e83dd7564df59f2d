"""The configuration for a NATS server that somebody else runs, with its keys as variables.

`python -m locktender.embedded.nats_template` prints it; it is kept as `infra/nats/locktender.conf.template`.
"""

import sys

from locktender.contracts.kernel.permissions import IDENTITIES
from locktender.embedded.nats_config import accounts_block

_TEMPLATE = """\
# Generated from locktender.contracts.kernel.permissions by `python -m locktender.embedded.nats_template`.
# Public NKeys come from the environment of the server: LOCKTENDER_NKEY_API and so on (`nats auth nkey gen user`).

port: 4222
http: "127.0.0.1:8222"

jetstream {
  store_dir: "/data"
  sync_interval: always
}

"""


def template() -> str:
    """The text of the template. The server itself replaces the variables from its environment."""
    return _TEMPLATE + accounts_block({who: f"$LOCKTENDER_NKEY_{who.upper()}" for who in IDENTITIES})


if __name__ == "__main__":
    sys.stdout.write(template())
