"""Runner groups with another token, and the old one beside it for a while."""

from alembic import op

from locktender.storage.migrations import statements

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the columns and their index."""
    for statement in statements("0008_pre_group_tokens.sql"):
        op.execute(statement)


def downgrade() -> None:
    """Older code knows nothing of the columns and leaves them alone, so they stay."""
