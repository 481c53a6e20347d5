"""Calibration errors in one call: the plain binned error ("ECE"), and any other estimator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from harness.common.wording import format_count
from harness.errors import BadInputError
from harness.estimators.application import apply
from harness.estimators.base import Estimate, Estimator, EstimatorSpec
from harness.estimators.binned import Binned
from harness.judging.clusters import GroupBootstrap, PointsOnly
from harness.judging.data import checked_row_groups
from harness.math.notions import reduce
from harness.math.weights import checked_weights, takes_weights

# Ids of estimators with an argument `sample_weight`, for messages; a test compares them with it.
WEIGHTED = (
    "binned15", "binned15_mass", "debiased15", "debiased15_l1", "average_binned15", "corp",
    "brier", "logloss", "accuracy", "auroc",
)  # fmt: skip


class BinnedError(float):
    """A binned calibration error: a float whose repr says which error it is.

    `name` is the error in words, such as "top_label, 15 bins of equal width".

    Examples
    --------
    >>> BinnedError(0.25, "binary, 2 bins of equal width")
    0.25 (binary, 2 bins of equal width)
    >>> print(BinnedError(0.25, "binary, 2 bins of equal width"))
    0.25
    """

    name: str

    def __new__(cls, value: float, name: str = "") -> BinnedError:
        """Return the value as a float with a name."""
        error = super().__new__(cls, value)
        error.name = name
        return error

    def __repr__(self) -> str:
        """Return value and name."""
        return f"{float(self)!r} ({self.name})"

    def __str__(self) -> str:
        """Return the value as text, as of any float."""
        return str(float(self))


def ece(
    p: ArrayLike,
    y: ArrayLike,
    notion: str = "top_label",
    bins: int = 15,
    classes: Sequence[Any] | None = None,
    *,
    binning: str = "width",
    sample_weight: ArrayLike | None = None,
) -> BinnedError:
    """Return the L1 calibration error in bins, which most papers call ECE.

        sum_b n_b / n |mean y in b - mean p in b|

    n_b is the number of rows in bin b, and n the number of all rows. With weights, these are sums
    of weights, and the means are weighted.

    Parameters
    ----------
    p : array_like, (n,) or (n, k)
        Probabilities, as for `harness.estimate`.
    y : array_like, (n,)
        Labels.
    notion : {"top_label", "binary", "classwise"}
        The reduction of (p, y) that is judged. classwise is the mean over the classes.
    bins : int
        Number of bins.
    classes : sequence, optional
        Names of the classes, as for `harness.estimate`.
    binning : {"width", "mass"}
        Bins of equal width in [0, 1], or with equally many rows (or equal sums of weights).
    sample_weight : array_like (n,), optional
        Weights of the rows, at least 0. They need not sum to 1.

    Returns
    -------
    BinnedError
        A float in [0, 1], not in percent; its repr says which error it is. At small n it is biased
        upwards by the noise in the bins. It is biased downwards if errors cancel within a bin.
        `harness.judge` returns estimates with intervals.

    Raises
    ------
    BadInputError
        If p, y, notion or bins cannot be used.

    Notes
    -----
    p of shape (n,) and p of shape (n, 2) are judged differently. With the default notion, p (n,)
    holds the confidences of predictions and y tells which were right; of p (n, 2), the larger
    probability of each row is judged. Use notion="binary" for the probability of class 1.

    References
    ----------
    Naeini, Cooper and Hauskrecht (2015), AAAI; Guo, Pleiss, Sun and Weinberger (2017), ICML, eq.
    3.

    Examples
    --------
    >>> p, y = np.array([0.75, 0.75, 0.25, 0.5]), np.array([1, 1, 0, 0])
    >>> ece(p, y, notion="binary", bins=1)
    0.0625 (binary, 1 bin of equal width)

    The probabilities of both classes, judged by the larger one of each row:

    >>> ece(np.column_stack([1 - p, p]), y, bins=1)
    0.3125 (top_label, 1 bin of equal width)
    >>> ece(p, y, bins=2, binning="mass")
    0.3125 (top_label of p as confidences, 2 bins of equal mass)
    """
    if binning not in ("width", "mass"):
        raise BadInputError(f"binning is {binning!r}; pass 'width' or 'mass'.")
    binned = Binned(bins=bins, rule=binning)
    found = estimate(binned, p, y, notion, classes=classes, sample_weight=sample_weight)["l1"]
    is_confidence = notion == "top_label" and len(np.shape(p)) == 1
    judged = f"{notion} of p as confidences" if is_confidence else notion
    return BinnedError(found.value, f"{judged}, {format_count(bins, 'bin')} of equal {binning}")


def estimate(
    estimator: Estimator,
    p: ArrayLike,
    y: ArrayLike,
    notion: str = "top_label",
    rng: np.random.Generator | int | None = None,
    classes: Sequence[Any] | None = None,
    group_rows: ArrayLike | None = None,
    name: str | None = None,
    sample_weight: ArrayLike | None = None,
) -> dict[str, Estimate]:
    """Apply an estimator to predictions: `harness.estimate` for an object in place of an id.

    `name` is the name of the estimator in messages, by default its repr. `harness.estimate`
    describes the other parameters.
    """
    function: Any = estimator
    shown = repr(estimator) if name is None else repr(name)
    if not callable(function) or isinstance(function, type):
        raise BadInputError(
            f"estimator is {shown}; pass an id, a function (p, y), or an object that can be "
            "called with (p, y, rng)."
        )
    p, y = reduce(p, y, notion, classes)
    weights = None
    if sample_weight is not None:
        weights = checked_weights(sample_weight, len(y))
        if group_rows is not None:
            raise BadInputError(
                "sample_weight and group_rows are both given; the intervals of group_rows have no "
                "weighted form, so leave out one of them."
            )
        if not takes_weights(function):
            raise BadInputError(
                f"estimator {shown} has no weighted form: it has no argument sample_weight. "
                f"Estimators that have one: {', '.join(WEIGHTED)}, variational_<calibrator>, and "
                "their variants."
            )
    if group_rows is not None:
        groups = checked_row_groups(group_rows, len(y))
        function = GroupBootstrap(PointsOnly(function), groups=groups)
    spec = EstimatorSpec.of(function)
    k = p.shape[1] if p.ndim == 2 else 2
    reason = spec.out_of_range(notion, len(p), k) or spec.unavailable
    if spec.needs_posterior:
        reason = "the estimator needs the true posterior, which only a problem knows"
    if reason:
        raise BadInputError(f"estimator {shown} cannot be applied: {reason}.")
    if spec.replication_rng is None:
        stream = np.random.default_rng(0 if rng is None else rng)
        return apply(function, p, y, notion, stream, sample_weight=weights)
    if isinstance(rng, np.random.Generator):
        raise BadInputError(
            f"rng is a Generator, but estimator {shown} makes its own; pass an integer seed."
        )
    stream = spec.replication_rng(rng or 0)
    return apply(function, p, y, notion, stream, sample_weight=weights)
