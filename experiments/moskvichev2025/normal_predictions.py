"""Normal predictions of a real outcome, with the exact value of their calibration error."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness.errors import BadInputError
from harness.math.mean_operators import (
    embedding_products,
    kernel_of_embeddings,
    operator_distance,
)


@dataclass(frozen=True)
class NormalPredictions:
    """Finitely many normal predictions, and outcomes with another mean and standard deviation.

        P(prediction i) = weights[i],   prediction i is N(means[i], sds[i]^2)
        Y given prediction i ~ N(means[i] + shift, (factor sds[i])^2)

    It is no problem of the harness, whose problems have probabilities and labels.

    Parameters
    ----------
    means, sds, weights : sequence of float
        Parameters and probabilities of the predictions.
    shift, factor : float
        Error of the mean, and factor of the standard deviation. The predictions are calibrated if
        shift is 0 and factor is 1.

    Examples
    --------
    >>> NormalPredictions().ckce()
    0.0
    >>> round(NormalPredictions(means=(0.0,), sds=(1.0,), weights=(1.0,), shift=1.0).ckce(), 6)
    0.177268
    """

    means: tuple[float, ...] = (0.0, 1.5, 3.0)
    sds: tuple[float, ...] = (0.5, 1.0, 2.0)
    weights: tuple[float, ...] = (0.5, 0.3, 0.2)
    shift: float = 0.0
    factor: float = 1.0

    def __post_init__(self) -> None:
        m, s, w = self._arrays()
        same = m.shape == s.shape == w.shape
        if not (same and len(m) and (s > 0).all() and (w > 0).all() and abs(w.sum() - 1) < 1e-12):
            raise BadInputError(
                f"NormalPredictions have means {self.means}, sds {self.sds} and weights "
                f"{self.weights}; equally many numbers, positive sds, and positive weights that "
                "sum to 1 are needed."
            )
        if not self.factor > 0:
            raise BadInputError(f"factor is {self.factor}; a positive number is needed.")

    def _arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return tuple(  # type: ignore[return-value]
            np.asarray(v, dtype=float) for v in (self.means, self.sds, self.weights)
        )

    def sample(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Draw n predictions and outcomes: means, standard deviations and y, (n,) each."""
        rng_i, rng_y = rng.spawn(2)
        means, sds, weights = self._arrays()
        i = np.searchsorted(np.cumsum(weights)[:-1], rng_i.random(n), side="right")
        m, s = means[i], sds[i]
        return m, s, m + self.shift + self.factor * s * rng_y.standard_normal(n)

    def ckce(self, width: float = 1.0, rate: float = 1.0, ridge: float = 0.0) -> float:
        """Return the CKCE of the law, with the kernels of `regression_ckce`.

        It is tr(A D A K) of `operator_distance`, with the probabilities as weights. K is the kernel
        of the predictions. D_ij = <d_i, d_j>, where d_i is the embedding of the law of Y given
        prediction i minus that of the prediction. Both are normal laws, so that the four inner
        products of <d_i, d_j> have the closed form of `embedding_products`. With one prediction, K
        is 1, and the value is MMD^2 / (1 + ridge)^2, with MMD^2 = ||d||^2.
        """
        m, s, weights = self._arrays()
        laws = (m + self.shift, self.factor * s), (m, s)
        (true, mixed), (mixed_back, predicted) = [
            [embedding_products(*a, *b, width) for b in laws] for a in laws
        ]
        kernel = kernel_of_embeddings(predicted, rate)
        gaps = true - mixed - mixed_back + predicted
        return operator_distance(kernel, gaps, ridge, weights)
