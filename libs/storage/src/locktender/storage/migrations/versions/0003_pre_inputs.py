"""Inputs, identities and places on a canvas."""

from alembic import op

from locktender.storage.migrations import statements

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the columns."""
    for statement in statements("0003_pre_inputs.sql"):
        op.execute(statement)


def downgrade() -> None:
    """Older code knows nothing of the columns and leaves them alone, so they stay."""
