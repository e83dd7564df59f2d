"""The plan of a run: what it was going to do to the cluster."""

from alembic import op

from locktender.storage.migrations import statements

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the table."""
    for statement in statements("0002_pre_plans.sql"):
        op.execute(statement)


def downgrade() -> None:
    """Older code knows nothing of the table and leaves it alone, so it stays."""
