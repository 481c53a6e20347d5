"""Maps of probability vectors: an elementwise function, then normalisation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Power:
    """g*(p) is proportional to p^exponent, elementwise.

    Predictions are overconfident for exponent < 1, and underconfident for exponent > 1.

    Examples
    --------
    >>> Power(0.3)(np.array([[0.1, 0.2, 0.7]])).round(4)
    array([[0.2485, 0.306 , 0.4455]])

    References
    ----------
    berta2026, Fig. 3.
    """

    exponent: float = 1.0

    def __call__(self, p: np.ndarray) -> np.ndarray:
        return _normalised(self.elementwise(p))

    def elementwise(self, p: np.ndarray) -> np.ndarray:
        """Return the function before normalisation."""
        return p**self.exponent


@dataclass(frozen=True)
class Harmonic:
    """g*(p) = softmax(log p + amplitude sin(frequency log p)).

    Examples
    --------
    >>> Harmonic()(np.array([[0.1, 0.2, 0.7]])).round(4)
    array([[0.2187, 0.1734, 0.608 ]])

    References
    ----------
    berta2026, published runs.
    """

    amplitude: float = 0.5
    frequency: float = 5.0

    def __call__(self, p: np.ndarray) -> np.ndarray:
        return _normalised(self.elementwise(p))

    def elementwise(self, p: np.ndarray) -> np.ndarray:
        """Return the function before normalisation."""
        with np.errstate(divide="ignore"):
            wave = np.sin(self.frequency * np.log(np.maximum(p, np.finfo(float).tiny)))
        return p * np.exp(self.amplitude * wave)


def _normalised(weights: np.ndarray) -> np.ndarray:
    """Return the weights divided by their sum along the last axis."""
    return weights / weights.sum(axis=-1, keepdims=True)
