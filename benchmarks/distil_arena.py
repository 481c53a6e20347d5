"""harness/judging/measured.json: what `judge` says that the arena measured.

    python benchmarks/distil_arena.py size OUT.json [K ...]   false alarms of the tests on calibrated problems (4 CPU minutes)
    python benchmarks/distil_arena.py halves OUT.json         coverage of intervals from halves on the arena's problems (1 minute)
    python benchmarks/distil_arena.py classes OUT.json        coverage of the intervals of class-wise errors (5 minutes)
    python benchmarks/distil_arena.py join INDEX.parquet HALVES.json CLASSES.json SIZE.json ...     writes measured.json

INDEX.parquet is results/arena/index_settings.parquet, which `calharness experiment=arena_index` writes. Regret is the geometric
mean over the settings of a cell (notion, n, k); 7 and 26 classes count as 10.
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

import numpy as np

import harness
from harness.judging import measured
from harness.judging.calibrated import class_tests, closed
from harness.judging.estimates import _made
from harness.judging.scalar_test import scalar_test
from harness.judging.vector_test import vector_test

LEVEL = 0.95
RESAMPLES = 199  # the tests are exact with any number of resamples
CALIBRATED = {
    2: ["beta_calibrated"],
    3: ["dirichlet3_calibrated", "ties_k3_calibrated"],
    10: ["dirichlet10_calibrated", "saturated_k10_calibrated", "rare_k10_calibrated"],
    100: ["rare_k100"],  # no problem of 100 classes is calibrated: labels are drawn from its p
}
TRIALS = {2: 1000, 3: 500, 10: 120, 100: 30}  # per problem
SIZES = {2: (50, 200, 1000, 5000), 3: (50, 200, 1000, 5000), 10: (50, 200, 1000, 5000), 100: (1000,)}
AT_5000 = 0.4  # share of the trials made there
KEPT = ("best", "best_fast", "best_lower", "binned15", "certified_interval")
PUBLISHED = (
    "debiased15_l1",
    "binned_cube_root",
    "variational_isotonic",
    "variational_temperature",
    "variational_histogram",
    "variational_vector",
)  # fmt: skip  (of those at the top of the arena the ones that bear bounds or are cheap enough for intervals from halves)
HALVES = ("binned15", "debiased15_l1", "binned_cube_root")
ON = {
    "binary": ["beta_calibrated", "beta_overconfident", "wavy_k2", "stepped_k2", "local_k2", "nonmonotone_k2", "sparse_k2",
               "ties_k2", "saturated_k2", "rare_k2", "mixed_k2"],
    "top_label": ["ties_k3_calibrated", "dirichlet3_overconfident", "wavy_k10", "stepped_k3", "local_k3", "nonmonotone_k10",
                  "sparse_k3", "saturated_k10", "rare_k10", "mixed_k3", "fitted_tabular_k7_dry_bean"],
}  # fmt: skip

OF_CLASSES = {
    3: [
        "dirichlet3_calibrated",
        "dirichlet3_overconfident",
        "dirichlet3_underconfident",
        "dirichlet3_harmonic",
        "ties_k3_calibrated",
        "fitted_tabular_k3_abalone",
        "fitted_tabular_k3_connect_4",
    ],
    10: [
        "dirichlet10_calibrated",
        "dirichlet10_overconfident",
        "dirichlet10_underconfident",
        "dirichlet10_harmonic",
        "saturated_k10_calibrated",
        "rare_k10_calibrated",
        "fitted_images_k10_lenet5",
        "fitted_images_k10_resnet20",
    ],
}  # fmt: skip  (those of which the class-wise error is known; it is 0 where the predictions are calibrated)


def p_values(p, y, k, rng):
    """Those of the notions of k classes."""
    if k == 2:
        return {"binary": scalar_test(*harness.reduce(p, y, "binary"), rng, RESAMPLES).p_value}
    classes = class_tests(*harness.reduce(p, y, "classwise"), LEVEL, rng, RESAMPLES)
    return {
        "top_label": scalar_test(*harness.reduce(p, y, "top_label"), rng, RESAMPLES).p_value,
        "classwise": min(1.0, k * min(one.p_value for one in classes)),
        "canonical": vector_test(*harness.reduce(p, y, "canonical"), rng, RESAMPLES).p_value,
    }


def size(only=()):
    """One row for each notion and "any" (one of the notions rejected after the correction for making them all), n and k."""
    rows = []
    for k, problems in CALIBRATED.items():
        for n in SIZES[k] if not only or k in only else ():
            alarms, trials = {}, 0
            for name in problems:
                problem = harness.load_problem(name)
                for trial in range(int(TRIALS[k] * (AT_5000 if n == 5000 else 1.0))):
                    rng = np.random.default_rng([trial, n, k])
                    p, y = problem.sample(n, rng)
                    if k == 100:
                        y = np.minimum((rng.random(n)[:, None] > np.cumsum(p, axis=1)).sum(axis=1), k - 1)
                    found = p_values(p, y, k, rng)
                    trials += 1
                    for notion, value in {**found, "any": min(closed(found).values())}.items():
                        alarms[notion] = alarms.get(notion, 0) + int(value <= 1.0 - LEVEL + 1e-12)
            for notion, count in alarms.items():
                rows.append({"notion": notion, "n": n, "k": k, "trials": trials, "false_alarms": count, "level": LEVEL})
                limit = 0.05 + 3.0 * math.sqrt(0.05 * 0.95 / trials)
                print(rows[-1], "" if count / trials <= limit else f"ABOVE {limit:.3f}", flush=True)
    return rows


def halves(trials=20, resamples=60):
    """Coverage of the true L1 error by 95 % intervals from halves."""
    from harness.estimators import Bootstrap

    rows = []
    for notion, problems in ON.items():
        for n in (200, 1000):
            for estimator in HALVES:
                made = Bootstrap(harness.load_estimator(estimator), resamples=resamples)
                held = total = 0
                for name in problems:
                    problem = harness.load_problem(name)
                    truth = problem.truth("l1", notion)
                    for trial in range(trials):
                        p, y = harness.reduce(*problem.sample(n, np.random.default_rng([trial, n])), notion)
                        e = made(p, y, np.random.default_rng(trial), notion)["l1"]
                        if e.low is not None:
                            total += 1
                            held += e.low - 1e-12 <= truth.value <= e.high + 1e-12
                rows.append({"notion": notion, "n": n, "estimator": estimator, "trials": total, "covered": int(held)})
                print(rows[-1], flush=True)
    return rows


def classes(trials=40):
    """Coverage of the true class-wise L1 error by the 95 % intervals that `judge` shows of it."""
    rows = []
    for k, problems in OF_CLASSES.items():
        for n in (200, 1000, 5000):
            for estimator in ("best_fast", "binned15"):
                held = []
                for name in problems:
                    problem = harness.load_problem(name)
                    truth = problem.truth("l1", "classwise") if "classwise" in problem.notions else None
                    true = 0.0 if name.endswith("_calibrated") else truth.value
                    for trial in range(trials):
                        p, y = harness.reduce(*problem.sample(n, np.random.default_rng([trial, n, k])), "classwise")
                        e = _made(estimator, "classwise", p, y, LEVEL, np.random.default_rng(trial))
                        held.append(bool(e.low - 1e-12 <= true <= e.high + 1e-12))
                    print(k, n, estimator, name, sum(held[-trials:]), flush=True)
                row = {"notion": "classwise", "n": n, "k": k, "estimator": estimator, "problems": len(problems)}
                rows.append({**row, "trials": len(held), "covered": sum(held)})
                print(rows[-1], flush=True)
    return rows


def estimators(index):
    """From the arena's settings, one row per notion, estimand l1, n, k and estimator."""
    import pandas as pd

    frame = pd.read_parquet(index)
    frame = frame[(frame["estimand"] == "l1") & frame["estimator"].isin([*KEPT, *PUBLISHED])]
    frame = frame.assign(k=frame["k"].replace({7: 10, 26: 10}), log=np.log(frame["regret"]))
    rows = []
    for (notion, n, k, name), part in frame.groupby(["notion", "n", "k", "estimator"]):
        answered = part["coverage"].notna()
        reps = part["reps"].where(answered, 0)
        trials = int(reps.sum())
        row = {"notion": notion, "estimand": "l1", "n": int(n), "k": int(k), "estimator": name, "problems": len(part)}
        row["regret"] = None if part["log"].isna().any() else round(float(np.exp(part["log"].mean())), 3)
        row["kind"] = str(part["kind"].iloc[0])
        row["trials"] = trials
        row["covered"] = round(float((part["coverage"].fillna(0.0) * reps).sum())) if trials else 0
        row["cpu_seconds"] = float(f"{part['cpu_seconds'].mean():.3g}")
        rows.append(row)
    return sorted(rows, key=lambda r: (r["notion"], r["n"], r["k"], r["regret"] or 99.0))


def main(what, *paths):
    if what != "join":
        made = size([int(k) for k in paths[1:]]) if what == "size" else {"halves": halves, "classes": classes}[what]()
        Path(paths[0]).write_text(json.dumps(made), encoding="utf-8")
        return
    index, *made = paths
    halved, by_class, *sizes = [json.loads(Path(path).read_text(encoding="utf-8")) for path in made]
    found = {"size": sum(sizes, []), "halves": halved, "classes": by_class, "estimators": estimators(index)}
    lines = [f' "{name}": [\n' + ",\n".join(f"  {json.dumps(row)}" for row in rows) + "\n ]" for name, rows in found.items()]
    measured.FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
