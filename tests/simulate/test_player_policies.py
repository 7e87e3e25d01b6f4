import pytest

from penstock import policies
from penstock.errors import BadInput
from penstock.simulate.flowexpect import FLOWEXPECT
from penstock.simulate.player import check, choose, suitable
from penstock.simulate.scenario import Scenario, TraceFile
from penstock.simulate.workloads import Generated


def test_all_parameters_in_force_are_reported():
    chosen = choose("gdj:percentile=0.5", "joining")
    assert chosen.policy.name == "gdj"
    assert chosen.all_params["percentile"] == 0.5
    assert set(chosen.all_params) == set(policies.named("gdj").parameters)


@pytest.mark.parametrize(
    ("text", "problem", "complaint"),
    [
        ("lur", "joining", "unknown policy 'lur'; did you mean"),
        ("gdj:percentil=1", "joining", "unknown parameter 'percentil'"),
        ("life", "caching", "'life' is not defined for caching"),
        ("lfd", "joining", "'lfd' is not defined for joining"),
        ("opt:k=1", "joining", "unknown parameter 'k' of policy 'opt'"),
        ("flowexpect", "caching", "'flowexpect' is not defined for caching"),
        ("flowexpect:k=1", "joining", "unknown parameter 'k' of policy 'flowexpect'"),
        ("", "joining", "unknown policy ''"),
        ("xyz", "joining", r"unknown policy 'xyz'; known: .*, flowexpect, opt, lfd$"),
    ],
)
def test_nonsense_is_refused(text, problem, complaint):
    with pytest.raises(BadInput, match=complaint):
        choose(text, problem)


@pytest.mark.parametrize(
    ("text", "options", "complaint"),
    [
        ("gdj:percentile=7", {}, "'percentile'"),
        ("life", {}, "weighs what remains of a window"),
        ("opt", {"layout": "split"}, "'opt' .* unified layout .*--layout"),
        ("flowexpect", {"layout": "split"}, "'flowexpect' .* unified layout .*--layout"),
        ("flowexpect:lookahead=0", {}, "'lookahead' of policy 'flowexpect' must be from 1"),
        ("rand", {"layout": "split", "memory": 1}, "at least 1 per memory"),
        ("opt", {"drop": 0.1}, "'opt' takes all arrivals.*--drop"),
        ("flowexpect", {"drop": 0.1}, "'flowexpect' takes all arrivals.*--drop"),
        ("opt", {"distortion": True}, "'opt' counts results and does not list them"),
        ("opt", {"source": Generated("gdj:streams=3")}, "'opt' is defined for one join of two"),
        ("hist", {"source": Generated("gdj:streams=3")}, "'hist' is defined for one join of two"),
        (
            "rand",
            {"source": Generated("gdj:streams=4"), "layout": "split", "memory": 3},
            r"at least 1 per memory \(4 of them\), got 3",
        ),
    ],
)
def test_what_would_fail_later_is_refused_at_once(text, options, complaint):
    options = {"source": Generated("walk"), "memory": 5, "within": None} | options
    scenario = Scenario(problem="joining", **options)
    with pytest.raises(BadInput, match=complaint):
        check(choose(text, "joining"), scenario)


def test_a_policy_that_needs_models_is_refused_where_there_are_none(tmp_path):
    file = tmp_path / "any.csv"
    file.write_text("key,side\n1,a\n1,b\n")
    for source in (TraceFile(str(file)), Generated("zipf")):
        scenario = Scenario(source, "joining", 5)
        with pytest.raises(BadInput, match="'flowexpect' needs the models of both streams"):
            check(choose("flowexpect", "joining"), scenario)


def test_a_planner_is_named_like_a_policy():
    chosen = choose("flowexpect:lookahead=3", "joining")
    assert chosen.policy is FLOWEXPECT
    assert (chosen.all_params, str(chosen)) == ({"lookahead": 3}, "flowexpect:lookahead=3")
    assert choose("flowexpect", "joining").all_params == {"lookahead": 5}
    check(chosen, Scenario(Generated("walk"), "joining", 5))


@pytest.mark.parametrize("problem", ["joining", "caching"])
def test_all_policies_that_are_defined_are_suitable(problem):
    names = [policy.name for policy in policies.BUILT_IN if problem in policy.problems]
    assert suitable(Scenario(Generated("tower"), problem, 5)) == [*names, "auto"]


def test_without_a_window_no_policy_weighs_it(tmp_path):
    file = tmp_path / "any.csv"
    file.write_text("key,side\n1,a\n1,b\n")
    assert "life" not in suitable(Scenario(Generated("zipf"), "joining", 5))
    assert "life" in suitable(Scenario(Generated("zipf"), "joining", 5, within=9))
    assert "life" not in suitable(Scenario(TraceFile(str(file)), "joining", 5))


def test_policies_for_two_streams_are_left_out_for_more():
    joining = [policy for policy in policies.BUILT_IN if "joining" in policy.problems]
    names = [policy.name for policy in joining if not policy.needs_window]
    many = suitable(Scenario(Generated("gdj:streams=3"), "joining", 5))
    assert many == [*(name for name in names if name != "hist"), "auto"]
    assert suitable(Scenario(Generated("gdj"), "joining", 5)) == [*names, "auto"]


def test_without_numbers_no_policy_uses_their_order(tmp_path):
    for name, expected in (("7", True), ("seven", False)):
        file = tmp_path / f"{name}.csv"
        file.write_text(f"key,side\n{name},a\n{name},b\n")
        names = suitable(Scenario(TraceFile(str(file)), "joining", 5))
        assert ("heeb" in names) == expected
