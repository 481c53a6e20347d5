"""Scheme that CatBoost and LightGBM share: inner folds, early stopping and a final scaling."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from scipy.special import expit

from harness.calibrators.base import CalibrationMap, refuse_masked_sample
from harness.calibrators.logits import floored_log, log_odds, on_columns
from harness.calibrators.scaling import QuadraticScaling, StructuredMatrixScaling
from harness.common.seeds import as_seed
from harness.errors import BadInputError
from harness.math.folds import assign_folds
from harness.math.softmax import softmax

# function from (features, start) to raw scores
RawScores: TypeAlias = Callable[[Any, np.ndarray | None], np.ndarray]
# (mask of the held-out rows, probabilities of these rows, function for raw scores)
InnerFold: TypeAlias = tuple[np.ndarray, np.ndarray, RawScores]
# With fewer samples, there are no trees. An inner fold of one sample with outcome 0 leaves a higher
# rate for training, and the scaling learned to reverse this: cold LightGBM at n = 5 to 15 had mean
# predictions up to 0.33 away from the base rate, and at most 0.02 from n = 20 on.
FEWEST_SAMPLES = 20


@dataclass(frozen=True)
class BoostedTrees:
    """Base of CatBoost and LightGBM: inner folds, early stopping and a final scaling.

        q(p) = scaling( (1 / inner_folds) sum_j P_j(p) ),
        P_j(p) = sigma(trees_j(p) + start(p)), or softmax for vectors

    The fit has these steps:

    1. Split the samples into stratified inner folds.
    2. For each inner fold j, grow trees_j on the other folds. The number of trees is the one with
       the smallest log-loss on fold j.
    3. Fit the scaling to the held-out probabilities of all inner folds together. It is quadratic
       for two classes, and structured matrix scaling for more.

    With fewer than 20 samples, the scaling is fitted to the prediction itself, without trees.

    With a warm start, the trees add to the logits of the prediction: start(p) = logit p for scalars
    and log p for vectors (logs floored at -87.336). Without trees, P_j is then the identity.
    Without a warm start, start(p) = 0.

    A subclass defines `features` and `models`, and may replace the other steps. `CatBoost`
    documents the parameters.
    """

    iterations: int = 300
    patience: int = 200
    warm_start: bool = False
    inner_folds: int = 8
    seed: int | None = None

    determinism = "statistical"

    def __post_init__(self) -> None:
        for name, least in (("iterations", 1), ("patience", 1), ("inner_folds", 2)):
            if getattr(self, name) < least:
                raise BadInputError(f"{name} is {getattr(self, name)}; at least {least} is needed.")

    @property
    def seconds(self) -> float:
        return 2.5e-4 * self.inner_folds * self.iterations

    def fit(self, p: np.ndarray, y: np.ndarray, rng: np.random.Generator | int) -> CalibrationMap:
        """Fit the map q (see `harness.calibrators.base`). An integer `rng` seeds the models."""
        refuse_masked_sample(p, y)
        if p.ndim == 2 and p.shape[1] == 2:
            return on_columns(self, p, y, rng)
        if len(y) < FEWEST_SAMPLES:
            return self.scaling(p).fit(p, y)
        folds = min(self.inner_folds, len(y))
        seed = as_seed(rng) if self.seed is None else self.seed
        fold = self.assign_inner_folds(y, folds, rng)
        rows, probabilities, maps = zip(
            *self.models(p, y, self.start(p) if self.warm_start else None, fold, seed)
        )
        labels = np.concatenate([y[held_out] for held_out in rows])
        recalibrate = self.scaling(p).fit(np.concatenate(probabilities), labels)

        def q(x: np.ndarray) -> np.ndarray:
            z = self.start(x) if self.warm_start else None
            features = self.features(x)
            total = probability(maps[0](features, z))
            for raw in maps[1:]:
                total += probability(raw(features, z))
            return recalibrate(total / len(maps))

        return q

    def start(self, p: np.ndarray) -> np.ndarray:
        """Return the logits to which warm-started trees add, (n,) or (n, k)."""
        return log_odds(p) if p.ndim == 1 else floored_log(p)

    def assign_inner_folds(
        self, y: np.ndarray, folds: int, rng: np.random.Generator | int
    ) -> np.ndarray:
        """Return the inner fold of each sample, (n,)."""
        return assign_folds(y, folds, True, rng)

    def scaling(self, p: np.ndarray) -> QuadraticScaling | StructuredMatrixScaling:
        """Return the calibrator that is fitted to held-out probabilities of the inner models."""
        return QuadraticScaling() if p.ndim == 1 else StructuredMatrixScaling(mixture=True)

    def features(self, p: np.ndarray) -> Any:
        """Return the input of the models for predictions p."""
        raise NotImplementedError

    def models(
        self, p: np.ndarray, y: np.ndarray, z: np.ndarray | None, fold: np.ndarray, seed: int
    ) -> Iterator[InnerFold]:
        """Yield a fitted model for each inner fold.

        `z` holds the logits to which the trees add, or None. `fold` (n,) is the inner fold of each
        sample. Each item is a tuple `InnerFold`, and its raw scores include `z`.
        """
        raise NotImplementedError


def probability(raw: np.ndarray) -> np.ndarray:
    """Return the logistic function of raw scores (n,), or the softmax of raw scores (n, k)."""
    return expit(raw) if raw.ndim == 1 else softmax(raw)
