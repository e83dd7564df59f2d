"""The first schema: deployment tasks, cleanup jobs, outbox, shards."""

from alembic import op

from locktender.storage.migrations import statements

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create everything."""
    for statement in statements("0001_pre_first.sql"):
        op.execute(statement)


def downgrade() -> None:
    """The first schema cannot be taken back without deleting data, and Locktender never does that."""
    raise RuntimeError("there is nothing before the first schema; restore a backup into an empty database instead")
