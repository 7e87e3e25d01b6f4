import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from typer.testing import CliRunner

from penstock import __version__, policies
from penstock.cli import app
from tests.marks import some
from tests.patience import PATIENCE, until
from tests.signals import handled

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("PENSTOCK_DATA", ROOT.parent / "shared" / "data"))
TEMPERATURES = DATA / "temps" / "melbourne_daily_max_temperatures.csv"
needs_temperatures = pytest.mark.skipif(
    not TEMPERATURES.exists(), reason=f"no {TEMPERATURES}; set PENSTOCK_DATA to the folder of data"
)
TOWER = ["--workload", "tower", "--memory", "10", "--length", "300"]


def call(*arguments):
    return CliRunner().invoke(app, list(arguments))


def simulate(*arguments):
    result = call("simulate", *arguments, "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    return json.loads(result.stdout)


def shell(*arguments, **options):
    command = [sys.executable, "-c", "from penstock.cli import main; main()", *arguments]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options
    )


# What is promised


def test_the_shape_of_the_report():
    report = simulate(*TOWER, "--policy", "gdj:percentile=0.5", "--policy", "opt", "--runs", "2")
    scores = report.pop("policies")
    assert report == {
        "workload": "tower",
        "problem": "joining",
        "memory": 10,
        "length": 300,
        "warmup": 40,
        "runs": 2,
    }
    assert [score["policy"] for score in scores] == ["gdj", "opt"]
    assert scores[0]["params"] == {"percentile": 0.5, "method": 1, "credit": "results"}
    assert scores[1]["params"] == {}
    for score in scores:
        assert list(score) == [
            "policy",
            "params",
            "results",
            "full",
            "recall",
            "tuples_per_second",
        ]
        assert set(score["results"]) == {"mean", "std"}
        assert set(score["full"]) == set(score["recall"]) == {"mean"}
        assert score["tuples_per_second"] > 0
        assert 0 <= score["recall"]["mean"] <= 1


@needs_temperatures
def test_temperatures_give_the_known_hits():
    options = ["--key", "Temperature", "--problem", "caching", "--memory", "50"]
    names = ["--policy", "lru", "--policy", "lfd", "--policy", "opt"]
    report = simulate("--trace", str(TEMPERATURES), *options, *names)
    assert [score["results"]["mean"] for score in report["policies"]] == [1380, 2210, 2210]
    assert report["workload"] == TEMPERATURES.name
    assert (report["length"], report["warmup"], report["runs"]) == (3650, 0, 1)


def test_random_eviction_on_the_tower():
    report = simulate("--workload", "tower", "--memory", "10", "--policy", "rand", "--runs", "10")
    assert report["length"] == 5000
    assert report["policies"][0]["results"]["mean"] == pytest.approx(2960, rel=0.02)


def test_a_seed_says_it_all():
    def results(*more):
        report = simulate(*TOWER, "--policy", "rand", "--runs", "3", *more)
        return report["policies"][0]["results"]

    assert results() == results("--seed", "0")
    assert results("--seed", "8") == results("--seed", "8") != results()


def test_an_exact_budget_misses_nothing():
    options = ["--workload", "zipf", "--length", "300", "--within", "20", "--warmup", "50"]
    report = simulate(*options, "--memory", "42", "--policy", "rand", "--policy", "opt")
    assert [score["recall"]["mean"] for score in report["policies"]] == [1.0, 1.0]


def test_a_trace_of_a_join(tmp_path):
    file = tmp_path / "calls.csv"
    file.write_text("user,node,where,at\na,1,in,1\na,1,out,2\na,2,out,3\na,1,out,9\n")
    columns = ["--key", "user,node", "--side", "where", "--time", "at"]
    report = simulate(
        "--trace", str(file), *columns, "--memory", "9", "--within", "5", "--policy", "lru"
    )
    assert report["workload"] == "calls.csv"
    assert (report["length"], report["warmup"]) == (4, 0)
    assert report["policies"][0]["results"]["mean"] == 1


def test_a_window_of_timestamps_has_a_unit(tmp_path):
    file = tmp_path / "calls.csv"
    file.write_text("key,side,time\na,in,2026-01-01T10:00:00\na,out,2026-01-01T10:10:00\n")
    options = ["--trace", str(file), "--memory", "9", "--policy", "lru", "--within"]
    for within, results in [("10 minutes", 1), ("599s", 0)]:
        assert simulate(*options, within)["policies"][0]["results"]["mean"] == results
    refused = call("simulate", *options, "5", "--json")
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert refused.stderr == (
        "penstock: within must have a unit, as the times of calls.csv do, got 5; "
        "write --within '5 seconds', or another unit\n"
    )


def test_all_policies_are_compared_by_default():
    report = simulate(*TOWER, "--problem", "caching")
    names = [policy.name for policy in policies.BUILT_IN if "caching" in policy.problems]
    assert [score["policy"] for score in report["policies"]] == [*names, "auto"]


def test_both_layouts():
    for layout in ("unified", "split"):
        report = simulate(*TOWER, "--layout", layout, "--policy", "rand")
        assert report["policies"][0]["results"]["mean"] > 0


SHAPES = ["streams=3", "streams=4,pairs=true", "attributes=2"]


@pytest.mark.parametrize("options", some(SHAPES, SHAPES[1:2]))
def test_many_streams_pairs_of_them_and_several_attributes(options):
    stream = ["--workload", f"gdj:{options}", "--length", "300", "--within", "30"]
    report = simulate(*stream, "--memory", "12", "--policy", "lru")
    assert report["workload"] == f"gdj:{options}"
    assert 0 < report["policies"][0]["recall"]["mean"] < 1
    plenty = simulate(*stream, "--memory", "500", "--warmup", "50", "--policy", "lru")
    assert plenty["policies"][0]["recall"]["mean"] == 1


def test_dropped_arrivals_and_distortion():
    stream = ["--workload", "zipf", "--length", "600", "--within", "50", "--memory", "20"]
    report = simulate(*stream, "--drop", "0.25", "--distortion", "--policy", "lru")
    assert report["drop"] == 0.25
    score = report["policies"][0]
    assert list(score)[-1] == "distortion"
    assert 0 < score["distortion"]["sse"]["mean"] < 1
    assert score["distortion"]["kl"]["mean"] > 0
    shown = call("simulate", *stream, "--drop", "0.25", "--distortion", "--policy", "lru").stdout
    assert "25% dropped" in shown
    assert "SSE" in shown


# For people


def test_a_table_in_the_order_asked_for():
    result = call("simulate", *TOWER, "--policy", "rand", "--policy", "lru", "--policy", "opt")
    assert (result.exit_code, result.stderr) == (0, "")
    assert "memory 10" in result.stdout
    assert result.stdout.index("rand") < result.stdout.index("lru") < result.stdout.index("opt")


def test_a_plan_is_a_policy_like_any_other():
    report = simulate(*TOWER, "--policy", "flowexpect:lookahead=2", "--policy", "opt")
    plan, opt = report["policies"]
    assert (plan["policy"], plan["params"]) == ("flowexpect", {"lookahead": 2})
    assert 0 < plan["results"]["mean"] <= opt["results"]["mean"]


def test_the_list_of_policies():
    shown = call("policies").stdout
    listed = json.loads(call("policies", "--json").stdout)["policies"]
    names = [policy.name for policy in policies.BUILT_IN]
    assert [row["policy"] for row in listed] == [*names, "auto", "flowexpect", "opt", "lfd"]
    assert all(row["policy"] in shown for row in listed)
    gdj = next(row for row in listed if row["policy"] == "gdj")
    assert gdj["params"]["percentile"] == 0.2
    assert gdj["problems"] == ["joining", "caching"]


def test_the_version():
    assert call("--version").stdout == f"penstock {__version__}\n"


def test_without_a_command_help_is_given():
    result = call()
    assert result.exit_code == 0
    assert "simulate" in result.stdout


# What can go wrong

BAD = {
    "nothing to replay": (["--memory", "5"], "--workload or --trace"),
    "two things to replay": ([*TOWER, "--trace", "a.csv"], "exclude each other"),
    "no memory": ([*TOWER, "--memory", "0"], "memory must be a whole number of at least 1, got 0"),
    "memory missing": (["--workload", "tower"], "Missing option '--memory'"),
    "memory no number": ([*TOWER, "--memory", "many"], "for '--memory'"),
    "no length": ([*TOWER, "--length", "0"], "length must be from 1"),
    "no runs": ([*TOWER, "--runs", "0"], "runs must be a whole number of at least 1, got 0"),
    "warmup below 0": (
        [*TOWER, "--warmup", "-1"],
        "whole number of at least 0, got -1",
    ),
    "warmup too long": ([*TOWER, "--warmup", "300"], "warmup must be below the length of 300"),
    "within below 0": ([*TOWER, "--within", "-1"], "within must be at least 0, got -1"),
    "seed below 0": ([*TOWER, "--seed", "-1"], "seed must be a whole number of at least 0, got -1"),
    "workload": (["--workload", "rof", "--memory", "5"], "did you mean 'roof'"),
    "policy": ([*TOWER, "--policy", "lur"], "unknown policy 'lur'"),
    "parameter": (
        [*TOWER, "--policy", "gdj:percentile=two"],
        "must be of type float or auto, got 'two'",
    ),
    "range": ([*TOWER, "--policy", "gdj:percentile=2"], "'percentile' of policy 'gdj'"),
    "problem": ([*TOWER, "--problem", "catching"], "did you mean 'caching'"),
    "layout": ([*TOWER, "--layout", "splitt"], "did you mean 'split'"),
    "key of a workload": ([*TOWER, "--key", "a"], "--key names a column of a trace"),
    "side of a workload": ([*TOWER, "--side", "a"], "--side names a column of a trace"),
    "time of a workload": ([*TOWER, "--time", "a"], "--time names a column of a trace"),
    "no window": (
        ["--workload", "zipf", "--memory", "5", "--policy", "life"],
        "remains of a window, and there is none; give --within\n",
    ),
    "lfd of a join": ([*TOWER, "--policy", "lfd"], "'lfd' is not defined for joining"),
    "opt of a split": (
        [*TOWER, "--policy", "opt", "--layout", "split"],
        "'opt' has the unified",
    ),
    "option of a workload": (
        ["--workload", "gdj:stream=3", "--memory", "5"],
        "unknown parameter 'stream' of workload 'gdj'; did you mean 'streams'",
    ),
    "drop": ([*TOWER, "--drop", "1"], "drop must be from 0 to below 1, got 1.0"),
    "opt of three streams": (
        ["--workload", "gdj:streams=3", "--memory", "5", "--policy", "opt"],
        "'opt' is defined for one join of two streams",
    ),
    "distortion of a cache": (
        [*TOWER, "--problem", "caching", "--distortion"],
        "a cache has no join results to sample",
    ),
    "no such file": (["--trace", "/no/such.csv", "--memory", "5"], "there is no file /no/such.csv"),
    "no such option": ([*TOWER, "--memroy", "5"], "No such option"),
    "a stray word": ([*TOWER, "stray"], "stray"),
}


@pytest.mark.parametrize("case", BAD)
def test_an_error_is_one_sentence(case):
    arguments, complaint = BAD[case]
    result = call("simulate", *arguments, "--json")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("penstock: ")
    assert result.stderr.count("\n") == 1
    assert complaint in result.stderr


def test_a_trace_has_no_models(tmp_path):
    trace = tmp_path / "a.csv"
    trace.write_text("time,side,key\n1,0,7\n2,1,7\n")
    given = ["--trace", str(trace), "--memory", "5", "--policy", "flowexpect"]
    result = call("simulate", *given, "--json")
    assert result.exit_code == 2
    assert "needs the models" in result.stderr


def test_options_are_named_as_they_are_typed(tmp_path):
    file = tmp_path / "pages.csv"
    file.write_text("page,who\n/home,ann\n")
    for command in (["simulate", "--memory", "5", "--trace"], ["count", "--support", "1"]):
        result = call(*command, str(file))
        assert result.stderr == (
            f"penstock: {file} has no column 'key' for the key; choose one with --key. "
            "Its columns: page, who\n"
        )
    typed = call("simulate", *TOWER, "--policy", "gdj:seed=")  # and what was typed stays
    assert "parameter 'seed=' of policy" in typed.stderr


def test_an_unknown_command():
    result = call("simulat")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == "penstock: No such command 'simulat'. Did you mean 'simulate'?\n"


# As a program


def test_errors_of_the_program():
    program = shell("simulate", "--workload", "towr", "--memory", "5", "--json")
    out, err = program.communicate(timeout=PATIENCE)
    assert (program.returncode, out) == (2, "")
    assert err.startswith("penstock: unknown workload 'towr'; did you mean 'tower'?")
    assert err.count("\n") == 1


def test_the_program_says_nothing_but_json():
    program = shell("simulate", *TOWER, "--policy", "rand", "--runs", "2", "--json")
    out, err = program.communicate(timeout=PATIENCE)
    assert (program.returncode, err) == (0, "")
    assert json.loads(out)["runs"] == 2


def long_work(folder, policies, runs):
    """Start hours of work, and return once it is going on."""
    stream = ["--workload", "zipf", "--length", "2000000", "--memory", "1000", "--runs", str(runs)]
    program = shell(
        "simulate",
        *[*stream, "--problem", "caching", *["--policy", "lhd"] * policies, "--json"],
        env=os.environ | {"PENSTOCK_CACHE_DIR": str(folder)},
        start_new_session=True,
    )
    until(lambda: list(folder.rglob("*.nbc")))  # the kernel is compiled: now it runs
    if runs > 1:
        until(lambda: len(psutil.Process(program.pid).threads()) > 2)
    return program


@pytest.mark.parametrize(("policies", "runs"), [(2000, 1), (1, 10_000)], ids=["alone", "parallel"])
def test_ctrl_c_is_quiet(tmp_path, policies, runs):
    with handled(signal.SIGINT, signal.default_int_handler):
        program = long_work(tmp_path, policies, runs)
    os.killpg(program.pid, signal.SIGINT)
    try:
        out, err = program.communicate(timeout=PATIENCE)
    finally:
        program.kill()
    assert (program.returncode, out, err) == (130, "", "")


def test_in_the_background_ctrl_c_does_nothing_and_a_termination_is_quiet(tmp_path):
    with handled(signal.SIGINT, signal.SIG_IGN):  # as after `nohup`, or `&` in a script
        program = long_work(tmp_path, policies=1, runs=10_000)
    os.killpg(program.pid, signal.SIGINT)
    program.terminate()  # had it heeded the interrupt, it would end with code 130
    try:
        out, err = program.communicate(timeout=PATIENCE)
    finally:
        program.kill()
    assert (program.returncode, out, err) == (128 + signal.SIGTERM, "", "")


def python(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout, done.stderr


@pytest.mark.parametrize(
    ("module", "heavy"),
    [
        ("penstock", {"numba", "numpy", "pyarrow", "pyspark"}),
        ("penstock.cli", {"ortools", "pyspark", "rich"}),
    ],
)
def test_importing_it_loads_no_heavy_package(module, heavy):
    assert python(f"import sys, {module}; print({heavy} & set(sys.modules))") == ("set()\n", "")


LOGGING = """
import logging, sys
from penstock.cli.program import main
from penstock.kernel.jit import say_compiling

def program():
    say_compiling("a kernel")
    logging.getLogger("penstock.spark.runtime.operator").warning("no image")

sys.argv[1:] = [{command!r}, "anything"]
main(program)
"""


@pytest.mark.parametrize(("command", "is_logged"), [("simulate", False), ("run", True)])
def test_only_what_is_compiled_goes_unlogged_and_not_by_run(command, is_logged):
    _, said = python(LOGGING.format(command=command))
    assert "no image" in said
    assert ("compiling a kernel" in said) == is_logged


@pytest.mark.parametrize("command", [[], ["simulate"], ["advise"], ["profile"]])
def test_help_names_flags_without_a_type(command):
    said = call(*command, "--help").stdout
    assert "--help" in said
    assert "<bool>" not in said


def warm(folder, *words):
    program = shell("warm", *words, env=os.environ | {"PENSTOCK_CACHE_DIR": str(folder)})
    return *program.communicate(timeout=PATIENCE), program.returncode


def test_kernels_are_compiled_ahead_and_once(tmp_path):
    asked = ["--policy", "fifo", "--problem", "caching", "--json"]
    first, again = (json.loads(warm(tmp_path, *asked)[0]) for _ in range(2))
    assert first["folder"] == str(tmp_path)
    assert first["compiled"] == first["used"] == len([*tmp_path.rglob("*.nbc")]) > 0
    assert (again["compiled"], again["used"]) == (0, first["used"])


def test_there_must_be_a_folder_to_keep_kernels_in():
    out, err, code = warm("")
    assert (out, code) == ("", 2)
    assert "set PENSTOCK_CACHE_DIR to one that only you can write" in err
