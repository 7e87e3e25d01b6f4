"""Interval caches: every figure of docs/precision.md, on walks, recordings and a bad network.

Run: python bench/precision.py [--only NAME ...] [--share N] [--data FOLDER] [--json FILE]
Recordings are looked for in PENSTOCK_DATA or ../shared/data, and left out where they are not there.
"""

import argparse
import itertools
import json
import math
import os
import platform
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench import precision_faults
from bench.swinging_door import compress, live_misses, rebuild
from papers.experiments.recordings import table, traffic, walks
from penstock.precision import Recorded, Workload, best_fixed, replay, simulate
from penstock.precision.rules import ALL
from penstock.precision.simulator import WalkSteps
from penstock.simulate.tracefiles import read_readings

RULES = ("adaptive:alpha=1", "adaptive:alpha=0.1", "settling")
FAULTY_STEPS = 10_000_000
GRID = tuple(itertools.product((1, 2), (10, 20), (1, 4)))  # T_q, δ_avg, ρ of section 4.2


def say(**row):
    shown = (f"{v:.4g}" if isinstance(v, float) else str(v) for v in row.values())
    print("  ".join(f"{name} {value}" for name, value in zip(row, shown, strict=True)), flush=True)
    return row


def steady(chosen):
    """Section 4.2: how far each rule is above the best fixed width, and the balance it keeps."""
    rows = []
    for period, delta, rho in GRID:
        found = _steady(Workload(period, delta, rho=rho, seed=1), 2 * chosen.steps)
        rows.append(say(period=period, delta=delta, rho=rho, **found))
    return rows


def _steady(workload, steps):
    best = best_fixed(workload, steps=steps)
    row = {"best_width": best.width, "best_cost": best.cost_rate}
    for rule in RULES:
        found = simulate(rule, workload, steps=steps)
        row[f"{rule} excess"] = found.cost_rate / best.cost_rate - 1
        row[f"{rule} width"] = found.mean_width
        row[f"{rule} balance"] = workload.rho * found.p_vr / found.p_qr - 1
    return row


def slopes(chosen):
    """How P_vr and P_qr depend on a fixed width: powers of it, by regression of logarithms."""
    cases = {
        "near the best width, T_q 2": (Workload(2, 20, seed=1), (4.5, 7.5)),
        "a wide range, T_q 2": (Workload(2, 20, seed=1), (2, 16)),
        "without queries, narrow": (Workload(1e9, 20, seed=1), (2, 16)),
        "without queries, wide": (Workload(1e9, 20, seed=1), (40, 200)),
    }
    rows = []
    for name, (workload, (low, high)) in cases.items():
        widths = np.geomspace(low, high, 9)
        found = [simulate(f"static:width={w}", workload, steps=2 * chosen.steps) for w in widths]
        row = {"case": name, "widths": f"{low} to {high}"}
        row["p_vr"] = _power(widths, [each.p_vr for each in found])
        if found[0].p_qr > 0:
            row["p_qr"] = _power(widths, [each.p_qr for each in found])
        rows.append(say(**row))
    return rows


def _power(widths, rates):
    return float(np.polyfit(np.log(widths), np.log(rates), 1)[0])


def pace(chosen):
    """The steps become ten times as large or small: what the width costs, refresh by refresh."""
    rows = []
    for rho, factor in itertools.product((1.0, 4.0), (10.0, 0.1)):
        delta = 20.0 * max(factor, 1)  # so that a copy is worth having before and after
        workload = Workload(2, delta, rho=rho)
        excess = _cost_curve(workload, WalkSteps(0.5 * factor, 1.5 * factor), chosen.steps // 3)
        for rule in RULES:
            widths = [_widths_after(rule, workload, factor, seed) for seed in range(chosen.trials)]
            found = excess(np.array(widths))
            at = {f"refresh {j}": float(found[:, j - 1].mean()) for j in (1, 3, 5, 10, 20, 40)}
            rows.append(say(rho=rho, factor=factor, delta=delta, rule=rule, **at))
    return rows


def _cost_curve(workload, walk, steps):
    """Return the function from a width to how far its cost is above the least."""
    best = best_fixed(workload, steps=steps, walk=walk).width
    widths = best * np.geomspace(1 / 30, 30, 61)
    costs = [
        simulate(f"static:width={w}", workload, steps=steps, walk=walk).cost_rate for w in widths
    ]
    return lambda width: np.interp(np.log(width), np.log(widths), costs) / min(costs) - 1


def _widths_after(rule, workload, factor, seed, calm=5000, after=30_000, count=40):
    random = np.random.default_rng(seed)
    steps = random.uniform(0.5, 1.5, calm + after) * random.choice([-1, 1], calm + after)
    steps[calm:] *= factor
    times = np.arange(1.0, calm + after + 1)
    recorded = Recorded(times, np.zeros(len(times), np.int64), np.cumsum(steps))
    log = replay(rule, workload, recorded, log=calm + after).refreshes
    return log[log["time"] > calm]["width"][:count]


def exact(chosen):
    """Section 4.6: thresholds that meet, and none, beside [WJH97] at its best x."""
    rows = []
    for name, recorded in _many_sources(chosen).items():
        scale = 40 * float(np.abs(np.diff(recorded.value[recorded.source == 0])).mean())
        for rho, period in itertools.product((1, 4), (0.5, 1, 2, 5)):
            plain = Workload(period, 0.0, 0.0, rho)
            best = min(replay(f"exact:x={x}", plain, recorded).cost_rate for x in range(3, 46, 3))
            meet = "adaptive:alpha=1,tau_0=1e-6,tau_inf=1e-6,width=1e-6"
            row = {"tau_inf = tau_0": replay(meet, plain, recorded).cost_rate / best - 1}
            for factor in (1, 5):
                loose = Workload(period, factor * scale, 0.5, rho)
                for rule in ("adaptive:alpha=1,tau_0=1e-6", "settling"):
                    cost = replay(rule, loose, recorded).cost_rate
                    row[f"{rule}, δ {factor * scale:.3g}"] = cost / best - 1
            rows.append(say(data=name, rho=rho, period=period, exact=best, **row))
    return rows


def _many_sources(chosen):
    """Return 50 walks, 50 that pause now and then, and the traffic of 50 hosts."""
    steps = chosen.steps // 100
    found = {"walks": table(walks(steps)), "walks with pauses": table(walks(steps, pauses=True))}
    logs = [chosen.data / "netflow" / f"zeek_wrccdc2018_{kind}.log.gz" for kind in ("dns", "ssl")]
    if all(log.exists() for log in logs):
        found["hosts"] = table(traffic(logs, 50))
    return found


def divergence(chosen):
    """Section 4.7: stale values, beside [HSW94] with its window of 23."""
    rows = []
    random, steps = np.random.default_rng(1), chosen.steps // 5
    for share, period, delta in itertools.product((1.0, 0.3), (1, 5), (1, 2, 5, 10, 20, 40)):
        times = np.flatnonzero(random.random(steps) < share) + 1.0
        updates = np.arange(1.0, len(times) + 1)
        recorded = Recorded(times, np.zeros(len(times), np.int64), updates)
        workload = Workload(period, delta)
        rival = replay("divergence:k=23", workload, recorded).cost_rate
        row = {
            rule: replay(rule, workload, recorded).cost_rate / rival - 1
            for rule in (
                "adaptive:alpha=1,tau_0=1,stale=true",
                "adaptive:alpha=0.1,tau_0=1,stale=true",
                "settling:stale=true",
            )
        }
        rows.append(say(updates=share, period=period, delta=delta, divergence=rival, **row))
    return rows


def recorded(chosen):
    """Real series: messages beside the best fixed width of the data set, chosen with hindsight."""
    rows = []
    for name, (series, cases) in _recordings(chosen).items():
        for period, delta, asked, variation in cases:
            workload = Workload(period, delta, variation, query="avg", asked=asked)
            best = best_fixed(workload, recorded=series)
            row = {"best_width": best.width, "best_cost": best.cost_rate}
            for rule in RULES:
                row[rule] = replay(rule, workload, series).cost_rate / best.cost_rate - 1
            case = {"period": period, "delta": delta, "asked": asked, "variation": variation}
            rows.append(say(data=name, **case, **row))
    for name in dict.fromkeys(row["data"] for row in rows):
        ratios = [[1 + row[rule] for rule in RULES] for row in rows if row["data"] == name]
        means = np.exp(np.log(ratios).mean(axis=0)) - 1
        rows.append(say(data=f"{name}, all", **dict(zip(RULES, means.tolist(), strict=True))))
    return rows


def _recordings(chosen):
    found = {}
    beijing = chosen.data / "sensors" / "beijing_prsa_12stations_hourly.csv.gz"
    if beijing.exists():
        read = read_readings(beijing, key="station", value="TEMP")
        series = Recorded(read.time / 3600, read.source, read.value)
        cases = itertools.product((1, 6), (1.0, 4.0), (10, 1), (0.5, 1.0))
        found["temperatures, hours and °C"] = series, tuple(cases)
    ticks = chosen.data / "trades" / "lean_equity_trade_ticks_20131007-11.csv.gz"
    if ticks.exists():
        cases = itertools.product((1, 10), (0.05, 0.2), (4, 1), (0.5, 1.0))
        found["stocks, seconds and $"] = _ticks(ticks, days=2), tuple(cases)
    options = chosen.data / "trades" / "lean_option_minute_trades_many_contracts.csv.gz"
    if options.exists():
        cases = itertools.product((0.1, 1), (0.2, 1.0), (10,), (0.5, 1.0))
        found["2,564 options, minutes and $"] = _options(options), tuple(cases)
    return found


def _ticks(path, days):
    """Trades of the regular session of some days, the nights taken out."""
    table = pa.csv.read_csv(path)
    day = np.unique(table["date"].to_numpy(), return_inverse=True)[1]
    second = table["ms_of_day"].to_numpy() / 1000 - 34_200
    kept = (second >= 0) & (second < 23_400) & (day < days)
    kept &= table["suspicious"].to_numpy() == 0
    symbol = table["symbol"].dictionary_encode().combine_chunks().indices.to_numpy()
    return _sorted((day * 23_400 + second)[kept], symbol[kept], table["price"].to_numpy()[kept])


def _options(path):
    table = pa.csv.read_csv(path)
    day = np.unique(table["date"].to_numpy(), return_inverse=True)[1]
    minute = table["ms_of_day"].to_numpy() / 60_000 - 570
    contract = table["contract"].dictionary_encode().combine_chunks().indices.to_numpy()
    return _sorted(day * 390 + minute, contract, table["close"].to_numpy())


def _sorted(times, source, value):
    order = np.argsort(times, kind="stable")
    return Recorded(times[order], source[order].astype(np.int64), value[order].astype(float))


def doors(chosen):
    """Swinging doors on the temperatures: what a historian keeps, and what it knows meanwhile."""
    rows = []
    beijing = chosen.data / "sensors" / "beijing_prsa_12stations_hourly.csv.gz"
    if not beijing.exists():
        return rows
    read = read_readings(beijing, key="station", value="TEMP")
    for deviation in (0.5, 1.0, 2.0):
        kept, errors, misses, intervals = 0, [], 0, 0
        for source in range(len(read.labels)):
            mine = read.source == source
            when, value = read.time[mine], read.value[mine]
            rows_kept = compress(when, value, deviation)
            kept += len(rows_kept)
            errors.append(np.abs(rebuild(when, value, rows_kept) - value).max())
            misses += live_misses(value, rows_kept, deviation)
            alone = Recorded(when, np.zeros(len(when), np.int64), value)
            workload = Workload(1e12, 2 * deviation, 0.0)
            found = replay(f"static:width={2 * deviation}", workload, alone)
            intervals += found.cost_rate * found.span / 0.9
        share = misses / len(read.value)
        rows.append(
            say(deviation=deviation, kept=kept, worst=float(max(errors)), live_misses=share)
            | say(interval_messages=round(intervals))
        )
    return rows


def faults(chosen):
    """Random steps over a bad network: answers that miss the truth."""
    rows = []
    rules = ("settling", "adaptive", "growing", "adaptive:tau_0=1,tau_inf=20")
    for seed, rule in enumerate(rules):
        start = time.perf_counter()
        counts = precision_faults.run(rule, FAULTY_STEPS // len(rules), seed)
        rows.append({"rule": rule, "seconds": time.perf_counter() - start} | counts)
        say(
            rule=rule, missed=counts.get("missed", 0), **{k: counts[k] for k in ("queries", "sent")}
        )
    print("missed in all:", sum(row.get("missed", 0) for row in rows))
    return rows


def speed(chosen):
    """Source-steps a second on one core: of the processor's time, so that others do not count."""
    rows = []
    for rule, sources in itertools.product((rule.name for rule in ALL), (1, 50)):
        steps = chosen.steps * 3 // sources
        workload = Workload(2, 20.0 * min(sources, 10))
        simulate(rule, workload, sources=sources, steps=100)  # compiles
        best = math.inf
        for _ in range(3):
            start = time.process_time()
            simulate(rule, workload, sources=sources, steps=steps)
            best = min(best, time.process_time() - start)
        rows.append(say(rule=rule, sources=sources, steps_per_second=steps * sources / best))
    return rows


PARTS = {
    part.__name__: part
    for part in (steady, slopes, pace, exact, divergence, recorded, doors, faults, speed)
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument(
        "--share", type=int, default=2, help="do one in so many of a full run's steps"
    )
    default = Path(__file__).resolve().parents[2] / "shared" / "data"
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("PENSTOCK_DATA", default)))
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args()
    chosen.steps, chosen.trials = 1_000_000 // chosen.share, 200 // chosen.share
    report = {"machine": platform.node()}
    for name in chosen.only:
        print(f"== {name}: {PARTS[name].__doc__}")
        report[name] = PARTS[name](chosen)
        if chosen.json:
            chosen.json.write_text(json.dumps(report, indent=1, default=int) + "\n")


if __name__ == "__main__":
    main()
