"""Measure how often tests of calibration reject calibrated samples: benchmarks/test_levels.csv.

    python benchmarks/test_levels.py                          all cells; running again continues
    python benchmarks/test_levels.py --tests hosmer_lemeshow  only these tests

A cell is a test, a notion, a law of the predictions, a number of samples n and an expected number
of events. Labels are drawn from the predictions, so that each rejection at level 0.05 is false.

The laws of one probability have the mean m = events / n:

    constant     all p = m
    uniform      uniform on [0, 2m]
    beta         Beta(1/2, b), most p far below m
    near 1       1 - p for p of the law `beta`; there `events` is the expected number of non-events

The laws of vectors of k classes share the rest of the probability by a flat Dirichlet law:

    few errors   a random class has the probability 1 - e, with e of the law `uniform`
    rare class   the last class has a probability of the law `uniform`

A row counts draws, draws without a result, and rejections. The standard error of a level of 5 % is
0.7 points for 1,000 draws, 1.5 for 200, 2.2 for 100 and 3.1 for 50. The calibration line rejects if
the interval of the slope excludes 1, or that of the intercept excludes 0. `judge` is its answer to
question 1. A row has the revision of its test, and the commit on which it was measured. A test with
a new revision is measured again. Draw i of a law depends on the law and on i alone.
"""

from __future__ import annotations

import argparse
import csv
import functools
import itertools
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import harness
from harness.common.threads import one_thread
from harness.errors import UndefinedError
from harness.estimators.application import apply
from harness.judging import calibrated
from harness.judging.data import from_arrays
from harness.math.notions import reduce
from harness.records.provenance import git_state

TABLE = Path(__file__).with_suffix(".csv")
LEVEL = 0.05
SIZES = (100, 500, 5_000)
EVENTS = (0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0)
SHAPES = ("constant", "uniform", "beta", "near 1")
CLASSES = (2, 3, 10)
VECTOR_SHAPES = ("few errors", "rare class")
VECTOR_EVENTS = (0.5, 2.0, 10.0)
FEW_EVENTS = (0.5, 10.0)  # for the dear tests
LARGEST_MEAN = 0.5  # largest expected share of events
CHEAP = ("hosmer_lemeshow", "chi_square10", "spiegelhalter", "ks", "kuiper")
SLOWER = ("calibration_line", "calibration_belt", "skce_block_test")
# Valid for every n by construction, and slow.
DEAR = ("safe_test", "tcal", "consistency_binned15", "judge")
DRAWS = {
    **dict.fromkeys(CHEAP, 1_000), **dict.fromkeys(SLOWER, 200), **dict.fromkeys(DEAR, 50),
}  # fmt: skip
VECTOR_DRAWS = {
    **dict.fromkeys(CHEAP, 200), **dict.fromkeys(SLOWER, 100), **dict.fromkeys(DEAR, 50),
}  # fmt: skip
FIELDS = (
    "test", "revision", "decision", "notion", "shape", "k", "n", "events", "draws", "undefined",
    "rejected", "commit",
)  # fmt: skip


class Law(NamedTuple):
    """Law of the predictions. `k` is 1 for one probability."""

    shape: str
    k: int
    n: int
    events: float

    def sample(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Return predictions p (n,) or (n, k), and labels y (n,) that are drawn from them."""
        if self.k == 1:
            p = self._probabilities(rng, self.shape)
            return p, (rng.random(self.n) < p).astype(np.int64)
        rare = self._probabilities(rng, "uniform")
        shares = rng.dirichlet(np.ones(self.k - 1), self.n)
        if self.shape == "rare class":
            p = np.column_stack([(1.0 - rare)[:, None] * shares, rare])
        else:
            p = np.column_stack([rare[:, None] * shares, 1.0 - rare])
            p = rng.permuted(p, axis=1)
        y = (rng.random((self.n, 1)) > np.cumsum(p, axis=1)).sum(axis=1)
        return p, np.minimum(y, self.k - 1)

    def _probabilities(self, rng: np.random.Generator, shape: str) -> np.ndarray:
        mean = self.events / self.n
        if shape == "constant":
            return np.full(self.n, mean)
        if shape == "uniform":
            return rng.random(self.n) * 2.0 * mean
        p = rng.beta(0.5, 0.5 * (1.0 - mean) / mean, self.n)
        return 1.0 - p if shape == "near 1" else p


def laws() -> Iterator[tuple[Law, list[str]]]:
    """Yield all laws, each with the tests that are measured on it."""
    for n in SIZES:
        for events in EVENTS:
            if events > LARGEST_MEAN * n:
                continue
            tests = [name for name in DRAWS if name not in DEAR or events in FEW_EVENTS]
            yield from ((Law(shape, 1, n, events), tests) for shape in SHAPES)
            if events in VECTOR_EVENTS:
                shapes = itertools.product(VECTOR_SHAPES, CLASSES)
                yield from ((Law(shape, k, n, events), tests) for shape, k in shapes)


@functools.cache
def load(test: str) -> Any:
    """Return an estimator."""
    return harness.load_estimator(test)


def decisions(
    test: str, p: np.ndarray, y: np.ndarray, rng: np.random.Generator
) -> Iterator[tuple[str, str, bool | None]]:
    """Yield (notion, decision, True if it rejects) of a sample; None if there is no result."""
    if test == "judge":
        answer = calibrated.tests(from_arrays(p, y), 1.0 - LEVEL, rng)
        yield "all", "question 1", answer.rejected
        return
    estimator = load(test)
    names = ("slope", "intercept") if test == "calibration_line" else ("p_value",)
    for notion in ("binary",) if p.ndim == 1 else ("top_label", "classwise", "canonical"):
        if notion not in estimator.notions:
            continue
        if test == "calibration_line" and notion == "classwise":
            continue  # a mean over classes, without an interval
        try:
            estimates = apply(estimator, *reduce(p, y, notion), notion, rng)
        except UndefinedError:
            estimates = {}
        for name in names:
            yield notion, name, _rejects(name, estimates.get(name))


def _rejects(name: str, estimate: Any) -> bool | None:
    if name == "p_value":
        defined = estimate is not None and not np.isnan(estimate.value)
        return bool(estimate.value <= LEVEL) if defined else None
    if estimate is None or estimate.low is None:
        return None
    null = 1.0 if name == "slope" else 0.0
    return bool(not estimate.low <= null <= estimate.high)


def revision(test: str) -> str:
    """Return the revision of an estimator; "" for judge, which has none."""
    return "" if test == "judge" else str(load(test).revision).replace(" ", "")


def measure(law: Law, tests: list[str], commit: str) -> list[dict[str, Any]]:
    """Return the rows of some tests on all draws of a law."""
    draws = DRAWS if law.k == 1 else VECTOR_DRAWS
    counts: dict[tuple[str, str, str], list[int]] = {}
    seed = zlib.crc32(repr(law).encode())
    for draw in range(max(draws[test] for test in tests)):
        p, y = law.sample(np.random.default_rng([seed, draw]))
        for test in tests:
            if draw >= draws[test]:
                continue
            rng = np.random.default_rng([seed, draw, zlib.crc32(test.encode())])
            for notion, decision, rejects in decisions(test, p, y, rng):
                count = counts.setdefault((test, notion, decision), [0, 0])
                count[0] += rejects is None
                count[1] += rejects is True
    return [
        {
            "test": test, "revision": revision(test), "decision": decision, "notion": notion,
            **law._asdict(), "draws": draws[test], "undefined": undefined, "rejected": rejected,
            "commit": commit,
        }
        for (test, notion, decision), (undefined, rejected) in counts.items()
    ]  # fmt: skip


def identity(row: dict[str, Any]) -> tuple[str, ...]:
    """Return the test, its revision and the law of a row, as they are written."""
    return tuple(str(row[name]) for name in ("test", "revision", *Law._fields))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tests", nargs="+", default=[*DRAWS], choices=[*DRAWS])
    chosen = parser.parse_args().tests
    rows = list(csv.DictReader(TABLE.open())) if TABLE.exists() else []
    current = {test: revision(test) for test in DRAWS}
    rows = [row for row in rows if row["revision"] == current[row["test"]]]
    done = {identity(row) for row in rows}
    commit = str(git_state().get("commit", ""))[:8]
    for law, tests in laws():
        keys = {test: {"test": test, "revision": current[test], **law._asdict()} for test in tests}
        missing = [t for t in tests if t in chosen and identity(keys[t]) not in done]
        if not missing:
            continue
        rows += measure(law, missing, commit)
        with TABLE.open("w", newline="") as file:
            writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)


if __name__ == "__main__":
    with one_thread():
        main()
