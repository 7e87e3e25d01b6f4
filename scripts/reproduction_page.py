"""Write docs/reproduction.md and its figures from a folder that `penstock reproduce all` made.

python scripts/reproduction_page.py FOLDER
"""

import shutil
import sys
from pathlib import Path

from penstock.experiments import page

DOCS = Path(__file__).resolve().parents[1] / "docs"
FIGURES = DOCS / "reproduction"


def main(folder: Path) -> None:
    shutil.rmtree(FIGURES, ignore_errors=True)
    FIGURES.mkdir()
    for record in page.read(folder):
        shutil.copy(folder / f"{record['name']}.png", FIGURES)
    page.write(folder, DOCS / page.NAME, images="reproduction/")
    total = sum(path.stat().st_size for path in FIGURES.iterdir())
    print(f"{DOCS / page.NAME}; figures take {total / 1e6:.2f} MB")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
