"""Write docs/which-policy.md and its figure from a folder that `penstock bench quality` made.

python scripts/which_policy_page.py FOLDER [--quick]
"""

import shutil
import sys
from pathlib import Path

from penstock.quality import page
from penstock.quality.bench import FIGURE, write

DOCS = Path(__file__).resolve().parents[1] / "docs"
PICTURE = DOCS / "images" / "which-policy.png"


def main(folder: Path, quick: bool) -> None:
    found = write(folder, quick)
    shutil.copy(folder / FIGURE, PICTURE)
    (DOCS / page.NAME).write_text(page.text(found, f"images/{PICTURE.name}"))
    size = PICTURE.stat().st_size / 1e6
    print(f"{DOCS / page.NAME}; {sum(found.missing.values())} cells missing; {size:.2f} MB")


if __name__ == "__main__":
    main(Path(sys.argv[1]), "--quick" in sys.argv)
