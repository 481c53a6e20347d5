"""Logits of predictions, and a map of two columns from one of scalars: what several calibrators share."""

from __future__ import annotations

from typing import Any

import numpy as np

from harness.calibrators.base import CalibrationMap, Calibrator

LOG_FLOOR = float(
    np.log(np.finfo(np.float32).tiny)
)  # -87.336, the log of the smallest normal float32: p = 0 has a finite logit


def floored_log(p: np.ndarray) -> np.ndarray:
    """max(log p, -87.336), of the shape of p."""
    with np.errstate(divide="ignore"):
        return np.maximum(np.log(p), LOG_FLOOR)


def log_odds(p: np.ndarray) -> np.ndarray:
    """logit p = log p - log(1 - p), each log floored at -87.336, of the shape of p."""
    return floored_log(p) - floored_log(1.0 - p)


def in_columns(p: np.ndarray) -> np.ndarray:
    """p as columns: (n, 1) of scalars (n,), (n, k) as it is."""
    return p[:, None] if p.ndim == 1 else p


def on_columns(calibrator: Calibrator, p: np.ndarray, y: np.ndarray, rng: Any) -> CalibrationMap:
    """Fit a calibrator of scalars on the second of two columns; the map is of two columns again."""
    q = calibrator.fit(p[:, 1], y, rng)

    def both(x: np.ndarray) -> np.ndarray:
        value = q(x[:, 1])
        return np.column_stack([1.0 - value, value])

    return both
