"""Calibrators by gradient-boosted trees on the prediction: CatBoost and LightGBM.

Trees start from scratch, or warm from the logits of the prediction. Everything runs on one thread,
without files, logs or process pools.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from harness.calibrators.boosted_trees import BoostedTrees, InnerFold, RawScores, probability
from harness.calibrators.logits import in_columns

ABSENT_WEIGHT = 1e-8  # weight of the row that represents a class without samples
# CatBoost fails if a tree sees no sample. Largest accepted probability of this event.
NO_SAMPLE = 1e-12


@dataclass(frozen=True)
class CatBoost(BoostedTrees):
    """CatBoost on the prediction, with inner folds, early stopping and a final scaling.

        q(p) = scaling( (1 / inner_folds) sum_j sigma(trees_j(p) + start(p)) )

    trees_j is the model of inner fold j, start(p) the logits of p or 0, and sigma the logistic
    function (softmax for vectors). `BoostedTrees` explains the scheme. Other hyper-parameters have
    CatBoost's defaults.

    Parameters
    ----------
    iterations : int
        Largest number of trees of an inner model.
    patience : int
        An inner model stops after this many rounds without a smaller held-out log-loss.
    warm_start : bool
        If True, the trees add to the logits of the prediction, otherwise to 0.
    inner_folds : int
        Number of inner folds.
    seed : int or None
        Seed of the models; None draws it from the random stream of the estimator.
    depth, vector_depth : int
        Depth of the trees for scalars and for vectors. For vectors, a depth above 4 adds cost and
        noise.
    borders : int
        Number of split candidates per column. CatBoost's default of 254 gives similar estimates at
        three times the cost. Candidates are computed once for all inner folds, from predictions
        only.
    subsample : float or None
        Share of the samples that a tree sees. None selects CatBoost's default weighting, which is
        also used for about 40 samples or fewer.

    Notes
    -----
    Determinism: statistical. Cost: `inner_folds` fits of at most `iterations` trees (k times as
    many for vectors), O(n k) each. Ten trees are enough for a warm start.

    References
    ----------
    Prokhorenkova et al. (2018), CatBoost: unbiased boosting with categorical features. The scheme
    is that of berta2026, Section 5.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(2_000)
    >>> y = (rng.random(2_000) < p**2).astype(int)
    >>> q = CatBoost(iterations=10, warm_start=True).fit(p, y, rng)
    >>> bool(np.abs(q(p) - p**2).mean() < 0.05 < np.abs(p - p**2).mean())
    True
    """

    depth: int = 6
    vector_depth: int = 4
    borders: int = 64
    subsample: float | None = 0.5

    def features(self, p: np.ndarray) -> Any:
        import catboost  # slow to import

        return catboost.Pool(in_columns(p), thread_count=1)

    def models(
        self, p: np.ndarray, y: np.ndarray, z: np.ndarray | None, fold: np.ndarray, seed: int
    ) -> Iterator[InnerFold]:
        import catboost  # slow to import

        columns, k = in_columns(p), 2 if p.ndim == 1 else p.shape[1]
        settings = {
            "iterations": self.iterations,
            "od_type": "Iter", "od_wait": self.patience, "use_best_model": True,
            "loss_function": "Logloss" if k == 2 else "MultiClass",
            "border_count": self.borders, "random_seed": seed,
            "depth": self.depth if p.ndim == 1 else self.vector_depth,
            "thread_count": 1, "allow_writing_files": False, "logging_level": "Silent",
        }  # fmt: skip
        settings["eval_metric"] = f"{settings['loss_function']}:hints=skip_train~true"
        if k > 2:
            settings["classes_count"] = k
        n = len(y)
        fewest = n - np.bincount(fold).max()  # smallest number of samples of an inner model
        if self.subsample is not None and (1.0 - self.subsample) ** fewest < NO_SAMPLE:
            settings |= {"bootstrap_type": "Bernoulli", "subsample": self.subsample}
        # Add k rows, one for every class that may be absent from a fold.
        rows = np.concatenate([np.arange(n), np.zeros(k, dtype=np.int64)])
        labels = np.concatenate([y, np.arange(k)])
        weight = np.concatenate([np.ones(n), np.full(k, ABSENT_WEIGHT)])

        def pool(chosen: np.ndarray) -> Any:
            start = None if z is None else z[rows[chosen]]
            light = weight[chosen] if (chosen >= n).any() else None
            return catboost.Pool(
                columns[rows[chosen]], labels[chosen], weight=light, baseline=start, thread_count=1
            )

        @functools.cache
        def whole() -> Any:
            quantized = pool(np.arange(n))
            quantized.quantize(border_count=self.borders)
            return quantized

        for j in range(fold.max() + 1):
            held_out = fold == j
            train = np.flatnonzero(~held_out)
            if (columns[train] == columns[train[0]]).all():  # CatBoost refuses constant columns
                raw = _constant(z, y[train], k)
            else:
                absent = np.setdiff1d(np.arange(k), y[train])  # CatBoost requires every class
                chosen = (np.concatenate([train, n + absent]), np.flatnonzero(held_out))
                learning, validation = (
                    map(pool, chosen) if len(absent) else self.pools(pool, whole, chosen)
                )
                model = catboost.CatBoost(settings)
                model.fit(learning, eval_set=validation)

                def raw(features: Any, start: np.ndarray | None, model: Any = model) -> np.ndarray:
                    scores = np.asarray(
                        model.predict(features, prediction_type="RawFormulaVal", thread_count=1)
                    )
                    return scores if start is None else scores + start

            scores = raw(self.features(p[held_out]), None if z is None else z[held_out])
            yield held_out, probability(scores), raw

    def pools(
        self,
        pool: Callable[[np.ndarray], Any],
        whole: Callable[[], Any],
        chosen: tuple[np.ndarray, np.ndarray],
    ) -> Iterator[Any]:
        """Yield the CatBoost pools for learning and for validation.

        `chosen` holds the row numbers of both. The pools are slices of whole(), the quantized pool
        of all rows, and share its borders. pool(rows) would create a pool with separate borders.
        """
        return (whole().slice(rows.tolist()) for rows in chosen)


@dataclass(frozen=True)
class LightGBM(BoostedTrees):
    """LightGBM on the prediction, with inner folds, early stopping and a final scaling.

        q(p) = scaling( (1 / inner_folds) sum_j sigma(trees_j(p) + start(p)) )

    trees_j is the model of inner fold j, start(p) the logits of p or 0, and sigma the logistic
    function (softmax for vectors). `BoostedTrees` explains the scheme.

    Hyper-parameters are those of berta2026: learning rate 0.04, leaves of at least 40 samples, and
    three quarters of the samples for every tree. The numbers of leaves and bins are smaller. Trees
    then cost half as much and give similar estimates.

    Parameters
    ----------
    iterations, patience, warm_start, inner_folds, seed
        As in `CatBoost`.
    leaves, vector_leaves : int
        Number of leaves of a tree for scalars and for vectors (berta2026: 50).
    max_bin : int
        Largest number of bins of a column. Columns are binned once for all inner folds, from
        predictions only.

    Notes
    -----
    Determinism: statistical. Cost: `inner_folds` fits of at most `iterations` trees (k times as
    many for vectors), O(n k) each. With fewer than 80 learning samples, no tree has a split.

    References
    ----------
    Ke et al. (2017), LightGBM: a highly efficient gradient boosting decision tree. The scheme is
    that of berta2026, Section 5.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(2_000)
    >>> y = (rng.random(2_000) < p**2).astype(int)
    >>> q = LightGBM(iterations=10, warm_start=True).fit(p, y, rng)
    >>> bool(np.abs(q(p) - p**2).mean() < 0.05 < np.abs(p - p**2).mean())
    True
    """

    iterations: int = 1000
    patience: int = 100
    leaves: int = 16
    vector_leaves: int = 8
    max_bin: int = 63

    def features(self, p: np.ndarray) -> np.ndarray:
        return in_columns(p)

    def models(
        self, p: np.ndarray, y: np.ndarray, z: np.ndarray | None, fold: np.ndarray, seed: int
    ) -> Iterator[InnerFold]:
        import lightgbm  # slow to import

        columns, k = in_columns(p), 2 if p.ndim == 1 else p.shape[1]
        settings = {
            "objective": "binary" if k == 2 else "multiclass",
            "learning_rate": 0.04, "min_data_in_leaf": 40, "min_sum_hessian_in_leaf": 1e-7,
            "num_leaves": self.leaves if p.ndim == 1 else self.vector_leaves,
            "bagging_fraction": 0.75, "bagging_freq": 1, "max_bin": self.max_bin, "seed": seed,
            "num_threads": 1, "verbosity": -1, "force_row_wise": True,
            "feature_pre_filter": False, "metric": "None",
        }  # fmt: skip
        if k > 2:
            settings["num_class"] = k

        def data(rows: slice | np.ndarray = slice(None), reference: Any = None) -> Any:
            start = None if z is None else z[rows].ravel(order="F")
            return lightgbm.Dataset(
                columns[rows], y[rows], reference=reference, init_score=start, params=settings
            )

        @functools.cache
        def whole() -> Any:
            return data().construct()

        for j in range(fold.max() + 1):
            held_out = fold == j
            learning, validation = self.datasets(data, whole, held_out)
            booster = lightgbm.Booster(settings, learning)
            trees, probabilities = _boost(booster, validation, self.iterations, self.patience)

            def raw(
                features: np.ndarray,
                start: np.ndarray | None,
                booster: Any = booster,
                trees: int = trees,
            ) -> np.ndarray:
                scores = booster.predict(
                    features, raw_score=True, num_iteration=trees, num_threads=1
                )
                return scores if start is None else scores + start

            yield held_out, probabilities, raw

    def datasets(
        self, data: Callable[..., Any], whole: Callable[[], Any], held_out: np.ndarray
    ) -> Iterator[Any]:
        """Yield the LightGBM data sets for learning and for validation.

        `held_out` is the mask of the validation rows. Both are subsets of whole(), the binned data
        set of all rows, and share its bins. data(rows, reference) would create a data set with
        separate bins, or with those of the reference.
        """
        return (whole().subset(np.flatnonzero(rows)) for rows in (~held_out, held_out))


def _boost(booster: Any, validation: Any, iterations: int, patience: int) -> tuple[int, np.ndarray]:
    """Grow at most `iterations` trees; return their best number and its probabilities.

    The best number has the smallest validation log-loss, and the probabilities are those of the
    validation rows. Growing stops when the log-loss has not fallen for `patience` rounds.
    """
    booster.add_valid(validation, "validation")
    label = validation.get_label().astype(np.int64)
    rows = np.arange(len(label))
    probabilities: list[np.ndarray] = []

    def log_loss(q: np.ndarray, _: object) -> tuple[str, float, bool]:
        probabilities[:] = [q]
        outcome = np.where(label == 1, q, 1.0 - q) if q.ndim == 1 else q[rows, label]
        return "log_loss", -float(np.log(np.maximum(outcome, 1e-15)).mean()), False

    smallest, trees, best = np.inf, 0, np.empty(0)
    for i in range(iterations):
        booster.update()
        loss = booster.eval_valid(log_loss)[0][2]
        if loss < smallest:
            smallest, trees, best = loss, i + 1, probabilities[0].copy()
        elif i + 1 - trees >= patience:
            break
    return trees, best


def _constant(z: np.ndarray | None, y: np.ndarray, k: int) -> RawScores:
    """Return a function that computes raw scores without trees. Equal features allow no tree.

    With a warm start, the scores are the start z. Otherwise they follow from the smoothed class
    shares s_j = (count_j + 1/k) / (n + 1): log(s_1 / s_0) for two classes, else log s_j.
    """
    if z is not None:
        return lambda features, start: start  # type: ignore[return-value]
    share = (np.bincount(y, minlength=k) + 1.0 / k) / (len(y) + 1.0)
    if k == 2:
        return lambda features, start: np.full(features.num_row(), np.log(share[1] / share[0]))
    return lambda features, start: np.tile(np.log(share), (features.num_row(), 1))
