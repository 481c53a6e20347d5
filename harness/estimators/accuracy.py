"""Accuracy: how often the most probable class is the outcome. It is no calibration error."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness.estimators.base import Estimate
from harness.math.notions import checked, checked_scalars


@dataclass(frozen=True)
class Accuracy:
    """Share of the samples whose most probable class is the outcome.

        accuracy = mean 1{argmax_j p_j = y}

    p is a predicted vector of probabilities and y its outcome. Among equal probabilities, the first
    class counts as the most probable. A scalar probability of 1/2 predicts class 0. Under the
    top-label notion, y is 1 if the predicted label was right, and the accuracy is the mean of y.

    Notes
    -----
    Estimand: the probability that the most probable class is the outcome. Unbiased. Cost: O(n k)
    for n samples and k classes.

    Examples
    --------
    >>> import numpy as np
    >>> Accuracy()(np.array([[0.7, 0.2, 0.1], [0.4, 0.5, 0.1]]), np.array([0, 2]))["accuracy"].value
    0.5
    """

    notions = ("binary", "top_label", "classwise", "canonical")
    estimands = ("accuracy",)
    determinism = "exact"
    revision = 1
    null_bias = 1.0
    wants = ("notion",)
    takes_classwise = True

    def __call__(
        self, p: np.ndarray, y: np.ndarray, rng: object = None, notion: str | None = None
    ) -> dict[str, Estimate]:
        """Return the accuracy of p (n,) or (n, k), for outcomes (n,) or class indicators (n, k)."""
        y = np.asarray(y)
        p, y = checked(p, y.argmax(axis=1) if y.ndim == 2 else y)
        if notion == "top_label":
            return {"accuracy": Estimate(float(y.mean()))}
        predicted = p > 0.5 if p.ndim == 1 else p.argmax(axis=1)
        return {"accuracy": Estimate(float((predicted == y).mean()))}


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
