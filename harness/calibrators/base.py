"""What a calibrator is, and what it may say about itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

CalibrationMap: TypeAlias = Callable[[NDArray[np.float64]], NDArray[np.float64]]


@runtime_checkable
class Calibrator(Protocol):
    """Fits E[Y given p]: a frozen dataclass with a method `fit`, whose fields are its settings.

    What it may declare beside that, as class attributes or properties, are the fields of `CalibratorSpec`.
    """

    def fit(
        self, p: NDArray[np.float64], y: NDArray[np.int64], rng: np.random.Generator | int
    ) -> CalibrationMap:
        """Fit the map q, an estimate of E[Y given p].

        Parameters
        ----------
        p : array (n,) or (n, k)
            Predicted probabilities: of class 1, or of all k classes with rows that sum to 1. Not to be written to.
        y : array (n,)
            Labels, in {0, 1} where p is (n,), else in 0..k-1. A class may be absent: it gets probability 0, or the smallest that
            the calibrator can express.
        rng : Generator, or an integer seed where an author's own stream is reproduced

        Returns
        -------
        q : function
            Maps (m,) to (m,), or (m, k) to (m, k) with rows that sum to 1. Values lie in [0, 1].

        Raises
        ------
        UndefinedError
            If there is no map for this sample.
        """
        ...


@dataclass(frozen=True)
class CalibratorSpec:
    """What a calibrator declares, with the defaults for what it leaves out.

    Parameters
    ----------
    determinism : "exact" (same input, same bits), "rounding" (to 1e-9) or "statistical" (depends on the seed)
    max_n, max_classes : int or None
        Cells with more samples, or more classes, are skipped with this reason. None means no limit.
    null_bias : float
        Largest |mean estimate| of a cross-fitted variational estimator with it, on a calibrated sample of 2,000, that is normal.
    seconds : float
        Rough CPU seconds of one fit and prediction at n = 1,000, for planning.
    unavailable : str or None
        Why it cannot run here (a missing package, file or GPU). Its cells are skipped with that reason.
    revision : int
        Raised when its maps change; part of the revision of a variational estimator, whose cells are then computed anew.

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
        """What `calibrator` declares; anybody's class may leave any of the attributes out."""
        declared: dict[str, Any] = {
            f.name: getattr(calibrator, f.name) for f in fields(cls) if hasattr(calibrator, f.name)
        }
        return cls(**declared)


def fit_each(
    calibrator: Any, p: NDArray[np.float64], y: NDArray[np.int64], seen: Any, rng: Any
) -> Iterator[CalibrationMap]:
    """The maps fitted on the samples in each row of `seen` (folds, n), booleans, one after the other.

    A calibrator may have a method `fit_each` of its own, with the same arguments but the first: what the fits share, such as an
    order of the samples or a start next to the minimum, is found once there."""
    own = getattr(calibrator, "fit_each", None)
    if own is not None:
        return iter(own(p, y, seen, rng))
    return (calibrator.fit(p[rows], y[rows], rng) for rows in seen)


def fit_all(calibrator: Any, p: NDArray[np.float64], y: NDArray[np.int64]) -> CalibrationMap:
    """The map of all samples, of a calibrator that has `fit_each`."""
    found: CalibrationMap = next(iter(calibrator.fit_each(p, y, np.ones((1, len(y)), dtype=bool))))
    return found
