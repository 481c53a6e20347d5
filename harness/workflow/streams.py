"""Estimates of predictions that arrive in parts, of which only sums in bins are kept."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from harness.errors import BadInputError
from harness.estimators.base import Estimate, Estimator, EstimatorSpec
from harness.math.bin_sums import width_sums
from harness.math.notions import reduce
from harness.plan.components import load


def estimate_stream(
    parts: Iterable[tuple[ArrayLike, ArrayLike]],
    estimator: str | Estimator = "binned15",
    notion: str = "top_label",
    classes: Sequence[Any] | None = None,
) -> dict[str, Estimate]:
    """Estimate the calibration errors of predictions that do not fit in memory together.

    The value is that of `harness.estimate` on all rows, up to rounding of sums. Only one part, and
    the sums of p and y in each bin, are in memory at a time.

    Parameters
    ----------
    parts : iterable of (p, y)
        Predictions and labels of some rows each, as for `harness.estimate`. A generator is read
        once. Parts without rows are skipped.
    estimator : str or Estimator
        An estimator on bins of equal width: "binned15", "average_binned15", or
        harness.load_estimator("debiased15", rule="width") and ("debiased15_l1", rule="width").
    notion : {"top_label", "binary", "classwise"}
        The reduction of (p, y) that is judged.
    classes : sequence, optional
        Names of the classes, as for `harness.estimate`.

    Returns
    -------
    dict of str to Estimate
        {estimand: estimate}. The class-wise estimate is the mean over the classes.

    Raises
    ------
    BadInputError
        If the estimator needs all rows at once, if a part cannot be used, or if there are no rows.
        Bins of equal mass need the quantiles of all rows.

    Examples
    --------
    >>> parts = [([0.9, 0.8], [1, 1]), ([0.3, 0.6], [0, 0])]
    >>> round(estimate_stream(parts, notion="binary")["l1"].value, 3)
    0.3
    """
    function: Any = load("estimator", estimator, {}) if isinstance(estimator, str) else estimator
    _refuse_others(function, estimator, notion)
    total: Any = 0.0  # (classes, 3, bins): sizes, sums of p and sums of y
    columns: set[tuple[int, ...]] = set()
    for number, (p, y) in enumerate(parts):
        if np.shape(p)[:1] == np.shape(y)[:1] == (0,):
            continue
        columns.add(np.shape(p)[1:])
        if len(columns) > 1:
            raise BadInputError(
                f"part {number} has p of shape {np.shape(p)}, which does not go with the parts "
                "before it; pass the same number of columns in every part."
            )
        try:
            p, y = reduce(p, y, notion, classes)
        except BadInputError as error:
            raise BadInputError(f"part {number}: {error}") from None
        scores = [(p, y)] if p.ndim == 1 else zip(p.T, y.T)
        total = total + np.array([width_sums(x, hit, function.bins) for x, hit in scores])
    if not columns:
        raise BadInputError("parts holds no rows; at least one sample is needed.")
    results = [_estimates(function, *sums) for sums in total]
    return {
        name: Estimate(float(np.mean([result[name].value for result in results])))
        for name in results[0]
    }


def _refuse_others(function: Any, estimator: Any, notion: str) -> None:
    """Raise BadInputError unless sums in bins of equal width determine the estimate."""
    if reason := EstimatorSpec.of(function).out_of_range(notion, 1, 2):
        raise BadInputError(f"estimator {estimator!r} cannot be applied: {reason}.")
    rule = getattr(function, "rule", None)
    if not hasattr(function, "of_bins") or rule is None:
        raise BadInputError(
            f"estimator {estimator!r} needs all rows at once; pass an estimator on bins of equal "
            "width, such as 'binned15'."
        )
    if rule != "width":
        name = repr(estimator) if isinstance(estimator, str) else "NAME"
        raise BadInputError(
            f"estimator {estimator!r} has bins by the rule {rule!r}, which needs all rows at once; "
            f"pass bins of equal width: harness.load_estimator({name}, rule='width')."
        )


def _estimates(function: Any, sizes: Any, sum_p: Any, sum_y: Any) -> dict[str, Estimate]:
    used = sizes > 0
    means = sum_p[used] / sizes[used], sum_y[used] / sizes[used]
    estimates: dict[str, Estimate] = function.of_bins(sizes[used], *means)
    return estimates
