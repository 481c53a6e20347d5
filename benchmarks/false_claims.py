"""Rate at which judge's claims are false, and their power: `python benchmarks/false_claims.py`.

Predictions with few expected events (two classes) or few expected errors (more classes) are
calibrated or exchangeable, so that each claim below is false:

gain        recalibration gains in log-loss or Brier score; the labels are drawn from p
worse       the model whose small probabilities are a tenth of the right ones is better than the
            right one, in log-loss, Brier score or calibration
alike       one of two models that differ by symmetric noise is better, in any quantity
class       a class is named as worst, or stands out
range       a region of scores is named; "group": one of three random groups is named
slope       the predictions are over- or underconfident, or too high or low on average

The power is measured on overconfident predictions (temperature 2) with 50 events or errors.

The command appends one row per cell and claim to benchmarks/false_claims.csv, with the commit of
the code. It skips the cells that are there with at least 200 draws, and prints the rates. It takes
about two CPU hours. `python benchmarks/false_claims.py 50` takes 50 draws per cell instead.
"""

from __future__ import annotations

import csv
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed

from harness.judging.calibrated import tests
from harness.judging.data import from_arrays
from harness.judging.direction import direction
from harness.judging.gain import gains
from harness.judging.judged import Judged
from harness.judging.versus import versus
from harness.judging.where import where

LEVEL, DRAWS = 0.95, 200
GROUP_NAMES = ("north", "south", "west")
SIZES, EVENTS, CLASSES = (100, 500, 5000), (0.5, 2.0, 5.0, 20.0), (2, 3, 10, 30)
POWER_SIZES, POWER_EVENTS, TEMPERATURE = (1000, 5000), 50.0, 2.0
SPREAD = 1.0  # standard deviation of the log of the probabilities of an event
FIELDS = ("kind", "k", "n", "events", "claim", "count", "draws", "commit")
TABLE = Path(__file__).with_suffix(".csv")


def draw_p(k: int, n: int, events: float, rng: np.random.Generator) -> np.ndarray:
    """Return probabilities (n, k) with `events` expected events, or expected errors for k > 2."""
    u = np.exp(SPREAD * rng.standard_normal(n))
    u = np.minimum(u * events / u.sum(), 0.9)
    if k == 2:
        return np.column_stack([1.0 - u, u])
    rest = rng.dirichlet(np.ones(k - 1), n) * u[:, None]
    p = np.column_stack([1.0 - u, rest])
    classes = rng.permuted(np.tile(np.arange(k), (n, 1)), axis=1)
    return np.take_along_axis(p, classes, axis=1)


def draw_y(p: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return labels (n,) that are drawn with the probabilities p (n, k)."""
    u = rng.random((len(p), 1))
    return np.minimum((u > p.cumsum(axis=1)).sum(axis=1), p.shape[1] - 1)


def tempered(p: np.ndarray, slope: float, noise: np.ndarray | float = 0.0) -> np.ndarray:
    """Return softmax(slope log p + noise)."""
    z = slope * np.log(np.maximum(p, 1e-300)) + noise
    z = np.exp(z - z.max(axis=1, keepdims=True))
    return z / z.sum(axis=1, keepdims=True)


def tenth(p: np.ndarray) -> np.ndarray:
    """Return p with a tenth of all probabilities but the largest of each row."""
    q, top = p / 10.0, (np.arange(len(p)), p.argmax(axis=1))
    q[top] = 0.0
    q[top] = 1.0 - q.sum(axis=1)
    return q


def data_of(p: np.ndarray, y: np.ndarray, name: str, group: np.ndarray | None = None) -> Judged:
    columns = {} if group is None else {"group": group}
    return from_arrays(p[:, 1] if p.shape[1] == 2 else p, y, name=name, groups=columns)


def better(first: Judged, second: Judged, seed: int) -> dict[str, str | None]:
    """Return the better model of each quantity."""
    rows = versus([first, second], LEVEL, np.random.default_rng(seed)).differences
    return {row.quantity: row.better for row in rows}


def is_gain(data: Judged, seed: int) -> bool:
    answer = gains(data, LEVEL, np.random.default_rng(seed))
    return answer.best is not None or any(
        score.sign > 0 for gain in answer.gains for score in (gain.log_loss, gain.brier)
    )


def false_claims(k: int, n: int, events: float, seed: int) -> dict[str, bool]:
    """Return which claims are made on one draw; all of them are false."""
    rng = np.random.default_rng([37, k, n, int(10 * events), seed])
    p = draw_p(k, n, events, rng)
    y = draw_y(p, rng)
    data = data_of(p, y, "right", np.array(GROUP_NAMES)[rng.integers(len(GROUP_NAMES), size=n)])
    noise = rng.normal(0.0, 0.5, p.shape)
    one, other = (data_of(tempered(p, 1.0, sign * noise), y, str(sign)) for sign in (1, -1))
    worse = better(data, data_of(tenth(p), y, "worse"), seed)
    found = where(data, LEVEL)
    tested = tests(data, LEVEL, np.random.default_rng(seed)).tests[0]
    line = direction(data, LEVEL, join_zero=tested.rejected is False)
    slope = line.slope
    return {
        "gain": is_gain(data, seed),
        "worse": any(worse[name] == "worse" for name in ("log_loss", "brier", "calibration")),
        "alike": any(better(one, other, seed).values()),
        "class": "Of the classes" in found.sentence or any(c.stands_out for c in found.classes),
        "range": "By score" in found.sentence,
        "group": any(name in found.sentence for name in GROUP_NAMES)
        or any(g.stands_out for g in found.groups),
        "slope": bool(line.gap.sign)
        or (slope is not None and slope.low is not None and not slope.low <= 1.0 <= slope.high),
    }


def true_claims(k: int, n: int, events: float, seed: int) -> dict[str, bool]:
    """Return which claims are made on one draw of overconfident predictions; all are true."""
    rng = np.random.default_rng([73, k, n, seed])
    p = draw_p(k, n, events, rng)
    y = draw_y(p, rng)
    group = np.array(["a", "b"])[rng.integers(2, size=n)]
    q = tempered(p, TEMPERATURE)  # p has temperature 1, q is too confident
    half = np.where((group == "b")[:, None], q, p)
    right, wrong = data_of(p, y, "right"), data_of(q, y, "wrong")
    comparison = better(right, wrong, seed)
    groups = where(data_of(half, y, "half", group), LEVEL).groups
    return {
        "gain": is_gain(wrong, seed),
        "better": comparison["log_loss"] == "right" and comparison["calibration"] == "right",
        "group": any(found.value == "b" and found.stands_out for found in groups),
    }


def cells() -> Iterator[tuple[str, int, int, float]]:
    for k in CLASSES:
        for n in SIZES:
            for events in EVENTS:
                yield "false", k, n, events
        for n in POWER_SIZES:
            yield "true", k, n, POWER_EVENTS


def measure(kind: str, k: int, n: int, events: float, count: int) -> list[dict[str, object]]:
    """Return one row for each claim of a cell."""
    claims = false_claims if kind == "false" else true_claims
    draws = [claims(k, n, events, seed) for seed in range(count)]
    cell = {"kind": kind, "k": k, "n": n, "events": events, "draws": count}
    return [{**cell, "claim": c, "count": sum(draw[c] for draw in draws)} for c in draws[0]]


def read_table() -> dict[tuple[str, int, int, float], list[dict[str, str]]]:
    """Return the rows of each cell; of a cell that was measured twice, those with more draws."""
    table: dict[tuple[str, int, int, float], list[dict[str, str]]] = {}
    if not TABLE.exists():
        return table
    with TABLE.open(newline="") as file:
        for row in sorted(csv.DictReader(file), key=lambda row: int(row["draws"])):
            cell = row["kind"], int(row["k"]), int(row["n"]), float(row["events"])
            rows = table.setdefault(cell, [])
            if rows and rows[0]["draws"] != row["draws"]:
                rows.clear()
            rows.append(row)
    return table


def main(count: int) -> None:
    commit = subprocess.run(
        ["git", "rev-parse", "--short=8", "HEAD"], capture_output=True, text=True, check=True
    ).stdout.strip()
    measured = {cell for cell, rows in read_table().items() if int(rows[0]["draws"]) >= count}
    missing = [cell for cell in cells() if cell not in measured]
    parallel = Parallel(n_jobs=2, return_as="generator_unordered")
    for i, rows in enumerate(parallel(delayed(measure)(*cell, count) for cell in missing), 1):
        is_new = not TABLE.exists()
        with TABLE.open("a", newline="") as file:
            writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
            if is_new:
                writer.writeheader()
            writer.writerows({**row, "commit": commit} for row in rows)
        print(f"{i} of {len(missing)} cells", file=sys.stderr, flush=True)
    counts: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for (kind, *_), rows in read_table().items():
        for row in rows:
            number = int(row["count"]), int(row["draws"])
            counts.setdefault((kind, row["claim"]), []).append(number)
    for (kind, claim), numbers in sorted(counts.items()):
        pooled = 100.0 * sum(c for c, _ in numbers) / sum(d for _, d in numbers)
        shares = sorted(100.0 * c / d for c, d in numbers)
        print(
            f"{kind:6} {claim:6} {pooled:5.1f} % pooled over {len(numbers)} cells, "
            f"{shares[0]:.1f} to {shares[-1]:.1f} % in a cell"
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else DRAWS)
