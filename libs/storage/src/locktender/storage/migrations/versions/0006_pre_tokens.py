"""Variables that are short-lived credentials."""

from alembic import op

from locktender.storage.migrations import statements

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Allow their kinds."""
    for statement in statements("0006_pre_tokens.sql"):
        op.execute(statement)


def downgrade() -> None:
    """Older code gives runs nothing for rows of these kinds and leaves them alone, so they may stay."""
