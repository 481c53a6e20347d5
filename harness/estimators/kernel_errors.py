"""Calibration errors as distances of mean embeddings in the space of a kernel, and the binned error of whole vectors.

Common to all: residuals R = e_y - f, once and for all (products of rows of R, never the four terms e.e - e.f - f.e + f.f, which
cancel for nearly certain predictions), and the kernel k(f, f') = f.f' + exp(-||f - f'||^2 / (2 gamma^2)) of moskvichev2025."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness.errors import BadInputError, UndefinedError
from harness.estimators.base import Estimate, is_positive
from harness.math.kernels import (
    MEDIAN_RULES,
    complete_cholesky,
    median_distance,
    rbf,
    rbf_form,
    rbf_times,
    two_columns,
)
from harness.math.notions import checked, one_hot

FORMS = ("unbiased", "biased", "block")
METHODS = ("exact", "features")
KERNELS = ("linear_rbf", "kronecker")
COMPLETE_TRACE = 1e-12  # relative trace that a low rank may leave out of a sum over all pairs
BLOCK_ENTRIES = 1 << 20  # numbers of a batch of blocks


def check_gamma(gamma: float | str) -> None:
    """Raise BadInputError unless it is a positive number or one of MEDIAN_RULES."""
    if not (is_positive(gamma) or gamma in MEDIAN_RULES):
        raise BadInputError(
            f"gamma is {gamma!r}; allowed are a positive number and the rules {', '.join(MEDIAN_RULES)}."
        )


MAX_INTERVALS = 1_000_000


def check_integer(name: str, value: int, least: int = 1) -> None:
    """Raise BadInputError unless it is an integer of at least `least`."""
    if not (is_positive(value) and int(value) == value and value >= least):
        raise BadInputError(f"{name} is {value!r}; an integer of at least {least} is needed.")


def on_columns(p: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(f, R): predictions (n, k), (n,) as two columns, and residuals e_y - f."""
    p, y = checked(p, y)
    q = two_columns(p)
    return q, one_hot(y, q.shape[1]) - q


def gamma_of(gamma: float | str, q: np.ndarray) -> float:
    """The number, or what the rule says."""
    return median_distance(q, gamma) if isinstance(gamma, str) else float(gamma)


def rate_of(gamma: float) -> float:
    """1 / (2 gamma^2), as `kernels.rbf` has it."""
    return 0.5 / gamma**2


def times(q: np.ndarray, gamma: float, v: np.ndarray) -> np.ndarray:
    """K v for K_ij = f_i.f_j + exp(-||f_i - f_j||^2 / (2 gamma^2)), in tiles."""
    return rbf_times(q, rate_of(gamma), v) + q @ (q.T @ v)


def fourier_features(
    q: np.ndarray, gamma: float, count: int, rng: np.random.Generator | None
) -> np.ndarray:
    """phi (n, k + 2 count), phi phi' ~ K: f itself, cos and sin of w_j.f over sqrt(count), w_j ~ N(0, I / gamma^2)
    (moskvichev2025, Appendix B)."""
    if rng is None:
        raise BadInputError("rng is missing; give a numpy Generator, or an integer seed.")
    angle = q @ (np.random.default_rng(rng).standard_normal((q.shape[1], count)) / gamma)
    return np.column_stack([q, np.cos(angle) / np.sqrt(count), np.sin(angle) / np.sqrt(count)])


def group_sums(q: np.ndarray, r: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(group of every row, sums of R (g, k), sizes (g,)) over the distinct rows of q."""
    _, group, sizes = np.unique(q, axis=0, return_inverse=True, return_counts=True)
    group = group.reshape(-1)
    sums = np.column_stack([np.bincount(group, column, minlength=len(sizes)) for column in r.T])
    return group, sums, sizes


@dataclass(frozen=True)
class SKCE:
    """The squared kernel calibration error.

        skce = ||E (e_Y - f) k(f, .)||^2,   estimated from h_ij = k(f_i, f_j) <r_i, r_j>,   r = e_y - f

    with the kernel k(f, f') 1{y = y'}, k(f, f') = f.f' + exp(-||f - f'||^2 / (2 gamma^2)); JKCE of moskvichev2025, eq. 7.

    Parameters
    ----------
    gamma, kernel, features
        As in `CKCE`.
    form : {"unbiased", "biased", "block"}
        The mean of h_ij over i != j, negative at times; over all i and j, at least 0, too large by about E k(f, f) ||r||^2 / n;
        or over the pairs within disjoint random blocks, unbiased in O(n blocksize) with more spread.
    blocksize : int
        Samples of a block; those of an incomplete block are left out. 2 is the linear estimator of Widmann et al. (2019).
    method : {"exact", "features"}
        The kernel itself, or random Fourier features.

    Notes
    -----
    Equal predictions, unbiased: kappa (||sum r||^2 - sum ||r_i||^2) / (n (n - 1)), kappa = ||f||^2 + 1. Sums over all pairs
    go by a low rank where that leaves out at most 1e-12 of K's trace, as for scalars (an error of at most 2e-12 mean
    ||r||^2), and by tiles otherwise, O(n^2 k). UndefinedError for fewer samples than the form needs. diagnostics: gamma; rank
    of the features; of blocks their number, left_out and standard_error.

    References
    ----------
    Widmann, Lindsten and Zachariah (2019), NeurIPS, and (2021), ICLR; moskvichev2025, eq. 7.

    Examples
    --------
    >>> round(SKCE(gamma=0.5)([0.1, 0.4, 0.8, 0.9], [0, 1, 1, 1])["skce"].value, 4)
    0.0367
    """

    gamma: float | str = "median"
    form: str = "unbiased"
    blocksize: int = 2
    method: str = "exact"
    kernel: str = "linear_rbf"
    features: int = 100

    notions = ("binary", "top_label", "classwise", "canonical")
    estimands = ("skce",)
    revision = 1
    null_bias = 0.005
    seconds = 0.01

    def __post_init__(self) -> None:
        check_gamma(self.gamma)
        for name, allowed in (("form", FORMS), ("method", METHODS), ("kernel", KERNELS)):
            if getattr(self, name) not in allowed:
                raise BadInputError(
                    f"{name} is {getattr(self, name)!r}; allowed are {', '.join(allowed)}."
                )
        if self.method == "features" and (self.form == "block" or self.kernel == "kronecker"):
            raise BadInputError(
                "method is 'features'; blocks and the kernel kronecker are exact as they are and take exact alone."
            )
        if self.form == "block" and self.kernel == "kronecker":
            raise BadInputError(
                "form is 'block'; with the kernel kronecker, unbiased and biased are allowed."
            )
        check_integer("blocksize", self.blocksize, 2)
        check_integer("features", self.features)

    @property
    def determinism(self) -> str:
        return "statistical" if self.form == "block" or self.method == "features" else "rounding"

    def __call__(
        self, p: np.ndarray, y: np.ndarray, rng: np.random.Generator | None = None
    ) -> dict[str, Estimate]:
        q, r = on_columns(p, y)
        n, least = len(q), {"unbiased": 2, "biased": 1, "block": self.blocksize}[self.form]
        if n < least:
            raise UndefinedError(f"{least} samples are needed, and there are {n}")
        if self.kernel == "kronecker":
            sums = group_sums(q, r)[1]
            return self._of_sums((sums * sums).sum(), (r * r).sum(), n, {"rank": len(sums)})
        gamma = gamma_of(self.gamma, q)
        if self.form == "block":
            return {"skce": _by_blocks(q, r, gamma, int(self.blocksize), rng)}
        total, rank = self._total(q, r, gamma, rng)
        diagonal = (np.einsum("ij,ij->i", q, q) + 1.0) @ np.einsum("ij,ij->i", r, r)
        return self._of_sums(
            total, diagonal, n, {"gamma": gamma} | ({"rank": rank} if rank else {})
        )

    def _of_sums(
        self, total: float, diagonal: float, n: int, diagnostics: dict[str, float]
    ) -> dict[str, Estimate]:
        """From sum_ij h_ij and sum_i h_ii."""
        value = total / n**2 if self.form == "biased" else (total - diagonal) / (n * (n - 1))
        return {"skce": Estimate(float(value), diagnostics=diagnostics)}

    def _total(
        self, q: np.ndarray, r: np.ndarray, gamma: float, rng: np.random.Generator | None
    ) -> tuple[float, int]:
        """(sum_ij k(f_i, f_j) <r_i, r_j>, rank of the features, 0 without)."""
        if self.method == "features":
            f = fourier_features(q, gamma, int(self.features), rng)
            return ((f.T @ r) ** 2).sum(), f.shape[1]
        max_rank = int(2 * np.sqrt(len(q))) + 1
        low = complete_cholesky(q, rate_of(gamma), COMPLETE_TRACE, max_rank)
        if low is not None:
            f = np.column_stack([q, low.factor])
            return ((f.T @ r) ** 2).sum(), f.shape[1]
        return rbf_form(q, rate_of(gamma), r) + ((q.T @ r) ** 2).sum(), 0


def _by_blocks(
    q: np.ndarray, r: np.ndarray, gamma: float, size: int, rng: np.random.Generator | None
) -> Estimate:
    """The mean over blocks of the mean of h_ij over the pairs of a block."""
    if rng is None:
        raise BadInputError("rng is missing; give a numpy Generator, or an integer seed.")
    count, k = len(q) // size, q.shape[1]
    order = np.random.default_rng(rng).permutation(len(q))[: count * size].reshape(count, size)
    first, second = np.triu_indices(size, 1)
    values = np.empty(count)
    step = max(1, BLOCK_ENTRIES // (len(first) * k))
    for start in range(0, count, step):
        a, b = order[start : start + step, first], order[start : start + step, second]
        kernel = (q[a] * q[b]).sum(axis=2) + np.exp(
            -rate_of(gamma) * ((q[a] - q[b]) ** 2).sum(axis=2)
        )
        values[start : start + step] = (kernel * (r[a] * r[b]).sum(axis=2)).mean(axis=1)
    diagnostics = {"gamma": gamma, "blocks": count, "left_out": len(q) - count * size}
    if count > 1:
        diagnostics["standard_error"] = values.std(ddof=1) / np.sqrt(count)
    return Estimate(float(values.mean()), diagnostics=diagnostics)


@dataclass(frozen=True)
class UCME:
    """The squared, unnormalised calibration mean embedding at random places.

        ucme = 1/J sum_j [1/n sum_i k(f_i, t_j) (1{y_i = c_j} - f_i(c_j))]^2

    with t_j uniform on the simplex, c_j uniform among the classes, and the kernel of `SKCE`. The paper leaves the choice of the
    places to the user.

    Parameters
    ----------
    gamma : float or str
        As in `CKCE`.
    places : int
        J, drawn from rng.

    Notes
    -----
    Estimates the mean square over the places of a function that is 0 where f is calibrated; too large by the variance of the
    mean, O(1 / n). p (n,) counts as two columns. O(n J k).

    References
    ----------
    Widmann, Lindsten and Zachariah (2021), ICLR.

    Examples
    --------
    >>> round(UCME(gamma=0.5)([0.1, 0.4, 0.8, 0.9], [0, 1, 1, 1], np.random.default_rng(0))["ucme"].value, 4)
    0.0551
    """

    gamma: float | str = "median"
    places: int = 10

    notions = ("binary", "top_label", "classwise", "canonical")
    estimands = ("ucme",)
    determinism = "statistical"
    revision = 1
    null_bias = 0.005
    seconds = 0.01

    def __post_init__(self) -> None:
        check_gamma(self.gamma)
        check_integer("places", self.places)

    def __call__(
        self, p: np.ndarray, y: np.ndarray, rng: np.random.Generator | None = None
    ) -> dict[str, Estimate]:
        q, r = on_columns(p, y)
        if rng is None:
            raise BadInputError("rng is missing; give a numpy Generator, or an integer seed.")
        rng, gamma = np.random.default_rng(rng), gamma_of(self.gamma, q)
        t, c = (
            rng.dirichlet(np.ones(q.shape[1]), int(self.places)),
            rng.integers(q.shape[1], size=int(self.places)),
        )
        return {"ucme": Estimate(at_places(q, r, t, c, gamma), diagnostics={"gamma": gamma})}


def at_places(q: np.ndarray, r: np.ndarray, t: np.ndarray, c: np.ndarray, gamma: float) -> float:
    """The mean square over the places (t (J, k), classes c (J,)) of the mean of k(f_i, t_j) r_i(c_j)."""
    kernel = q @ t.T + rbf(q, t, rate_of(gamma))
    return float(((kernel * r[:, c]).mean(axis=0) ** 2).mean())


@dataclass(frozen=True)
class MMCE:
    """The maximum mean calibration error of scalars.

        mmce = sqrt(1/n^2 sum_ij u_i u_j exp(-|f_i - f_j| / width)),   u = y - f

    the norm, not squared, of E (Y - f) k(f, .) for the Laplace kernel; in the paper f is a confidence and y whether it was right.

    Parameters
    ----------
    width : float
        Of the kernel, at least 0.002; the paper's is 0.4.

    Notes
    -----
    Biased upwards: of a calibrated model, E mmce^2 is mean f (1 - f) / n. From sums over the sorted f, O(n log n).

    References
    ----------
    Kumar, Sarawagi and Jain (2018), ICML.

    Examples
    --------
    >>> round(MMCE()([0.1, 0.4, 0.8, 0.9], [0, 1, 1, 1])["mmce"].value, 4)
    0.1781
    """

    width: float = 0.4

    notions = ("binary", "top_label", "classwise")
    estimands = ("mmce",)
    determinism = "rounding"
    revision = 1
    null_bias = 0.03

    def __post_init__(self) -> None:
        if not (is_positive(self.width) and self.width >= 0.002):
            raise BadInputError(f"width is {self.width!r}; a number of at least 0.002 is needed.")

    def __call__(
        self, p: np.ndarray, y: np.ndarray, rng: np.random.Generator | None = None
    ) -> dict[str, Estimate]:
        p, y = checked(p, y)
        if p.ndim != 1:
            raise BadInputError(
                f"p has shape {p.shape}; mmce is of one probability per sample, (n,)."
            )
        order = np.argsort(p)
        p, u = p[order], (y - p)[order]
        growth = np.exp(
            p / self.width
        )  # at most exp(500): sum_{j < i} u_j exp(-(p_i - p_j) / width) from cumulative sums
        before = np.cumsum(u * growth) / growth - u
        return {"mmce": Estimate(float(np.sqrt(max((u * (u + 2.0 * before)).sum(), 0.0)) / len(p)))}


@dataclass(frozen=True)
class SimplexECE:
    """The binned calibration error of whole vectors.

        l1 = 1/n sum_b ||sum_{i in b} (e_{y_i} - f_i)||_1 over the bins b of the simplex

    which is E ||f - C||_1 with the means of a bin for f and C. The bin of f is the vector of the intervals [j/m, (j+1)/m) of its
    entries, 1 in the last one.

    Parameters
    ----------
    intervals : int
        m; the paper takes 3 and does not say which end of an interval is closed.

    Notes
    -----
    The whole norm, so that of two columns it is twice the binned error of one: binary predictions (n,) are judged as the two
    columns (1 - p, p), under the canonical notion, whose l1 that is. Biased upwards by the noise of the bins' means, strongly
    where bins are many, downwards by what cancels inside a bin. diagnostics: bins, the number of occupied ones, which alone
    are held. O(n k).

    References
    ----------
    moskvichev2025, Section 5.

    Examples
    --------
    >>> found = SimplexECE()([[0.9, 0.05, 0.05], [0.1, 0.8, 0.1], [0.2, 0.3, 0.5]], [0, 1, 1])
    >>> round(found["l1"].value, 6), found["l1"].diagnostics
    (0.666667, {'bins': 3})
    """

    intervals: int = 3

    notions = ("canonical",)
    estimands = ("l1",)
    determinism = "rounding"
    revision = 1
    null_bias = 0.1

    def __post_init__(self) -> None:
        check_integer("intervals", self.intervals)
        if self.intervals > MAX_INTERVALS:
            raise BadInputError(
                f"intervals is {self.intervals!r}; at most {MAX_INTERVALS} are needed."
            )

    def __call__(
        self, p: np.ndarray, y: np.ndarray, rng: np.random.Generator | None = None
    ) -> dict[str, Estimate]:
        q, r = on_columns(p, y)
        index = np.minimum(np.floor(q * self.intervals), self.intervals - 1).astype(
            np.min_scalar_type(int(self.intervals))
        )
        if (
            index.itemsize == 1
        ):  # rows as single values: with many classes that sorts thirty times as fast
            index = np.ascontiguousarray(index).view(np.dtype((np.void, index.shape[1]))).ravel()
        _, sums, sizes = group_sums(index, r)
        return {
            "l1": Estimate(float(np.abs(sums).sum() / len(q)), diagnostics={"bins": len(sizes)})
        }
