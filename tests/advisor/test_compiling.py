"""A process beside that compiles too: when it is asked."""

import pytest

from penstock.advisor import compiling

NAMES = ("fifo", "lru", "clock", "rand")


@pytest.fixture
def asked(monkeypatch, tmp_path):
    calls, made = [], set()
    monkeypatch.setattr(compiling, "is_compiled_beside", calls.append)
    monkeypatch.setattr(compiling, "is_made", made.__contains__)
    monkeypatch.setattr(compiling, "note_made", made.add)
    monkeypatch.setattr(compiling, "cache_folder", lambda: tmp_path)
    monkeypatch.setattr(compiling, "cores", lambda: 2)
    return calls


def test_it_helps_once(asked):
    for _ in range(2):
        with compiling.compiled_beside(NAMES, "joining", False):
            pass
    assert [call.arguments for call in asked] == [(NAMES, "joining", False, "pairs")]
    with compiling.compiled_beside(NAMES, "joining", True):  # other kernels
        pass
    assert len(asked) == 2


def test_it_is_asked_again_if_something_fails(asked):
    with pytest.raises(ZeroDivisionError), compiling.compiled_beside(NAMES, "caching", False):
        raise ZeroDivisionError
    with compiling.compiled_beside(NAMES, "caching", False):
        pass
    assert len(asked) == 2


def test_a_few_policies_need_no_help(asked):
    with compiling.compiled_beside(NAMES[:3], "joining", False):
        pass
    assert asked == []
