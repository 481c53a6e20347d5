"""Calibrators by random forests and extremely randomised trees on the prediction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from harness.calibrators.base import CalibrationMap, refuse_masked_sample
from harness.calibrators.logits import in_columns
from harness.common.seeds import as_seed


@dataclass(frozen=True)
class _Forest:
    """Base of RandomForest and ExtraTrees.

    A subclass defines `classifier`, a class of scikit-learn.
    """

    trees: int = 300
    seed: int | None = None

    determinism = "statistical"
    seconds = 0.4

    @property
    def classifier(self) -> Any:
        raise NotImplementedError

    def fit(self, p: np.ndarray, y: np.ndarray, rng: np.random.Generator | int) -> CalibrationMap:
        refuse_masked_sample(p, y)
        k = 2 if p.ndim == 1 else p.shape[1]
        seed = as_seed(rng) if self.seed is None else self.seed
        model = self.classifier(n_estimators=self.trees, random_state=seed, n_jobs=1)
        model.fit(in_columns(p), y)

        def q(x: np.ndarray) -> np.ndarray:
            probabilities = np.zeros((len(x), k))
            probabilities[:, model.classes_] = model.predict_proba(in_columns(x))
            return probabilities[:, 1] if x.ndim == 1 else probabilities

        return q


@dataclass(frozen=True)
class RandomForest(_Forest):
    """Random forest on the prediction, with scikit-learn's defaults.

        q(p) = mean over the trees of the class shares in the leaf of p

    Parameters
    ----------
    trees : int
        Number of fully grown trees, each on a bootstrap sample.
    seed : int or None
        Seed of the forest; None draws it from the random stream of the estimator.

    Notes
    -----
    Fully grown trees repeat single labels, so q is noisy. A variational estimate with this
    calibrator is therefore a weak lower bound. A class may get probability 0. Determinism:
    statistical. Cost: O(trees k n log n).

    References
    ----------
    Breiman (2001), Random forests. berta2026 publishes runs with it, but its tables omit it.

    Examples
    --------
    >>> import numpy as np
    >>> p, y = np.repeat([0.2, 0.8], 500), np.tile([0, 0, 0, 1], 250)  # P(Y = 1 given p) = 1/4
    >>> q = RandomForest(trees=50).fit(p, y, np.random.default_rng(0))
    >>> bool(np.abs(q(np.array([0.2, 0.8])) - 0.25).max() < 0.01)
    True
    """

    # The kl is biased most: leaves with probabilities 0 and 1 have a large log-loss on held-out
    # samples. The bias is 0.7 with 300 trees and 1.5 with 10 trees.
    null_bias = 1.5

    @property
    def classifier(self) -> Any:
        from sklearn.ensemble import RandomForestClassifier  # slow to import

        return RandomForestClassifier


@dataclass(frozen=True)
class ExtraTrees(_Forest):
    """Extremely randomised trees on the prediction, with scikit-learn's defaults.

        q(p) = mean over the trees of the class shares in the leaf of p

    Parameters
    ----------
    trees : int
        Number of fully grown trees with random split points, each on all samples.
    seed : int or None
        Seed of the trees; None draws it from the random stream of the estimator.

    Notes
    -----
    There are no bootstrap samples, so q is even noisier than with `RandomForest`. A variational
    estimate is a weak lower bound, and a class may get probability 0. Determinism: statistical.
    Cost: O(trees k n log n).

    References
    ----------
    Geurts, Ernst and Wehenkel (2006), Extremely randomized trees. berta2026 publishes runs with it,
    but its tables omit it.

    Examples
    --------
    >>> import numpy as np
    >>> p, y = np.repeat([0.2, 0.8], 500), np.tile([0, 0, 0, 1], 250)  # P(Y = 1 given p) = 1/4
    >>> ExtraTrees(trees=50).fit(p, y, np.random.default_rng(0))(np.array([0.2, 0.8]))
    array([0.25, 0.25])
    """

    # The kl is biased as with RandomForest. Without bootstrap samples, more trees hardly help.
    null_bias = 2.6

    @property
    def classifier(self) -> Any:
        from sklearn.ensemble import ExtraTreesClassifier  # slow to import

        return ExtraTreesClassifier
