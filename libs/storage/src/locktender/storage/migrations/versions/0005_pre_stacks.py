"""Stacks."""

from alembic import op

from locktender.storage.migrations import statements

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the tables."""
    for statement in statements("0005_pre_stacks.sql"):
        op.execute(statement)


def downgrade() -> None:
    """Older code knows nothing of the tables and leaves them alone, so they stay."""
