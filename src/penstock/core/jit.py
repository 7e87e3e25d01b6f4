"""Compile kernels once per machine and never run stale code.

An engine is specialised by closing over the hooks of its policy, so a new process would compile it
again (seconds). Numba's own `cache=True` looks only at the file that holds the kernel: an edit to a
policy would be answered by the old machine code. Here the key of a compiled kernel is what it is
made of (`content`): an edit compiles the kernels that it changes, and all others load in
milliseconds.

Compiled code is unpickled on load, so it is kept in a folder that only its owner may write;
otherwise nothing is kept. `PENSTOCK_CACHE_DIR` moves the folder, an empty value turns it off.
"""

import functools
import hashlib
import os
import pickle
import stat
import sys
import tempfile
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numpy
from numba import njit
from numba.core import caching, compiler, config
from numba.core.serialize import dumps

from .content import UnknownContent, content_hash, signature_text
from .turns import Turn

# For the functions that kernels call. All of them are pasted into the kernel, and none of them
# counts references: their arguments are tuples of many arrays, and to copy those or to count
# their references at each call took 20 times as long as the work itself. The price: nothing
# compiled may allocate. Nor can they be called from Python, which would cost a wrapper, and half
# of the time to compile, for each of them.
jit = njit(forceinline=True, _nrt=False, no_cpython_wrapper=True, no_cfunc_wrapper=True)

PACKAGE = __name__.rpartition(".core.")[0]
KEPT_FILES = 2000  # compiled kernels on disk; a whole test run makes about 700


def kernel(function: Callable) -> Any:
    """Compile a small kernel that Python calls and that is the same for every policy."""
    return _kept(njit(_nrt=False)(function))


def specialise(function: Callable) -> Any:
    """Compile `function`, which closes over the hooks of a policy, lazily, and keep it on disk."""
    return _kept(njit(_nrt=False, nogil=True)(function))  # engines may run in threads


def _kept(compiled: Any) -> Any:
    """Let the machine code be kept on disk, if there is a place."""
    folder = None if config.DISABLE_JIT else cache_folder()
    if folder is not None:
        compiled._cache = _KernelCache(folder, compiled)
    return compiled


@functools.cache
def source_hash() -> str:
    """Return a hash of every source file of the package."""
    digest = hashlib.sha256()
    package = sys.modules[PACKAGE]
    root = Path(str(package.__file__)).parent
    if root.is_dir():
        for path in sorted(root.rglob("*.py")):
            digest.update(str(path.relative_to(root)).encode())
            digest.update(path.read_bytes())
    else:  # imported from a zip archive, as Spark ships it to executors
        archive = getattr(package.__loader__, "archive", None)
        digest.update(Path(archive).read_bytes() if archive else uuid.uuid4().bytes)
    return digest.hexdigest()[:20]


@functools.cache
def cache_folder() -> Path | None:
    """Return the folder for compiled code, or None where no safe place can be had."""
    chosen = os.environ.get("PENSTOCK_CACHE_DIR")
    if chosen == "":
        return None
    bases = [Path(chosen)] if chosen else _usual_places()
    for base in bases:
        folder = base / "kernels"
        try:
            base.mkdir(mode=0o700, parents=True, exist_ok=True)
            folder.mkdir(mode=0o700, exist_ok=True)
            if _only_ours(base) and _only_ours(folder):
                return folder
        except OSError:
            continue
    return None


def _usual_places() -> list[Path]:
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    user = os.getuid() if hasattr(os, "getuid") else "user"
    return [Path(home) / "penstock", Path(tempfile.gettempdir()) / f"penstock-{user}"]


def _only_ours(folder: Path) -> bool:
    """Tell whether no other user can put files here: they would be unpickled."""
    if not hasattr(os, "getuid"):
        return True
    status = folder.stat()
    return status.st_uid == os.getuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _forget_old(folder: Path) -> None:
    """Remove the kernels that were not used for longest, if there are too many."""
    files = [(path.stat().st_mtime, path) for path in folder.glob("*.nbc")]
    for _, path in sorted(files, reverse=True)[KEPT_FILES:]:
        path.unlink(missing_ok=True)


class _KernelCache(caching.NullCache):
    """Numba's cache interface over one file per (content, signature, processor, versions).

    Numba asks for the code, and if there is none compiles it and hands it over to be saved.
    """

    def __init__(self, folder: Path, compiled: Any):
        self._folder = folder
        self._compiled = compiled
        self._turns: dict[Path, Turn] = {}

    def _path(self, signature: Any, context: Any) -> Path:
        versions = (numba.__version__, numpy.__version__, sys.version_info[:3])
        arguments = signature_text(getattr(signature, "args", signature))
        full = (self._content, arguments, context.codegen().magic_tuple(), versions)
        return self._folder / f"{hashlib.sha256(repr(full).encode()).hexdigest()[:32]}.nbc"

    @functools.cached_property
    def _content(self) -> str:
        """What the kernel is made of; not asked before its module is complete."""
        try:
            return content_hash(self._compiled)
        except UnknownContent:  # right, but compiled in every process
            return uuid.uuid4().hex

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        target_context.refresh()
        path = self._path(sig, target_context)
        found = _read(path, target_context)
        if found is None and path not in self._turns:
            turn = Turn(path.with_suffix(".turn"))
            found = _read(path, target_context)  # another process may have been faster
            if found is None:
                self._turns[path] = turn
            else:
                turn.end()
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        path = self._path(sig, data.target_context)
        if not data.library.has_dynamic_globals:
            _write(path, data)
        if path in self._turns:
            self._turns.pop(path).end()


def _read(path: Path, context: Any) -> Any:
    try:
        payload = pickle.loads(path.read_bytes())
        os.utime(path)  # the least used are forgotten first
        return compiler.CompileResult._rebuild(context, *payload)
    except Exception:  # missing, half written or damaged in whatever way: compile it anew
        return None


def _write(path: Path, data: Any) -> None:
    partial = path.with_suffix(f".{uuid.uuid4().hex[:8]}")
    try:
        partial.write_bytes(dumps(data._reduce()))
        partial.replace(path)  # atomic: another process never reads half a file
        _forget_old(path.parent)
    except OSError:
        partial.unlink(missing_ok=True)
