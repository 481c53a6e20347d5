"""Real predictions whose labels are drawn again from a map that was fitted to them: the truth is known, the predictions are
real."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np

from harness.calibrators import Isotonic, StructuredMatrixScaling, Temperature
from harness.calibrators.base import CalibrationMap
from harness.errors import BadInputError
from harness.math import estimands
from harness.math.notions import one_hot
from harness.math.softmax import softmax
from harness.problems.base import Family, ProblemSpec, Truth, members_of
from harness.problems.predictions import Predictions

MAPS = ("temperature", "vector", "matrix", "isotonic", "curves", "curves_of_vector")
LEAST = (
    1e-6  # logs of smaller probabilities are cut off: an exact 0 says nothing of how small it was
)
MATRIX_CLASSES = 30  # k (k + 1) numbers are fitted up to here
RIDGE = 1e-4
GRID = np.arange(-14.0, 14.0 + 1e-9, 0.05)  # logits of a confidence
WIDTH = 0.4  # of the kernel, in logits
PSEUDO = 30.0  # samples that the curve of all classes counts for in the curve of one
BINS = (200, 100)  # of neighbours
EVERY = 3  # rows of which one is held out


@dataclass(frozen=True)
class Fitted:
    """Predictions of a file, labels drawn from a calibration map that was fitted to the file and is declared the truth.

        p ~ the rows of the file,  C = q(p),  Y given p ~ C

    Parameters
    ----------
    problem : Problem or Family
        Of finitely many rows: harness.problems.Predictions, a TabRepoTask; of a family the rows of all its members together.
        On the command line problem.fitted.problem.path=preds.npz.
    maps : tuple of str
        The families of maps that are tried. The one with the greatest mean log-likelihood on the rows that are held out, every
        third, is fitted again on all rows: `chosen` and `scores` say which it was.
    n_classes : int, optional
        What a listing says of the classes where the predictions are not here; without it the files are asked.

    Examples
    --------
    >>> import numpy as np, pathlib, tempfile
    >>> from harness.problems import Beta, Predictions, maps
    >>> p, y = Beta(map=maps.LogitAffine(0.4, 0.3)).sample(2000, np.random.default_rng(0))
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "preds.npz"
    >>> np.savez(path, p=p, y=y)
    >>> problem = Fitted(Predictions(str(path)), maps=("temperature", "vector"))
    >>> problem.sample(4, np.random.default_rng(0))[0].shape, round(problem.truth("l1", "binary").value, 1)
    ((4,), 0.1)

    Notes
    -----
    | map                | q(p)                                                                                           |
    |--------------------|------------------------------------------------------------------------------------------------|
    | `temperature`      | softmax(b log p)                                                                               |
    | `vector`           | softmax(w_j log p_j + b_j)                                                                     |
    | `matrix`           | harness.calibrators.StructuredMatrixScaling, of at most 30 classes (of two classes: quadratic) |
    | `isotonic`         | the mean of one isotonic curve per class and of `temperature`                                  |
    | `curves`           | a smoothed curve from confidence to accuracy per class on top, drawn towards that of all       |
    | `curves_of_vector` | `curves` after `vector`                                                                        |

    With `curves` the other classes share what is left as they did.

    What it proves: how an estimator does on real predictions with a plausible error. What not: that the true error of the file is
    this one; and an estimator that fits the same kind of map has an advantage (compare without it, see `chosen`).

    A sample takes the rows in random order, and in another random order again where n is beyond the file. The population is
    the rows, each equally likely.

    Truths. Canonical, and binary: finite sums over the rows, exact to rounding. top_label and classwise are about the mean of C
    given one number, whose values are nearly all distinct in a file: every row would be its own mean, which knows more than
    any curve of that number, and no estimator could find it. The rows are taken as a sample of a law instead, in which that mean
    is smooth: v(m), the estimand of means over m neighbouring rows (equal values stay together), exceeds its limit by a term in
    1 / m, and 2 v(2 m) - v(m), m = rows / 200, is free of it; the error is |v(2 m) - v(m)|. `of_rows` has the finite sum.

    The maps are fitted at first use in a process, without random numbers; every map is smooth or convex in what is fitted, so
    that another machine has the same numbers to about 1e-6.
    """

    problem: Any
    maps: tuple[str, ...] = MAPS
    n_classes: int | None = None

    default_n = 1000
    default_reps = 10
    n_max = None
    perturbation = None

    def __post_init__(self) -> None:
        object.__setattr__(
            self, "maps", tuple([self.maps] if isinstance(self.maps, str) else self.maps)
        )
        unknown = [name for name in self.maps if name not in MAPS]
        if unknown or not self.maps:
            raise BadInputError(
                f"maps is {list(self.maps)!r}; some of {', '.join(MAPS)} are needed."
            )
        if not (hasattr(self.problem, "sample") or isinstance(self.problem, Family)):
            raise BadInputError(
                "problem has no sample; a problem of finitely many rows, such as Predictions, is needed."
            )

    @cached_property
    def _members(self) -> tuple[Any, ...]:
        members = members_of(self.problem)
        return (self.problem,) if members is None else tuple(members.values())

    @property
    def version(self) -> tuple[Any, ...]:
        """Raised with what it is fitted to."""
        return (
            (1,)
            if self.unavailable
            else (1, *sorted({str(ProblemSpec.of(one).version) for one in self._members}))
        )

    @property
    def fingerprint(self) -> dict[str, Any]:
        """The rows and the maps; of what is not here, how it is found."""
        rows = (
            repr(self.problem)
            if self.unavailable
            else [ProblemSpec.of(one).fingerprint for one in self._members]
        )
        return {"rows": rows, "maps": list(self.maps)}

    @property
    def unavailable(self) -> str | None:
        """Why the predictions are not here, or None."""
        try:
            members = self._members
        except BadInputError as absent:  # a repository
            return str(absent)
        if any(isinstance(one, Predictions) and not one.path for one in members):
            raise BadInputError(
                "the predictions' path is missing; give the file, as problem.fitted.problem.path=preds.npz."
            )
        reason = next(
            (found for one in members if (found := ProblemSpec.of(one).unavailable)), None
        )
        if (
            reason is None
            and self.n_classes is not None
            and ProblemSpec.of(members[0]).classes != self.n_classes
        ):
            return f"n_classes is {self.n_classes}, but the predictions are of {ProblemSpec.of(members[0]).classes} classes"
        return reason

    @property
    def classes(self) -> int:
        return self.n_classes or (
            ProblemSpec.of(self._members[0]).classes if self.unavailable is None else 2
        )

    @property
    def notions(self) -> tuple[str, ...]:
        return (
            ("binary", "canonical", "classwise")
            if self.classes == 2
            else ("canonical", "top_label", "classwise")
        )

    @property
    def default_notions(self) -> tuple[str, ...]:
        return ("binary",) if self.classes == 2 else ("canonical", "top_label")

    @property
    def population(self) -> Population:
        """The rows and their truths; made at first use."""
        return _population(
            self, tuple(one._load().sha256 for one in self._members if isinstance(one, Predictions))
        )

    @property
    def chosen(self) -> str:
        """The map that was best on held-out rows."""
        return self.population.chosen

    @property
    def scores(self) -> dict[str, float]:
        """{map: its mean log-likelihood on held-out rows}; "none" is that of the predictions as they are."""
        return dict(self.population.scores)

    def sample(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        rng_rows, rng_y = rng.spawn(2)
        p, c = self.population[:2]
        passes = [rng_rows.permutation(len(p)) for _ in range(-(-n // len(p)))]
        rows = np.concatenate(passes)[:n]
        u = rng_y.random(n)
        if p.ndim == 1:
            return p[rows], (u < c[rows]).astype(np.int64)
        return p[rows], (u[:, None] > np.cumsum(c[rows], axis=1)[:, :-1]).sum(axis=1)

    def posterior(self, p: np.ndarray) -> np.ndarray:
        """C = q(p), of the shape of p."""
        q = self.population.map
        if self.population.p.ndim == 2:
            return q(p)
        if p.ndim == 1:
            return q(np.column_stack([1.0 - p, p]))[:, 1]
        return q(np.column_stack([1.0 - p[:, 1], p[:, 1]]))

    def truth(self, estimand: str, notion: str | None = None) -> Truth | None:
        notion = notion or self.default_notions[0]
        if notion not in self.notions:
            return None
        estimands.check_name(estimand, notion)
        if not estimands.has_truth(estimand):
            return None
        if estimand == "linf" and notion != "canonical" and self.classes > 2:
            return None
        p, c = self.population[:2]
        method = f"{len(p):,} rows, map {self.chosen}"
        if notion == "canonical" or p.ndim == 1:
            found, error = self.of_rows(estimand, notion), 1e-12
            method = f"finite sum over {method}"
        else:
            pairs: list[tuple[np.ndarray, np.ndarray]] = (
                [_top(p, c)] if notion == "top_label" else list(zip(p.T, c.T))
            )
            fine, coarse = (
                float(np.mean([_of_neighbours(estimand, *pair, bins) for pair in pairs]))
                for bins in BINS
            )
            if not np.isfinite([fine, coarse]).all():
                return None
            found, error = max(2.0 * coarse - fine, 0.0), abs(coarse - fine) + 1e-6
            method = f"means of neighbours among {method}"
        return Truth(float(found), float(error), method) if np.isfinite(found) else None

    def of_rows(self, estimand: str, notion: str | None = None) -> float:
        """The estimand of the finite population: where a number's values are all distinct, of every row by itself."""
        p, c = self.population[:2]
        notion = notion or self.default_notions[0]
        with np.errstate(all="ignore"):
            if notion == "canonical" or p.ndim == 1:
                if notion == "canonical" and p.ndim == 1:
                    p, c = (np.column_stack([1.0 - x, x]) for x in (p, c))
                return estimands.value(
                    estimand, p, c, "binary" if notion == "classwise" else notion
                )
            pairs: list[tuple[np.ndarray, np.ndarray]] = (
                [_top(p, c)] if notion == "top_label" else list(zip(p.T, c.T))
            )
            return float(np.mean([_of_neighbours(estimand, *pair, len(p)) for pair in pairs]))


class Population(NamedTuple):
    """Predictions and their truths, (n,) or (n, k), the map that made these, which it was, and the held-out scores."""

    p: np.ndarray
    c: np.ndarray
    map: Any
    chosen: str
    scores: tuple[tuple[str, float], ...]


@lru_cache(maxsize=64)
def _population(fitted: Fitted, checksums: tuple[str, ...]) -> Population:
    if fitted.unavailable:
        raise BadInputError(f"{fitted.unavailable.rstrip('.')}.")
    drawn = []
    for one in fitted._members:
        n = ProblemSpec.of(one).n_max
        if n is None:
            raise BadInputError(
                "problem is drawn without end; one of finitely many rows, such as Predictions, is needed."
            )
        drawn.append(
            one.sample(n, np.random.default_rng(0))
        )  # members on the same data have their rows in the same order
    if len({p.shape[1:] for p, _ in drawn}) > 1:
        raise BadInputError(
            "the members of problem have different numbers of classes; they cannot be put together."
        )
    p, y = (np.concatenate(parts) for parts in zip(*drawn))
    held_out = np.concatenate([np.arange(len(labels)) % EVERY == EVERY - 1 for _, labels in drawn])
    vectors = np.column_stack([1.0 - p, p]) if p.ndim == 1 else p
    names = [name for name in fitted.maps if name != "matrix" or vectors.shape[1] <= MATRIX_CLASSES]
    if not names:
        raise BadInputError(
            f"maps is matrix alone, but there are {vectors.shape[1]} classes; at most {MATRIX_CLASSES} are fitted."
        )
    scores = {"none": _likelihood(vectors[held_out], y[held_out])}
    made: dict[str, CalibrationMap] = {}
    for name in names:
        scores[name] = _likelihood(
            _fit(name, vectors[~held_out], y[~held_out], made)(vectors[held_out]), y[held_out]
        )
    chosen = max(names, key=scores.__getitem__)
    q = _fit(chosen, vectors, y, {})
    c = q(vectors)
    c = c[:, 1] if p.ndim == 1 else c
    for array in (p, c):
        array.flags.writeable = False
    return Population(p, c, q, chosen, tuple(scores.items()))


def _likelihood(q: np.ndarray, y: np.ndarray) -> float:
    return float(np.log(np.maximum(q[np.arange(len(y)), y], LEAST)).mean())


def _top(p: np.ndarray, c: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    rows, top = np.arange(len(p)), p.argmax(axis=1)
    return p[rows, top], c[rows, top]


def _of_neighbours(estimand: str, f: np.ndarray, c: np.ndarray, bins: int) -> float:
    """The estimand of the means of c and f over neighbouring values of f, in about as many bins of equally many rows; equal
    values are in one bin."""
    values, which, count = np.unique(f, return_inverse=True, return_counts=True)
    part = (np.cumsum(count) - count) * bins // len(f)  # by the rows before the first of a value
    part = np.unique(part, return_inverse=True)[1][which]
    size = np.bincount(part)
    with np.errstate(all="ignore"):
        mean_f, mean_c = (np.clip(np.bincount(part, x) / size, 0.0, 1.0) for x in (f, c))
        return estimands.value(estimand, mean_f, mean_c, "top_label", size / len(f))


def _logs(p: np.ndarray) -> np.ndarray:
    return np.log(np.maximum(p, LEAST))


def _temperature(p: np.ndarray, y: np.ndarray) -> CalibrationMap:
    q = Temperature().fit(np.maximum(p, LEAST), y)
    return lambda x: q(np.maximum(x, LEAST))


def _matrix(p: np.ndarray, y: np.ndarray) -> CalibrationMap:
    q = StructuredMatrixScaling().fit(np.maximum(p, LEAST), y)
    return lambda x: q(np.maximum(x, LEAST))


def _isotonic(p: np.ndarray, y: np.ndarray) -> CalibrationMap:
    one, other = Isotonic().fit(p, y), _temperature(p, y)
    return lambda x: (one(x) + other(x)) / 2.0


def _vector(p: np.ndarray, y: np.ndarray) -> CalibrationMap:
    """softmax(w_j log p_j + b_j) of least mean log-loss, with a ridge to w = 1, b = 0."""
    from scipy.optimize import minimize  # slow to import

    z, (n, k) = _logs(p), p.shape
    rows, hit = np.arange(n), one_hot(y, k)
    of_hit, hits = (z * hit).sum(axis=0) / n, hit.mean(axis=0)

    def loss(v: np.ndarray) -> tuple[float, np.ndarray]:
        w, b = 1.0 + v[:k], v[k:]
        s = w * z + b
        s -= s.max(axis=1, keepdims=True)
        target = s[rows, y].mean()
        np.exp(s, out=s)
        total = s.sum(axis=1)
        value = np.log(total).mean() - target + 0.5 * RIDGE * v @ v
        s /= total[:, None]
        return value, np.concatenate(
            [(s * z).sum(axis=0) / n - of_hit, s.mean(axis=0) - hits]
        ) + RIDGE * v

    options = {"maxiter": 500, "ftol": 1e-13, "gtol": 1e-8}
    v = minimize(loss, np.zeros(2 * k), jac=True, method="L-BFGS-B", options=options).x
    return lambda x: softmax((1.0 + v[:k]) * _logs(x) + v[k:])


def _curves(p: np.ndarray, y: np.ndarray) -> CalibrationMap:
    """Accuracy as a function of the confidence's logit, by the class on top."""
    k = p.shape[1]
    top, t = p.argmax(axis=1), p.max(axis=1)
    hit = (top == y).astype(np.float64)
    reach = int(round(4 * WIDTH / 0.05))
    kernel = np.exp(-0.5 * (np.arange(-reach, reach + 1) * 0.05 / WIDTH) ** 2)
    at = np.rint((_logit(t) - GRID[0]) / 0.05).astype(np.int64)

    def smooth(rows: np.ndarray | slice) -> tuple[np.ndarray, np.ndarray]:
        counts, hits = (np.bincount(at[rows], w, minlength=len(GRID)) for w in (None, hit[rows]))
        return np.convolve(counts, kernel, "same"), np.convolve(hits, kernel, "same")

    counts, hits = smooth(slice(None))
    of_all = (hits + 1.0 / (1.0 + np.exp(-GRID))) / (counts + 1.0)
    table = np.empty((k, len(GRID)))
    for j in range(k):
        counts, hits = smooth(top == j)
        table[j] = (hits + PSEUDO * of_all) / (counts + PSEUDO)

    def q(x: np.ndarray) -> np.ndarray:
        rows, top = np.arange(len(x)), x.argmax(axis=1)
        place = (_logit(x[rows, top]) - GRID[0]) / 0.05
        low = np.minimum(place.astype(np.int64), len(GRID) - 2)
        share = place - low
        right = (1.0 - share) * table[top, low] + share * table[top, low + 1]
        c = np.array(np.maximum(x, 1e-12))  # of a one-hot row the others are equal
        c[rows, top] = 0.0
        c *= ((1.0 - right) / c.sum(axis=1))[:, None]
        c[rows, top] = right
        return c

    return q


def _logit(t: np.ndarray) -> np.ndarray:
    return np.clip(np.log(t) - np.log(np.maximum(1.0 - t, LEAST / 10)), GRID[0], GRID[-1])


def _fit(
    name: str, p: np.ndarray, y: np.ndarray, made: dict[str, CalibrationMap]
) -> CalibrationMap:
    """The map of a name, fitted on p and y, on which those in `made` were."""
    if name == "curves_of_vector":
        first = _fit("vector", p, y, made)
        second = _curves(first(p), y)
        return lambda x: second(first(x))
    fits = {
        "temperature": _temperature,
        "vector": _vector,
        "matrix": _matrix,
        "isotonic": _isotonic,
        "curves": _curves,
    }
    if name not in made:
        made[name] = fits[name](p, y)
    return made[name]
