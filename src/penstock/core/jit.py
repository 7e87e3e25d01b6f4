"""Compile kernels once per machine and never run stale code.

An engine is specialised by closing over the hooks of its policy, so a new process would compile it
again (seconds). Numba's own `cache=True` looks only at the file that holds the kernel: an edit to a
policy would be answered by the old machine code. Here the key of a compiled kernel is the content
of *all* of the package's sources, so any edit compiles afresh and an untouched package loads in
milliseconds.

Compiled code is unpickled on load, so it is kept in a folder that only its owner may write;
otherwise nothing is kept. `PENSTOCK_CACHE_DIR` moves the folder, an empty value turns it off.
"""

import functools
import hashlib
import os
import pickle
import shutil
import stat
import sys
import tempfile
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
from numba import njit
from numba.core import caching, compiler, config
from numba.core.serialize import dumps

from .turns import Turn

# For the functions that kernels call. All of them are pasted into the kernel, and none of them
# counts references: their arguments are tuples of many arrays, and to copy those or to count
# their references at each call took 20 times as long as the work itself. The price: nothing
# compiled may allocate. Nor can they be called from Python, which would cost a wrapper, and half
# of the time to compile, for each of them.
jit = njit(forceinline=True, _nrt=False, no_cpython_wrapper=True, no_cfunc_wrapper=True)

PACKAGE = __name__.rpartition(".core.")[0]
KEPT_VERSIONS = 4  # folders of compiled code kept on disk, one per state of the sources


def kernel(function: Callable) -> Any:
    """Compile a small kernel that Python calls and that is the same for every policy."""
    compiled = njit(_nrt=False)(function)
    return _kept(compiled, _full_name(function)) if _is_ours(function) else compiled


def specialise(function: Callable, *key: object, hooks: tuple = ()) -> Any:
    """Compile `function` lazily, keeping the machine code on disk.

    `key` tells apart the specialisations that share this function's source: everything its closure
    holds must be spelled out in it. `hooks` are the functions of the policy: if one of them lives
    outside the package its source is not part of the key, so nothing is kept on disk.
    """
    compiled = njit(_nrt=False, nogil=True)(function)  # engines may run side by side, in threads
    if not all(_is_ours(hook) for hook in hooks):
        return compiled
    return _kept(compiled, *(_full_name(each) for each in (function, *hooks)), *key)


def _kept(compiled: Any, *key: object) -> Any:
    """Let the machine code be kept on disk, if there is a place."""
    folder = None if config.DISABLE_JIT else cache_folder()
    if folder is not None:
        compiled._cache = _KernelCache(folder, key)
    return compiled


def _full_name(function: Any) -> str:
    plain = getattr(function, "py_func", function)
    return f"{plain.__module__}.{plain.__qualname__}"


def _is_ours(hook: Any) -> bool:
    return _full_name(hook).startswith(PACKAGE + ".")


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
        folder = base / f"kernels-{source_hash()}"
        try:
            base.mkdir(mode=0o700, parents=True, exist_ok=True)
            folder.mkdir(mode=0o700, exist_ok=True)
            if _only_ours(base) and _only_ours(folder):
                _forget_old_versions(base)
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


def _forget_old_versions(base: Path) -> None:
    folders = sorted(base.glob("kernels-*"), key=lambda path: path.stat().st_mtime, reverse=True)
    for folder in folders[KEPT_VERSIONS:]:
        shutil.rmtree(folder, ignore_errors=True)  # another process may be at it too


class _KernelCache(caching.NullCache):
    """Numba's cache interface over one file per (sources, specialisation, signature, processor).

    Numba asks for the code, and if there is none compiles it and hands it over to be saved.
    """

    def __init__(self, folder: Path, key: tuple):
        self._folder = folder
        self._key = key
        self._turns: dict[Path, Turn] = {}

    def _path(self, signature: Any, context: Any) -> Path:
        full = (self._key, str(signature), context.codegen().magic_tuple(), numba.__version__)
        digest = hashlib.sha256(repr((full, sys.version_info[:3])).encode()).hexdigest()
        return self._folder / f"{digest[:32]}.nbc"

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        target_context.refresh()
        path = self._path(sig, target_context)
        found = _read(path, target_context)
        if found is None and path not in self._turns:
            turn = Turn(path.with_suffix(".turn"))
            if turn.had_to_wait:
                found = _read(path, target_context)
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
        return compiler.CompileResult._rebuild(context, *payload)
    except Exception:  # missing, half written or damaged in whatever way: compile it anew
        return None


def _write(path: Path, data: Any) -> None:
    partial = path.with_suffix(f".{uuid.uuid4().hex[:8]}")
    try:
        partial.write_bytes(dumps(data._reduce()))
        partial.replace(path)  # atomic: another process never reads half a file
    except OSError:
        partial.unlink(missing_ok=True)
