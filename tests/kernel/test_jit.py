"""Compiled code on disk: served when nothing changed, never when something did, never unsafely."""

import json
import os
import pickle
import shutil
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

import penstock
from penstock.engine import Lookup
from penstock.kernel import jit as jits
from penstock.kernel import order as orders
from penstock.kernel.jit import cache_folder, jit, specialise
from penstock.kernel.policy import Policy
from penstock.policies.baselines import FIFO, LRU
from tests.marks import compiled_only
from tests.patience import until
from tests.recount import recount


@pytest.fixture
def base(tmp_path, monkeypatch):
    """A new cache folder, for this process too."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("PENSTOCK_CACHE_DIR", str(folder))
    cache_folder.cache_clear()
    yield folder
    cache_folder.cache_clear()


def listing(base):
    """Return the files under a folder with the moment they were written."""
    return {
        str(path.relative_to(base)): path.stat().st_mtime_ns
        for path in base.rglob("*")
        if path.is_file()
    }


# ---------------------------------------------------------------- the whole way, in new processes

JOIN = """
import json
import penstock
from penstock.kernel import jit
from penstock.engine import Join
from penstock.engine.join_kernel import compile_join

jit.PATIENCE = 3600  # however long the others take to compile on a busy machine
join = Join("fifo", 2, within=10)
rows = join.push(side=[0, 0, 0, 1], key=[7, 8, 9, 7], time=[0, 1, 2, 3]).rows
stats = compile_join(join.chosen.policy, join.form).stats
print(json.dumps({
    "package": penstock.__file__,
    "rows": rows.tolist(),
    "held": join.held_rows.tolist(),
    "loaded": sum(stats.cache_hits.values()),
    "compiled": sum(stats.cache_misses.values()),
}))
"""


def start_join(library, base):
    """Join in a new process, with the package as it lies in `library`."""
    env = {name: value for name, value in os.environ.items() if name != "NUMBA_DISABLE_JIT"}
    env |= {"PYTHONPATH": str(library), "PENSTOCK_CACHE_DIR": str(base)}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen([sys.executable, "-c", JOIN], env=env, cwd=library, **pipes)


def said_by(process, library):
    """Return what it found."""
    stdout, stderr = process.communicate()
    assert process.returncode == 0, stderr
    said = json.loads(stdout)
    assert Path(said.pop("package")).parent == library / "penstock"
    return said


def run_join(library, base):
    return said_by(start_join(library, base), library)


@compiled_only
def test_of_processes_that_start_together_one_compiles(tmp_path):
    library, base = Path(penstock.__file__).parents[1], tmp_path / "cache"
    together = [start_join(library, base) for _ in range(3)]
    said = [said_by(each, library) for each in together]
    assert sorted(each["compiled"] for each in said) == [0, 0, 1]
    assert {name.rpartition(".")[2] for name in listing(base)} == {"nbc"}


@compiled_only
def test_compiled_once_and_again_only_after_an_edit(tmp_path):
    library, base = tmp_path / "library", tmp_path / "cache"
    source = Path(penstock.__file__).parent
    shutil.copytree(
        source, library / "penstock", ignore=shutil.ignore_patterns("__pycache__", "*.pyc")
    )
    # row 2 pushes out row 0, so row 3 meets nothing and pushes out row 1
    oldest_goes = {"rows": [], "held": [2, 3]}
    assert run_join(library, base) == oldest_goes | {"loaded": 0, "compiled": 1}
    kept = listing(base)
    assert kept, "the kernel was not kept on disk"

    assert run_join(library, base) == oldest_goes | {"loaded": 1, "compiled": 0}
    assert set(listing(base)) == set(kept)  # nothing new

    module = library / "penstock" / "policies" / "baselines.py"
    text = module.read_text()
    module.write_text(text.replace('"""', '"""Edited. ', 1) + "\n# a comment\n")
    assert run_join(library, base) == oldest_goes | {"loaded": 1, "compiled": 0}

    choice = "return orders.front(state.order, 0)"
    assert text.count(choice) == 1
    module.write_text(text.replace(choice, "return state.order.ends[0, orders.BACK] + 0"))
    # the newest goes: row 2 pushes out row 1, row 3 meets row 0 and pushes out row 2
    newest_goes = {"rows": [[0, 3]], "held": [0, 3]}
    assert run_join(library, base) == newest_goes | {"loaded": 0, "compiled": 1}
    after = listing(base)
    assert len(after) == len(kept) + 1  # one kernel more: only what the edit changed
    assert set(kept) < set(after)

    module.write_text(text)  # back again: what was compiled first still serves
    assert run_join(library, base) == oldest_goes | {"loaded": 1, "compiled": 0}
    assert set(listing(base)) == set(after)


# ---------------------------------------------------------------- small kernels, in this process


def make_adder(step):
    def add(number):
        return number + step

    return specialise(add)


def counted(compiled):
    """Return how often a kernel was loaded and how often compiled."""
    return sum(compiled.stats.cache_hits.values()), sum(compiled.stats.cache_misses.values())


@compiled_only
def test_closures_and_the_types_of_the_arguments_tell_kernels_apart(base):
    for step, number in ((1, 5), (2, 5), (1, 0.5), (2, 0.5)):
        first, again = make_adder(step), make_adder(step)
        assert first(number) == again(number) == number + step
        assert (counted(first), counted(again)) == ((0, 1), (1, 0))
    assert len(listing(base)) == 4


@compiled_only
@pytest.mark.parametrize("share", [0.0, 0.001, 0.5, 0.999])
def test_a_truncated_file_is_ignored_and_written_again(base, share):
    make_adder(3)(4)
    (path,) = base.rglob("*.nbc")
    whole = path.read_bytes()
    path.write_bytes(whole[: int(share * len(whole))])
    mending = make_adder(3)
    assert mending(4) == 7
    assert counted(mending) == (0, 1)
    mended = make_adder(3)
    assert mended(4) == 7
    assert counted(mended) == (1, 0)
    assert [each.name for each in path.parent.iterdir()] == [path.name]  # no scraps


@compiled_only
@pytest.mark.parametrize("share", [0.0, 0.01, 0.25, 0.5, 0.75, 0.999])
def test_a_file_with_a_flipped_bit_is_never_run_and_written_again(base, share):
    make_adder(3)(4)
    (path,) = base.rglob("*.nbc")
    whole = path.read_bytes()
    at = int(share * len(whole))
    flipped = whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :]
    path.write_bytes(flipped)
    mending = make_adder(3)
    assert mending(4) == 7
    assert counted(mending) == (0, 1)
    assert path.read_bytes() != flipped
    mended = make_adder(3)
    assert mended(4) == 7
    assert counted(mended) == (1, 0)


@compiled_only
def test_what_another_process_finished_at_the_last_moment_is_not_compiled_again(base, monkeypatch):
    make_adder(6)(4)
    (path,) = base.rglob("*.nbc")
    aside = path.rename(path.with_suffix(".aside"))

    class LastMoment(jits.FileLock):
        def __init__(self, file):
            aside.rename(path)  # by the other process, after we looked and before we have the lock
            super().__init__(file)

    monkeypatch.setattr(jits, "FileLock", LastMoment)
    add = make_adder(6)
    assert add(4) == 10
    assert counted(add) == (1, 0)


@compiled_only
def test_a_folder_that_is_gone_costs_only_the_compiling(base):
    folder = cache_folder()
    folder.rmdir()
    add = make_adder(5)
    assert add(4) == 9
    assert counted(add) == (0, 1)
    assert listing(base) == {}


@compiled_only
def test_whether_a_kernel_is_ready_is_known_before_it_runs(base):
    add = make_adder(8)
    assert not jits.is_ready(add, (4,))
    assert add(4) == 12
    again = make_adder(8)
    assert jits.is_ready(again, (4,))
    assert not jits.is_ready(again, (0.5,))


@compiled_only
@pytest.mark.parametrize("kept", [True, False])
def test_a_line_is_logged_when_compiling_takes_long(base, monkeypatch, caplog, kept):
    if not kept:
        monkeypatch.setenv("PENSTOCK_CACHE_DIR", "")
        cache_folder.cache_clear()
    monkeypatch.setattr(jits, "SLOW", 0.0)
    jits.say_compiling.cache_clear()

    def add(number):
        return number + 9

    specialise(add, "what adds nine")(4)
    until(lambda: caplog.messages)
    (said,) = caplog.messages
    assert said.startswith("compiling what adds nine: a few seconds, ")
    assert ("once per machine" in said and str(base) in said) == kept


@compiled_only
def test_what_is_loaded_is_not_logged(base, monkeypatch, caplog):
    make_adder(10)(4)
    monkeypatch.setattr(jits, "SLOW", 0.0)
    make_adder(10)(4)
    assert not caplog.messages


# ---------------------------------------------------------------- sent from one machine to another


@pytest.fixture
def sent(monkeypatch):
    """Forget which kernels were sent here."""
    monkeypatch.setattr(jits, "_sent", {})
    return jits._sent


@compiled_only
@pytest.mark.parametrize("folder_there", [True, False])
def test_what_a_driver_sends_is_not_compiled(base, tmp_path, monkeypatch, sent, folder_there):
    make_adder(11)(4)
    (path,) = base.rglob("*.nbc")
    parcel = pickle.loads(pickle.dumps(jits.packed({path.name})))
    monkeypatch.setenv("PENSTOCK_CACHE_DIR", str(tmp_path / "other") if folder_there else "")
    cache_folder.cache_clear()
    jits.unpack(parcel)
    there = make_adder(11)
    assert jits.is_ready(there, (4,))
    assert there(4) == 15
    assert counted(there) == (1, 0)
    kept = [each.name for each in (tmp_path / "other").rglob("*.nbc")]
    assert kept == ([path.name] if folder_there else [])  # the next process needs no parcel


@compiled_only
def test_what_was_changed_on_the_way_is_not_unpickled(base, monkeypatch, sent):
    make_adder(12)(4)
    (path,) = base.rglob("*.nbc")
    parcel = jits.packed({path.name})
    changed = {name: code[:-1] + bytes([code[-1] ^ 1]) for name, code in parcel.files.items()}
    path.unlink()
    jits.unpack(parcel._replace(files=changed))
    assert not sent
    here = make_adder(12)
    assert here(4) == 16
    assert counted(here) == (0, 1)


def test_code_for_another_machine_is_reported_once_and_not_used(monkeypatch, caplog, sent):
    parcel = jits.Packed("another machine", {"a.nbc": b"code"}, {})
    jits.unpack(parcel)
    assert "another processor" in caplog.text
    assert not sent


# ---------------------------------------------------------------- where it is kept


def test_the_folder_is_made_for_its_owner_to_write_and_others_to_read(base):
    before = os.umask(0o022)
    try:
        folder = cache_folder()
    finally:
        os.umask(before)
    assert folder == base / "kernels"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o755, "an image is made by root, and run by none"


@compiled_only
def test_a_file_that_others_may_write_is_not_loaded(base):
    make_adder(14)(4)
    (path,) = base.rglob("*.nbc")
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    path.chmod(0o666)
    wary = make_adder(14)
    assert wary(4) == 18
    assert counted(wary) == (0, 1)


@compiled_only
def test_a_folder_that_cannot_be_written_serves_what_is_in_it(base, monkeypatch, caplog):
    make_adder(15)(4)
    monkeypatch.setattr(os, "access", lambda path, how: False)
    assert not jits.are_kept()
    again = make_adder(15)
    assert again(4) == 19
    assert counted(again) == (1, 0)
    jits.say_compiling.cache_clear()
    jits.say_compiling("something")
    assert "in every process" in caplog.text


def test_an_empty_name_turns_it_off(monkeypatch, base):
    monkeypatch.setenv("PENSTOCK_CACHE_DIR", "")
    assert cache_folder() is None


@pytest.mark.parametrize("mode", [0o770, 0o702, 0o777])
@pytest.mark.parametrize("inner", [False, True])
def test_a_folder_that_others_may_write_is_not_used(base, mode, inner):
    base.mkdir(mode=0o700)
    unsafe = base / "kernels" if inner else base
    unsafe.mkdir(exist_ok=True)
    unsafe.chmod(mode)
    assert cache_folder() is None


@pytest.mark.parametrize("mode", [0o700, 0o755])
def test_a_folder_that_others_may_only_read_is_used(base, mode):
    base.mkdir()
    base.chmod(mode)
    assert cache_folder() is not None


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="folders have no owner here")
def test_a_folder_of_somebody_else_is_not_used(base, monkeypatch):
    monkeypatch.setattr(jits, "ROOT", -1)  # the tests may be run by root
    monkeypatch.setattr(os, "getuid", lambda: base.parent.stat().st_uid + 1)
    assert cache_folder() is None


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="folders have no owner here")
def test_a_folder_that_root_made_is_used_by_others(base, monkeypatch):
    monkeypatch.setattr(jits, "ROOT", base.parent.stat().st_uid)
    monkeypatch.setattr(os, "getuid", lambda: base.parent.stat().st_uid + 1)
    assert cache_folder() == base / "kernels"


def test_a_folder_that_cannot_be_made_is_not_used(base):
    base.write_text("a file stands here")
    assert cache_folder() is None


def test_the_folder_is_safe_also_where_new_folders_are_open_to_the_group(base):
    before = os.umask(0o002)  # the usual one on many systems
    try:
        assert cache_folder() is not None
    finally:
        os.umask(before)


def test_without_a_wish_it_lies_in_the_home_or_else_in_the_temporary_folder(
    base, tmp_path, monkeypatch
):
    monkeypatch.delenv("PENSTOCK_CACHE_DIR")
    home, temporary = tmp_path / "home", tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(home))
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    assert cache_folder().parent == home / "penstock"
    (home / "penstock").chmod(0o777)
    cache_folder.cache_clear()
    assert cache_folder().parent.parent == temporary
    (home / "penstock").chmod(0o755)
    cache_folder.cache_clear()
    monkeypatch.setattr(os, "access", lambda path, how: temporary in path.parents)
    assert cache_folder().parent.parent == temporary, "the home cannot be written"


@compiled_only
def test_kernels_that_were_not_used_for_longest_are_removed(base, monkeypatch):
    monkeypatch.setattr(jits, "KEPT_FILES", 3)
    folder = cache_folder()
    for age in range(1, 8):
        old = folder / f"{age}.nbc"
        old.write_bytes(b"old")
        os.utime(old, (10_000 - age, 10_000 - age))
    (folder / "other").write_text("not ours to remove")
    make_adder(7)(1)
    names = {path.name for path in folder.iterdir()}
    assert {"1.nbc", "2.nbc", "other"} < names
    assert len(names) == 4


# ---------------------------------------------------------------- policies from elsewhere


@jit
def newest(state, held, newcomer, now):
    return np.int64(state.order.ends[0, orders.BACK])


@jit
def oldest(state, held, newcomer, now):
    return orders.front(state.order, 0)


def variant(choose_victim, **hooks):
    """Return a policy that shares its name with others and most hooks with FIFO."""
    return Policy(
        "variant",
        "",
        FIFO.make_state,
        choose_victim,
        on_insert=FIFO.on_insert,
        on_remove=FIFO.on_remove,
        **hooks,
    )


def resident(policy):
    cache = Lookup(policy, 2)
    cache.push([1, 2, 1, 3])
    recount(cache)
    return cache.resident.tolist()


def test_hooks_from_outside_the_package_are_distinguished_by_what_they_do(base):
    # the same name with another choice is answered by the other choice
    assert resident(variant(newest)) == [1, 3]
    assert resident(variant(oldest)) == [2, 3]
    assert resident(variant(newest)) == [1, 3]


def test_policies_of_one_name_made_of_the_packages_own_hooks_are_distinguished(base):
    assert resident(variant(FIFO.choose_victim)) == [2, 3]
    assert resident(variant(FIFO.choose_victim, on_match=LRU.on_match)) == [1, 3]
