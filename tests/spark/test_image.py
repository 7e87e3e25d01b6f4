"""Images: engines and tables that processes take over from each other, and what may go wrong."""

import datetime
import decimal
import errno
import functools
import multiprocessing
import os
import pickle
import shutil
import signal
import tempfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numba
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock import BadState
from penstock.engine import Join
from penstock.errors import BadInput
from penstock.kernel.jit import cache_folder
from penstock.kernel.policy import KEEP_ALL, Policy
from penstock.kernel.shape import Shape
from penstock.models import Stationary
from penstock.policies import BUILT_IN as ALL
from penstock.spark.runtime import image as images
from penstock.spark.runtime.image import Image, Owner, image_folder, owner_of, sweep
from tests.marks import UNFIT, some
from tests.spark import image_driver
from tests.spark.image_driver import SIZES, THREE

SPAWN = multiprocessing.get_context("spawn")
LARGE = 10_000  # numbers: too many to travel with the pickle
ROWS = {"budget": 150}
BYTES = {"budget": 200_000, "in_bytes": True}
CASES = [
    *(("join", policy.name, ROWS) for policy in ALL if "joining" in policy.problems),
    *(("lookup", policy.name, {"budget": 40}) for policy in ALL if "caching" in policy.problems),
    *(("join", policy, options) for policy in ("prob", "auto") for options in (BYTES,)),
    ("join", "auto", ROWS),
    ("join", "auto", {"budget": 150, "goal": "rows"}),
    ("join", "gdj:percentile=auto", ROWS),
    ("join", "prob", {}),
    ("join", "prob", {"budget": 150, "goal": "rows"}),
    ("join", "prob", {"budget": 150, "layout": "split"}),
    ("join", "rate", {"budget": 150, "joins": THREE}),
    ("join", "prob", {"budget": 150, "delay": 10, "drop": 0.2}),
    ("lookup", "auto", {"budget": 40}),
    ("lookup", "lru", {"budget": 8_000, "in_bytes": True}),
]
# Each is a kernel to compile. These have tables that grow, lists, views, and shadow caches.
OFTEN = [
    ("join", "prob", ROWS),
    ("join", "prob", {}),
    ("join", "prob", BYTES),
    ("join", "auto", ROWS),
    ("lookup", "wtinylfu", {"budget": 40}),
    ("lookup", "auto", {"budget": 40}),
]


@pytest.fixture
def folder():
    """A folder for an image, where images are by default."""
    base = images.default_base() / f"test-image-{os.getpid()}"
    base.mkdir(mode=0o700)
    yield image_folder("query", 0, base)
    shutil.rmtree(base)


@pytest.fixture(scope="module")
def other():
    """Another process."""
    with ProcessPoolExecutor(1, mp_context=SPAWN) as pool:
        yield pool


def saved(folder: Path, value: object, token: str = "t", owner: Owner | None = None) -> Image:
    image = Image(folder, owner)
    with image.lock():
        image.save(value, token)
    return image


def is_clean(folder: Path) -> bool:
    """Whether there is an image that can be loaded, under some token."""
    return (folder / images.CLEAN).exists()


def bytes_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.iterdir())


def loaded(image: Image, token: str = "t") -> object:
    with image.lock():
        return image.load(token)


def there_and_back(folder: Path, value: object) -> object:
    return loaded(saved(folder, value))


def arrays(value: object, path: str = "", seen: set | None = None) -> dict[str, np.ndarray]:
    """Return every array that can be reached from a value, by the way to it."""
    seen = set() if seen is None else seen
    if isinstance(value, np.ndarray):
        return {path: value}
    if id(value) in seen or isinstance(value, Policy | Shape | type):
        return {}
    seen.add(id(value))
    parts: dict = {}
    if isinstance(value, dict):
        parts = value
    elif isinstance(value, tuple | list):
        parts = dict(enumerate(value))
    elif isinstance(value, functools.partial):
        parts = {"func": value.func, "args": value.args}
    elif hasattr(value, "__dict__"):  # addresses of hooks are of one process
        parts = {name: each for name, each in vars(value).items() if name != "_indirect"}
    found: dict[str, np.ndarray] = {}
    for name, each in parts.items():
        found |= arrays(each, f"{path}/{name}", seen)
    return found


def sharing(value: object) -> set[tuple[str, str]]:
    """Return which arrays share memory with each other.

    The table of legs is left out: a constant that many states of a process refer to.
    """
    found = {path: array for path, array in arrays(value).items() if array.size}
    found = {path: array for path, array in found.items() if array.ndim < 3}
    bounds = {path: np.lib.array_utils.byte_bounds(array) for path, array in found.items()}
    order = sorted(found, key=lambda path: bounds[path])
    pairs = set()
    for place, one in enumerate(order):
        for two in order[place + 1 :]:
            if bounds[two][0] >= bounds[one][1]:
                break
            if np.shares_memory(found[one], found[two]):
                pairs.add((min(one, two), max(one, two)))
    return pairs


def assert_alike(one: object, two: object) -> None:
    """Check that arrays are equal, of the same type for Numba, and share memory as they did."""
    mine, theirs = arrays(one), arrays(two)
    assert mine.keys() == theirs.keys()
    for path, array in mine.items():
        assert numba.typeof(array) == numba.typeof(theirs[path]), path
        np.testing.assert_array_equal(array.view(), theirs[path], err_msg=path)
    assert sharing(one) == sharing(two)


@pytest.mark.parametrize(
    "case", some(CASES, OFTEN), ids=lambda case: "-".join(map(str, case)).replace(" ", "")
)
def test_engine_goes_on_in_another_process_as_if_it_had_never_been_stored(folder, other, case):
    twin = image_driver.make(*case)
    saved(folder, image_driver.make(*case))
    token = "t"
    for number in range(len(SIZES)):
        work = image_driver.step if number % 2 else functools.partial(_elsewhere, other)
        assert work(folder, token, number) == image_driver.push(twin, number)
        token += "+"
    engine = loaded(Image(folder), token)
    assert_alike(engine, twin)
    assert 0.95 * twin.nbytes <= engine.nbytes <= twin.nbytes  # what skips to a line is left out


def _elsewhere(other, *args):
    return other.submit(image_driver.step, *args).result()


def test_views_in_the_tables_of_a_join_are_found_by_the_check():
    join = Join("prob", 500, within=10)
    pairs = {tuple(path.rpartition("/")[0] for path in pair) for pair in sharing(join)}
    assert ("/_tables/0", "/_tables/0") in pairs  # keys and records
    assert ("/_tables/0", "/_tables/2") in pairs  # records and chains of the index
    copied = pickle.loads(pickle.dumps(join._tables))
    assert sharing(copied) != sharing(join._tables)  # a plain pickle loses them


def test_records_stay_on_cache_lines(folder):
    join = there_and_back(folder, Join("prob", 5000, within=10))
    assert join._tables.held.at.ctypes.data % 64 == 0
    small = there_and_back(folder, Join("prob", 20, within=10))
    assert small._tables.held.at.ctypes.data % 64 == 0


def test_join_with_models(folder):
    models = (Stationary([1, 2, 3], [0.5, 0.25, 0.25]),) * 2
    join = there_and_back(folder, Join("heeb", 20, within=50, models=models))
    twin = Join("heeb", 20, within=50, models=models)
    for number in range(3):
        assert image_driver.push(join, number) == image_driver.push(twin, number)


VALUES = st.one_of(
    st.tuples(st.just(pa.int64()), st.lists(st.none() | st.integers(-9, 9))),
    st.tuples(st.just(pa.string()), st.lists(st.none() | st.text(max_size=5))),
    st.tuples(st.just(pa.list_(pa.int8())), st.lists(st.none() | st.lists(st.integers(0, 9)))),
    st.tuples(
        st.just(pa.struct([("a", pa.float64()), ("b", pa.large_string())])),
        st.lists(st.none() | st.fixed_dictionaries({"a": st.floats(0, 1), "b": st.text()})),
    ),
    st.tuples(
        st.just(pa.dictionary(pa.int32(), pa.string())), st.lists(st.sampled_from(["x", "y", None]))
    ),
)


@given(VALUES, st.integers(1, 2000), st.integers(0, 40), st.integers(1, 3))
@settings(suppress_health_check=UNFIT)
def test_drawn_table(folder, drawn, times, skip, chunks):
    kind, values = drawn
    column = pa.chunked_array([pa.array(values * times, kind)] * chunks)
    table = pa.table({"c": column}).slice(skip)
    back = there_and_back(folder, [table, table.column(0), table.to_batches()])
    back[0].validate(full=True)
    assert back[0].equals(table)
    assert back[1].equals(table.column(0))
    assert back[2] == table.to_batches()


TYPES = {
    "numbers": pa.array(np.arange(LARGE)),
    "nulls": pa.array([1.5, None] * LARGE),
    "strings": pa.array(["a", None, "ccc"] * LARGE),
    "views": pa.array(["a", None, "longer than a view holds"] * LARGE, pa.string_view()),
    "bytes": pa.array([b"ab", None] * LARGE, pa.binary(2)),
    "bools": pa.array([True, None, False] * LARGE),
    "times": pa.array([1, None] * LARGE, pa.timestamp("us", "UTC")),
    "days": pa.array([datetime.date(2020, 1, 1), None] * LARGE),
    "durations": pa.array([1, None] * LARGE, pa.duration("us")),
    "decimals": pa.array([decimal.Decimal("1.50"), None] * LARGE, pa.decimal128(10, 2)),
    "wide decimals": pa.array([decimal.Decimal("1.50"), None] * LARGE, pa.decimal256(50, 2)),
    "maps": pa.array([[("a", 1)], None] * LARGE, pa.map_(pa.string(), pa.int64())),
    "fixed lists": pa.array([[1, 2], None] * LARGE, pa.list_(pa.int32(), 2)),
    "nested": pa.array([[{"a": [1, 2]}], None] * LARGE),
    "dictionaries": pa.array(["a", "b", None] * LARGE).dictionary_encode(),
    "nothing": pa.nulls(LARGE),
}


@pytest.mark.parametrize("name", TYPES)
def test_type_of_column(folder, other, name):
    table = pa.table({name: TYPES[name]}).replace_schema_metadata({"a": "b"})
    saved(folder, table)
    assert bytes_of(folder) >= min(LARGE, table.nbytes)
    back = other.submit(image_driver.load, folder, "t").result()
    back.validate(full=True)
    assert back.equals(table, check_metadata=True)


def test_plain_values(folder):
    value = {
        "numbers": [1, 2.5, 3j, None, True, np.float64(1.5), np.int64(3), np.datetime64(3, "us")],
        "texts": ("a", b"b", bytearray(b"c")),
        "sets": {1, 2} | frozenset({3}),
        "times": datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC),
        "type": np.dtype([("a", "i4"), ("b", "f8")], align=True),
    }
    assert there_and_back(folder, value) == value


def test_objects_in_arrays(folder):
    back = there_and_back(folder, np.array([1, "a", None], object))
    assert back.tolist() == [1, "a", None]


def test_array_that_cannot_be_written_to(folder):
    fixed = np.arange(LARGE)
    fixed.flags.writeable = False
    back = there_and_back(folder, [fixed, fixed])
    assert not back[0].flags.writeable
    assert back[0] is back[1]


slices = st.builds(
    slice,
    st.none() | st.integers(-9, 9),
    st.none() | st.integers(-9, 9),
    st.sampled_from([None, 1, 2, 3, -1, -2]),
)


@given(st.sampled_from([8, 3000]), st.lists(st.tuples(slices, slices, st.booleans()), max_size=6))
@settings(suppress_health_check=UNFIT)
def test_drawn_views_stay_views(folder, rows, cuts):
    base = np.arange(rows * 4).reshape(rows, 4)
    value = [view.T if turned else view for *cut, turned in cuts for view in [base[tuple(cut)]]]
    value += [
        base.astype([("a", np.int32), ("b", np.int64)])["b"],
        np.broadcast_to(base[0], (3, 4)),
    ]
    back = there_and_back(folder, value)
    assert_alike(value, back)
    for one, two in zip(value[:-1], back[:-1], strict=True):  # what is written is seen elsewhere
        one[...] = two[...] = -1
    assert_alike(value, back)


def test_images_of_other_owner_token_or_version_are_not_loaded(folder, monkeypatch):
    value = {"table": np.arange(LARGE)}
    mine = owner_of(os.getpid())
    image = saved(folder, value, owner=mine)
    assert loaded(image, "another") is None
    assert loaded(Image(folder)) is None
    assert loaded(Image(folder, Owner(1, 1))) is None
    with monkeypatch.context() as patch:
        patch.setattr(images, "VERSIONS", "of another day")
        assert loaded(Image(folder, mine)) is None
    assert is_clean(folder)
    assert loaded(Image(folder, mine))["table"][-1] == LARGE - 1
    assert not is_clean(folder)
    assert loaded(image) is None


def test_process_killed_between_load_and_save(folder):
    image = saved(folder, {"table": np.arange(LARGE)})
    ready = SPAWN.Event()
    process = SPAWN.Process(target=image_driver.write_and_wait, args=(folder, "t", ready))
    process.start()
    assert ready.wait(600)
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    assert loaded(image) is None
    saved(folder, {"table": np.arange(LARGE)})
    assert loaded(image)["table"].sum() == sum(range(LARGE))
    assert len(list(folder.glob("*.data"))) == 1


def test_every_changed_byte_of_the_table_is_noticed(folder):
    image = saved(folder, {"table": np.arange(LARGE), "small": np.arange(3)})
    clean = folder / "clean"
    content = clean.read_bytes()
    for place in range(0, len(content), 3):
        changed = bytearray(content)
        changed[place] ^= 1
        clean.write_bytes(changed)
        assert loaded(image) is None
    for length in range(0, len(content), 7):
        clean.write_bytes(content[:length])
        assert loaded(image) is None
    clean.write_bytes(content)
    assert loaded(image)["small"].tolist() == [0, 1, 2]


@pytest.mark.parametrize("change", ["shorter", "gone", "link"])
def test_damaged_data_file(folder, change):
    saved(folder, np.arange(LARGE))
    (path,) = folder.glob("*.data")
    if change == "shorter":
        os.truncate(path, 5000)
    elif change == "gone":
        path.unlink()
    else:
        path.rename(folder / "elsewhere")
        path.symlink_to(folder / "elsewhere")
    image = Image(folder)
    assert loaded(image) is None
    assert there_and_back(folder, np.arange(3)).tolist() == [0, 1, 2]


def test_full_disk(folder, monkeypatch):
    image = saved(folder, {"table": np.arange(LARGE)})

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    with image.lock():
        value = image.load("t")
        value["more"] = np.ones(LARGE)
        monkeypatch.setattr(os, "posix_fallocate", full)
        with pytest.raises(OSError, match="No space"):
            image.save(value, "t")
        assert value["table"].sum() == sum(range(LARGE))  # still to be read
    assert loaded(image) is None
    assert sorted(path.name for path in folder.iterdir()) == ["lock"]


@pytest.mark.parametrize(
    "value",
    [
        lambda: 1,
        os.system,
        Path("/"),
        Policy("mine", "mine", KEEP_ALL.make_state, KEEP_ALL.choose_victim),
        functools.partial(os.getpid),
        ProcessPoolExecutor,
    ],
)
def test_value_that_could_not_be_loaded_is_refused_when_it_is_saved(folder, value):
    with pytest.raises(BadState, match="cannot be kept"):
        saved(folder, [value])
    assert not is_clean(folder)


@pytest.mark.parametrize(
    "name",
    [
        "os.system",
        "builtins.eval",
        "penstock.spark.runtime.image.os",
        "penstock.spark.runtime.image.os.getpid",
    ],
)
def test_unpickler_refuses_what_is_not_part_of_an_image(name):
    module, _, last = name.rpartition(".")
    with pytest.raises(pickle.UnpicklingError, match="no place in an image"):
        images._permitted(module, last)
    with pytest.raises(pickle.UnpicklingError, match="no place in an image"):
        images._permitted("penstock.spark.runtime.image", name)


def test_value_must_be_loaded_under_the_present_lock(folder):
    image = saved(folder, np.arange(LARGE))
    value = loaded(image)
    with image.lock(), pytest.raises(BadState, match="load it again"):
        image.save(value, "t")
    with pytest.raises(BadState, match="must be locked"):
        image.load("t")
    with image.lock(), pytest.raises(BadInput, match="token"):
        image.save(1, "")


def test_garbage_is_removed(folder):
    rng = np.random.default_rng(0)
    value: dict = {"segments": [], "table": np.zeros(1000), "kept": np.arange(LARGE)}
    image = saved(folder, value)
    most = 0.0
    for number in range(200):
        with image.lock():
            value = image.load("t")
            table = pa.table({"a": rng.random(rng.integers(100, 9000))})
            value["segments"].append(table)
            if len(value["segments"]) > 20:
                del value["segments"][int(rng.integers(0, 20))]
            if number % 10 == 0:
                value["table"] = np.zeros(int(rng.integers(10, 100_000)))
            live = sum(each.nbytes for each in value["segments"])
            live += value["table"].nbytes + value["kept"].nbytes
            image.save(value, "t")
        most = max(most, bytes_of(folder) / live)
        assert len(list(folder.glob("*.data"))) <= images.FILES + 1
    assert most <= 2.5
    assert loaded(image)["kept"].tolist() == list(range(LARGE))


def test_memory_of_a_removed_file_is_given_back_though_another_process_maps_it(folder):
    first, second = saved(folder, np.arange(LARGE)), Image(folder)
    stale = loaded(first)
    with second.lock():
        second.discard()
    if images.default_base() == Path("/dev/shm"):  # elsewhere it depends on the file system
        assert not stale.any()


def test_processes_wait_for_each_other(folder):
    image = saved(folder, {"table": np.zeros(LARGE)})
    parts = [SPAWN.Process(target=image_driver.add_often, args=(folder, "t", 25)) for _ in range(2)]
    for each in parts:
        each.start()
    for each in parts:
        each.join()
        assert each.exitcode == 0
    assert set(loaded(image)["table"].tolist()) == {50.0}


def test_folders_are_for_their_owner_alone(tmp_path):
    folder = image_folder("query", 3, tmp_path)
    assert folder == tmp_path / f"penstock-{os.getuid()}" / "query" / "3"
    for each in (folder, folder.parent, folder.parent.parent):
        assert each.stat().st_mode & 0o777 == 0o700
    saved(folder, np.arange(LARGE))
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in folder.iterdir())


@pytest.mark.parametrize("level", [0, 1, 2])
def test_unsafe_folder_is_refused(tmp_path, monkeypatch, level):
    folder = image_folder("query", 3, tmp_path)
    unsafe = [folder, *folder.parents][level]
    unsafe.chmod(0o770)
    with pytest.raises(BadState, match="mode 770"):
        image_folder("query", 3, tmp_path)
    unsafe.chmod(0o700)
    unsafe.rename(tmp_path / "elsewhere")
    unsafe.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(BadState, match="link"):
        image_folder("query", 3, tmp_path)
    unsafe.unlink()
    image_folder("query", 3, tmp_path)
    user = os.getuid()
    (tmp_path / f"penstock-{user}").rename(tmp_path / f"penstock-{user + 1}")
    monkeypatch.setattr(os, "getuid", lambda: user + 1)
    with pytest.raises(BadState, match=f"belongs to user {user}"):
        image_folder("query", 3, tmp_path)


def test_base_where_others_may_rename_is_refused(tmp_path):
    tmp_path.chmod(0o777)
    with pytest.raises(BadState, match="sticky"):
        image_folder("query", 3, tmp_path)
    tmp_path.chmod(0o1777)
    image_folder("query", 3, tmp_path)


@pytest.mark.parametrize("query", ["", "..", "a/b", "/a"])
def test_bad_name_of_query(tmp_path, query):
    with pytest.raises(BadInput, match="query"):
        image_folder(query, 0, tmp_path)


def test_folder_by_default(tmp_path, monkeypatch):
    monkeypatch.setenv(images.VARIABLE, str(tmp_path))
    assert image_folder("query", 0).is_relative_to(tmp_path)
    assert sweep() == []


def test_folder_that_is_not_there_is_made(tmp_path):
    folder = image_folder("query", 0, tmp_path / "images")
    assert (tmp_path / "images").stat().st_mode & 0o777 == 0o700
    assert there_and_back(folder, 5) == 5
    with pytest.raises(BadState, match=f"{tmp_path}/no/images, .*No such file.*; make it"):
        image_folder("query", 0, tmp_path / "no" / "images")


def test_images_and_kernels_may_both_be_among_temporary_files(tmp_path, monkeypatch):
    """So it is in a container whose user has no home, and whose shared memory is small."""
    (tmp_path / "no-home").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "no-home"))
    for name in (images.VARIABLE, "PENSTOCK_CACHE_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(images, "ROOMY", 1 << 60)
    before = os.umask(0o022)
    cache_folder.cache_clear()
    try:
        kernels = cache_folder()
    finally:
        cache_folder.cache_clear()
        os.umask(before)
    assert kernels is not None
    assert kernels.is_relative_to(tmp_path)
    assert there_and_back(image_folder("query", 0), 5) == 5


def test_images_of_an_owner_that_ends_are_swept(tmp_path):
    here = owner_of(os.getpid())
    assert here is not None
    one, other = (
        saved(image_folder("query", number, tmp_path), np.arange(9), owner=owner)
        for number, owner in enumerate([here, owner_of(os.getppid())])
    )
    assert sweep(tmp_path) == []
    assert sweep(tmp_path, ending=here) == [one.folder]
    assert is_clean(other.folder)


def test_memory_of_a_swept_image_is_given_back_though_a_process_maps_it(folder):
    stale = loaded(saved(folder, np.arange(LARGE)))
    assert sweep(folder.parents[2], idle=-1) == [folder]
    if images.default_base() == Path("/dev/shm"):  # elsewhere it depends on the file system
        assert not stale.any()


def test_open_files_are_counted(folder):
    image = saved(folder, np.arange(LARGE))
    before = len(os.listdir("/proc/self/fd"))
    value = loaded(image)
    assert len(os.listdir("/proc/self/fd")) - before == image.descriptors <= 1
    assert value[-1] == LARGE - 1
    assert images.most_descriptors() > images.FILES


def test_sweep(tmp_path):
    def at(bucket: int, owner: Owner | None) -> Image:
        return saved(image_folder(f"query{bucket}", bucket, tmp_path), np.arange(9), owner=owner)

    ended = SPAWN.Process()
    ended.start()
    gone = owner_of(ended.pid)
    ended.join()
    here = owner_of(os.getpid())
    assert here is not None
    assert gone is not None
    assert owner_of(2**22 + 1) is None
    alive, ownerless, reused, dead = (
        at(number, owner)
        for number, owner in enumerate([here, None, here._replace(started=1), gone])
    )
    with dead.lock():
        assert sweep(tmp_path) == [reused.folder]
    assert sweep(tmp_path) == [dead.folder]
    assert not dead.folder.parent.exists()
    assert sweep(tmp_path) == []
    for image in (alive, ownerless):
        assert is_clean(image.folder)
        os.utime(image.folder / "lock", (0, 0))
    with alive.lock():  # which uses it
        assert sweep(tmp_path) == [ownerless.folder]
    assert sweep(tmp_path) == []
    assert sweep(tmp_path, idle=-1) == [alive.folder]
    assert there_and_back(alive.folder, 5) == 5  # the folder is made again


@pytest.mark.parametrize("way", ["link to a user's folders", "link to a query's", "open to others"])
def test_sweep_is_not_led_into_folders_that_hold_no_images(tmp_path, way):
    """Other users can make folders and links where images are."""
    private = tmp_path / "home" / "keys" / "private"
    private.mkdir(parents=True)
    private.chmod(0o700)
    (private / "key").write_text("secret")
    base = tmp_path / "base"
    base.mkdir()
    user = base / f"penstock-{os.getuid()}"
    if way == "link to a user's folders":
        user.symlink_to(tmp_path / "home")
    else:
        user.mkdir(mode=0o700)
        (user / "query").symlink_to(private.parent)
    if way == "open to others":
        user.chmod(0o777)
    assert sweep(base, idle=-1) == []
    assert os.listdir(private) == ["key"]


def test_sweep_leaves_alone_what_others_may_rename(tmp_path):
    image = saved(image_folder("query", 3, tmp_path), np.arange(9))
    tmp_path.chmod(0o777)
    assert sweep(tmp_path, idle=-1) == []
    assert is_clean(image.folder)
    tmp_path.chmod(0o1777)
    assert sweep(tmp_path, idle=-1) == [image.folder]
