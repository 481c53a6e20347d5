"""Gradient-boosted trees on the prediction, from scratch or warm-started from the model's own logits.

The scheme of berta2026 (Section 5): stratified inner folds; on each, trees with early stopping on the held-out log-loss; the
held-out probabilities of all inner folds feed a scaling (quadratic for two classes, structured matrix scaling for more); the
prediction is the scaling of the mean of the inner models' probabilities.

"Warm start": the trees add to the logits z of the prediction itself, q = sigma(trees + z) or softmax(trees + z), so that no tree
is the identity map. z = logit p for scalars and log p for vectors, floored at -87.336.

The trees see the probabilities themselves: one column for scalars, all k columns for vectors (two columns are reduced to one).
Everything runs on one thread, without files, logs or process pools.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from harness.calibrators.scaling import QuadraticScaling, StructuredMatrixScaling, on_columns
from harness.calibrators.temperature import _log_odds, _logs, _softmax
from harness.common.seeds import as_seed
from harness.errors import BadInputError
from harness.math.folds import fold_of

ABSENT_WEIGHT = 1e-8  # of the row that stands for a class without samples
NO_SAMPLE = 1e-12  # probability up to which a tree may happen to see no sample, which CatBoost refuses


@dataclass(frozen=True)
class CatBoost:
    """CatBoost (Prokhorenkova et al., 2018) under the scheme above; its own default hyper-parameters but for `borders` split
    candidates per column (254 by default; 64 cost a third and estimate alike), computed once for all inner folds
    (`shared_borders`; they depend on the predictions alone, never on labels), the depth of trees of vectors, where more than
    4 adds cost and noise, and the share of samples that a tree sees (`subsample`; None, or with some 40 samples or fewer:
    CatBoost's own weighting). `patience` rounds of early stopping.

    `init` "log" starts a scalar from log p instead of logit p, with which the untrained model says p / (1 + p): berta2026's
    synthetic runs. `seed` and `inner_seed` fix the model's and the inner folds' seeds (None: drawn from the estimator's stream,
    or its integer). Cost: inner_folds fits of at most `iterations` trees per class, O(n k) each.
    """

    iterations: int = 300
    patience: int = 200
    warm_start: bool = False
    init: str = "logit"
    depth: int = 6
    vector_depth: int = 4
    borders: int = 64
    shared_borders: bool = True
    subsample: float | None = 0.5
    inner_folds: int = 8
    seed: int | None = None
    inner_seed: int | None = None
    authors_scaling: bool = False

    determinism = "statistical"

    @property
    def seconds(self):
        return 2.5e-4 * self.inner_folds * self.iterations

    def __post_init__(self):
        _check(self)

    def fit(self, p, y, rng):
        return _fit(self, p, y, rng)

    def features(self, p):
        """What the models predict from."""
        import catboost

        return catboost.Pool(_columns(p), thread_count=1)

    def models(self, p, y, z, fold, seed):
        """Per inner fold (held-out rows, their probabilities, map from (features, z) to raw scores with z included)."""
        import catboost

        columns, k = _columns(p), 2 if p.ndim == 1 else p.shape[1]
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
        rows = np.concatenate([np.arange(n), np.zeros(k, dtype=np.int64)])  # below: one row for every class, should it be absent
        labels = np.concatenate([y, np.arange(k)])
        weight = np.concatenate([np.ones(n), np.full(k, ABSENT_WEIGHT)])

        def pool(chosen):
            start = None if z is None else z[rows[chosen]]
            light = weight[chosen] if (chosen >= n).any() else None
            return catboost.Pool(columns[rows[chosen]], labels[chosen], weight=light, baseline=start, thread_count=1)

        everything = None
        for j in range(fold.max() + 1):
            held_out = fold == j
            train = np.flatnonzero(~held_out)
            if (columns[train] == columns[train[0]]).all():  # CatBoost refuses constant columns
                raw = _constant(z, y[train], k)
                yield held_out, _probability(raw(self.features(p[held_out]), None if z is None else z[held_out])), raw
                continue
            absent = np.setdiff1d(np.arange(k), y[train])  # CatBoost asks for every class
            chosen = (np.concatenate([train, n + absent]), np.flatnonzero(held_out))
            if not self.shared_borders or len(absent):
                learned, watched = pool(chosen[0]), pool(chosen[1])
            else:
                if everything is None:
                    everything = pool(np.arange(n))
                    everything.quantize(border_count=self.borders)
                learned, watched = (everything.slice(part.tolist()) for part in chosen)
            model = catboost.CatBoost(settings)
            model.fit(learned, eval_set=watched)

            def raw(features, start, model=model):
                scores = np.asarray(model.predict(features, prediction_type="RawFormulaVal", thread_count=1))
                return scores if start is None else scores + start

            yield held_out, _probability(raw(self.features(p[held_out]), None if z is None else z[held_out])), raw


@dataclass(frozen=True)
class LightGBM:
    """LightGBM (Ke et al., 2017) under the scheme above with berta2026's hyper-parameters: learning rate 0.04, leaves of at
    least 40 samples, three quarters of the samples for every tree; but trees of `leaves` leaves, of `vector_leaves` for vectors,
    in place of 50, which cost twice as much and estimate alike. `patience` rounds of early stopping.

    Columns are binned once for all inner folds (`shared_bins`; bins depend on the predictions alone, never on labels), with at
    most `max_bin` bins. `init`, `seed`, `inner_seed` and cost as for CatBoost.
    """

    iterations: int = 1000
    patience: int = 100
    warm_start: bool = False
    init: str = "logit"
    leaves: int = 16
    vector_leaves: int = 8
    max_bin: int = 63
    shared_bins: bool = True
    inner_folds: int = 8
    seed: int | None = None
    inner_seed: int | None = None
    authors_scaling: bool = False

    determinism = "statistical"

    @property
    def seconds(self):
        return 2.5e-4 * self.inner_folds * self.iterations

    def __post_init__(self):
        _check(self)

    def fit(self, p, y, rng):
        return _fit(self, p, y, rng)

    def features(self, p):
        """What the models predict from."""
        return _columns(p)

    def models(self, p, y, z, fold, seed):
        """As CatBoost.models."""
        import lightgbm

        columns, k = _columns(p), 2 if p.ndim == 1 else p.shape[1]
        settings = {
            "objective": "binary" if k == 2 else "multiclass", "learning_rate": 0.04, "min_data_in_leaf": 40,
            "num_leaves": self.leaves if p.ndim == 1 else self.vector_leaves,
            "min_sum_hessian_in_leaf": 1e-7, "bagging_fraction": 0.75, "bagging_freq": 1, "max_bin": self.max_bin, "seed": seed,
            "num_threads": 1, "verbosity": -1, "force_row_wise": True, "feature_pre_filter": False, "metric": "None",
        }  # fmt: skip
        if k > 2:
            settings["num_class"] = k

        def data(rows=slice(None)):
            start = None if z is None else z[rows].ravel(order="F")
            return lightgbm.Dataset(columns[rows], y[rows], init_score=start, params=settings, free_raw_data=True)

        everything = data().construct() if self.shared_bins else None
        for j in range(fold.max() + 1):
            held_out = fold == j
            if self.shared_bins:
                train, watched = (everything.subset(np.flatnonzero(rows)) for rows in (~held_out, held_out))
            else:
                train = data(~held_out)
                start = None if z is None else z[held_out].ravel(order="F")
                watched = train.create_valid(columns[held_out], y[held_out], init_score=start, params=settings)
            booster = lightgbm.Booster(settings, train)
            trees, found = _boosted(booster, watched, self.iterations, self.patience)

            def raw(features, start, booster=booster, trees=trees):
                scores = booster.predict(features, raw_score=True, num_iteration=trees, num_threads=1)
                return scores if start is None else scores + start

            yield held_out, found, raw


def _fit(calibrator, p, y, rng):
    """The common scheme; `calibrator.models` makes the inner models."""
    if p.ndim == 2 and p.shape[1] == 2:
        return on_columns(calibrator, p, y, rng)
    inner = min(calibrator.inner_folds, len(y))
    seed = as_seed(rng) if calibrator.seed is None else calibrator.seed
    inner_rng = rng if calibrator.inner_seed is None else calibrator.inner_seed
    if inner < 2 or len(y) - -(-len(y) // inner) < 2:
        return lambda x: x.copy()  # inner models of one sample teach nothing, and LightGBM refuses three quarters of one
    fold = fold_of(y, inner, True, inner_rng)
    starts = _logits(p, calibrator.init) if calibrator.warm_start else None
    rows, found, maps = zip(*calibrator.models(p, y, starts, fold, seed))
    scaling = QuadraticScaling(scikit_learn=calibrator.authors_scaling) if p.ndim == 1 else StructuredMatrixScaling(mixture=True)
    recalibrate = scaling.fit(np.concatenate(found), np.concatenate([y[held_out] for held_out in rows]))

    def q(x):
        z = _logits(x, calibrator.init) if calibrator.warm_start else None
        features = calibrator.features(x)
        total = _probability(maps[0](features, z))
        for raw in maps[1:]:
            total += _probability(raw(features, z))
        return recalibrate(total / len(maps))

    return q


def _boosted(booster, watched, most, patience):
    """Trees until the watched log-loss has not fallen for `patience` rounds; (rounds at its least, probabilities there)."""
    booster.add_valid(watched, "watched")
    label = watched.get_label().astype(np.int64)
    rows = np.arange(len(label))
    probabilities = []

    def log_loss(q, _):
        probabilities[:] = [q]
        of_outcome = np.where(label == 1, q, 1.0 - q) if q.ndim == 1 else q[rows, label]
        return "log_loss", -float(np.log(np.maximum(of_outcome, 1e-15)).mean()), False

    least, best, kept = np.inf, 0, None
    for i in range(most):
        booster.update()
        loss = booster.eval_valid(log_loss)[0][2]
        if loss < least:
            least, best, kept = loss, i + 1, probabilities[0].copy()
        elif i + 1 - best >= patience:
            break
    return best, kept


def _probability(raw):
    return expit(raw) if raw.ndim == 1 else _softmax(raw)


def _constant(z, y, k):
    """Raw scores without trees: the start, or without one the log-odds (logs) of the class shares, smoothed by 1/(n + 1)."""
    if z is not None:
        return lambda features, start: start
    share = (np.bincount(y, minlength=k) + 1.0 / k) / (len(y) + 1.0)
    if k == 2:
        return lambda features, start: np.full(features.num_row(), np.log(share[1] / share[0]))
    return lambda features, start: np.tile(np.log(share), (features.num_row(), 1))


def _columns(p):
    return p[:, None] if p.ndim == 1 else p


def _logits(p, init):
    if p.ndim == 2:
        return _logs(p)
    return _log_odds(p) if init == "logit" else _logs(p)


def _check(calibrator):
    if calibrator.init not in ("logit", "log"):
        raise BadInputError(f"init is {calibrator.init!r}; allowed are 'logit' and 'log'.")
    for name, least in (("iterations", 1), ("patience", 1), ("inner_folds", 2)):
        if getattr(calibrator, name) < least:
            raise BadInputError(f"{name} is {getattr(calibrator, name)}; at least {least} is needed.")
