"""A second process that compiles too: when it is started, and that it is ended."""

import pytest

from penstock.advisor import warm

NAMES = ("fifo", "lru", "clock", "rand")


class Helper:
    """What stands for a process."""

    def __init__(self):
        self.ended = False

    def kill(self):
        self.ended = True

    def wait(self):
        assert self.ended


@pytest.fixture
def started(monkeypatch, tmp_path):
    helpers = []

    def start(*_):
        helpers.append(Helper())
        return helpers[-1]

    monkeypatch.setattr(warm, "_start", start)
    monkeypatch.setattr(warm, "cache_folder", lambda: tmp_path)
    monkeypatch.setattr(warm, "cores", lambda: 2)
    monkeypatch.setattr(warm.config, "DISABLE_JIT", 0)
    return helpers


def test_it_helps_once(started):
    for _ in range(2):
        with warm.compiled_beside(NAMES, "joining", False):
            pass
    assert [each.ended for each in started] == [True]
    with warm.compiled_beside(NAMES, "joining", True):  # other kernels
        pass
    assert len(started) == 2


def test_it_is_ended_and_asked_again_if_something_fails(started):
    with pytest.raises(ZeroDivisionError), warm.compiled_beside(NAMES, "caching", False):
        raise ZeroDivisionError
    assert started[0].ended
    with warm.compiled_beside(NAMES, "caching", False):
        pass
    assert len(started) == 2


def test_a_few_policies_need_no_help(started):
    with warm.compiled_beside(NAMES[:3], "joining", False):
        pass
    assert started == []
