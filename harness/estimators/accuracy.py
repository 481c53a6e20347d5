"""Accuracy: how often the most probable class is the outcome. It is no calibration error."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness.estimators.base import Estimate
from harness.math.notions import checked


@dataclass(frozen=True)
class Accuracy:
    """Share of the samples whose most probable class is the outcome.

        accuracy = mean 1{argmax_j p_j = y}

    Of equal probabilities the first class counts; a scalar probability of 1/2 predicts class 0.
    Under top_label, whose outcomes are 1 if the predicted label was right, it is their mean.

    Notes
    -----
    Estimand: P(argmax f = Y), between 0 and 1. Unbiased. Cost O(n k).

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
        """Return the accuracy of p (n,) or (n, k); y are outcomes (n,) or class-wise indicators."""
        y = np.asarray(y)
        p, y = checked(p, y.argmax(axis=1) if y.ndim == 2 else y)
        if notion == "top_label":
            return {"accuracy": Estimate(float(y.mean()))}
        predicted = p > 0.5 if p.ndim == 1 else p.argmax(axis=1)
        return {"accuracy": Estimate(float((predicted == y).mean()))}


@dataclass(frozen=True)
class SaturatedShare:
    """Top-label accuracy, with the share of confidences that float32 rounds to 1.

        accuracy = mean y,  saturated_share = mean 1{float32(p) = 1}

    Notes
    -----
    Estimand: P(argmax f = Y), unbiased. The diagnostic `saturated_share` is the share of points at
    which a Dirichlet kernel has no density. An estimator without clipping drops them. Cost O(n).

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
        p, y = checked(p, y)
        share = float((p.astype(np.float32) == 1.0).mean())
        return {"accuracy": Estimate(float(y.mean()), diagnostics={"saturated_share": share})}
