"""Logits of predictions, and conversions between scalars and columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from harness.calibrators.base import CalibrationMap, Calibrator, weighted_fit

# The log of the smallest normal float32, -87.336. It makes the logit of p = 0 finite.
LOG_FLOOR = float(np.log(np.finfo(np.float32).tiny))


def floored_log(p: np.ndarray) -> np.ndarray:
    """Return max(log p, -87.336), with the shape of p."""
    with np.errstate(divide="ignore"):
        return np.maximum(np.log(p), LOG_FLOOR)


def log_odds(p: np.ndarray) -> np.ndarray:
    """Return log p - log(1 - p) with the shape of p; both logs are floored at -87.336."""
    return floored_log(p) - floored_log(1.0 - p)


def in_columns(p: np.ndarray) -> np.ndarray:
    """Return scalars (n,) as a single column (n, 1); return vectors (n, k) unchanged."""
    return p[:, None] if p.ndim == 1 else p


def on_columns(
    calibrator: Calibrator,
    p: np.ndarray,
    y: np.ndarray,
    rng: Any,
    weights: np.ndarray | None = None,
) -> CalibrationMap:
    """Fit a calibrator of scalars on the second column of p (n, 2); return a map of two columns."""
    q = weighted_fit(calibrator, p[:, 1], y, rng, weights)

    def map_columns(x: np.ndarray) -> np.ndarray:
        value = q(x[:, 1])
        return np.column_stack([1.0 - value, value])

    return map_columns


def centred_logits(p: np.ndarray) -> np.ndarray:
    """Return log p minus its mean over the classes, (n, k)."""
    z = floored_log(p)
    return z - z.mean(axis=1, keepdims=True)
