"""Protocol of a calibrator, and the attributes that a calibrator may declare."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from harness.errors import BadInputError
from harness.math.arrays import refuse_masked
from harness.math.weights import takes_weights, weighted_rows

CalibrationMap: TypeAlias = Callable[[NDArray[np.float64]], NDArray[np.float64]]


@runtime_checkable
class Calibrator(Protocol):
    """Frozen dataclass with a method `fit` that estimates E[Y given p].

    Its fields are its settings. The fields of `CalibratorSpec` are optional class attributes or
    properties.

    A calibrator that can weight the samples has an argument `sample_weight=None` of `fit`, as in
    scikit-learn: weights (n,) of at least 0. Weights that are whole numbers repeat rows, and rows
    of weight 0 are left out. It is passed by keyword, and only if there are weights.
    """

    def fit(
        self, p: NDArray[np.float64], y: NDArray[np.int64], rng: np.random.Generator | int
    ) -> CalibrationMap:
        """Fit a map q that estimates E[Y given p].

        Parameters
        ----------
        p : array (n,) or (n, k)
            Predicted probabilities: of class 1, or of all k classes with rows that sum to 1. They
            must not be modified.
        y : array (n,)
            Labels, in {0, 1} if p is (n,), else in 0..k-1. A class may be absent from y. It gets
            probability 0, or the smallest probability that the calibrator can express.
        rng : Generator or int
            Source of random numbers. An integer seed reproduces the random stream of an author's
            code.

        Returns
        -------
        q : function
            Maps (m,) to (m,), or (m, k) to (m, k) with rows that sum to 1. Values lie in [0, 1].

        Raises
        ------
        UndefinedError
            If no map exists for this sample.
        """
        ...


@dataclass(frozen=True)
class CalibratorSpec:
    """Attributes that a calibrator may declare, with their defaults.

    Parameters
    ----------
    determinism : {"exact", "rounding", "statistical"}
        "exact": the same input gives the same bits. "rounding": results agree within 1e-9.
        "statistical": results depend on the seed.
    max_n, max_classes : int or None
        Cells with more samples or more classes are skipped, with this limit as the reason. None
        means no limit.
    null_bias : float
        Largest |mean estimate| that the contract test of `Variational` with this calibrator accepts
        on calibrated samples of size 2,000.
    seconds : float
        Approximate CPU seconds of one fit and prediction at n = 1,000. The `seconds` of estimators
        with this calibrator are computed from it.
    unavailable : str or None
        Reason why the calibrator cannot run here (a missing package, file or GPU). Its cells are
        skipped with this reason.
    revision : int
        Number that is raised when the fitted maps change. It is part of the revision of a
        variational estimator, whose cells are then computed again.

    Examples
    --------
    >>> from harness.calibrators import Isotonic
    >>> spec = CalibratorSpec.of(Isotonic())
    >>> spec.determinism, spec.max_n, spec.unavailable
    ('exact', None, None)
    """

    determinism: str = "statistical"
    max_n: int | None = None
    max_classes: int | None = None
    null_bias: float = 0.05
    seconds: float = 5e-4
    unavailable: str | None = None
    revision: int = 0

    @classmethod
    def of(cls, calibrator: Any) -> CalibratorSpec:
        """Return the attributes of `calibrator`; missing attributes get their defaults."""
        declared: dict[str, Any] = {
            f.name: getattr(calibrator, f.name) for f in fields(cls) if hasattr(calibrator, f.name)
        }
        return cls(**declared)


# Calibrators with an argument `sample_weight`, for messages; a test compares them with it.
WEIGHTED = (
    "BetaCalibration", "HistogramBinning", "Identity", "Isotonic", "Mixture", "Platt",
    "Temperature", "VectorScaling",
)  # fmt: skip


def weighted_fit(
    calibrator: Any,
    p: NDArray[np.float64],
    y: NDArray[np.int64],
    rng: Any,
    sample_weight: ArrayLike | None = None,
) -> CalibrationMap:
    """Fit a map, with weights (n,) unless they are None.

    BadInputError if there are weights and the calibrator has no weighted form.
    """
    if sample_weight is None:
        unweighted: CalibrationMap = calibrator.fit(p, y, rng)
        return unweighted
    refuse_weights(calibrator)
    fitted: CalibrationMap = calibrator.fit(p, y, rng, sample_weight=sample_weight)
    return fitted


def refuse_weights(calibrator: Any) -> None:
    """Raise BadInputError unless the calibrator can weight the samples."""
    if not takes_weights(getattr(calibrator, "fit_each", calibrator.fit)):
        raise BadInputError(
            f"{type(calibrator).__name__} has no weighted form: it has no argument sample_weight. "
            f"Calibrators that have one: {', '.join(WEIGHTED)}."
        )


def fit_each(
    calibrator: Any,
    p: NDArray[np.float64],
    y: NDArray[np.int64],
    seen: Any,
    rng: Any,
    sample_weight: NDArray[np.float64] | None = None,
) -> Iterator[CalibrationMap]:
    """Fit one map for each row of `seen` (folds, n), a mask of the samples to fit on.

    `sample_weight` (n,) holds weights above 0, or is None.

    A calibrator may define its own method `fit_each(p, y, seen, rng)`. Then the fits can share
    work, such as the order of the samples or a start near the minimum.
    """
    w = sample_weight
    if w is not None:
        refuse_weights(calibrator)
    if hasattr(calibrator, "fit_each"):
        extra = {} if w is None else {"sample_weight": w}
        return iter(calibrator.fit_each(p, y, seen, rng, **extra))
    return (
        weighted_fit(calibrator, p[rows], y[rows], rng, None if w is None else w[rows])
        for rows in seen
    )


def refuse_masked_sample(p: Any, y: Any) -> None:
    """Raise BadInputError if predictions or labels are masked arrays with masked values."""
    refuse_masked("p", p)
    refuse_masked("y", y)


class FitEach(ABC):
    """Base of a deterministic calibrator that defines `fit_each`. Its `fit` uses all samples.

    A calibrator that can weight the samples has an argument `sample_weight=None` of `fit_each`,
    weights (n,) above 0. Its map must not depend on the unit of the weights.
    """

    @abstractmethod
    def fit_each(
        self,
        p: NDArray[np.float64],
        y: NDArray[np.int64],
        seen: NDArray[np.bool_],
        rng: np.random.Generator | int | None = None,
    ) -> Iterator[CalibrationMap]:
        """Fit one map for each row of `seen` (folds, n), a mask of the samples to fit on."""

    def fit(
        self,
        p: NDArray[np.float64],
        y: NDArray[np.int64],
        rng: np.random.Generator | int | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> CalibrationMap:
        """Fit the map q on all samples (see `Calibrator.fit`)."""
        refuse_masked_sample(p, y)
        if sample_weight is not None:
            refuse_weights(self)
        p, y, w = weighted_rows(p, y, sample_weight)
        return next(fit_each(self, p, y, np.ones((1, len(y)), dtype=bool), rng, w))
