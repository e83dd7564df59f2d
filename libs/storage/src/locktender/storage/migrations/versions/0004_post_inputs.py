"""The rules about inputs hold of every row."""

from alembic import op

from locktender.storage.migrations import statements

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Validate them."""
    for statement in statements("0004_post_inputs.sql"):
        op.execute(statement)


def downgrade() -> None:
    """They were kept before, too."""
