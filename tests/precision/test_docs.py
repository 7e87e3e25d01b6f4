"""The guide runs as it is written."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "precision.md"


def test_every_block_runs():
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    blocks = [block for block in blocks if "penstock.spark" not in block]  # see tests/spark
    names: dict = {}
    assert blocks
    for number, block in enumerate(blocks, 1):
        exec(compile(block, f"docs/precision.md, block {number}", "exec"), names)
