"""Write harness/judging/measured.json, the arena results that `judge` quotes.

    python benchmarks/distil_arena.py size OUT.json [K ...]
    python benchmarks/distil_arena.py join INDEX.parquet SIZE.json ...

`size` counts false alarms of the tests on calibrated problems with K classes, which takes 4 CPU
minutes for all K. `join` writes measured.json. INDEX.parquet is
results/arena/index_settings.parquet, which `calharness experiment=arena_index` writes.

Regret is the geometric mean over the settings with the same notion, n and k whose truth is above 0.
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

import numpy as np

import harness
from harness.estimators.base import EstimatorSpec
from harness.judging import measured
from harness.judging.calibrated import class_tests, closed
from harness.judging.scalar_test import scalar_test
from harness.judging.vector_test import vector_test
from harness.plan.components import load

LEVEL = 0.95
RESAMPLES = 199  # the tests are exact with any number of resamples
CALIBRATED = {
    2: ["beta_calibrated"],
    3: ["dirichlet3_calibrated", "ties_k3_calibrated"],
    10: ["dirichlet10_calibrated", "saturated_k10_calibrated", "rare_k10_calibrated"],
    100: ["rare_k100"],  # no problem of 100 classes is calibrated, so labels are drawn from its p
}
TRIALS = {2: 1000, 3: 500, 10: 120, 100: 30}  # number of trials per problem
SIZES = {
    2: (50, 200, 1000, 5000),
    3: (50, 200, 1000, 5000),
    10: (50, 200, 1000, 5000),
    100: (1000,),
}
AT_5000 = 0.4  # share of the trials that is run at n = 5,000
KEPT = ("best", "best_fast", "best_lower", "binned15", "certified_interval")
PUBLISHED = (
    "debiased15_l1",
    "binned_cube_root",
    "variational_isotonic",
    "variational_temperature",
    "variational_histogram",
    "variational_vector",
)  # fmt: skip  (high in the arena, and cheap or with bounds)


def p_values(p, y, k, rng):
    """Return {notion: p-value} of the tests for calibration of p and y."""
    if k == 2:
        return {"binary": scalar_test(*harness.reduce(p, y, "binary"), rng, RESAMPLES).p_value}
    classes = class_tests(*harness.reduce(p, y, "classwise"), LEVEL, rng, RESAMPLES)
    return {
        "top_label": scalar_test(*harness.reduce(p, y, "top_label"), rng, RESAMPLES).p_value,
        "classwise": min(1.0, k * min(p_value for _, p_value in classes)),
        "canonical": vector_test(*harness.reduce(p, y, "canonical"), rng, RESAMPLES).p_value,
    }


def size(only=()):
    """Return the number of false alarms of the tests, one row per notion, n and k.

    `only` restricts the numbers of classes k. The notion "any" counts the trials in which at least
    one notion is rejected, after the correction for multiple tests.
    """
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
                        y = np.minimum(
                            (rng.random(n)[:, None] > np.cumsum(p, axis=1)).sum(axis=1), k - 1
                        )
                    values = p_values(p, y, k, rng)
                    trials += 1
                    for notion, value in {**values, "any": min(closed(values).values())}.items():
                        alarms[notion] = alarms.get(notion, 0) + int(value <= 1.0 - LEVEL + 1e-12)
            for notion, count in alarms.items():
                rows.append(
                    {
                        "notion": notion,
                        "n": n,
                        "k": k,
                        "trials": trials,
                        "false_alarms": count,
                        "level": LEVEL,
                    }
                )
                limit = 0.05 + 3.0 * math.sqrt(0.05 * 0.95 / trials)
                print(rows[-1], "" if count / trials <= limit else f"ABOVE {limit:.3f}", flush=True)
    return rows


def estimators(index):
    """Return one row of arena results per notion, n, k and estimator, for the estimand l1.

    `index` is the path of the arena's settings.
    """
    import pandas as pd

    frame = pd.read_parquet(index)
    frame = frame[(frame["estimand"] == "l1") & frame["estimator"].isin([*KEPT, *PUBLISHED])]
    frame = frame[~frame["calibrated"]]  # settings with the truth 0 have no regret
    frame = frame.assign(log=np.log(frame["regret"]))
    revisions = {
        name: EstimatorSpec.of(load("estimator", name, {})).revision
        for name in frame["estimator"].unique()
    }
    rows = []
    for (notion, n, k, name), part in frame.groupby(["notion", "n", "k", "estimator"]):
        row = {
            "notion": notion,
            "estimand": "l1",
            "n": int(n),
            "k": int(k),
            "estimator": name,
            "revision": revisions[name],
            "problems": len(part),
        }
        row["regret"] = (
            None if part["log"].isna().any() else round(float(np.exp(part["log"].mean())), 3)
        )
        row["kind"] = str(part["kind"].iloc[0])
        row["cpu_seconds"] = float(f"{part['cpu_seconds'].mean():.3g}")
        rows.append(row)
    return sorted(rows, key=lambda r: (r["notion"], r["n"], r["k"], r["regret"] or 99.0))


def main(what, *paths):
    if what == "size":
        Path(paths[0]).write_text(json.dumps(size([int(k) for k in paths[1:]])), encoding="utf-8")
        return
    index, *parts = paths
    sizes = [json.loads(Path(path).read_text(encoding="utf-8")) for path in parts]
    write({"size": sum(sizes, []), "estimators": estimators(index)})


def write(tables):
    """Write measured.json with one row of a table per line."""
    lines = [
        f' "{name}": [\n' + ",\n".join(f"  {json.dumps(row)}" for row in rows) + "\n ]"
        for name, rows in tables.items()
    ]
    measured.FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
