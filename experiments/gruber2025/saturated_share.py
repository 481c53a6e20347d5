"""Top-label accuracy, with the share of confidences that float32 rounds to 1."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness.estimators.base import Estimate
from harness.math.notions import checked_scalars


@dataclass(frozen=True)
class SaturatedShare:
    """Top-label accuracy, with the share of confidences that float32 rounds to 1.

        accuracy = mean y
        saturated_share = mean 1{float32(p) = 1}

    p is the confidence in the predicted label, and y is 1 if that label was right.

    Notes
    -----
    Estimand: the probability that the predicted label is right. Unbiased. `saturated_share` is a
    diagnostic: a Dirichlet kernel has no density at a confidence of 1, and an estimator that does
    not clip drops such samples. Cost: O(n).

    Examples
    --------
    >>> e = SaturatedShare()(np.array([0.6, 1.0 - 1e-9]), np.array([1, 1]))["accuracy"]
    >>> e.value, e.diagnostics["saturated_share"]
    (1.0, 0.5)
    """

    notions = ("top_label",)
    estimands = ("accuracy",)
    determinism = "exact"
    revision = 1
    null_bias = 1.0

    def __call__(self, p: np.ndarray, y: np.ndarray, rng: object = None) -> dict[str, Estimate]:
        """Return the accuracy of confidences p (n,); y (n,) is 1 if the label was right."""
        p, y = checked_scalars(p, y)
        share = float((p.astype(np.float32) == 1.0).mean())
        return {"accuracy": Estimate(float(y.mean()), diagnostics={"saturated_share": share})}
