"""Gradient-boosted trees on the prediction, from scratch or warm-started from the model's own logits.

Everything runs on one thread, without files, logs or process pools.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from scipy.special import expit

from harness.calibrators.base import CalibrationMap
from harness.calibrators.logits import floored_log, in_columns, log_odds, on_columns
from harness.calibrators.scaling import QuadraticScaling, StructuredMatrixScaling
from harness.common.seeds import as_seed
from harness.errors import BadInputError
from harness.math.folds import fold_of
from harness.math.softmax import softmax

ABSENT_WEIGHT = 1e-8  # of the row that stands for a class without samples
NO_SAMPLE = (
    1e-12  # probability up to which a tree may happen to see no sample, which CatBoost refuses
)


RawScores: TypeAlias = Callable[
    [Any, np.ndarray | None], np.ndarray
]  # (features, start) -> raw scores
InnerFold: TypeAlias = tuple[
    np.ndarray, np.ndarray, RawScores
]  # held-out rows, their probabilities, map


@dataclass(frozen=True)
class BoostedTrees:
    """The scheme that CatBoost and LightGBM share: inner folds, early stopping, and a scaling of the mean of the inner models.

        q(p) = scaling( (1 / inner_folds) sum_j P_j(p) ),   P_j(p) = sigma or softmax of (trees_j(p) + start(p))

    The samples are split into stratified inner folds. For each, trees are grown on the other folds, and their number is the one
    with the least log-loss on the fold itself. The held-out probabilities of all inner folds together fit the scaling: quadratic
    for two classes, structured matrix scaling for more.

    With a warm start the trees add to the logits of the prediction itself, start(p) = logit p for scalars and log p for vectors
    (logs floored at -87.336), so that no tree at all is the identity map. Without, start(p) = 0.

    A subclass gives `features` and `models`. The other methods are steps that a subclass may replace.
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
        """The map q of E[Y given p]; `rng` a Generator, or an integer seed of the models. See `harness.calibrators.base`."""
        if p.ndim == 2 and p.shape[1] == 2:
            return on_columns(self, p, y, rng)
        folds = min(self.inner_folds, len(y))
        seed = as_seed(rng) if self.seed is None else self.seed
        if folds < 2 or len(y) - -(-len(y) // folds) < 2:
            return (
                lambda x: x.copy()
            )  # inner models of one sample teach nothing, and LightGBM refuses three quarters of one
        fold = self.inner_fold_of(y, folds, rng)
        rows, found, maps = zip(
            *self.models(p, y, self.start(p) if self.warm_start else None, fold, seed)
        )
        labels = np.concatenate([y[held_out] for held_out in rows])
        recalibrate = self.scaling(p).fit(np.concatenate(found), labels)

        def q(x: np.ndarray) -> np.ndarray:
            z = self.start(x) if self.warm_start else None
            features = self.features(x)
            total = _probability(maps[0](features, z))
            for raw in maps[1:]:
                total += _probability(raw(features, z))
            return recalibrate(total / len(maps))

        return q

    def start(self, p: np.ndarray) -> np.ndarray:
        """The logits that warm-started trees add to: (n,), or (n, k)."""
        return log_odds(p) if p.ndim == 1 else floored_log(p)

    def inner_fold_of(
        self, y: np.ndarray, folds: int, rng: np.random.Generator | int
    ) -> np.ndarray:
        """The inner fold of every sample."""
        return fold_of(y, folds, True, rng)

    def scaling(self, p: np.ndarray) -> QuadraticScaling | StructuredMatrixScaling:
        """The calibrator of the mean of the inner models' probabilities."""
        return QuadraticScaling() if p.ndim == 1 else StructuredMatrixScaling(mixture=True)

    def features(self, p: np.ndarray) -> Any:
        """What the models predict from."""
        raise NotImplementedError

    def models(
        self, p: np.ndarray, y: np.ndarray, z: np.ndarray | None, fold: np.ndarray, seed: int
    ) -> Iterator[InnerFold]:
        """Per inner fold (held-out rows, their probabilities, map from (features, z) to raw scores with z included)."""
        raise NotImplementedError


@dataclass(frozen=True)
class CatBoost(BoostedTrees):
    """CatBoost on the prediction, with inner folds, early stopping and a scaling on top.

        q(p) = scaling( (1 / inner_folds) sum_j sigma(trees_j(p) + start(p)) ),   softmax for vectors

    The scheme is that of `BoostedTrees`. Hyper-parameters are CatBoost's own, but for those below.

    Parameters
    ----------
    iterations : int
        Most trees of an inner model.
    patience : int
        Rounds without a smaller held-out log-loss after which an inner model stops.
    warm_start : bool
        Whether the trees add to the logits of the prediction, start(p), or to 0.
    inner_folds : int
    seed : int or None
        Seed of the models; None draws it from the estimator's stream.
    depth, vector_depth : int
        Depth of the trees of scalars and of vectors, for which more than 4 adds cost and noise.
    borders : int
        Split candidates per column (CatBoost's default of 254 estimates alike and costs three times as much). They are computed
        once for all inner folds, from the predictions alone and never from labels.
    subsample : float or None
        Share of the samples that a tree sees. None, and some 40 samples or fewer, take CatBoost's own weighting.

    Notes
    -----
    Determinism: statistical. Cost: `inner_folds` fits of at most `iterations` trees, times k classes for vectors, O(n k) each.
    Few trees (10) suffice for a warm start.

    References
    ----------
    Prokhorenkova et al. (2018), CatBoost: unbiased boosting with categorical features. The scheme: berta2026, Section 5.

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
            "iterations": self.iterations, "od_type": "Iter", "od_wait": self.patience, "use_best_model": True,
            "loss_function": "Logloss" if k == 2 else "MultiClass", "border_count": self.borders, "random_seed": seed,
            "depth": self.depth if p.ndim == 1 else self.vector_depth,
            "thread_count": 1, "allow_writing_files": False, "logging_level": "Silent",
        }  # fmt: skip
        settings["eval_metric"] = f"{settings['loss_function']}:hints=skip_train~true"
        if k > 2:
            settings["classes_count"] = k
        n = len(y)
        fewest = n - np.bincount(fold).max()  # that an inner model learns from
        if self.subsample is not None and (1.0 - self.subsample) ** fewest < NO_SAMPLE:
            settings |= {"bootstrap_type": "Bernoulli", "subsample": self.subsample}
        rows = np.concatenate(
            [np.arange(n), np.zeros(k, dtype=np.int64)]
        )  # below: one row for every class, should it be absent
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
            found = pool(np.arange(n))
            found.quantize(border_count=self.borders)
            return found

        for j in range(fold.max() + 1):
            held_out = fold == j
            train = np.flatnonzero(~held_out)
            if (columns[train] == columns[train[0]]).all():  # CatBoost refuses constant columns
                raw = _constant(z, y[train], k)
                yield (
                    held_out,
                    _probability(
                        raw(self.features(p[held_out]), None if z is None else z[held_out])
                    ),
                    raw,
                )
                continue
            absent = np.setdiff1d(np.arange(k), y[train])  # CatBoost asks for every class
            chosen = (np.concatenate([train, n + absent]), np.flatnonzero(held_out))
            learned, watched = map(pool, chosen) if len(absent) else self.pools(pool, whole, chosen)
            model = catboost.CatBoost(settings)
            model.fit(learned, eval_set=watched)

            def raw(features: Any, start: np.ndarray | None, model: Any = model) -> np.ndarray:
                scores = np.asarray(
                    model.predict(features, prediction_type="RawFormulaVal", thread_count=1)
                )
                return scores if start is None else scores + start

            yield (
                held_out,
                _probability(raw(self.features(p[held_out]), None if z is None else z[held_out])),
                raw,
            )

    def pools(
        self,
        pool: Callable[[np.ndarray], Any],
        whole: Callable[[], Any],
        chosen: tuple[np.ndarray, np.ndarray],
    ) -> Iterator[Any]:
        """The pools of the two sets of rows `chosen`, to learn from and to watch: slices of the quantized pool of all rows,
        whole(), whose borders they share. pool(rows) makes one that has borders of its own."""
        return (whole().slice(rows.tolist()) for rows in chosen)


@dataclass(frozen=True)
class LightGBM(BoostedTrees):
    """LightGBM on the prediction, with inner folds, early stopping and a scaling on top.

        q(p) = scaling( (1 / inner_folds) sum_j sigma(trees_j(p) + start(p)) ),   softmax for vectors

    The scheme is that of `BoostedTrees`. Hyper-parameters are berta2026's: learning rate 0.04, leaves of at least 40 samples,
    three quarters of the samples for every tree; but for those below, with which trees cost half and estimate alike.

    Parameters
    ----------
    iterations, patience, warm_start, inner_folds, seed
        As for `CatBoost`.
    leaves, vector_leaves : int
        Leaves of a tree of scalars and of vectors (berta2026: 50).
    max_bin : int
        Most bins of a column. Columns are binned once for all inner folds, from the predictions alone and never from labels.

    Notes
    -----
    Determinism: statistical. Cost: `inner_folds` fits of at most `iterations` trees, times k classes for vectors, O(n k) each.
    With fewer than 80 samples to learn from no tree has a split.

    References
    ----------
    Ke et al. (2017), LightGBM: a highly efficient gradient boosting decision tree. The scheme: berta2026, Section 5.

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
            "objective": "binary" if k == 2 else "multiclass", "learning_rate": 0.04, "min_data_in_leaf": 40,
            "num_leaves": self.leaves if p.ndim == 1 else self.vector_leaves,
            "min_sum_hessian_in_leaf": 1e-7, "bagging_fraction": 0.75, "bagging_freq": 1, "max_bin": self.max_bin, "seed": seed,
            "num_threads": 1, "verbosity": -1, "force_row_wise": True, "feature_pre_filter": False, "metric": "None",
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
            learned, watched = self.datasets(data, whole, held_out)
            booster = lightgbm.Booster(settings, learned)
            trees, found = _boosted(booster, watched, self.iterations, self.patience)

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

            yield held_out, found, raw

    def datasets(
        self, data: Callable[..., Any], whole: Callable[[], Any], held_out: np.ndarray
    ) -> Iterator[Any]:
        """The data sets to learn from and to watch: subsets of the binned one of all rows, whole(), whose bins they share.
        data(rows, reference) makes one that has bins of its own, or those of the reference."""
        return (whole().subset(np.flatnonzero(rows)) for rows in (~held_out, held_out))


def _boosted(booster: Any, watched: Any, most: int, patience: int) -> tuple[int, np.ndarray]:
    """Grow at most `most` trees, until the watched log-loss has not fallen for `patience` rounds; return the number of trees of
    least loss and the watched probabilities that they give."""
    booster.add_valid(watched, "watched")
    label = watched.get_label().astype(np.int64)
    rows = np.arange(len(label))
    probabilities: list[np.ndarray] = []

    def log_loss(q: np.ndarray, _: object) -> tuple[str, float, bool]:
        probabilities[:] = [q]
        of_outcome = np.where(label == 1, q, 1.0 - q) if q.ndim == 1 else q[rows, label]
        return "log_loss", -float(np.log(np.maximum(of_outcome, 1e-15)).mean()), False

    least, best, kept = np.inf, 0, np.empty(0)
    for i in range(most):
        booster.update()
        loss = booster.eval_valid(log_loss)[0][2]
        if loss < least:
            least, best, kept = loss, i + 1, probabilities[0].copy()
        elif i + 1 - best >= patience:
            break
    return best, kept


def _probability(raw: np.ndarray) -> np.ndarray:
    return expit(raw) if raw.ndim == 1 else softmax(raw)


def _start_alone(features: Any, start: np.ndarray | None) -> np.ndarray:
    assert start is not None
    return start


def _constant(z: np.ndarray | None, y: np.ndarray, k: int) -> RawScores:
    """Raw scores without trees: the start, or without one the log-odds (logs) of the class shares, smoothed by 1/(n + 1)."""
    if z is not None:
        return _start_alone
    share = (np.bincount(y, minlength=k) + 1.0 / k) / (len(y) + 1.0)
    if k == 2:
        return lambda features, start: np.full(features.num_row(), np.log(share[1] / share[0]))
    return lambda features, start: np.tile(np.log(share), (features.num_row(), 1))
