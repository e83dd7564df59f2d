"""What runs leave in the object store, and for how long."""

from alembic import op

from locktender.storage.migrations import statements

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the notes of what was removed, and let them be made on runs that have ended."""
    for statement in statements("0007_pre_retention.sql"):
        op.execute(statement)


def downgrade() -> None:
    """Older code knows nothing of the columns and leaves them alone, so they stay."""
