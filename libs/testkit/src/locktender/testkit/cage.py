"""Looking for canaries in everything that a database keeps."""

from locktender.testkit.canaries import Cage, Hit
from locktender.testkit.database import TestDatabase


async def found_in_rows(db: TestDatabase, cage: Cage) -> list[Hit]:
    """The canaries in any column of any row of the product's tables, partitions included."""
    tables = await db.admin.fetch(
        "select format('%I.%I', table_schema, table_name) as name from information_schema.tables "
        "where table_schema = 'locktender' and table_type = 'BASE TABLE'"
    )
    assert len(tables) > 3, "the tables are elsewhere"  # noqa: PLR2004 - any number that is not an accident
    hits: list[Hit] = []
    for table in tables:
        rows = await db.admin.fetch(f"select to_jsonb(t)::text as text from {table['name']} t")  # noqa: S608 - names of ours
        hits += [hit for row in rows for hit in cage.text(table["name"], row["text"])]
    return hits
