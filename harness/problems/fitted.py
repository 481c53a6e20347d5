"""Problem with real predictions, and labels drawn from a fitted calibration map.

The truth is therefore known.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np

from harness.calibrators.base import CalibrationMap
from harness.errors import BadInputError
from harness.math import estimands
from harness.problems.base import (
    Family,
    Generated,
    ProblemSpec,
    Truth,
    draw_labels,
    list_members,
)
from harness.problems.fitted_maps import MAPS, MATRIX_CLASSES, fit_map, mean_log_likelihood
from harness.problems.predictions import Predictions

BINS = (200, 100)  # numbers of bins of neighbouring rows, for truths by extrapolation
HOLD_OUT_EVERY = 3  # every third row is held out


@dataclass(frozen=True)
class Fitted(Generated):
    """Predictions of a file, with labels drawn from a calibration map q fitted to the file.

        p ~ the rows of the file,  C = q(p),  Y given p ~ C

    Parameters
    ----------
    problem : Problem or Family
        Problem with finitely many rows: harness.problems.Predictions or a TabRepoTask. The rows of
        all members of a family are used together. On the command line:
        problem.fitted.problem.path=preds.npz.
    maps : tuple of str
        Kinds of maps to try. The kind with the largest mean log-likelihood on held-out rows (every
        third row) is fitted again to all rows. See `chosen` and `scores`.
    n_classes : int, optional
        Number of classes while the files are absent. By default it is read from the files.

    Examples
    --------
    >>> import numpy as np, pathlib, tempfile
    >>> from harness.problems import Beta, Predictions, maps
    >>> p, y = Beta(map=maps.LogitAffine(0.4, 0.3)).sample(2000, np.random.default_rng(0))
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "preds.npz"
    >>> np.savez(path, p=p, y=y)
    >>> problem = Fitted(Predictions(str(path)), maps=("temperature", "vector"))
    >>> problem.sample(4, np.random.default_rng(0))[0].shape
    (4,)
    >>> round(problem.truth("l1", "binary").value, 1)
    0.1

    Notes
    -----
    | map                | q(p)                                                                    |
    |--------------------|-------------------------------------------------------------------------|
    | `temperature`      | softmax(b log p)                                                        |
    | `vector`           | softmax(w_j log p_j + b_j)                                              |
    | `matrix`           | StructuredMatrixScaling, at most 30 classes (two classes: quadratic)    |
    | `isotonic`         | mean of one isotonic curve per class and of `temperature`               |
    | `curves`           | one smoothed curve from confidence to accuracy per predicted class,     |
    |                    | drawn towards the curve of all classes                                  |
    | `curves_of_vector` | `vector`, then `curves`                                                 |

    With `curves`, the other classes share the remaining probability in their original proportions.

    The problem shows how an estimator performs on real predictions with a plausible error. It does
    not show that the file has this error. An estimator that fits the same kind of map has an
    advantage. To judge it fairly, remove this kind from `maps`.

    The population consists of the rows, each equally likely. A sample takes them in random order.
    If n exceeds the number of rows, it continues with another random order.

    Canonical and binary truths are finite sums over the rows, exact to rounding.

    Top-label and class-wise truths need the mean of C given a single number, and nearly all values
    of that number are distinct in a file. If every row had its own mean, no estimator could recover
    it. The rows are instead treated as a sample of a distribution in which the mean is smooth. Let
    v(m) be the estimand computed from means over m neighbouring rows (equal values stay together).
    It exceeds its limit by a term proportional to 1 / m. The truth is 2 v(2 m) - v(m), which
    removes this term, with m = rows / 200 and the error |v(2 m) - v(m)|. `of_rows` returns the
    finite sum without smoothing.

    The maps are fitted at first use in a process, without random numbers. Every fit is smooth or
    convex, so other machines get the same numbers to about 1e-6.
    """

    problem: Any
    maps: tuple[str, ...] = MAPS
    n_classes: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(
            self, "maps", tuple([self.maps] if isinstance(self.maps, str) else self.maps)
        )
        unknown = [name for name in self.maps if name not in MAPS]
        if unknown or not self.maps:
            raise BadInputError(
                f"maps is {list(self.maps)!r}; choose one or more of {', '.join(MAPS)}."
            )
        if not (hasattr(self.problem, "sample") or isinstance(self.problem, Family)):
            raise BadInputError(
                "problem has no method sample; give a problem with finitely many rows, "
                "such as Predictions."
            )

    @cached_property
    def _members(self) -> tuple[Any, ...]:
        """Problems that provide the rows: the members of a family, or the single problem."""
        members = list_members(self.problem)
        return (self.problem,) if members is None else tuple(members.values())

    @property
    def version(self) -> tuple[Any, ...]:
        """Versions of this class and of the problems to which the maps are fitted."""
        if self.unavailable:
            return (1,)
        return (1, *sorted({str(ProblemSpec.of(member).version) for member in self._members}))

    @property
    def fingerprint(self) -> dict[str, Any]:
        """Fingerprints of the problems that provide the rows, and names of the maps.

        If the rows are absent, the text of the field `problem` replaces the fingerprints.
        """
        rows: Any = repr(self.problem)
        if not self.unavailable:
            rows = [ProblemSpec.of(member).fingerprint for member in self._members]
        return {"rows": rows, "maps": list(self.maps)}

    @property
    def unavailable(self) -> str | None:
        """Reason why the predictions are absent, or None."""
        try:
            members = self._members
        except BadInputError as error:  # the repository of a family is absent
            return str(error)
        if any(isinstance(member, Predictions) and not member.path for member in members):
            raise BadInputError(
                "the path of the predictions is missing; "
                "give the file, as problem.fitted.problem.path=preds.npz."
            )
        specs = [ProblemSpec.of(member) for member in members]
        for spec in specs:
            if spec.unavailable:
                return spec.unavailable
        if self.n_classes is not None and specs[0].classes != self.n_classes:
            return (
                f"n_classes is {self.n_classes}, "
                f"but the predictions have {specs[0].classes} classes"
            )
        return None

    @property
    def classes(self) -> int:
        if self.n_classes or self.unavailable:
            return self.n_classes or 2
        return ProblemSpec.of(self._members[0]).classes

    @property
    def notions(self) -> tuple[str, ...]:
        if self.classes == 2:
            return ("binary", "canonical", "classwise")
        return ("canonical", "top_label", "classwise")

    @property
    def default_notions(self) -> tuple[str, ...]:
        return ("binary",) if self.classes == 2 else ("canonical", "top_label")

    @property
    def population(self) -> Population:
        """Rows and their posteriors, computed at first use."""
        files = [member for member in self._members if isinstance(member, Predictions)]
        return _population(self, tuple(member._load().sha256 for member in files))

    @property
    def chosen(self) -> str:
        """Kind of the map that was best on held-out rows."""
        return self.population.chosen

    @property
    def scores(self) -> dict[str, float]:
        """Mean log-likelihood of each kind of map on held-out rows; "none" stands for no map."""
        return dict(self.population.scores)

    def sample(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        rng_rows, rng_y = rng.spawn(2)
        p, c = self.population[:2]
        passes = [rng_rows.permutation(len(p)) for _ in range(-(-n // len(p)))]
        rows = np.concatenate(passes)[:n]
        return p[rows], draw_labels(c[rows], rng_y)

    def posterior(self, p: np.ndarray) -> np.ndarray:
        """Return C = E[Y given p] = q(p), with the shape of p."""
        q = self.population.map
        if self.population.p.ndim == 2:
            return q(p)
        if p.ndim == 1:
            return q(np.column_stack([1.0 - p, p]))[:, 1]
        return q(np.column_stack([1.0 - p[:, 1], p[:, 1]]))

    def compute_truth(self, estimand: str, notion: str) -> Truth | None:
        if not estimands.has_truth(estimand):
            return None
        if estimand == "linf" and notion != "canonical" and self.classes > 2:
            return None
        n = len(self.population.p)
        if notion == "canonical" or self.population.p.ndim == 1:
            value, error = self.of_rows(estimand, notion), 1e-12
            method = "finite sum over"
        else:
            fine, coarse = (self._mean_of_bins(estimand, notion, bins) for bins in BINS)
            value, error = max(2.0 * coarse - fine, 0.0), abs(coarse - fine) + 1e-6
            method = "means of neighbours among"
            if not np.isfinite([fine, coarse]).all():
                return None
        if not np.isfinite(value):
            return None
        return Truth(float(value), float(error), f"{method} {n:,} rows, map {self.chosen}")

    def of_rows(self, estimand: str, notion: str | None = None) -> float:
        """Return the estimand of the finite population of rows.

        Top-label and class-wise means are taken over rows with equal values. If all values are
        distinct, every row has its own mean.
        """
        p, c = self.population[:2]
        notion = notion or self.default_notions[0]
        if notion != "canonical" and p.ndim == 2:
            return self._mean_of_bins(estimand, notion, len(p))
        if notion == "canonical" and p.ndim == 1:
            p, c = (np.column_stack([1.0 - x, x]) for x in (p, c))
        with np.errstate(all="ignore"):
            return estimands.value(estimand, p, c, "binary" if notion == "classwise" else notion)

    def _mean_of_bins(self, estimand: str, notion: str, bins: int) -> float:
        """Return a top-label or class-wise estimand, with means over bins of neighbouring rows."""
        p, c = self.population[:2]
        pairs = [_top(p, c)] if notion == "top_label" else list(zip(p.T, c.T))
        with np.errstate(all="ignore"):
            return float(np.mean([_value_of_bins(estimand, f, mean, bins) for f, mean in pairs]))


class Population(NamedTuple):
    """Rows of a fitted problem, with the map and how it was chosen.

    Parameters
    ----------
    p, c : ndarray
        Predictions and posteriors, (n,) or (n, k).
    map : callable
        The fitted map.
    chosen : str
        Kind of the map.
    scores : tuple of (str, float)
        Mean log-likelihood of each kind of map on held-out rows.
    """

    p: np.ndarray
    c: np.ndarray
    map: Any
    chosen: str
    scores: tuple[tuple[str, float], ...]


@lru_cache(maxsize=64)
def _population(fitted: Fitted, checksums: tuple[str, ...]) -> Population:
    """Return the rows of a fitted problem, and the map that is fitted to them.

    `checksums` of the files are part of the cache key.
    """
    if fitted.unavailable:
        raise BadInputError(f"{fitted.unavailable.rstrip('.')}.")
    samples = []
    for member in fitted._members:
        n = ProblemSpec.of(member).n_max
        if n is None:
            raise BadInputError(
                "problem draws unlimited samples; give a problem with finitely many rows, such as "
                "Predictions."
            )
        # All members use the same seed, so that members on the same data have the same row order.
        samples.append(member.sample(n, np.random.default_rng(0)))
    if len({p.shape[1:] for p, _ in samples}) > 1:
        raise BadInputError(
            "the members of problem have different numbers of classes, so their rows cannot be "
            "combined; choose members with equal numbers."
        )
    p, y = (np.concatenate(parts) for parts in zip(*samples))
    held_out = np.concatenate(
        [np.arange(len(labels)) % HOLD_OUT_EVERY == HOLD_OUT_EVERY - 1 for _, labels in samples]
    )
    vectors = np.column_stack([1.0 - p, p]) if p.ndim == 1 else p
    names = [name for name in fitted.maps if name != "matrix" or vectors.shape[1] <= MATRIX_CLASSES]
    if not names:
        raise BadInputError(
            f"maps is only matrix, but there are {vectors.shape[1]} classes; matrix allows at most "
            f"{MATRIX_CLASSES}. Add another kind of map."
        )
    scores = {"none": mean_log_likelihood(vectors[held_out], y[held_out])}
    fitted_maps: dict[str, CalibrationMap] = {}
    for name in names:
        q = fit_map(name, vectors[~held_out], y[~held_out], fitted_maps)
        scores[name] = mean_log_likelihood(q(vectors[held_out]), y[held_out])
    chosen = max(names, key=scores.__getitem__)
    q = fit_map(chosen, vectors, y, {})
    c = q(vectors)
    c = c[:, 1] if p.ndim == 1 else c
    for array in (p, c):
        array.flags.writeable = False
    return Population(p, c, q, chosen, tuple(scores.items()))


def _top(p: np.ndarray, c: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the columns of p and c (n, k) of the top class argmax p, each (n,)."""
    rows, top = np.arange(len(p)), p.argmax(axis=1)
    return p[rows, top], c[rows, top]


def _value_of_bins(estimand: str, f: np.ndarray, c: np.ndarray, bins: int) -> float:
    """Return an estimand of bin means of f and c (n,), with `bins` bins of equally many samples.

    Samples are sorted by f. Equal values of f share a bin.
    """
    values, which, count = np.unique(f, return_inverse=True, return_counts=True)
    # The number of smaller values decides the bin.
    part = (np.cumsum(count) - count) * bins // len(f)
    part = np.unique(part, return_inverse=True)[1][which]
    size = np.bincount(part)
    with np.errstate(all="ignore"):
        mean_f, mean_c = (np.clip(np.bincount(part, x) / size, 0.0, 1.0) for x in (f, c))
        return estimands.value(estimand, mean_f, mean_c, "top_label", size / len(f))
