"""`penstock warm`: compile kernels ahead, for images and new machines."""

from typing import Annotated

from .output import AsJson, following, option, show_made


def warm(
    policy: Annotated[
        list[str] | None,
        option("A policy. Repeatable. [auto, and all that it tries]", "NAME[:key=value,...]"),
    ] = None,
    problem: Annotated[
        str | None, option("What the memory is for. [both]", "joining|caching")
    ] = None,
    goal: Annotated[str, option("The goal of joins.", "pairs|rows")] = "pairs",
    as_json: AsJson = False,
) -> None:
    """Compile kernels ahead, into PENSTOCK_CACHE_DIR or the user's cache folder.

    With Spark installed also all that its joins of two streams need. A kernel is kept once per
    machine, by what it is made of; what is there already is not compiled again. In a Dockerfile:
    ENV PENSTOCK_CACHE_DIR=/opt/penstock, then RUN penstock warm.
    """
    import time
    from importlib.util import find_spec

    from ..engine import warm as warming
    from ..errors import BadInput
    from ..kernel import jit
    from ..policies import choose

    folder = jit.cache_folder()
    if folder is None:
        raise BadInput(
            "there is no folder to keep kernels in; set PENSTOCK_CACHE_DIR to one that only you "
            "can write"
        )
    if problem not in (None, "joining", "caching"):
        raise BadInput(f"problem must be 'joining' or 'caching', got {problem!r}")
    names = policy or ["auto"]
    asked = [
        (name, each)
        for name in names
        for each in ("joining", "caching")
        if problem in (None, each) and (problem is not None or each in choose(name).policy.problems)
    ]
    for name, each in asked:
        choose(name, each)
    before, began = {path.name for path in folder.glob("*.nbc")}, time.perf_counter()
    with following("compiling") as progress:
        for number, (name, each) in enumerate(asked):
            progress(number, len(asked))
            warming.prepare_all(name, each, goal)
            if each == "joining" and find_spec("pyspark") is not None:
                from ..spark.runtime.rehearsal import rehearse_all

                rehearse_all(name, goal)
    made = {path.name for path in folder.glob("*.nbc")} - before
    used, seconds = len(jit.used_kernels()), round(time.perf_counter() - began, 1)
    report = {
        "folder": str(folder.parent),
        "policies": names,
        "compiled": len(made),
        "used": used,
        "seconds": seconds,
    }
    said = (
        f"{len(made)} kernels compiled in {seconds} s, {used - len(made)} were there; "
        f"kept in {folder.parent}"
    )
    show_made(report if as_json else said)
