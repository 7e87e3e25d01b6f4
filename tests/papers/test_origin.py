"""Results say of which commit they are, and the page says it of all of them."""

import subprocess

import pytest

from papers.experiments.origin import UNKNOWN, Origin, is_here, origin, told


@pytest.fixture
def repository(tmp_path):
    """A repository of one commit, and a function that calls git there."""

    def git(*arguments):
        who = ["-c", "user.name=nobody", "-c", "user.email=nobody@localhost"]
        done = subprocess.run(
            ["git", *who, *arguments], cwd=tmp_path, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    git("init", "-q")
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "one.py").write_text("")
    git("add", ".")
    git("commit", "-qm", "One")
    return tmp_path, git


def test_sources_are_clean_until_one_is_changed(repository):
    folder, git = repository
    at = git("rev-parse", "HEAD")
    assert origin(folder) == Origin(at, True)
    (folder / "notes.md").write_text("not among the sources")
    assert origin(folder) == Origin(at, True)
    (folder / "src" / "two.py").write_text("")
    assert origin(folder) == Origin(at, False)


def test_a_commit_is_here_if_it_led_to_the_present_one(repository):
    folder, git = repository
    git("checkout", "-qb", "other")
    git("commit", "-qm", "Two", "--allow-empty")
    other = git("rev-parse", "HEAD")
    assert is_here(other, folder)
    git("checkout", "-q", "-")
    assert not is_here(other, folder)
    assert not is_here("3fd2480", folder)


def test_outside_a_repository_the_commit_is_unknown(tmp_path):
    assert origin(tmp_path) == Origin(UNKNOWN, False)
    assert not is_here("3fd2480", tmp_path)


def test_mixed_and_changed_commits_are_told():
    one = {"name": "one", "commit": "a" * 40, "clean": True}
    two = {"name": "two", "commit": "b" * 40, "clean": False}
    assert told([one, one]) == f"All experiments were run at the commit {'a' * 10}."
    assert told([one, two, {"name": "old"}]) == (
        f"The experiments were run at different commits: at the commit {'a' * 10}: one; at the "
        f"commit {'b' * 10} with changes that were not committed: two; at an unknown commit: old."
    )
