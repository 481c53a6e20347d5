"""Random forest and extremely randomised trees on the prediction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from harness.calibrators.base import CalibrationMap
from harness.calibrators.logits import in_columns
from harness.common.seeds import as_seed


@dataclass(frozen=True)
class RandomForest:
    """Random forest on the prediction, with scikit-learn's defaults.

        q(p) = mean over the trees of the class shares in the leaf of p

    Parameters
    ----------
    trees : int
        Fully grown trees, each on a bootstrap sample.
    seed : int or None
        None draws it from the estimator's stream.

    Notes
    -----
    Fully grown trees repeat single labels, so that q is noisy and a variational estimate with it a weak lower bound. A class may
    get probability 0. Determinism: statistical. Cost: O(trees k n log n).

    References
    ----------
    Breiman (2001), Random forests. In berta2026's published runs, not in its tables.

    Examples
    --------
    >>> import numpy as np
    >>> p, y = np.repeat([0.2, 0.8], 500), np.tile([0, 0, 0, 1], 250)  # P(Y = 1) = 1/4 at either prediction
    >>> q = RandomForest(trees=50).fit(p, y, np.random.default_rng(0))
    >>> bool(np.abs(q(np.array([0.2, 0.8])) - 0.25).max() < 0.01)
    True
    """

    trees: int = 300
    seed: int | None = None

    determinism = "statistical"
    seconds = 0.4
    null_bias = 1.5  # of kl: leaves say 0 and 1, which held-out samples punish, by 0.7 with 300 trees, by 1.5 with 10

    def fit(self, p: np.ndarray, y: np.ndarray, rng: np.random.Generator | int) -> CalibrationMap:
        from sklearn.ensemble import RandomForestClassifier  # slow to import

        return _grown(RandomForestClassifier, self, p, y, rng)


@dataclass(frozen=True)
class ExtraTrees:
    """Extremely randomised trees on the prediction, with scikit-learn's defaults.

        q(p) = mean over the trees of the class shares in the leaf of p

    Parameters
    ----------
    trees : int
        Fully grown trees with random split points, each on all samples.
    seed : int or None
        None draws it from the estimator's stream.

    Notes
    -----
    As for `RandomForest`; without bootstrap samples q is noisier still. Determinism: statistical. Cost: O(trees k n log n).

    References
    ----------
    Geurts, Ernst and Wehenkel (2006), Extremely randomized trees. In berta2026's published runs, not in its tables.

    Examples
    --------
    >>> import numpy as np
    >>> p, y = np.repeat([0.2, 0.8], 500), np.tile([0, 0, 0, 1], 250)  # P(Y = 1) = 1/4 at either prediction
    >>> ExtraTrees(trees=50).fit(p, y, np.random.default_rng(0))(np.array([0.2, 0.8]))
    array([0.25, 0.25])
    """

    trees: int = 300
    seed: int | None = None

    determinism = "statistical"
    seconds = 0.4
    null_bias = 2.6  # of kl, as for RandomForest; without bootstrap more trees hardly soften it

    def fit(self, p: np.ndarray, y: np.ndarray, rng: np.random.Generator | int) -> CalibrationMap:
        from sklearn.ensemble import ExtraTreesClassifier  # slow to import

        return _grown(ExtraTreesClassifier, self, p, y, rng)


def _grown(
    kind: Any,
    calibrator: RandomForest | ExtraTrees,
    p: np.ndarray,
    y: np.ndarray,
    rng: np.random.Generator | int,
) -> CalibrationMap:
    k = 2 if p.ndim == 1 else p.shape[1]
    seed = as_seed(rng) if calibrator.seed is None else calibrator.seed
    model = kind(n_estimators=calibrator.trees, random_state=seed, n_jobs=1)
    model.fit(in_columns(p), y)

    def q(x: np.ndarray) -> np.ndarray:
        found = model.predict_proba(in_columns(x))
        full = np.zeros((len(x), k))
        full[:, model.classes_] = found
        return full[:, 1] if x.ndim == 1 else full

    return q
