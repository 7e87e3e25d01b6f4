"""Compile kernels once per machine and never run stale code.

An engine is specialised by closing over the hooks of its policy, so a new process would compile it
again (seconds). Numba's own `cache=True` looks only at the file that holds the kernel: an edit to a
policy would be answered by the old machine code. Here the key of a compiled kernel is what it is
made of (`content`): an edit compiles the kernels that it changes, and all others load in
milliseconds.

Compiled code is unpickled on load, so it is kept in a folder that only its owner may write;
otherwise nothing is kept. `PENSTOCK_CACHE_DIR` moves the folder, an empty value turns it off. Each
file begins with the hash of the rest: one that a disk has damaged is compiled anew, and never run.

Processes wait for each other: the workers of a Spark job start together and need the same kernels,
and each of them compiling its own would take as long as one of them compiling for all, times the
workers that share a processor. So one compiles and the others wait, but not forever.

Kernels can also be sent along, from a driver to its executors (`packed`, `unpack`): code that is
loaded in one process loads in any other on a machine of the same kind.
"""

import contextlib
import functools
import hashlib
import inspect
import logging
import os
import pickle
import pkgutil
import stat
import sys
import tempfile
import threading
import time
import uuid
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy
from numba import njit
from numba.core import caching, compiler, config
from numba.core.runtime.nrt import rtsys
from numba.core.serialize import dumps

from .content import UnknownContent, content_hash
from .pasting import DraftCompiler, DraftDispatcher, KernelCompiler
from .refs import by_reference, signature_text

try:
    import fcntl
except ImportError:  # not a POSIX system: processes do not wait
    fcntl = None  # type: ignore[assignment]

PACKAGE = __name__.rpartition(".kernel.")[0]
KEPT_FILES = 2000  # compiled kernels on disk; a whole test run makes about 700
PATIENCE = 60.0  # seconds; a process that is still at it may have failed
PAUSE = 0.02
ROOT = 0  # the user that may do anything anyway; images are often made by it
SEALED = 2  # the form of the files: a hash, then what it is the hash of
SLOW = 1.0  # seconds of compiling after which a line is logged
_BARE = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}  # to be called by compiled code only

log = logging.getLogger(__name__)


def jit(function: Callable) -> Any:
    """Make a function that kernels call: it is pasted into them (`pasting.py`).

    None of them counts references: their arguments are tuples of many arrays, and to copy those or
    to count their references at each call took 20 times as long as the work itself. The price:
    nothing compiled may allocate. Called from Python they run as they were written: compiled ones
    would cost a wrapper, and half of the time to compile, for each of them.
    """
    if config.DISABLE_JIT:
        return function
    options = {"nopython": True, "boundscheck": None, "_nrt": False, "forceinline": True} | _BARE
    return DraftDispatcher(function, targetoptions=options, pipeline_class=DraftCompiler)


def kernel(function: Callable) -> Any:
    """Compile a small kernel that Python calls and that is the same for every policy."""
    return _kept(function, function.__name__, no_cfunc_wrapper=True)


def specialise(function: Callable, what: str = "") -> Any:
    """Compile `function`, which closes over the hooks of a policy, lazily, and keep it on disk.

    Everything that it calls gets its tuples by reference. `what` it is goes into the log.
    """
    if config.DISABLE_JIT:
        return function
    # Engines may run in threads.
    options = {"nogil": True, "no_cfunc_wrapper": True}
    made = _kept(_by_reference(function), what or function.__name__, **options)
    made.plain = plainly(function)
    return made


def plainly(function: Callable) -> Callable:
    """Return a function that does the same as plain Python, to the last bit, and far slower.

    For rows that come before the kernel is compiled.
    """

    @functools.wraps(function)
    def run(*arguments: Any) -> Any:
        with numpy.errstate(over="ignore"):  # compiled integers wrap round without a word
            return function(*arguments)

    return run


def specialise_hooks(function: Callable, what: str) -> Any:
    """Compile `function`, whose tuples are references already, to be called by its address."""
    return _kept(function, what, **_BARE)


def _by_reference(function: Callable) -> Callable:
    """Return a function of the same arguments that hands tuples on by reference."""
    names = [*inspect.signature(function).parameters]
    given = ", ".join(f"by_reference({name})" for name in names)
    text = f"def {function.__name__}({', '.join(names)}):\n    return inner({given})\n"
    scope = {"by_reference": by_reference, "inner": jit(function), "__name__": function.__module__}
    exec(text, scope)  # Numba compiles no function of any number of arguments
    return scope[function.__name__]


def address_of(compiled: Any, signature: tuple[Any, ...]) -> int:
    """Return where the machine code for arguments of these types is; compile it if need be."""
    compiled.compile(signature)
    made = compiled.overloads[signature]
    return made.library.get_pointer_to_function(made.fndesc.llvm_func_name)


def is_ready(compiled: Any, arguments: tuple[Any, ...]) -> bool:
    """Tell whether a kernel can run with these arguments without being compiled first."""
    return config.DISABLE_JIT or is_signature_ready(compiled, tuple(map(numba.typeof, arguments)))


def is_signature_ready(compiled: Any, signature: tuple[Any, ...]) -> bool:
    """Tell whether a kernel can run with arguments of these types without being compiled first."""
    return signature in compiled.overloads or compiled._cache.has(signature, compiled.targetctx)


def _kept(function: Callable, what: str, **options: bool) -> Any:
    """Compile a function lazily; its machine code is kept on disk, if there is a place."""
    made = njit(_nrt=False, pipeline_class=KernelCompiler, **options)(function)
    if not config.DISABLE_JIT:
        made._cache = _KernelCache(cache_folder(), made, what)
    return made


class Packed(NamedTuple):
    """Kernels that travel to other processes."""

    kind: str  # of machine, and versions
    files: dict[str, bytes]  # by name, compressed
    hashes: dict[str, str]


@functools.cache
def machine_kind() -> str:
    """Return what compiled code depends on besides its source: the processor, and versions."""
    from numba.core.registry import cpu_target

    versions = (numba.__version__, numpy.__version__, sys.version_info[:3])
    how = hashlib.sha256()  # code is made: that is in no kernel's own content
    for file in ("pasting.py", "refs.py"):
        how.update(pkgutil.get_data(__name__, file) or b"")
    return repr((cpu_target.target_context.codegen().magic_tuple(), versions, how.hexdigest()))


def names_of(compiled: Any) -> set[str]:
    """Return the names of what a kernel was compiled to in this process."""
    made = getattr(compiled, "overloads", ())  # plain Python has none
    return {compiled._cache._name(signature) for signature in made}


def packed(names: "set[str]") -> Packed:
    """Return the kernels of these names, as far as they are kept."""
    folder = cache_folder()
    files = {}
    for name in sorted(names):
        with contextlib.suppress(OSError):  # forgotten meanwhile
            if folder is not None:
                files[name] = zlib.compress((folder / name).read_bytes())
    hashes = {name: hashlib.sha256(code).hexdigest() for name, code in files.items()}
    return Packed(machine_kind(), files, hashes)


_sent: dict[str, bytes] = {}  # kernels from a driver, by name


def unpack(kernels: Packed) -> None:
    """Have kernels at hand that were sent along; say so if they are of no use here."""
    if not kernels.files or kernels.files.keys() <= _sent.keys():
        return
    if kernels.kind != machine_kind():
        _say_unlike(kernels.kind)
        return
    for name, code in kernels.files.items():
        if hashlib.sha256(code).hexdigest() == kernels.hashes.get(name):
            _sent[name] = zlib.decompress(code)


@functools.cache
def _say_unlike(kind: str) -> None:
    """Say once that the kernels of a machine of another kind are of no use here."""
    log.warning(
        "the driver's kernels are for another processor, or other versions of Python, NumPy, Numba "
        "or Penstock: they are compiled here, once per machine"
    )


_used: set[str] = set()  # names of the kernels that this process has loaded or compiled


def used_kernels() -> set[str]:
    """Return the names of the kernels that this process has loaded or compiled so far."""
    return set(_used)


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
    only_read = None
    for base in bases:
        folder = base / "kernels"
        try:
            base.mkdir(mode=0o755, parents=True, exist_ok=True)
            folder.mkdir(mode=0o755, exist_ok=True)
            if _only_ours(base.stat()) and _only_ours(folder.stat()):
                if os.access(folder, os.W_OK):
                    return folder
                only_read = only_read or folder
        except OSError:
            continue
    return only_read


def are_kept() -> bool:
    """Tell whether kernels that are compiled now will be found by other processes."""
    folder = cache_folder()
    return folder is not None and os.access(folder, os.W_OK)


def _usual_places() -> list[Path]:
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    user = os.getuid() if hasattr(os, "getuid") else "user"
    # Not `penstock-{user}`: images of buckets may be there, in a folder that none but we may read.
    return [Path(home) / "penstock", Path(tempfile.gettempdir()) / f"penstock-kernels-{user}"]


def _only_ours(status: os.stat_result) -> bool:
    """Tell whether no other user but root can write a folder or a file: it would be unpickled."""
    if not hasattr(os, "getuid"):
        return True
    return status.st_uid in (os.getuid(), ROOT) and not status.st_mode & (
        stat.S_IWGRP | stat.S_IWOTH
    )


def _forget_old(folder: Path) -> None:
    """Remove the kernels that were not used for longest, if there are too many."""
    files = [(path.stat().st_mtime, path) for path in folder.glob("*.nbc")]
    for _, path in sorted(files, reverse=True)[KEPT_FILES:]:
        path.unlink(missing_ok=True)


class _KernelCache(caching.NullCache):
    """Numba's cache interface over one file per (content, signature, processor, versions).

    Numba asks for the code, and if there is none compiles it and hands it over to be saved.
    """

    def __init__(self, folder: Path | None, compiled: Any, what: str):
        self._folder = folder
        self._compiled = compiled
        self._what = what
        self._compiling: dict[str, tuple[FileLock, threading.Timer]] = {}

    def _name(self, signature: Any) -> str:
        """Return the name of the file for arguments of these types."""
        arguments = signature_text(getattr(signature, "args", signature))
        full = (self._content, arguments, machine_kind(), SEALED)
        return f"{hashlib.sha256(repr(full).encode()).hexdigest()[:32]}.nbc"

    @functools.cached_property
    def _content(self) -> str:
        """What the kernel is made of; not asked before its module is complete."""
        try:
            return content_hash(self._compiled)
        except UnknownContent:  # right, but compiled in every process
            return uuid.uuid4().hex

    def has(self, signature: Any, context: Any) -> bool:
        """Tell whether there is code for arguments of these types, or there should be."""
        name = self._name(signature)
        return name in _sent or (self._folder is not None and (self._folder / name).exists())

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        rtsys.initialize(target_context)  # the rest of Numba is needed to compile only
        name = self._name(sig)
        found = self._read(name, target_context)
        if found is None and name not in self._compiling:
            lock = FileLock(self._folder and (self._folder / name).with_suffix(".lock"))
            found = self._read(name, target_context)  # another process may have been faster
            if found is None:
                self._compiling[name] = lock, _notice(self._what)
            else:
                lock.release()
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        name = self._name(sig)
        if not data.library.has_dynamic_globals and self._folder is not None:
            code = dumps(data._reduce())
            _keep(self._folder / name, hashlib.sha256(code).digest() + code)
            _used.add(name)
        if name in self._compiling:
            lock, notice = self._compiling.pop(name)
            notice.cancel()
            lock.release()

    def _read(self, name: str, context: Any) -> Any:
        """Return code that is kept on disk, or was sent here."""
        found = None if self._folder is None else _read(self._folder / name, context)
        if found is None and name in _sent:
            found = _loaded(_sent[name], context)
            if found is not None and self._folder is not None:
                _keep(self._folder / name, _sent[name])
        if found is not None:
            _used.add(name)
        return found


@functools.cache
def say_compiling(what: str) -> None:
    """Say once in the log that something is compiled and rows wait for it."""
    if are_kept():
        often = f"once per machine (kept in {cache_folder()})"
    else:
        often = "in every process, as there is no folder to keep it in (PENSTOCK_CACHE_DIR)"
    log.warning("compiling %s: a few seconds, %s", what, often)


def _notice(what: str) -> threading.Timer:
    """Say in the log that something is compiled, unless that is soon over."""
    notice = threading.Timer(SLOW, say_compiling, (what,))
    notice.daemon = True
    notice.start()
    return notice


def _read(path: Path, context: Any) -> Any:
    try:
        with path.open("rb") as file:
            # The folder was looked at when the process began; it may be another one now.
            found = _loaded(file.read(), context) if _only_ours(os.fstat(file.fileno())) else None
    except OSError:  # missing
        return None
    if found is not None:
        with contextlib.suppress(OSError):  # a folder that an image came with
            os.utime(path)  # the least used are forgotten first
    return found


def _loaded(sealed: bytes, context: Any) -> Any:
    seal, code = sealed[: hashlib.sha256().digest_size], sealed[hashlib.sha256().digest_size :]
    if hashlib.sha256(code).digest() != seal:  # half written or damaged: compile it anew
        return None
    try:
        return compiler.CompileResult._rebuild(context, *pickle.loads(code))
    except Exception:  # as written, but Numba cannot use it
        return None


def _keep(path: Path, code: bytes) -> None:
    partial = path.with_suffix(f".{uuid.uuid4().hex[:8]}")
    try:
        partial.write_bytes(code)
        partial.chmod(0o644)  # also where the user's files are for a group to write
        partial.replace(path)  # atomic: another process never reads half a file
        _forget_old(path.parent)
    except OSError:
        partial.unlink(missing_ok=True)


class FileLock:
    """A lock that processes share, held until `release` or until the process ends.

    A process that has waited for `patience` seconds goes on without it. Without a file there is
    nothing to wait for.
    """

    def __init__(self, file: Path | None, patience: float | None = None):
        self.had_to_wait = False
        self._file = file
        self._handle: int | None = None
        if fcntl is None or file is None:
            return
        try:
            self._handle = os.open(file, os.O_CREAT | os.O_RDWR, 0o600)
            deadline = time.monotonic() + (PATIENCE if patience is None else patience)
            while not _locked(self._handle) and time.monotonic() < deadline:
                self.had_to_wait = True
                time.sleep(PAUSE)
        except OSError:  # the file system knows no locks
            self.release()

    def release(self) -> None:
        """Let the next process have the lock."""
        if self._handle is not None:
            # One that opens the file anew does not see one that waits for the old file: at worst
            # both go on.
            assert self._file is not None
            self._file.unlink(missing_ok=True)
            os.close(self._handle)  # which unlocks it
            self._handle = None


def _locked(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
