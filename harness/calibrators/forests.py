"""Random forest and extremely randomised trees on the prediction (in berta2026's published runs, not in its tables)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness.common.seeds import as_seed


@dataclass(frozen=True)
class RandomForest:
    """Mean class shares of the leaves of `trees` fully grown trees on bootstrap samples (Breiman, 2001; scikit-learn's
    defaults). `seed` None draws it. Fully grown trees repeat single labels: a noisy recalibration, and a weak bound.
    O(trees k n log n)."""

    trees: int = 300
    seed: int | None = None

    determinism = "statistical"
    seconds = 0.4
    null_bias = 1.5  # of kl: leaves say 0 and 1, which held-out samples punish, by 0.7 with 300 trees, by 1.5 with 10

    def fit(self, p, y, rng):
        from sklearn.ensemble import RandomForestClassifier

        return _grown(RandomForestClassifier, self, p, y, rng)


@dataclass(frozen=True)
class ExtraTrees:
    """As RandomForest, with random split points and no bootstrap (Geurts, Ernst and Wehenkel, 2006)."""

    trees: int = 300
    seed: int | None = None

    determinism = "statistical"
    seconds = 0.4
    null_bias = 2.6  # of kl, as for RandomForest; without bootstrap more trees hardly soften it

    def fit(self, p, y, rng):
        from sklearn.ensemble import ExtraTreesClassifier

        return _grown(ExtraTreesClassifier, self, p, y, rng)


def _grown(kind, calibrator, p, y, rng):
    k = 2 if p.ndim == 1 else p.shape[1]
    seed = as_seed(rng) if calibrator.seed is None else calibrator.seed
    model = kind(n_estimators=calibrator.trees, random_state=seed, n_jobs=1)
    model.fit(p[:, None] if p.ndim == 1 else p, y)

    def q(x):
        found = model.predict_proba(x[:, None] if x.ndim == 1 else x)
        full = np.zeros((len(x), k))
        full[:, model.classes_] = found
        return full[:, 1] if x.ndim == 1 else full

    return q
