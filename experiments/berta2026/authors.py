"""What only the authors' code does: their boosted trees and their quadratic scaling (see NOTES.md)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness.calibrators import CatBoost, LightGBM, QuadraticScaling
from harness.calibrators.logits import floored_log
from harness.calibrators.scaling import powers
from harness.errors import BadInputError
from harness.math.folds import fold_of


@dataclass(frozen=True)
class AuthorsQuadraticScaling(QuadraticScaling):
    """Quadratic scaling by scikit-learn's lbfgs with its default tolerance, without the ridge, on logits of float32 probabilities.

    A prediction that rounds to 1 in float32 lies at l = 87.3. The fit itself is in float64: so do all published runs come back
    (scikit-learn of today fits float32 logits in float32, which turns some signs of q - f)."""

    def logits(self, p):
        p = p.astype(np.float32)  # before 1 - p: what rounds to 1 is as far out as a float32 can be
        below, above = np.log(np.maximum(np.stack([1.0 - p, p]), np.finfo(np.float32).tiny))
        return (above - below).astype(np.float64)

    def coefficients(self, p, y):
        from sklearn.linear_model import LogisticRegression

        if len(np.unique(y)) < 2:
            return np.array([np.inf if y[0] else -np.inf, 0.0, 0.0])
        return LogisticRegression(C=np.inf, fit_intercept=False).fit(powers(self.logits(p)), y).coef_[0]


class _AuthorsScheme:
    """Inner folds of seed `inner_seed` (None: the estimator's, as for their warm-started CatBoost), the scaling above for two
    classes, and a start of scalars from log p where `init` is "log": the untrained model then predicts p / (1 + p), as in their
    synthetic runs."""

    def __post_init__(self):
        super().__post_init__()
        if self.init not in ("logit", "log"):
            raise BadInputError(f"init is {self.init!r}; allowed are 'logit' and 'log'.")

    def start(self, p):
        return floored_log(p) if self.init == "log" else super().start(p)

    def inner_fold_of(self, y, folds, rng):
        return fold_of(y, folds, True, rng if self.inner_seed is None else self.inner_seed)

    def scaling(self, p):
        return AuthorsQuadraticScaling() if p.ndim == 1 else super().scaling(p)


@dataclass(frozen=True)
class AuthorsCatBoost(_AuthorsScheme, CatBoost):
    """CatBoost as in the authors' runs: its default hyper-parameters, and split candidates of every inner fold by itself."""

    vector_depth: int = 6
    borders: int = 254
    subsample: float | None = None
    init: str = "logit"
    inner_seed: int | None = 0

    def pools(self, pool, whole, chosen):
        return map(pool, chosen)


@dataclass(frozen=True)
class AuthorsLightGBM(_AuthorsScheme, LightGBM):
    """LightGBM as in the authors' runs: trees of 50 leaves, 255 bins of every inner fold by itself, seed 0."""

    leaves: int = 50
    vector_leaves: int = 50
    max_bin: int = 255
    seed: int | None = 0
    init: str = "logit"
    inner_seed: int | None = 0

    def datasets(self, data, whole, held_out):
        learned = data(~held_out)
        return learned, data(held_out, learned)
