"""Bases of the wrappers that evaluate an estimator on resampled data, and their functions."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from harness.errors import BadInputError, UndefinedError
from harness.estimators.application import apply
from harness.estimators.base import (
    Estimate,
    Wrapper,
    is_finite,
)
from harness.math import estimands
from harness.math.notions import one_hot

OWN_REVISION = 1
MIN_ROWS = 20  # smallest number of rows, and of resamples, for which resampling is informative
MAX_UNDEFINED_SHARE = 0.05  # with more resamples without a finite value, there is no interval
SAME = 1e-12  # largest relative difference of two values that are equal up to rounding
SECONDS = 1e-3  # assumed CPU seconds of an estimator that does not declare its `seconds`

# A pair (interval, diagnostics). The interval (low, high) is None if there is none.
End: TypeAlias = tuple[tuple[float, float] | None, dict[str, float]]


@dataclass(frozen=True)
class Sample:
    """Reduced predictions and labels, their notion, and the problem if there is one."""

    p: np.ndarray
    y: np.ndarray
    notion: str
    problem: Any

    @classmethod
    def of(cls, p: np.ndarray, y: np.ndarray, notion: str | None, problem: Any) -> Sample:
        """Make a sample. `notion=None` derives the notion from the shapes of p and y.

        Scalars p (n,) are binary. Vectors p (n, k) are canonical with labels y (n,), and class-wise
        with indicators y (n, k).
        """
        if notion is None and np.ndim(p) == 1:
            notion = "binary"
        elif notion is None:
            notion = "classwise" if np.ndim(y) == 2 else "canonical"
        return cls(p, y, notion, problem)

    @property
    def data(self) -> tuple[np.ndarray, np.ndarray, str]:
        return self.p, self.y, self.notion

    def rows(self, rows: np.ndarray) -> Sample:
        """Return a sample of the rows with the given numbers."""
        return replace(self, p=self.p[rows], y=self.y[rows])

    def calibrated(self, rng: np.random.Generator) -> Sample:
        """Return a sample with the same predictions and labels that are drawn from them."""
        return replace(self, y=calibrated_labels(self.p, self.y, rng))


class Resampling(Wrapper):
    """Base of wrappers that evaluate an estimator on the sample and on resampled data."""

    determinism = "statistical"
    wants = ("notion", "problem")
    takes_classwise = True

    @property
    def revision(self) -> tuple[Any, ...]:
        """The revisions of the wrapper and of the wrapped estimator."""
        return (OWN_REVISION, self.inner.revision)

    @property
    def _inner_seconds(self) -> float:
        return SECONDS if self.inner.seconds is None else self.inner.seconds

    def _apply_estimator(
        self, sample: Sample, rng: np.random.Generator | None
    ) -> tuple[dict[str, Estimate], np.random.Generator | int]:
        """Return the estimates of the wrapped estimator on the sample, and rng.

        Raise BadInputError if rng is None.
        """
        if rng is None:
            raise BadInputError("rng is missing; give a numpy Generator, which draws the samples.")
        return apply(self.estimator, *sample.data, rng, sample.problem), rng

    def _on_rows(
        self, sample: Sample, rng: np.random.Generator, draws: Iterable[np.ndarray]
    ) -> dict[str, list[float]]:
        """Return {estimand: finite values on the draws}. A draw is an array of row numbers."""
        values: dict[str, list[float]] = {}
        for rows in draws:
            for name, value in finite_values(self, sample.rows(rows), rng).items():
                values.setdefault(name, []).append(value)
        return values


class ResampledInterval(Resampling):
    """Base of wrappers that add an interval to the point estimates of an estimator.

    A subclass computes the intervals in `_ends`. Values are unchanged, and so are estimates that
    already have a bound.
    """

    level: float
    keeps_values_of = "estimator"
    stream_count = 1  # number of Generators that are passed to `_ends`

    def _ends(
        self, points: Mapping[str, float], sample: Sample, *streams: np.random.Generator
    ) -> dict[str, End]:
        """Return {estimand: (interval or None, diagnostics)} for `points`, {estimand: value}."""
        raise NotImplementedError

    def __call__(
        self,
        p: np.ndarray,
        y: np.ndarray,
        rng: np.random.Generator | None = None,
        notion: str | None = None,
        problem: Any = None,
    ) -> dict[str, Estimate]:
        sample = Sample.of(p, y, notion, problem)
        estimates, parent = self._apply_estimator(sample, rng)
        points = {name: estimates[name].value for name in names_without_bounds(estimates)}
        if not points:
            return estimates
        if len(p) < MIN_ROWS:
            for name in points:
                estimates[name] = with_diagnostics(estimates[name], {"resamples": 0.0})
            return estimates
        streams = spawn_streams(parent, self.stream_count)
        for name, (ends, diagnostics) in self._ends(points, sample, *streams).items():
            e = with_diagnostics(estimates[name], diagnostics)
            if ends is not None:
                # A calibration error is at least 0.
                low, high = (max(end, 0.0) for end in ends) if estimands.is_error(name) else ends
                e = replace(e, low=float(low), high=float(high), level=float(self.level))
            estimates[name] = e
        return estimates

    def _usable(
        self, value: float, values: list[float], count: int
    ) -> tuple[bool, dict[str, float]]:
        """Return (usable, diagnostics): whether `values` determine an interval, and their counts.

        They do if at most 5 % of the `count` resamples gave no finite value, and if the values
        differ. `value` is the estimate on the sample, `values` are the finite estimates on the
        resamples.
        """
        diagnostics = {"resamples": float(count)}
        if len(values) < count:
            diagnostics["undefined_resamples"] = float(count - len(values))
        varies = is_complete(values, count) and np.ptp(values) > SAME * max(1.0, abs(value))
        return bool(varies), diagnostics


def is_complete(values: list[float], count: int) -> bool:
    """Return True if at least 95 % of `count` resamples gave one of the finite `values`."""
    return len(values) >= (1.0 - MAX_UNDEFINED_SHARE) * count


def finite_values(wrapper: Wrapper, sample: Sample, rng: np.random.Generator) -> dict[str, float]:
    """Return {estimand: value} of the wrapped estimator on a resample, without infinite values.

    The result is {} if the estimator raises UndefinedError, ValueError or ArithmeticError: a
    resample may, for example, lack a class.
    """
    seeds = wrapper.replication_rng
    stream = rng if seeds is None else seeds(int(rng.integers(2**31 - 1)))
    try:
        estimates = apply(wrapper.estimator, *sample.data, stream, sample.problem)
    except (UndefinedError, ValueError, ArithmeticError):
        return {}
    return {name: e.value for name, e in estimates.items() if math.isfinite(e.value)}


def names_without_bounds(estimates: dict[str, Estimate]) -> list[str]:
    """Return the names of the estimates that get an interval.

    These are finite point estimates without a bound. A p-value gets no interval.
    """
    return [
        name
        for name, e in estimates.items()
        if e.kind == "point" and name not in estimands.TESTS
        if e.low is None and e.high is None and is_finite(e)
    ]


def calibrated_labels(p: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return labels drawn from the predictions, in the shape of y.

    For p (n,) they are 1 with probability p. For p (n, k) they are classes with the probabilities
    in the rows of p; these labels are one-hot if y is (n, k).
    """
    if p.ndim == 1:
        return (rng.random(len(p)) < p).astype(np.int64)
    below = p.cumsum(axis=1)
    drawn = (rng.random((len(p), 1)) * below[:, -1:] >= below[:, :-1]).sum(axis=1)
    return one_hot(drawn, p.shape[1]).astype(np.int64) if y.ndim == 2 else drawn


def spawn_streams(rng: np.random.Generator | int, count: int) -> list[np.random.Generator]:
    """Return `count` random streams for a wrapper, spawned from the rng of its estimator.

    The wrapper calls this function after it has called the estimator. Streams that the estimator
    spawns are then the same as without the wrapper.
    """
    if isinstance(rng, (int, np.integer)):
        rng = np.random.default_rng([int(rng), 200])
    return rng.spawn(count)


def with_diagnostics(e: Estimate, diagnostics: dict[str, float]) -> Estimate:
    """Return the estimate with further diagnostics."""
    return replace(e, diagnostics={**(e.diagnostics or {}), **diagnostics})


def statistic_message(name: str, names: Collection[str]) -> str:
    """Return the message about a statistic that is none of the estimands `names`."""
    return (
        f"statistic is {name!r}, which the estimator does not return; give one of "
        f"{', '.join(names)}."
    )
