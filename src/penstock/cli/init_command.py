"""`penstock init`: a commented pipeline, `pipeline.toml` beside this file, and files for it."""

import json
from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer

from ..errors import BadInput

NAME = "pipeline.toml"
ROWS, FILES = 10_000, 5  # of each source: rows in a file, and files
START = 1_800_000_000_000_000  # microseconds: January 2027
GAP = 10_000  # microseconds between two rows, so that a file is 100 seconds


def init(
    folder: Annotated[
        Path, typer.Argument(help="Where it is written.", metavar="[FOLDER]")
    ] = Path(),
) -> None:
    """Write a commented pipeline that runs as it is, and the files that it reads."""
    for name in (NAME, "views", "clicks"):
        if (folder / name).exists():
            raise BadInput(f"{folder / name} is there already; choose another folder")
    try:
        _write_files(folder)
        (folder / NAME).write_bytes(files(__package__).joinpath(NAME).read_bytes())
    except OSError as error:
        raise BadInput(f"{folder} cannot be written to: {error.strerror}") from None
    print(f"Wrote {folder / NAME}, and files in {folder / 'views'} and {folder / 'clicks'}.")
    print(f"Next: penstock run {folder / NAME} --check")


def _write_files(folder: Path) -> None:
    """Write views as Parquet, and clicks, a fifth as many, as JSON: a few customers make most."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    random = np.random.default_rng(1)
    for name in ("views", "clicks"):
        (folder / name).mkdir(parents=True)
    for number in range(FILES):
        customer = (2_000 * random.random(ROWS) ** 3).astype(np.int64)
        at = START + GAP * np.arange(number * ROWS, (number + 1) * ROWS)
        times = pa.array(at, pa.timestamp("us", "UTC"))
        page = pa.array([f"/page/{each}" for each in random.integers(0, 50, ROWS)])
        table = pa.table({"customer": customer, "at": times, "page": page})
        pq.write_table(table, folder / "views" / f"{number}.parquet")
        clicking = random.permutation(customer)[: ROWS // 5].tolist()
        when = [f"{np.datetime64(int(each), 'us')}Z" for each in at[::5]]
        lines = [
            json.dumps({"customer": who, "at": then, "button": "buy"})
            for who, then in zip(clicking, when, strict=True)
        ]
        (folder / "clicks" / f"{number}.json").write_text("\n".join(lines) + "\n", encoding="utf-8")
