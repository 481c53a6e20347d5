"""Components as in the authors' code, where it differs from the library (NOTES.md)."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from harness import calibrators, estimators
from harness.calibrators.logits import floored_log
from harness.calibrators.scaling import powers
from harness.common.seeds import as_seed
from harness.errors import BadInputError, UndefinedError
from harness.estimators import Estimate
from harness.estimators.variational import cross_fit
from harness.math import estimands, losses
from harness.math.notions import checked
from harness.problems import Beta
from harness.problems.base import Wrapper

# sample sizes of the authors' scripts
GRID = (200, 264, 350, 462, 612, 809, 1069, 1414, 1870, 2473, 3270, 4324, 5719, 7562, 10000)


class AuthorsSeed:
    """Base of problems and estimators that take the number of the replication as their seed.

    The authors' scripts seed everything with this integer.
    """

    def replication_rng(self, rep: int) -> int:
        return rep


class Binned(AuthorsSeed, estimators.Binned):
    """`harness.estimators.Binned` with k-means started from the authors' integer seed."""


class Variational(AuthorsSeed, estimators.Variational):
    """`harness.estimators.Variational` on folds of scikit-learn.

    The folds are those of KFold(shuffle=True, random_state=seed), or of StratifiedKFold.
    Calibrators start from the same seed.
    """

    def partitions(
        self, p: np.ndarray, y: np.ndarray, rng: Any, sample_weight: np.ndarray | None = None
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        for seed in range(rng, rng + self.repeats):
            fold = folds_of_scikit_learn(y, self.folds, self.stratified, seed)
            yield fold, cross_fit(self.calibrator, p, y, fold, seed, sample_weight)


def folds_of_scikit_learn(y: np.ndarray, folds: int, stratified: bool, seed: int) -> np.ndarray:
    """Return, for each sample, the fold in which scikit-learn holds it out; 0 for one fold."""
    fold = np.zeros(len(y), dtype=np.int64)
    if folds == 1:
        return fold
    if len(y) < folds:
        raise UndefinedError(f"{len(y)} samples cannot be split into {folds} folds")
    from sklearn.model_selection import KFold, StratifiedKFold

    splitter = (StratifiedKFold if stratified else KFold)(folds, shuffle=True, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a class has fewer samples than folds
        for j, (_, held_out) in enumerate(splitter.split(y, y)):
            fold[held_out] = j
    return fold


@dataclass(frozen=True)
class LogLoss(losses.LogLoss):
    """`harness.math.losses.LogLoss` that also clips the prediction f to [floor, 1 - floor]."""

    def contribution(
        self, f: np.ndarray, q: np.ndarray, y: np.ndarray, pivot: float = 0.5
    ) -> np.ndarray:
        return super().contribution(np.clip(f, self.floor, 1.0 - self.floor), q, y, pivot)


def top_class_l1_split_at_half(f: np.ndarray, c: np.ndarray, side: str) -> float:
    """Return the over- or underconfident part of E |f_t - C_t|, where t = argmax f.

    f (n, k) are predictions, and C (n, k) the true probabilities. The authors' library takes the
    side of 1/2 on which f_t lies, as if t were one of two classes. `side` is "over" or "under".
    """
    rows, top = np.arange(len(f)), f.argmax(axis=1)
    return estimands.value(f"l1_{side}", f[rows, top], c[rows, top], "binary")


@dataclass(frozen=True)
class LegacyStream(AuthorsSeed, Wrapper):
    """A problem whose samples are drawn as in the authors' scripts.

    The draws equal those behind the published runs. The stream of a seed is np.random.seed(rep).
    From it come, in this order:

    1. 100,000 predictions for the Monte Carlo truth of L1;
    2. for vectors, 100,000 more for that of L2;
    3. for each n of the grid, n predictions and then n labels.

    A label of a vector is one multinomial draw per row, from C divided by its row sum.
    """

    problem: Any = field(default_factory=Beta)

    version = 1
    default_reps = 10
    default_n = sizes = GRID
    n_max = GRID[-1]

    def sample(self, n: int, rng: Any) -> tuple[np.ndarray, np.ndarray]:
        if not isinstance(rng, (int, np.integer)):
            raise BadInputError(
                f"rng is a {type(rng).__name__}; a legacy stream needs the authors' integer seed."
            )
        if n not in GRID:
            raise BadInputError(
                f"n is {n}; a legacy stream has only the sizes {', '.join(map(str, GRID))}."
            )
        p, y = _chain(self.problem, int(rng))[n]
        return p.copy(), y.copy()

    def posterior(self, p: np.ndarray) -> np.ndarray:
        return self.problem.posterior(p)

    def truth(self, estimand: str, notion: str | None = None) -> Any:
        return self.problem.truth(estimand, notion or self.default_notions[0])

    def authors_truth(self, estimand: str, seed: int) -> float:
        """Return the Monte Carlo truth of the authors' script for a seed (their column TRUE).

        It exists for l1, and for vectors also for l2.
        """
        return _authors_truths(self.problem, int(seed))[estimand]


def _truth_of_draws(problem: Any, p: np.ndarray) -> np.ndarray:
    c = problem.posterior(p)
    return c if c.ndim == 1 else c / c.sum(axis=1, keepdims=True)


def _predictions(problem: Any, stream: np.random.RandomState, n: int) -> np.ndarray:
    is_vector = hasattr(problem, "alpha")
    return (
        stream.dirichlet(np.full(problem.classes, problem.alpha), n)
        if is_vector
        else stream.beta(problem.a, problem.b, n)
    )


def _truth_draws(problem: Any, stream: np.random.RandomState) -> dict[str, np.ndarray]:
    """Return {estimand: predictions} over which the authors' script averages for its truth.

    These are the first draws of its stream.
    """
    names = ("l1", "l2") if hasattr(problem, "alpha") else ("l1",)
    return {name: _predictions(problem, stream, 100_000) for name in names}


@lru_cache(maxsize=4)
def _authors_truths(problem: Any, seed: int) -> dict[str, float]:
    notion = problem.default_notions[0]
    draws = _truth_draws(problem, np.random.RandomState(seed))
    return {
        name: estimands.value(name, f, _truth_of_draws(problem, f), notion)
        for name, f in draws.items()
    }


@lru_cache(maxsize=2)
def _chain(problem: Any, seed: int) -> dict[int, tuple[np.ndarray, np.ndarray]]:
    """Return {n: (p, y)}, all draws of a seed that follow the draws of the truth."""
    stream = np.random.RandomState(seed)
    _truth_draws(problem, stream)
    draws = {}
    for n in GRID:
        p = _predictions(problem, stream, n)
        c = _truth_of_draws(problem, p)
        draws[n] = (
            p,
            stream.binomial(1, c)
            if c.ndim == 1
            else np.array([stream.multinomial(1, row).argmax() for row in c]),
        )
    return draws


@dataclass(frozen=True)
class MonteCarloTruth(AuthorsSeed):
    """Estimator that returns the truth of the authors' script, by Monte Carlo with the same seed.

    It is the mean of the distance d(f, C) over 100,000 draws, for l1 and for vectors also for l2.
    For a problem that is no LegacyStream the draws are made as the script would make them. Only
    Beta and Dirichlet laws are possible.
    """

    notions = ("binary", "canonical")
    estimands = ("l1", "l2")
    determinism = "exact"
    revision = 1
    null_bias = 1e-12
    wants = ("problem",)
    needs_posterior = True

    def __call__(
        self, p: np.ndarray, y: np.ndarray, rng: Any, problem: Any = None
    ) -> dict[str, Estimate]:
        p, y = checked(p, y)
        if not hasattr(problem, "authors_truth"):
            problem = LegacyStream(problem)
        if not any(hasattr(problem.problem, name) for name in ("alpha", "a")):
            raise UndefinedError("the authors' script draws from Beta and Dirichlet laws only")
        names = self.estimands[: 1 if p.ndim == 1 else 2]
        return {name: Estimate(problem.authors_truth(name, rng)) for name in names}


@dataclass(frozen=True)
class QuadraticScaling(calibrators.QuadraticScaling):
    """Quadratic scaling by lbfgs of scikit-learn, without ridge, on logits of float32 predictions.

    The tolerance is the default one. A prediction that rounds to 1 in float32 has the logit 87.3.
    The fit itself is in float64, which reproduces all published runs. Versions of scikit-learn
    since 1.9 fit float32 logits in float32. This changes some signs of q - f, where q is the scaled
    prediction.
    """

    def logits(self, p: np.ndarray) -> np.ndarray:
        p = p.astype(np.float32)  # before 1 - p, so that a p that rounds to 1 has the largest logit
        below, above = np.log(np.maximum(np.stack([1.0 - p, p]), np.finfo(np.float32).tiny))
        return (above - below).astype(np.float64)

    def coefficients(self, p: np.ndarray, y: np.ndarray) -> np.ndarray:
        from sklearn.linear_model import LogisticRegression

        if len(np.unique(y)) < 2:
            return np.array([np.inf if y[0] else -np.inf, 0.0, 0.0])
        return (
            LogisticRegression(C=np.inf, fit_intercept=False)
            .fit(powers(self.logits(p)), y)
            .coef_[0]
        )


class _BoostingScheme:
    """Inner folds, scaling and start of the authors' boosted trees.

    The inner folds have the seed `inner_seed`. With `inner_seed=None` they have the estimator's, as
    in the authors' warm-started CatBoost. Two classes use the quadratic scaling. With `init="log"`
    binary predictions start from log p, so that the untrained model predicts p / (1 + p). The
    authors' synthetic runs do this.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.init not in ("logit", "log"):
            raise BadInputError(f"init is {self.init!r}; allowed are 'logit' and 'log'.")

    def start(self, p: np.ndarray) -> np.ndarray:
        return floored_log(p) if self.init == "log" else super().start(p)

    def assign_inner_folds(
        self, y: np.ndarray, folds: int, rng: np.random.Generator | int
    ) -> np.ndarray:
        # scikit-learn refuses more folds than the largest class has samples
        stratified = bool(np.bincount(y).max() >= folds)
        seed = as_seed(rng) if self.inner_seed is None else self.inner_seed
        return folds_of_scikit_learn(y, folds, stratified, seed)

    def scaling(self, p: np.ndarray) -> Any:
        return QuadraticScaling() if p.ndim == 1 else super().scaling(p)


@dataclass(frozen=True)
class CatBoost(_BoostingScheme, calibrators.CatBoost):
    """CatBoost as in the authors' runs.

    Its hyper-parameters are the defaults, and every inner fold has split candidates of its own.
    """

    vector_depth: int = 6
    borders: int = 254
    subsample: float | None = None
    init: str = "logit"
    inner_seed: int | None = 0

    def pools(
        self,
        pool: Callable[[np.ndarray], Any],
        whole: Callable[[], Any],
        chosen: tuple[np.ndarray, np.ndarray],
    ) -> Iterator[Any]:
        return map(pool, chosen)


@dataclass(frozen=True)
class LightGBM(_BoostingScheme, calibrators.LightGBM):
    """LightGBM as in the authors' runs: 50 leaves, 255 bins per inner fold, seed 0."""

    leaves: int = 50
    vector_leaves: int = 50
    max_bin: int = 255
    seed: int | None = 0
    init: str = "logit"
    inner_seed: int | None = 0

    def datasets(
        self, data: Callable[..., Any], whole: Callable[[], Any], held_out: np.ndarray
    ) -> Any:
        learning = data(~held_out)
        return learning, data(held_out, learning)
