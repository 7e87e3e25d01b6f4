"""What rows take in memory."""

SLOT_BYTES = 120  # Penstock: what the engine's tables take for a tuple, beside its payload
# Spark: what its own join takes for a row in memory, beside the payload. Measured by
# bench/spark_join.py with the default state store: 557 MB for 1.2 M rows of 24 bytes.
SPARK_BYTES = 440
PAYLOAD = 24  # bytes, where nothing is known of the rows


def held_bytes(rows: float, payload: float) -> int:
    """Return what Penstock needs for so many rows."""
    return round(rows * (SLOT_BYTES + payload))


def spark_bytes(rows: float, payload: float) -> int:
    """Return what Spark's own join needs for so many rows."""
    return round(rows * (SPARK_BYTES + payload))
