"""Experiments one after the other, with one set of workers, into one folder."""

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

from papers.pool import Pool
from penstock.errors import BadInput

from .frame import Experiment, Verdict
from .lab import Lab, Progress, data_folder
from .origin import origin
from .output import write


class Outcome(NamedTuple):
    """What became of an experiment."""

    experiment: Experiment
    verdicts: list[Verdict]
    seconds: float
    missing: tuple[str, ...] = ()  # data without which it was skipped


def reproduce(
    experiments: Iterable[Experiment],
    out: str | Path,
    quick: bool = False,
    workers: int | None = None,
    following: Callable[[str], Progress] | None = None,
) -> Iterator[Outcome]:
    """Run experiments and write what they bring; yield each outcome.

    Cells that are found in OUT/cells are not done again, so that a run that was stopped goes on;
    those of other sources do not count. The record says at which commit it was run.
    `following` gives for the name of an experiment what is told of its progress.
    """
    folder = writable(out)
    with Pool(workers) as pool:
        for experiment in experiments:
            missing = missing_data(experiment)
            if missing:
                yield Outcome(experiment, [], 0.0, missing)
                continue
            started, before = perf_counter(), origin()
            progress = None if following is None else following(experiment.name)
            found = experiment.run(Lab(quick, pool, folder / "cells", progress))
            seconds = perf_counter() - started
            at = before._replace(clean=before.clean and origin() == before)
            write(experiment, found, folder, seconds, quick, at)
            yield Outcome(experiment, found.verdicts, seconds)


def missing_data(experiment: Experiment) -> tuple[str, ...]:
    """Return the files that an experiment needs and that are not there."""
    return tuple(name for name in experiment.needs if not (data_folder() / name).exists())


def writable(out: str | Path) -> Path:
    """Return the folder, made if need be; refuse one that cannot be written to."""
    folder = Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(
            f"--out must be a folder that can be made, got {out}: {error.strerror}; choose another"
        ) from error
    if not os.access(folder, os.W_OK):
        raise BadInput(f"--out must be a folder that can be written to, got {out}; choose another")
    return folder
