"""Measure the coverage of the intervals that `judge` prints: harness/judging/coverage.csv.

    python benchmarks/interval_coverage.py
        40 draws of each setting, then 100; running again continues
    python benchmarks/interval_coverage.py --classes 10 --rows 1000 10000 --draws 100 --jobs 2
        only these numbers of classes, rows and draws, in two processes
    python benchmarks/interval_coverage.py --part learned
        intervals of `best` only, after it was trained again
    python benchmarks/interval_coverage.py --part changes
        gains by recalibration, differences of two models

A setting is a number of classes k, a number of rows n and a kind of predictions. Predictions p and
labels are drawn as follows:

    k = 2    p uniform on [0, 1]
    k > 2    p = softmax(z), with z normal with standard deviation 2
    labels   drawn from C = p^t / sum p^t

The kind "calibrated" has t = 1. The other kinds are overconfident (t < 1) with an L1 error of
0.002, 0.005, 0.01 or 0.05. This is the top-label error, or for k = 2 the binary error. The power t
and all truths are computed from a large sample for which C is known.

A row of the table belongs to one quantity and one setting. It counts the draws, and the draws whose
interval contains the truth. Quantities have the names of `judge --json`. `class.l1` is the L1
interval of a single class, averaged over all classes. `group.gap` and `group.l1` are intervals for
a group, here all rows. An interval with only one end is a bound.

We test the intervals before `judge` extends some of them to 0, which can only raise their coverage.
Draw i of a setting depends on k, n, the kind and i alone.

The part "learned" holds the intervals of `best` and `best_fast`, which are measured again when
their weights change. The part "errors" holds the other errors of one model. The part "changes"
holds the gains by recalibration and the differences between two models. The logits of the second
model are those of the first plus normal noise with standard deviation 1/2. The truth of a gain is
the expected gain on new rows, for the maps that were fitted on the folds of this draw.
"""

from __future__ import annotations

import argparse
import csv
import math
import multiprocessing
import time
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import softmax, xlogy

import harness
from harness.common.threads import one_thread
from harness.estimators.application import apply
from harness.judging import gain, howfar
from harness.judging.data import from_arrays
from harness.judging.estimates import headline_name
from harness.judging.gaps import measure_gap
from harness.judging.measured import COVERAGE
from harness.judging.versus import VECTOR_ROWS, versus
from harness.plan.components import load

LEVEL = 0.95
CLASSES = (2, 3, 10, 100)
ROWS = (50, 200, 1_000, 5_000, 10_000, 40_000, 100_000, 1_000_000)
KINDS = {"calibrated": 0.0, "l1_0.002": 0.002, "l1_0.005": 0.005, "l1_0.01": 0.01, "l1_0.05": 0.05}
ROUNDS = (40, 100)  # draws of every setting in the first pass over all settings, and in the second
PAIRS_OF_TRUTH = 4_000_000  # number of probabilities from which the truths are computed
BINS_OF_TRUTH = 1_000  # number of equal-mass bins; E[C_j | p_j] is a mean in each
# number of new rows on which maps are evaluated. The gain given p varies far less than labels do,
# so that fewer rows are enough.
ROWS_OF_MAPS = 40_000
NOISE = 0.5  # standard deviation of the noise that the second model adds to the first one's logits
LARGEST_SETTING = 20_000_000  # n times k; larger settings take hours
FIELDS = ("k", "n", "kind", "quantity", "truth", "draws", "covered", "mean_width")


@dataclass(frozen=True)
class Setting:
    """Number of classes, number of rows and kind of predictions."""

    k: int
    n: int
    kind: str


# {(setting, quantity): [truth, draws, covered, mean width]}
Table = dict[tuple[Setting, str], list[Any]]


def predictions(k: int, n: int, rng: np.random.Generator) -> np.ndarray:
    """Draw predictions: logits (n, k), or for k = 2 probabilities (n,)."""
    return rng.random(n) if k == 2 else 2.0 * rng.standard_normal((n, k))


def predictions_and_truth(k: int, scores: np.ndarray, t: float) -> tuple[np.ndarray, np.ndarray]:
    """Return p and C = p^t / sum p^t for predictions as `predictions` draws them.

    Both have shape (n, k), or (n,) for k = 2.
    """
    if k == 2:
        return scores, scores**t / (scores**t + (1.0 - scores) ** t)
    return softmax(scores, axis=1), softmax(t * scores, axis=1)


def top_label_error(k: int, scores: np.ndarray, t: float) -> float:
    """Return the L1 error of the top label, or for k = 2 of class 1.

    The errors of all top labels have the same sign, so that the absolute value of their mean is
    enough.
    """
    p, c = predictions_and_truth(k, scores, t)
    if k == 2:
        return float(np.abs(p - c).mean())
    top = p.argmax(axis=1)[:, None]
    return float((np.take_along_axis(p, top, 1) - np.take_along_axis(c, top, 1)).mean())


@lru_cache(maxsize=8)
def sample_of_truth(k: int) -> np.ndarray:
    """Return the predictions from which the truths are computed."""
    return predictions(k, PAIRS_OF_TRUTH // k, np.random.default_rng([2026, k]))


@lru_cache(maxsize=64)
def temper(k: int, kind: str) -> float:
    """Return the power t for which tempered predictions have the L1 error KINDS[kind]."""
    target = KINDS[kind]
    if target == 0.0:
        return 1.0
    return float(brentq(lambda t: top_label_error(k, sample_of_truth(k), t) - target, 0.3, 1.0))


@lru_cache(maxsize=64)
def truths(k: int, kind: str) -> dict[str, float]:
    """Return {quantity: true value} for a kind. Names of quantities omit the estimator."""
    p, c = predictions_and_truth(k, sample_of_truth(k), temper(k, kind))
    gap = p - c
    if k == 2:
        squares, kl = gap**2, xlogy(c, c / p) + xlogy(1.0 - c, (1.0 - c) / (1.0 - p))
        error = float(np.abs(gap).mean())
        values = {"binary.l1": error, "group.l1": error, "confidence_gap": float(gap.mean())}
    else:
        squares, kl = (gap**2).sum(axis=1), xlogy(c, c / p).sum(axis=1)
        error = top_label_error(k, sample_of_truth(k), temper(k, kind))
        order = np.argsort(p, axis=None)
        means = [part.mean() for part in np.array_split(gap.ravel()[order], BINS_OF_TRUTH)]
        by_class = float(np.abs(means).mean())
        values = {
            "top_label.l1": error,
            "classwise.l1": by_class,
            "canonical.l1": float(np.abs(gap).sum(axis=1).mean()),
            "group.l1": error,
            "confidence_gap": error,
            "class.l1": by_class,
        }
    values |= {
        "brier.miscalibration": float(squares.mean()),
        "log_loss.miscalibration": float(kl.mean()),
    }
    values["group.gap"] = values["confidence_gap"]
    return {name: 0.0 for name in values} if kind == "calibrated" else values


def intervals(p: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> list[tuple[str, str, Any]]:
    """Return [(quantity, name of its truth, interval)] for each interval that judge prints.

    Intervals of learned estimates are left out.
    """
    data = from_arrays(p, y)
    answer = howfar.errors(data, LEVEL, rng)
    rows = []
    for error in answer.errors:
        name = f"{error.notion}.{error.estimand}"
        if error.estimator not in LEARNED:
            rows.append((f"{name}.{error.estimator}", name, error.interval))
    for bound in answer.certified:
        name = f"{bound.notion}.{bound.estimand}"
        rows.append((f"{name}.certified", name, bound.interval))
    rows.append(("confidence_gap", "confidence_gap", answer.direction.gap))
    kl = next(score.miscalibration for score in answer.scores if score.score == "log")
    rows.append(("log_loss.miscalibration", "log_loss.miscalibration", kl))
    p = data.p[:, 1] if data.k == 2 else data.p
    whole = measure_gap(*harness.reduce(p, data.y, data.notions[0]), LEVEL)
    rows += [("group.gap", "group.gap", whole.gap), ("group.l1", "group.l1", whole.error)]
    if data.k > 2:
        for j in range(data.k):
            gap = measure_gap(data.p[:, j], (data.y == j).astype(int), LEVEL)
            rows.append(("class.l1", "class.l1", gap.error))
    return rows


def learned_intervals(
    p: np.ndarray, y: np.ndarray, rng: np.random.Generator
) -> list[tuple[str, str, Any]]:
    """Return [(quantity, name of its truth, interval)] for the intervals of learned estimates."""
    data = from_arrays(p, y)
    p = data.p[:, 1] if data.k == 2 else data.p
    notions = ("binary",) if data.k == 2 else ("top_label", "classwise", "canonical")
    rows = []
    for notion in notions:
        scores, outcomes = harness.reduce(p, data.y, notion)
        name = headline_name(notion, scores, data.k)
        estimates = apply(load("estimator", name, {"level": LEVEL}), scores, outcomes, notion, rng)
        rows.append((f"{notion}.l1.{name}", f"{notion}.l1", estimates["l1"]))
    rows.append(("brier.miscalibration", "brier.miscalibration", estimates["l2_squared"]))
    return rows


def sample(setting: Setting, index: int) -> tuple[np.ndarray, np.ndarray, np.random.Generator]:
    """Return (p, y, rng) of one draw; p is (n, k), or (n,) for k = 2."""
    rng = np.random.default_rng([setting.k, setting.n, sorted(KINDS).index(setting.kind), index])
    p, c = predictions_and_truth(
        setting.k, predictions(setting.k, setting.n, rng), temper(setting.k, setting.kind)
    )
    if setting.k == 2:
        return p, (rng.random(setting.n) < c).astype(np.int64), rng
    return p, np.argmax(np.log(c) + rng.gumbel(size=c.shape), axis=1), rng


def errors(setting: Setting, index: int) -> dict[str, list[float]]:
    """Return {quantity: [truth, share of covering intervals, mean width]} of one draw.

    Quantities without an interval are left out.
    """
    return _compare(setting, intervals(*sample(setting, index)))


def learned(setting: Setting, index: int) -> dict[str, list[float]]:
    """Return coverage as `errors` does, for the intervals of learned estimates."""
    return _compare(setting, learned_intervals(*sample(setting, index)))


def _compare(setting: Setting, rows: list[tuple[str, str, Any]]) -> dict[str, list[float]]:
    values = truths(setting.k, setting.kind)
    return summary([(quantity, values[name], interval) for quantity, name, interval in rows])


def summary(rows: list[tuple[str, float, Any]]) -> dict[str, list[float]]:
    """Return {quantity: [truth, share of covering intervals, mean width]}.

    `rows` are (quantity, truth, interval). Rows of the same quantity are averaged.
    """
    outcomes = {}
    for quantity, truth, interval in rows:
        if interval.low is None and interval.high is None:
            continue
        low = -math.inf if interval.low is None else interval.low
        high = math.inf if interval.high is None else interval.high
        outcomes.setdefault(quantity, []).append(
            (truth, low - 1e-12 <= truth <= high + 1e-12, high - low)
        )
    return {quantity: np.mean(values, axis=0).tolist() for quantity, values in outcomes.items()}


def as_vectors(p: np.ndarray) -> np.ndarray:
    """Return p as an array (n, k): probabilities of class 1 (n,) become two columns."""
    return np.column_stack([1.0 - p, p]) if p.ndim == 1 else p


def noisy(p: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return the second model's predictions: softmax(log p + NOISE e), with e standard normal."""
    p = as_vectors(p)
    with np.errstate(divide="ignore"):
        return softmax(np.log(p) + NOISE * rng.standard_normal(p.shape), axis=1)


def expected_scores(p: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Return the mean log-loss and Brier score of p if labels have the probabilities c.

    Both p and c have shape (n, k). The scores are defined as in `judge`.
    """
    log_loss = -xlogy(c, p).sum(axis=1)
    if p.shape[1] == 2:
        brier = c[:, 1] * p[:, 0] ** 2 + c[:, 0] * p[:, 1] ** 2
    else:
        brier = (p * p).sum(axis=1) - 2.0 * (p * c).sum(axis=1) + 1.0
    return np.array([log_loss.mean(), brier.mean()])


@lru_cache(maxsize=2)
def population(k: int, kind: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return p, the predictions of the second model, and C for many new rows, each (rows, k)."""
    p, c = map(as_vectors, predictions_and_truth(k, sample_of_truth(k), temper(k, kind)))
    return p, noisy(p, np.random.default_rng([2027, k])), c


def mean_after(
    method: str,
    p: np.ndarray,
    y: np.ndarray,
    fold: np.ndarray,
    classes: Any,
    new: np.ndarray,
    c: np.ndarray,
) -> np.ndarray:
    """Return the expected scores of recalibrated predictions `new`, averaged over the folds.

    p, y and fold (n,) are the data that the maps are fitted to; the map of a fold is fitted without
    it. c are the true probabilities of the rows of `new`.
    """
    maps = [gain.fit(method, p[fold != j], y[fold != j], classes) for j in range(gain.FOLDS)]
    return np.mean([expected_scores(q(new), c) for q in maps], axis=0)


def changes(setting: Setting, index: int) -> dict[str, list[float]]:
    """Return coverage as `errors` does, for gains by recalibration and for two models."""
    p, y, rng = sample(setting, index)
    first, second = (
        from_arrays(p, y, name="first"),
        from_arrays(noisy(p, rng)[:, 1] if setting.k == 2 else noisy(p, rng), y),
    )
    seed = int(rng.integers(2**32))
    fold = gain.folds(setting.n, np.random.default_rng(seed))
    new, new_second, c = population(setting.k, setting.kind)
    maps_on = [new[:ROWS_OF_MAPS], new_second[:ROWS_OF_MAPS]]
    c_of_maps = c[:ROWS_OF_MAPS]
    before = [expected_scores(q, c_of_maps) for q in maps_on]
    rows = []
    for gains in gain.gains(first, LEVEL, np.random.default_rng(seed)).gains:
        if gains.log_loss.value is None:
            continue
        after = mean_after(gains.method, first.p, y, fold, first.classes, maps_on[0], c_of_maps)
        truth = before[0] - after
        rows += [
            (f"log_loss.gain.{gains.method}", truth[0], gains.log_loss),
            (f"brier.gain.{gains.method}", truth[1], gains.brier),
        ]
    answer = versus([first, second], LEVEL, np.random.default_rng(seed))
    if setting.k == 2:
        method = "beta"
    else:
        method = "vector" if setting.n >= VECTOR_ROWS * setting.k else "temperature"
    after = [
        mean_after(method, model.p, y, fold, first.classes, q, c_of_maps)[0]
        for model, q in zip((first, second), maps_on)
    ]
    whole = [expected_scores(q, c) for q in (new, new_second)]
    wrong = [
        1.0 - np.take_along_axis(c, q.argmax(axis=1)[:, None], 1).mean() for q in (new, new_second)
    ]
    values = {
        "error_rate": wrong[0] - wrong[1],
        "log_loss": whole[0][0] - whole[1][0],
        "brier": whole[0][1] - whole[1][1],
        "calibration": (before[0][0] - after[0]) - (before[1][0] - after[1]),
        "refinement": after[0] - after[1],
    }
    rows += [
        (f"versus.{difference.quantity}", values[difference.quantity], difference.difference)
        for difference in answer.differences
    ]
    return summary(rows)


PARTS = {"learned": learned, "errors": errors, "changes": changes}
LEARNED = ("best", "best_fast")
LEARNED_PARTS = ("brier.miscalibration",)  # quantities that are computed from learned estimates


def table_part(quantity: str) -> str:
    """Return the part of the table that a quantity belongs to, a name in PARTS."""
    if quantity in LEARNED_PARTS or quantity.rpartition(".")[2] in LEARNED:
        return "learned"
    return "changes" if quantity.startswith("versus.") or ".gain." in quantity else "errors"


def read(path: Path) -> Table:
    """Read a stored table: {(setting, quantity): [truth, draws, covered, mean width]}."""
    if not path.is_file():
        return {}
    with path.open(newline="", encoding="utf-8") as file:
        return {
            (Setting(int(row["k"]), int(row["n"]), row["kind"]), row["quantity"]): [
                float(row["truth"]),
                int(row["draws"]),
                float(row["covered"]),
                float(row["mean_width"] or math.inf),
            ]
            for row in csv.DictReader(file)
        }


def write(path: Path, table: Table) -> None:
    """Replace the stored table by `table` in one step."""
    order = sorted(
        table, key=lambda key: (key[0].k, key[0].n, list(KINDS).index(key[0].kind), key[1])
    )
    partial = path.with_suffix(".partial")
    with partial.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(FIELDS)
        for setting, quantity in order:
            truth, draws, covered, width = table[setting, quantity]
            width_text = f"{width:.4g}" if math.isfinite(width) else ""
            writer.writerow(
                [
                    setting.k,
                    setting.n,
                    setting.kind,
                    quantity,
                    f"{truth:.6g}",
                    draws,
                    f"{covered:.6g}",
                    width_text,
                ]
            )
    partial.replace(path)


def _task(arguments: tuple[str, Setting, int]) -> tuple[dict[str, list[float]], float]:
    part, setting, index = arguments
    start = time.process_time()
    return PARTS[part](setting, index), time.process_time() - start


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--classes", type=int, nargs="*", default=CLASSES)
    parser.add_argument("--rows", type=int, nargs="*", default=ROWS)
    parser.add_argument("--draws", type=int, nargs="*", default=ROUNDS)
    parser.add_argument("--part", choices=list(PARTS), default="errors")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, default=COVERAGE)
    arguments = parser.parse_args()
    settings = [
        Setting(k, n, kind)
        for n in arguments.rows
        for k in arguments.classes
        for kind in KINDS
        if n * k <= LARGEST_SETTING and (arguments.part != "changes" or n <= gain.most_rows(k))
    ]  # fmt: skip
    table = read(arguments.out)
    done = dict.fromkeys(settings, 0)
    for (setting, quantity), row in table.items():
        if table_part(quantity) == arguments.part:
            # in each part, at least one quantity has an interval in every draw, so the maximum
            # counts draws
            done[setting] = max(done.get(setting, 0), row[1])
    PARTS[arguments.part](Setting(3, 50, "calibrated"), 0)  # compile before the workers are forked
    context = multiprocessing.get_context("fork")
    for most in arguments.draws:
        for setting in settings:
            tasks = [(arguments.part, setting, index) for index in range(done[setting], most)]
            if not tasks:
                continue
            # fill the caches before the workers are forked
            temper(setting.k, setting.kind)
            truths(setting.k, setting.kind)
            seconds = 0.0
            with context.Pool(arguments.jobs) as pool:
                for outcomes, spent in pool.imap(_task, tasks):
                    seconds += spent
                    for quantity, (truth, covered, width) in outcomes.items():
                        row = table.setdefault((setting, quantity), [truth, 0, 0.0, 0.0])
                        # average the truth over draws, because the truth of a gain differs between
                        # them
                        row[0] = (row[0] * row[1] + truth) / (row[1] + 1)
                        row[3] = (row[3] * row[1] + width) / (row[1] + 1)
                        row[1], row[2] = row[1] + 1, row[2] + covered
            done[setting] = most
            write(arguments.out, table)
            shares = {
                q: round(row[2] / row[1], 3)
                for (c, q), row in table.items()
                if c == setting and table_part(q) == arguments.part and row[2] / row[1] < 0.93
            }
            print(
                f"k={setting.k} n={setting.n:,} {setting.kind}: {len(tasks)} draws, "
                f"{seconds:.0f} s; below 0.93: {shares}",
                flush=True,
            )


if __name__ == "__main__":
    with one_thread():  # workers are forked and inherit the limit
        main()
