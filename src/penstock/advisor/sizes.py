"""What rows take in memory."""

SLOT_BYTES = 120  # Penstock: what the engine's tables take for a tuple, beside its payload
# Spark: what its own join takes for a row in memory, beside the payload, with the default state
# store. Measured: 203 MB for 340,002 rows of 24 bytes in the third micro-batch, 596 bytes a row (in
# the first one 377: the store keeps older versions too).
SPARK_BYTES = 570
PAYLOAD = 24  # bytes, where nothing is known of the rows


def held_bytes(rows: float, payload: float) -> int:
    """Return what Penstock needs for so many rows."""
    return round(rows * (SLOT_BYTES + payload))


def spark_bytes(rows: float, payload: float) -> int:
    """Return what Spark's own join needs for so many rows."""
    return round(rows * (SPARK_BYTES + payload))
