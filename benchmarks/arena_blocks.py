"""Measure what the blocks of the arena would cost that were not run, and print them.

    python benchmarks/arena_blocks.py [OUT.csv]        default: results/arena/blocks.csv

A block is an estimator under a notion at one n, on all problems and replications
(harness/evaluation/arena/blocks.py). The arena's rule runs a block that costs at most ten CPU
minutes. The mean cost of a cell comes from one call for each number of classes, weighted by the
number of problems. A call on the first 50 rows comes first. If one call takes more than LIMIT, or
did so at a smaller n, the block is given up: it costs hours.

Measured blocks are kept, so that an interrupted run goes on. Blocks that have records by now are
dropped. The first run takes about four CPU minutes.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd

from harness.common.threads import one_thread
from harness.estimators.application import apply
from harness.estimators.base import EstimatorSpec
from harness.evaluation.arena import blocks
from harness.evaluation.arena.content import near
from harness.math.notions import reduce
from harness.pages.arena import data as arena_data
from harness.plan.components import load
from harness.plan.plan import skip_reason
from harness.problems.base import ProblemSpec

PROBES = {2: "wavy_k2", 3: "dirichlet3_overconfident", 10: "confused_k10"}
FIRST = 50  # rows of the first call, which is not measured
LIMIT = 5.0  # CPU seconds of a call, which are hours for a block
OUT = Path(__file__).parent.parent / "results" / "arena"


def main() -> None:
    out = Path(sys.argv[1]) if len(sys.argv) > 1 else OUT / blocks.FILE
    results = arena_data.read()
    assert results is not None, "there is no stored arena"
    absent = blocks.missing(results.settings)
    known = blocks.read(out.parent)
    measured = absent[blocks.KEYS].merge(known, on=blocks.KEYS)
    done = set(measured[blocks.KEYS].itertuples(index=False, name=None))
    problems = results.settings.drop_duplicates(["notion", "problem"])
    problems = problems[problems["k"].le(blocks.MOST_CLASSES)]
    counts = problems.assign(k=near(problems["k"])).groupby(["notion", "k"]).size()
    for (name, notion), part in absent.groupby(["estimator", "notion"]):
        slow = ""
        for row in part.sort_values("n").itertuples():
            if (name, notion, row.n) not in done:
                seconds, slow = cost(str(name), str(notion), row.n, counts[notion], slow)
                new = [name, notion, row.n, row.cells, seconds, slow]
                measured.loc[len(measured)] = new
                print(*new, sep="\t", flush=True)
                measured.sort_values(blocks.KEYS).to_csv(out, index=False, float_format="%.3g")
    table = blocks.states(results.settings, measured)
    for state, part in table.groupby("state"):
        total = part["minutes"].replace(np.inf, np.nan).sum()
        print(f"\n{state}: {len(part)} blocks, {total:.0f} CPU minutes in all that were measured")
        for row in part.itertuples():
            print(f"  {row.estimator}, {row.notion}, n = {row.n:,}: {row.minutes:.1f}")


def cost(name: str, notion: str, n: int, counts: pd.Series, slow: str) -> tuple[float, str]:
    """Return the mean CPU seconds of a cell, and the reason if they were not measured.

    `counts` is {number of classes: number of problems}. `slow` is the reason at a smaller n.
    """
    if slow:
        return np.nan, slow
    estimator, total = load("estimator", name, {}), 0.0
    for k, number in counts.items():
        problem = load("problem", PROBES[int(k)], {})
        if skip_reason(ProblemSpec.of(problem), EstimatorSpec.of(estimator), notion, n):
            continue
        p, y = reduce(*problem.sample(n, np.random.default_rng(0)), notion)
        try:
            with one_thread():
                apply(estimator, p[:FIRST], y[:FIRST], notion, np.random.default_rng(1), problem)
                begun = time.process_time()
                apply(estimator, p, y, notion, np.random.default_rng(1), problem)
                seconds = time.process_time() - begun
        except Exception as error:
            return np.nan, f"{type(error).__name__}: {str(error).splitlines()[0][:100]}"
        if seconds > LIMIT:
            return np.nan, f"a call at n = {n:,} takes more than {LIMIT:g} s"
        total += number * seconds
    return total / counts.sum(), ""


if __name__ == "__main__":
    main()
