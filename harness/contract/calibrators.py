"""The contract of calibrators. `harness.contract.check` explains items and cases."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from harness.calibrators.base import CalibrationMap, CalibratorSpec
from harness.contract.items import (
    CONSTANT,
    DECLARED,
    FEW,
    ONE,
    SAME,
    SEED,
    TIES,
    UNSEEN_CLASS,
    ContractBrokenError,
    docstring_summary,
    examine_samples,
    read_only,
    without_global_draws,
)
from harness.errors import UndefinedError
from harness.math.notions import TOLERANCE, one_hot
from harness.plan import requirements
from harness.problems import Beta, Dirichlet
from harness.problems.maps import LogitAffine, Power

SAMPLES, POINTS = 120, 77


class Case(NamedTuple):
    """A calibrator with a sample to fit and points to predict.

    Parameters
    ----------
    calibrator : object
        The calibrator.
    notion : {"scalars", "vectors"}
        Shape of the predictions.
    p, y : arrays (n,) or (n, k), and (n,)
        Ordinary sample of miscalibrated predictions without ties.
    x : array (m,) or (m, k)
        Points at which the fitted map is evaluated.
    """

    calibrator: Any
    notion: str
    p: np.ndarray
    y: np.ndarray
    x: np.ndarray

    @property
    def classes(self) -> int:
        """Number of classes, which is 2 for scalars."""
        return 2 if self.p.ndim == 1 else int(self.p.shape[1])


def cases(calibrator: Any) -> list[Case]:
    """Return a case of scalars and a case of vectors.

    Vectors have three classes, or two if the calibrator takes no more.
    """
    spec = CalibratorSpec.of(calibrator)
    n = min(SAMPLES, spec.max_n or SAMPLES)
    classes = max(2, min(3, spec.max_classes or 3))
    problems: dict[str, Any] = {
        "scalars": Beta(map=LogitAffine(0.4, 0.3)),
        "vectors": Dirichlet(classes, map=Power(0.3)),
    }
    result = []
    for name, problem in problems.items():
        p, y = problem.sample(n, np.random.default_rng([SEED, 0]))
        x, _ = problem.sample(POINTS, np.random.default_rng([SEED, 1]))
        result.append(Case(calibrator, name, p, y, x))
    return result


def _fit(
    case: Case, p: np.ndarray | None = None, y: np.ndarray | None = None, seed: int = 0
) -> CalibrationMap:
    """Return the map that the calibrator fits to p and y, by default to the sample of the case.

    Raise ContractBrokenError if the result is not callable.
    """
    p = case.p.copy() if p is None else p
    y = case.y.copy() if y is None else y
    q = case.calibrator.fit(p, y, np.random.default_rng([SEED, seed]))
    if not callable(q):
        raise ContractBrokenError(
            f"fit returned a {type(q).__name__}; return a function q(p) with values of the shape "
            "of p"
        )
    return q


def _predict(q: CalibrationMap, x: np.ndarray) -> np.ndarray:
    """Return q(x). Raise ContractBrokenError unless it has the shape of x and lies in [0, 1]."""
    values = np.asarray(q(x))
    if values.shape != x.shape:
        raise ContractBrokenError(
            f"q(p) has shape {values.shape} for p of shape {x.shape}; the shapes must be equal"
        )
    if values.dtype.kind not in "fiu":
        raise ContractBrokenError(
            f"q(p) has the type {values.dtype}; return probabilities in [0, 1]"
        )
    if not (values.min() >= -SAME and values.max() <= 1.0 + SAME):  # also for NaN
        raise ContractBrokenError(
            f"q goes from {values.min():.6g} to {values.max():.6g}; return probabilities in [0, 1]"
        )
    return values


def returns_probabilities(case: Case) -> str:
    """Check that recalibrated predictions are probabilities with the shape of p."""
    values = _predict(_fit(case), case.x.copy())
    return f"from {values.min():.3g} to {values.max():.3g}"


def rows_sum_to_one(case: Case) -> str:
    """Check that recalibrated vectors sum to 1, also far from the predictions of the fit."""
    if case.p.ndim == 1:
        raise UndefinedError("the item applies to vectors only")
    fitted = {
        "ordinary samples": case.p.copy(),
        "three distinct p": case.p[np.arange(len(case.p)) % 3],
        "one distinct p": case.p[np.zeros(len(case.p), dtype=int)],
    }
    for name, p in fitted.items():
        sums = _predict(_fit(case, p), case.x.copy()).sum(axis=1)
        if np.abs(sums - 1.0).max() > TOLERANCE:
            raise ContractBrokenError(
                f"fitted to {name}, q has rows with sums from {sums.min():.6g} to "
                f"{sums.max():.6g}; every row must sum to 1"
            )
    return f"within {TOLERANCE:g}"


def _is_fitted(case: Case, p: np.ndarray, y: np.ndarray) -> bool:
    _predict(_fit(case, p.copy(), y.copy()), case.x.copy())
    return True


def zero_and_one(case: Case) -> str:
    """Check predictions at p that are 0 or 1, and a fit to such p.

    The fit is to a sample in which the class with p = 1 is wrong in a quarter of the rows.
    """
    top = np.arange(min(40, len(case.p))) % case.classes
    p = top.astype(np.float64) if case.p.ndim == 1 else one_hot(top, case.classes)
    y = np.where(np.arange(len(top)) % 4 == 3, (top + 1) % case.classes, top)
    _predict(_fit(case), p)
    return examine_samples([lambda *_: (p, y)], _is_fitted)(case)


def one_point(case: Case) -> str:
    """Check that a fitted map can be evaluated at a single point."""
    _predict(_fit(case), case.x[:1].copy())
    return "predicted"


def determinism(case: Case) -> str:
    """Check that predictions repeat as declared, and that fit draws from its rng only."""
    declared = CalibratorSpec.of(case.calibrator).determinism

    def values(seed: int = 0) -> np.ndarray:
        return _predict(_fit(case, seed=seed), case.x.copy())

    first = without_global_draws(values)
    tolerance = 0.0 if declared == "exact" else SAME
    if (gap := np.abs(first - values()).max()) > tolerance:
        raise ContractBrokenError(
            f"determinism is declared as {declared}, but the same input and seed give values of q "
            f"that differ by up to {gap:.3g}"
        )
    if declared != "statistical" and (gap := np.abs(first - values(seed=1)).max()) > tolerance:
        raise ContractBrokenError(
            f"determinism is declared as {declared}, but two seeds give values of q that differ by "
            f"up to {gap:.3g}"
        )
    return declared


def input_kept(case: Case) -> str:
    """Check that read-only arrays are accepted, and that no array is changed."""
    p, y, x = read_only(case.p, case.y, case.x)
    q = _fit(case, p, y)
    first = _predict(q, x)
    if not all(np.array_equal(a, b) for a, b in zip((p, y, x), (case.p, case.y, case.x))):
        raise ContractBrokenError("the arrays that were passed were changed; work on copies")
    if np.abs(first - _predict(q, x)).max() > SAME:
        raise ContractBrokenError("a second call of q with the same p gives other probabilities")
    return "read-only arrays are accepted and unchanged"


def declarations(case: Case) -> str:
    """Check that the declared properties are valid, and return their names."""
    declared = requirements.calibrator(case.calibrator)
    return ", ".join(declared) or "no property is declared; determinism is taken as statistical"


ITEMS = {
    "returns probabilities": returns_probabilities,
    "rows sum to 1": rows_sum_to_one,
    "p of 0 and 1": zero_and_one,
    "ties": examine_samples(TIES, _is_fitted),
    "few samples": examine_samples(FEW, _is_fitted),
    "unseen class": examine_samples(UNSEEN_CLASS, _is_fitted),
    "constant p": examine_samples(CONSTANT, _is_fitted),
    "one sample": examine_samples(ONE, _is_fitted),
    "one point": one_point,
    "determinism": determinism,
    "input not modified": input_kept,
    DECLARED: declarations,
    "docstring": lambda case: docstring_summary(
        case.calibrator, "how q is fitted, its cost and the source"
    ),
}
