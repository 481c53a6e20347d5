"""Protocol of a calibrator, and the attributes that a calibrator may declare."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

CalibrationMap: TypeAlias = Callable[[NDArray[np.float64]], NDArray[np.float64]]


@runtime_checkable
class Calibrator(Protocol):
    """Frozen dataclass with a method `fit` that estimates E[Y given p].

    Its fields are its settings. The fields of `CalibratorSpec` are optional class attributes or
    properties.
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
        Approximate CPU seconds of one fit and prediction at n = 1,000. It helps to plan runs.
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


def fit_each(
    calibrator: Any, p: NDArray[np.float64], y: NDArray[np.int64], seen: Any, rng: Any
) -> Iterator[CalibrationMap]:
    """Fit one map for each row of `seen` (folds, n), a mask of the samples to fit on.

    A calibrator may define its own method `fit_each(p, y, seen, rng)`. Then the fits can share
    work, such as the order of the samples or a start near the minimum.
    """
    if hasattr(calibrator, "fit_each"):
        return iter(calibrator.fit_each(p, y, seen, rng))
    return (calibrator.fit(p[rows], y[rows], rng) for rows in seen)


class FitEach(ABC):
    """Base of a deterministic calibrator that defines `fit_each`. Its `fit` uses all samples."""

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
    ) -> CalibrationMap:
        """Fit the map q on all samples (see `Calibrator.fit`)."""
        return next(self.fit_each(p, y, np.ones((1, len(y)), dtype=bool), rng))
