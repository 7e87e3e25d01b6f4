"""A Python that has the libraries, but not Penstock."""

import stat
import sys
from pathlib import Path

import penstock

SOURCES = Path(penstock.__file__).parents[1]


def bare_python(folder: Path) -> Path:
    """Write a Python without Penstock, which is found by a .pth file or PYTHONPATH otherwise."""
    path = folder / "python"
    packages = ":".join(each for each in sys.path if each.endswith("site-packages"))
    path.write_text(
        "#!/bin/sh\n"
        f"rest=$(printf %s \"$PYTHONPATH\" | tr : '\\n' | grep -vxF '{SOURCES}' | paste -sd :)\n"
        f'PYTHONPATH="$rest:{packages}" exec {sys.executable} -S "$@"\n'
    )
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path
