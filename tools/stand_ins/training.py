"""What the makers of stand-in models share: small networks in numpy, and the loop that trains what is not stored yet."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import joblib
import numpy as np

from harness.common.progress import clock
from harness.common.threads import one_thread


def first_weights(sizes, rng) -> list[tuple[np.ndarray, np.ndarray]]:
    """[(W (inputs, outputs), b (outputs,))] of every layer, uniform in +-1 / sqrt(inputs)."""
    bounds = [(a, b, 1.0 / np.sqrt(a)) for a, b in zip(sizes[:-1], sizes[1:])]
    return [(rng.uniform(-c, c, (a, b)), rng.uniform(-c, c, b)) for a, b, c in bounds]


def activations(x, weights) -> list[np.ndarray]:
    """Outputs of the hidden ReLU layers (n, width), then the logits (n, classes)."""
    found = []
    for w, b in weights[:-1]:
        x = np.maximum(x @ w + b, 0.0)
        found.append(x)
    w, b = weights[-1]
    return [*found, x @ w + b]


def backward(inputs, outside, weights) -> list[tuple[np.ndarray, np.ndarray]]:
    """Derivatives of a loss with respect to all weights and offsets.

    `outside` (n, classes) holds the derivatives with respect to the logits, `inputs` what enters each layer, x first.
    """
    found = []
    for (w, _), h in zip(reversed(weights), reversed(inputs)):
        found.append((h.T @ outside, outside.sum(axis=0)))
        outside = (outside @ w.T) * (h > 0)
    return found[::-1]


def is_made(path: Path, made: str) -> bool:
    """Whether the npz file is there and names `made` as what it was made from."""
    if not path.is_file():
        return False
    with np.load(path, allow_pickle=False) as held:
        return "made" in held.files and str(held["made"]) == made


class TimeLeft:
    """Says how much time has passed and how much is left of work whose total is known."""

    def __init__(self, total: float):
        self.total, self.done, self.start = total, 0.0, time.monotonic()

    def after(self, work: float) -> str:
        """Count `work` as done; '12 s elapsed, about 1 min 3 s left'."""
        self.done += work
        elapsed = time.monotonic() - self.start
        left = elapsed * (self.total - self.done) / self.done
        return f"{clock(elapsed)} elapsed, about {clock(left)} left"


def make_all(
    wanted: Sequence,
    todo: Sequence,
    out: Path,
    train: Callable[[Any], Any],
    said: Callable[[Any, Any], str],
    jobs: int = 1,
    work: Callable[[Any], float] = lambda one: 1.0,
    unit: str = "networks",
) -> int:
    """Train what is to be done in `jobs` processes and say after each one how much time is left; 1 if any failed, else 0.

    train    one -> what it leaves, in a worker on one thread; it stores its files itself, so that an interruption costs
             unfinished ones only
    said     (one, what it left or the sentence of its failure) -> the line about it, in this process
    work     one -> a number roughly proportional to its seconds; the longest start first, so that the workers end together
    """
    print(
        f"  {len(wanted):,} {unit}, {len(wanted) - len(todo):,} of them stored before, into {out}",
        file=sys.stderr,
    )
    todo = sorted(todo, key=lambda one: -work(one))
    remaining, failed = TimeLeft(sum(work(one) for one in todo)), 0
    pool = joblib.Parallel(
        n_jobs=max(1, min(jobs, len(todo))), return_as="generator_unordered", pre_dispatch="n_jobs"
    )
    for one, left, problem in pool(joblib.delayed(_guarded)(train, one) for one in todo):
        failed += problem is not None
        line = said(one, left if problem is None else problem)
        print(f"  {line}; {remaining.after(work(one))}", file=sys.stderr)
    print(f"  {out}: {len(wanted) - failed:,} {unit} stored, {failed:,} failed")
    return int(failed > 0)


def _guarded(train, one):
    """(one, what it left, None or the sentence of its failure), from a worker."""
    try:
        with one_thread():
            return one, train(one), None
    except Exception as error:
        return one, None, f"failed ({type(error).__name__}: {' '.join(str(error).split())[:200]})"
