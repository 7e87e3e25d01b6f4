"""The resident image of a bucket: its Python object in shared memory, for any process to take over.

Successive micro-batches of one bucket run in different worker processes of a machine. The durable
state is in Spark's state store; to read all of it in every micro-batch would cost as much as the
state is large. An image keeps the object itself on the machine: NumPy arrays and Arrow buffers in
files that every process maps, the rest as a pickle of a few kilobytes. To load it costs the same
for any size, and to save it costs what was added since.

How it works:

- A pickle refers to memory by address. `save` collects the address ranges of all arrays and
  buffers, merges the ranges that overlap into blocks, and writes a table that says where each block
  is; `load` translates addresses into places of its own mappings. So views stay views of one
  memory, and no class has to know about images. A block keeps its address modulo 64, hence its
  alignment.
- A block that lies in a mapped file already is left there: kernels have changed it in place. New
  blocks are written to one new file per save; blocks of less than `SMALL` bytes travel with the
  pickle. A file is written out with `posix_fallocate` and `write`, so that a full disk is an
  OSError and never a SIGBUS.
- A file that no block refers to is removed, and one of which less than half is referred to is
  copied together with the new blocks. So are the smaller ones where there are more than `FILES`.
  The memory of a removed file is given back at once, even if a process still has it mapped.
- `load` renames the table from `clean` to `dirty` before it hands the value out, and `save` writes
  a new `clean`. A process that is killed in between leaves no `clean`, and the next `load` returns
  None. This withstands the end of a process, not of the machine.
- The table with its pickle is authenticated by HMAC-SHA256 under the token, and is unpickled by an
  unpickler that knows containers, NumPy, Arrow and this package only. Data files are neither:
  only the owner can write them.

The value must not be used after `save`: the next process changes the same memory.

Images are in shared memory by default (/dev/shm). With 200,000 rows held a disk took the same time
while the files stayed mapped, and more in a process that maps them anew (`bench/image.py`); and it
has to write changed pages back for no use.
"""

import bisect
import contextlib
import ctypes
import fcntl
import functools
import hashlib
import hmac
import importlib
import io
import json
import math
import mmap
import os
import pickle
import re
import resource
import secrets
import stat
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.lib.array_utils import byte_bounds

from ... import policies
from ...errors import BadInput, BadState
from ...kernel.jit import source_hash
from ...kernel.policy import Policy

MAGIC = b"PENSTOCK-IMAGE-1"
SMALL = 16_384  # bytes; smaller blocks are written with the pickle
LINE = 64  # bytes; blocks keep their address modulo this
FILES = 16  # data files of an image at most
IDLE = 3600.0  # seconds without use after which an image is swept
ENDING = 0.2  # seconds for which an image is waited for whose owner ends, and its workers with it
ROOMY = 1 << 30  # bytes that /dev/shm must have in all to be the default: in containers it has few
ATTEMPTS = 100  # to lock a folder that is swept away meanwhile
PAUSE = 0.01  # seconds between looks at a lock that another process has
CLEAN, DIRTY, LOCK, OWNER, DATA = "clean", "dirty", "lock", "owner", ".data"
SMALL_BLOCK = -1  # the number of the file that the small blocks are in
UNTRACKED = sys.version_info >= (3, 13)  # a mapping need not keep a descriptor of its file
VARIABLE = "PENSTOCK_IMAGE_DIR"
VERSIONS = " ".join((sys.version, np.__version__, pa.__version__))

PACKAGE = __name__.partition(".")[0]
PERMITTED = {
    "builtins": {"bytearray", "complex", "frozenset", "range", "set", "slice"},
    "collections": {"Counter", "OrderedDict", "defaultdict", "deque"},
    "datetime": {"date", "datetime", "time", "timedelta", "timezone"},
    "decimal": {"Decimal"},
    "functools": {"partial"},
    "numpy": {"dtype", "ndarray"},
    "numpy._core.multiarray": {"_reconstruct", "scalar"},
    "pyarrow.lib": {
        *("_reconstruct_record_batch", "_reconstruct_table", "_restore_array", "chunked_array"),
        *("binary", "decimal128", "decimal256", "dictionary", "field", "large_list", "list_"),
        *("map_", "run_end_encoded", "scalar", "schema", "struct", "timestamp", "type_for_alias"),
        *("union",),
    },
}


class Owner(NamedTuple):
    """The process that images live and end with: the executor."""

    pid: int
    started: int  # in clock ticks after the machine did, so that a reused pid is told apart


class Mapped(NamedTuple):
    """A data file in the memory of this process."""

    pages: mmap.mmap
    data: np.ndarray  # uint8[size]


class Table(NamedTuple):
    """What the file `clean` says."""

    origin: str  # see `_origin`
    files: dict[str, int]  # bytes of each data file
    blocks: np.ndarray  # int64[n, 4]: address, size, the number of its file, offset in it
    small: np.ndarray  # uint8[n]: the small blocks
    pickled: bytes | memoryview


class Damaged(Exception):
    """An image cannot be loaded."""


class Image:
    """The image of one bucket, to be loaded and saved inside `with image.lock()`.

    Keep the object as long as the process may come back to the bucket: it keeps the files mapped,
    before Python 3.13 with a descriptor for each (up to `FILES` and one).
    """

    def __init__(self, folder: Path, owner: Owner | None = None):
        self.folder = folder
        self.owner = owner
        self._mapped: dict[str, Mapped] = {}
        self._lent: set[str] = set()  # files that the value handed out by `load` refers to
        self._is_locked = False

    @property
    def descriptors(self) -> int:
        """How many files this keeps open."""
        return 0 if UNTRACKED else len(self._mapped)

    @property
    def is_there(self) -> bool:
        """Whether its folder has not been swept away."""
        return self.folder.exists()

    @contextlib.contextmanager
    def lock(self, patience: float = math.inf) -> Iterator[None]:
        """Wait until no other process, thread or attempt has the image, and keep them out.

        Raises BlockingIOError where one has it for longer than `patience` seconds.
        """
        descriptor = _lock(self.folder, patience)
        os.utime(descriptor)  # it is used
        self._is_locked = True
        try:
            yield
        finally:
            self._is_locked = False
            self._lent.clear()
            os.close(descriptor)

    def load(self, token: str) -> Any:
        """Return the value that was saved under this token, and mark the image dirty.

        None if there is no image, or one that is dirty, damaged, of another owner or token.
        """
        self._check_lock()
        try:
            table = _read_table(self.folder / CLEAN, token)
            if table.origin != _origin(self.owner):
                return None
            os.replace(self.folder / CLEAN, self.folder / DIRTY)
            self._map(table.files)
            return _Unpickler(table, [self._mapped[name].pages for name in table.files]).load()
        except (OSError, Damaged):
            return None

    def save(self, value: Any, token: str) -> None:
        """Write what is not in the image yet, and mark it clean under this token.

        Raises OSError if there is no room, and BadState if the value holds something that could
        not be loaded. Then the image is discarded, and the value can still be read.
        """
        self._check_lock()
        if not token:
            raise BadInput("the token of an image must not be empty")
        try:
            self._save(value, token)
        except BaseException:
            self.discard()
            raise
        finally:
            self._lent.clear()

    def discard(self) -> None:
        """Remove the image; a value that was loaded can still be read."""
        self._check_lock()
        for name in (CLEAN, DIRTY, OWNER):
            (self.folder / name).unlink(missing_ok=True)
        for name in self._names():
            if name in self._lent:
                (self.folder / name).unlink(missing_ok=True)
            else:
                self._remove(name)

    def _check_lock(self) -> None:
        if not self._is_locked:
            raise BadState(f"the image {self.folder} must be locked before it is used")

    def _names(self) -> set[str]:
        """Return the data files that there are."""
        return {name for name in os.listdir(self.folder) if name.endswith(DATA)}

    def _map(self, files: dict[str, int]) -> None:
        """Map these files, and no others."""
        for name in self._mapped.keys() - files.keys():
            del self._mapped[name]
        for name, size in files.items():
            if name not in self._mapped:
                self._mapped[name] = _map_file(self.folder / name, size)
        self._lent = set(files)

    def _remove(self, name: str) -> None:
        """Remove a data file, and give its memory back even where it is still mapped."""
        path, mapped = self.folder / name, self._mapped.pop(name, None)
        with contextlib.suppress(OSError, Damaged):  # not every file system can
            mapped = mapped or _map_file(path, path.stat().st_size)
            mapped.pages.madvise(mmap.MADV_REMOVE)
        path.unlink(missing_ok=True)

    def _save(self, value: Any, token: str) -> None:
        written = _Pickler()
        pickled = written.pickled(value)
        low, size = written.blocks()
        names = list(self._mapped)
        file, offset = self._found(low, size)
        live = np.bincount(file[file >= 0], size[file >= 0], len(names))
        moved = self._to_move(live)
        file[np.isin(file, moved)] = SMALL_BLOCK
        kept = [number for number in np.flatnonzero(live).tolist() if number not in moved]
        unused = self._names() - {names[number] for number in (*kept, *moved)}
        for name in unused:  # before anything is written, for its room
            self._remove(name)
        files = {names[number]: len(self._mapped[names[number]].data) for number in kept}
        file[file >= 0] = np.searchsorted(kept, file[file >= 0])

        large = np.flatnonzero((file < 0) & (size >= SMALL))
        if len(large):
            offset[large], whole = _laid_out(low[large], size[large])
            file[large] = len(files)
            name = secrets.token_hex(8) + DATA
            _write_data(self.folder / name, low[large], size[large], offset[large], whole)
            files[name] = whole
        small = np.flatnonzero(file < 0)
        offset[small], whole = _laid_out(low[small], size[small])
        memory = np.zeros(whole, np.uint8)
        base = _address(memory)
        for each in small.tolist():
            ctypes.memmove(base + int(offset[each]), int(low[each]), int(size[each]))

        blocks = np.stack([low, size, file, offset], axis=1)
        table = Table(_origin(self.owner), files, blocks, memory, pickled)
        if self.owner is not None:
            _write(self.folder / OWNER, f"{self.owner.pid} {self.owner.started}\n".encode())
        _write_table(self.folder / DIRTY, table, token)
        os.replace(self.folder / DIRTY, self.folder / CLEAN)
        for number in moved:
            self._remove(names[number])

    def _found(self, low: np.ndarray, size: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return of each block the number of the mapped file that it is in, or -1, and where."""
        file, offset = np.full(len(low), SMALL_BLOCK), np.zeros(len(low), np.int64)
        for number, (name, mapped) in enumerate(self._mapped.items()):
            begin = _address(mapped.data)
            inside = (low >= begin) & (low + size <= begin + len(mapped.data))
            if inside.any() and name not in self._lent:
                raise BadState(
                    f"the value was not loaded from the image {self.folder} under the present "
                    "lock, or was saved since; load it again"
                )
            file[inside] = number
            offset[inside] = low[inside] - begin
        return file, offset

    def _to_move(self, live: np.ndarray) -> list[int]:
        """Return the files whose blocks are to be copied to a new one: mostly unused, or many."""
        whole = np.array([len(mapped.data) for mapped in self._mapped.values()], np.int64)
        moved = (live > 0) & (2 * live < whole)
        rest = np.flatnonzero((live > 0) & ~moved)
        if len(rest) >= FILES:
            smallest = rest[np.argsort(live[rest], kind="stable")]
            moved[smallest[: len(rest) // 2]] = True
        return np.flatnonzero(moved).tolist()


def owner_of(pid: int) -> Owner | None:
    """Return a running process as an owner, or None if there is none of this number."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    return Owner(pid, int(status.rpartition(")")[2].split()[19]))


def most_descriptors() -> int:
    """Return how many files the images of a process may keep open: half of what it may open."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return sys.maxsize if soft == resource.RLIM_INFINITY else soft // 2


def _origin(owner: Owner | None) -> str:
    """Return what must be the same where an image is saved and loaded: code, and the owner."""
    return f"{VERSIONS} {source_hash()} {owner}"


# Folders


def image_folder(query: str, bucket: int, base: Path | None = None) -> Path:
    """Return the folder of a bucket's image; it is made, for the present user alone.

    Raises BadState if another user could read or change what is there.
    """
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,100}", query):
        raise BadInput(f"query must be letters, digits, '-' and '_', got {query!r}")
    if not sys.platform.startswith("linux"):
        raise BadState(f"images need Linux, and this is {sys.platform}")
    base = default_base() if base is None else base
    if not base.exists():
        _make(base)
    _check_base(base)
    folder = _user_folder(base)
    for part in ("", query, str(int(bucket))):
        folder = folder / part
        _own(folder)
    return folder


def default_base() -> Path:
    """Return where images are: `PENSTOCK_IMAGE_DIR`, or shared memory, or temporary files."""
    if os.environ.get(VARIABLE):
        return Path(os.environ[VARIABLE])
    memory = Path("/dev/shm")
    with contextlib.suppress(OSError):
        status = os.statvfs(memory)
        if status.f_frsize * status.f_blocks >= ROOMY and os.access(memory, os.W_OK):
            return memory
    return Path(tempfile.gettempdir())


def sweep(base: Path | None = None, idle: float = IDLE, ending: Owner | None = None) -> list[Path]:
    """Remove the images of owners that have ended, and those not used for `idle` seconds.

    Those of an owner that is just `ending` are removed, too. An image that is locked stays: it is
    waited for where its owner ends. Where other users could have put a link to folders that hold no
    images, nothing is removed. Returns the folders that were removed.
    """
    base = default_base() if base is None else base
    patience = 0.0 if ending is None else ENDING
    gone = []
    for folder in sorted(_user_folder(base).glob("*/*")):
        try:
            _check_base(base)
            for each in (folder.parent.parent, folder.parent, folder):
                _check_own(each)
            descriptor = _lock(folder, patience)
        except (OSError, BadState):
            continue
        try:
            idled = time.time() - os.fstat(descriptor).st_mtime > idle
            if idled or _is_abandoned(folder, ending):
                _empty(folder)
                gone.append(folder)
        except OSError:
            continue
        finally:
            os.close(descriptor)
        with contextlib.suppress(OSError):  # there are other buckets
            folder.parent.rmdir()
    return gone


def _empty(folder: Path) -> None:
    """Remove an image that is locked, and give its memory back where it is still mapped."""
    image = Image(folder)
    for name in os.listdir(folder):
        if name.endswith(DATA):
            image._remove(name)
        elif name != LOCK:
            (folder / name).unlink()
    (folder / LOCK).unlink()  # last, for a process that waits for it
    folder.rmdir()


def _user_folder(base: Path) -> Path:
    return base / f"{PACKAGE}-{os.getuid()}"


def _is_abandoned(folder: Path, ending: Owner | None) -> bool:
    """Tell whether the process that an image belongs to has ended, or is the one that ends."""
    try:
        owner = Owner(*map(int, (folder / OWNER).read_text().split()))
    except (OSError, ValueError, TypeError):
        return False
    return owner == ending or owner_of(owner.pid) != owner


def _make(base: Path) -> None:
    """Make the folder that all images are in; where others shall use it, too, make it for them."""
    try:
        base.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise BadState(
            f"images need the folder {base}, which is not there and cannot be made "
            f"({error.strerror}); make it"
        ) from error


def _check_base(base: Path) -> None:
    """Refuse a folder in which other users may put something else in the place of ours."""
    status = base.stat()
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and not status.st_mode & stat.S_ISVTX:
        raise BadState(f"other users may rename what is in {base}; set its sticky bit")


def _own(folder: Path) -> None:
    """Make a folder for the present user alone, or check that it is."""
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    _check_own(folder)


def _check_own(folder: Path) -> None:
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode):
        raise BadState(f"{folder} must be a folder, and is a link or a file; remove it")
    if status.st_uid != os.getuid():
        raise BadState(f"{folder} belongs to user {status.st_uid}, not to {os.getuid()}; remove it")
    if stat.S_IMODE(status.st_mode) & 0o077:
        raise BadState(
            f"{folder} must be open to its owner alone, and has the mode "
            f"{stat.S_IMODE(status.st_mode):o}; run chmod 700 on it"
        )


def _lock(folder: Path, patience: float) -> int:
    """Return the open lock file of a folder; closing it unlocks."""
    end = time.monotonic() + patience
    for _ in range(ATTEMPTS):
        descriptor = -1
        try:
            if not folder.parent.exists():
                _own(folder.parent)
            _own(folder)
            descriptor = _open(folder / LOCK, os.O_RDWR | os.O_CREAT)
            _wait(descriptor, end)
            if os.path.samestat(os.fstat(descriptor), (folder / LOCK).lstat()):
                return descriptor
        except FileNotFoundError:  # swept away meanwhile
            pass
        except BaseException:
            if descriptor >= 0:
                os.close(descriptor)
            raise
        if descriptor >= 0:
            os.close(descriptor)
    raise BadState(f"the image {folder} is swept away again and again")


def _wait(descriptor: int, end: float) -> None:
    """Lock a file, or raise BlockingIOError at a time by which another process still has it."""
    if end == math.inf:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        return
    while True:
        try:
            return fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= end:
                raise
            time.sleep(PAUSE)


# Files


def _open(path: Path, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)


def _map_file(path: Path, size: int) -> Mapped:
    """Map a data file, all of which must be there: to touch what is not ends the process."""
    descriptor = _open(path, os.O_RDWR)
    try:
        status = os.fstat(descriptor)
        if not size or status.st_size != size or status.st_uid != os.getuid():
            raise Damaged(f"{path} has {status.st_size} bytes, not {size}")
        pages = mmap.mmap(descriptor, size, **({"trackfd": False} if UNTRACKED else {}))
    finally:
        os.close(descriptor)
    return Mapped(pages, np.frombuffer(pages, np.uint8))


def _write_data(
    path: Path, low: np.ndarray, size: np.ndarray, offset: np.ndarray, whole: int
) -> None:
    """Write blocks of memory to a new data file."""
    descriptor = _open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL)
    try:
        os.posix_fallocate(descriptor, 0, whole)
        for address, count, place in zip(*map(np.ndarray.tolist, (low, size, offset))):
            rest = memoryview((ctypes.c_char * count).from_address(address)).cast("B")
            while len(rest):
                done = os.pwrite(descriptor, rest, place)
                rest, place = rest[done:], place + done
    finally:
        os.close(descriptor)


def _write(path: Path, *parts: Any) -> None:
    """Write a file; the memory that it has already is used again."""
    with open(_open(path, os.O_WRONLY | os.O_CREAT), "wb", buffering=0) as file:
        for part in parts:
            rest = memoryview(part).cast("B")
            while len(rest):
                rest = rest[file.write(rest) :]
        file.truncate()


def _write_table(path: Path, table: Table, token: str) -> None:
    sizes = {"blocks": len(table.blocks), "small": len(table.small), "pickled": len(table.pickled)}
    head = json.dumps({"origin": table.origin, "files": table.files} | sizes).encode()
    start = len(head).to_bytes(8, "little") + head + table.blocks.tobytes()
    parts = [start, table.small, table.pickled]
    _write(path, MAGIC, _authentic(parts, token), *parts)


def _read_table(path: Path, token: str) -> Table:
    with open(_open(path, os.O_RDONLY), "rb") as file:
        raw = memoryview(file.read())
    start = len(MAGIC) + hashlib.sha256().digest_size
    if raw[: len(MAGIC)] != MAGIC:
        raise Damaged(f"{path} is no image")
    if not hmac.compare_digest(raw[len(MAGIC) : start], _authentic([raw[start:]], token)):
        raise Damaged(f"{path} was not written under this token")
    end = start + 8 + int.from_bytes(raw[start : start + 8], "little")
    head = json.loads(bytes(raw[start + 8 : end]))
    blocks = np.frombuffer(raw, np.int64, 4 * head["blocks"], end).reshape(-1, 4)
    end += blocks.nbytes
    small = _aligned(head["small"])
    small[:] = np.frombuffer(raw, np.uint8, head["small"], end)
    return Table(head["origin"], head["files"], blocks, small, raw[end + head["small"] :])


def _authentic(parts: list[Any], token: str) -> bytes:
    mac = hmac.new(token.encode(), digestmod=hashlib.sha256)
    for part in parts:
        mac.update(part)
    return mac.digest()


# Memory


def _address(array: np.ndarray) -> int:
    return array.ctypes.data


def _aligned(size: int) -> np.ndarray:
    """Return so many bytes of memory that begins where a cache line does."""
    memory = np.empty(size + LINE, np.uint8)
    skip = -_address(memory) % LINE
    return memory[skip : skip + size]


def _laid_out(low: np.ndarray, size: np.ndarray) -> tuple[np.ndarray, int]:
    """Return an offset for each block that keeps its alignment, and the size of all."""
    skip = low % LINE
    end = np.cumsum(-(-(skip + size) // LINE) * LINE)
    return np.append(0, end[:-1])[: len(low)] + skip, int(end[-1]) if len(end) else 0


# Pickles


class _Pickler(pickle.Pickler):
    """Writes a value with addresses in the place of memory, and notes which."""

    def __init__(self) -> None:
        self._file = io.BytesIO()
        super().__init__(self._file, protocol=5)
        self._spans: list[tuple[int, int]] = []  # addresses, up to before the second
        self._kept: list[Any] = []  # so that no address is used twice
        self._reducers: dict[type, Any] = {
            np.ndarray: self._reduce_array,
            pa.Buffer: self._reduce_buffer,
            pa.ResizableBuffer: self._reduce_buffer,
            Policy: _reduce_policy,
            MethodType: _reduce_method,
        }

    def pickled(self, value: Any) -> bytes:
        """Return the pickle of a value."""
        try:
            self.dump(value)
        except (pickle.PickleError, TypeError, AttributeError, BadInput) as error:
            raise BadState(f"the value cannot be kept as an image: {error}") from error
        return self._file.getvalue()

    def blocks(self) -> tuple[np.ndarray, np.ndarray]:
        """Return address and size of the memory referred to; spans that overlap are one block."""
        spans = np.array(sorted(self._spans), np.int64).reshape(-1, 2)
        low, high = spans[:, 0], np.maximum.accumulate(spans[:, 1])
        first = np.flatnonzero(np.append(True, low[1:] >= high[:-1])[: len(low)])
        last = np.append(first[1:] - 1, len(low) - 1)[: len(first)]
        return low[first], high[last] - low[first]

    def reducer_override(self, value: Any) -> Any:
        reduce = self._reducers.get(type(value))
        if reduce is not None:
            return reduce(value)
        if isinstance(value, type | FunctionType | BuiltinFunctionType):
            _permitted(value.__module__, value.__qualname__)
        return NotImplemented

    def _reduce_array(self, array: np.ndarray) -> Any:
        kind = array.dtype
        if kind.hasobject:
            return array.__reduce_ex__(5)
        address, strides = 0, None
        if array.nbytes:
            address = _address(array)
            if array.flags.c_contiguous:
                self._spans.append((address, address + array.nbytes))
            else:
                strides = array.strides
                self._spans.append(byte_bounds(array))
            self._kept.append(array)
        return _array, (address, kind, array.shape, strides, array.flags.writeable)

    def _reduce_buffer(self, buffer: pa.Buffer) -> Any:
        if buffer.size:
            self._spans.append((buffer.address, buffer.address + buffer.size))
            self._kept.append(buffer)
        return _buffer, (buffer.address, buffer.size)


def _reduce_policy(policy: Policy) -> Any:
    """Write a policy by its name: its compiled functions cannot be written."""
    if policies.named(policy.name) is not policy:
        raise pickle.PicklingError(f"policy {policy.name!r} is not the one of the registry")
    return policies.named, (policy.name,)


def _reduce_method(method: MethodType) -> Any:
    return _method, (method.__self__, method.__name__)


@functools.cache
def _permitted(module: str, name: str) -> Any:
    """Return what a pickle refers to by name, if it may."""
    if name in PERMITTED.get(module, ()):
        return getattr(importlib.import_module(module), name)
    if _ours(module):
        with contextlib.suppress(ImportError):
            found = getattr(importlib.import_module(module), name, None)
            if isinstance(found, type | FunctionType) and _ours(found.__module__):
                return found
    if module == "numpy" and isinstance(kind := getattr(np, name, None), type):
        if issubclass(kind, np.generic):
            return kind
    raise pickle.UnpicklingError(f"{module}.{name} has no place in an image")


def _ours(module: str) -> bool:
    return module.partition(".")[0] == PACKAGE


class _Unpickler(pickle.Unpickler):
    """Reads a value, with arrays and buffers in the memory of this process."""

    def __init__(self, table: Table, files: list[mmap.mmap]):
        super().__init__(io.BytesIO(table.pickled))
        self._lows = table.blocks[:, 0].tolist()
        # Each block is an array of its own, so that what an engine counts as its bytes is right.
        memory = {SMALL_BLOCK: table.small.data} | dict(enumerate(files))
        self._memory = [
            np.frombuffer(memory[file], np.uint8, size, offset)
            for _, size, file, offset in table.blocks.tolist()
        ]
        self._own = {"_array": self._array, "_buffer": self._buffer}

    def find_class(self, module: str, name: str) -> Any:
        if module == __name__ and name in self._own:
            return self._own[name]
        return _permitted(module, name)

    def load(self) -> Any:
        try:
            return super().load()
        except Exception as error:  # of any kind: what is called depends on what was written
            raise Damaged(f"the value cannot be read: {error}") from error

    def _find(self, address: int) -> tuple[np.ndarray, int]:
        """Return the memory that an address stands for, and the offset in it."""
        number = bisect.bisect_right(self._lows, address) - 1
        offset = address - self._lows[number]
        if number < 0 or offset >= len(self._memory[number]):
            raise Damaged(f"nothing is at the address {address}")
        return self._memory[number], offset

    def _array(self, address: int, kind: Any, shape: Any, strides: Any, writable: bool) -> Any:
        if not address:
            return np.empty(shape, kind)
        memory, offset = self._find(address)
        array = np.ndarray(shape, kind, memory, offset, strides)
        array.flags.writeable = writable
        return array

    def _buffer(self, address: int, size: int) -> pa.Buffer:
        if not size:
            return pa.py_buffer(b"")
        memory, offset = self._find(address)
        return pa.foreign_buffer(_address(memory) + offset, size, memory)


def _array(*_: object) -> None:
    """Stand for an array in a pickle; only the unpickler of an image can make it."""
    raise Damaged("memory is known to an image only")


def _buffer(*_: object) -> None:
    """Stand for an Arrow buffer in a pickle."""
    raise Damaged("memory is known to an image only")


def _method(owner: Any, name: str) -> MethodType:
    """Return a method of an object or a class of this package."""
    found = getattr(owner, name, None)
    if not isinstance(found, MethodType) or not _ours(found.__func__.__module__):
        raise pickle.UnpicklingError(f"{name} is no method of {type(owner).__name__}")
    return found
