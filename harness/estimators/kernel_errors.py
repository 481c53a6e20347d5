"""Calibration errors that are distances of mean embeddings: SKCE, UCME and MMCE.

SKCE and UCME use the kernel k(f, f') = f.f' + exp(-||f - f'||^2 / (2 gamma^2)) of moskvichev2025.
They multiply residuals r = e_y - f, where e_y is the one-hot vector of the label. Multiplying out
to the four terms e.e - e.f - f.e + f.f would cancel for nearly certain predictions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness.errors import BadInputError, UndefinedError
from harness.estimators.base import Estimate, check_choice, check_integer, generator, is_positive
from harness.estimators.residual_kernels import (
    KERNELS,
    check_gamma,
    check_residuals,
    fourier_features,
    group_sums,
    rbf_rate,
    resolve_gamma,
)
from harness.estimators.simplex_ece import (
    SimplexECE as SimplexECE,  # configurations may name it here
)
from harness.math.kernels import rbf, rbf_form
from harness.math.low_rank import complete_cholesky
from harness.math.notions import checked_scalars

FORMS = ("unbiased", "biased", "block")
METHODS = ("exact", "features")
COMPLETE_TRACE = 1e-12  # share of the trace of K that a low rank may leave out
BLOCK_ENTRIES = 1 << 20  # largest number of entries in a batch of blocks (8 MB)


@dataclass(frozen=True)
class SKCE:
    """Squared kernel calibration error, the squared norm of a mean embedding.

        skce    = ||E (e_Y - f) k(f, .)||^2
        h_ij    = k(f_i, f_j) <r_i, r_j>,   r_i = e_{y_i} - f_i
        k(f, g) = f.g + exp(-||f - g||^2 / (2 gamma^2))

    f_i is one of n predictions of k classes, y_i its label and e_{y_i} the one-hot vector of the
    label. The estimate is a mean of h_ij. It is JKCE of moskvichev2025, eq. 7.

    Parameters
    ----------
    gamma, kernel, features
        As in `CKCE`.
    form : {"unbiased", "biased", "block"}
        "unbiased": the mean of h_ij over i != j. It is unbiased, and may be negative.
        "biased": the mean over all i and j. It is at least 0, and too large by about
        E k(f, f) ||r||^2 / n.
        "block": the mean over the pairs inside disjoint random blocks. It is unbiased with more
        variance, and costs O(n blocksize).
    blocksize : int
        Number of samples of a block. The samples of an incomplete block are left out. 2 gives the
        linear estimator of Widmann et al. (2019).
    method : {"exact", "features"}
        "exact" uses the kernel itself, "features" random Fourier features.

    Notes
    -----
    If all predictions are equal to f, the unbiased form is
    (||f||^2 + 1) (||sum r_i||^2 - sum ||r_i||^2) / (n (n - 1)).

    Sums over all pairs use a low rank if that leaves out at most 1e-12 of the trace of the kernel
    matrix, as it does for scalars. The error is then at most 2e-12 mean ||r||^2. Otherwise they are
    computed in tiles, O(n^2 k). A sample that is too small for the form raises UndefinedError.

    Diagnostics, of which the last three are for the form "block":

        gamma            the bandwidth that was used
        rank             number of features, 0 without features
        blocks           number of blocks
        left_out         number of samples in no block
        standard_error   standard error of the mean over the blocks

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
        check_choice("form", self.form, FORMS)
        check_choice("method", self.method, METHODS)
        check_choice("kernel", self.kernel, KERNELS)
        if self.method == "features" and (self.form == "block" or self.kernel == "kronecker"):
            raise BadInputError(
                "method is 'features'; use 'exact' if form is 'block' or kernel is 'kronecker'."
            )
        if self.form == "block" and self.kernel == "kronecker":
            raise BadInputError(
                "form is 'block'; use 'unbiased' or 'biased' if kernel is 'kronecker'."
            )
        check_integer("blocksize", self.blocksize, 2)
        check_integer("features", self.features)

    @property
    def determinism(self) -> str:
        return "statistical" if self.form == "block" or self.method == "features" else "rounding"

    def __call__(
        self, p: np.ndarray, y: np.ndarray, rng: np.random.Generator | None = None
    ) -> dict[str, Estimate]:
        q, r = check_residuals(p, y)
        n, least = len(q), {"unbiased": 2, "biased": 1, "block": self.blocksize}[self.form]
        if n < least:
            raise UndefinedError(f"form {self.form} needs at least {least} samples; there are {n}")
        if self.kernel == "kronecker":
            sums = group_sums(q, r)[1]
            return self._from_sums((sums * sums).sum(), (r * r).sum(), n, {"rank": len(sums)})
        gamma = resolve_gamma(self.gamma, q)
        if self.form == "block":
            return {"skce": _by_blocks(q, r, gamma, int(self.blocksize), rng)}
        total, rank = self._total(q, r, gamma, rng)
        diagonal = (np.einsum("ij,ij->i", q, q) + 1.0) @ np.einsum("ij,ij->i", r, r)
        diagnostics = {"gamma": gamma} | ({"rank": rank} if rank else {})
        return self._from_sums(total, diagonal, n, diagnostics)

    def _from_sums(
        self, total: float, diagonal: float, n: int, diagnostics: dict[str, float]
    ) -> dict[str, Estimate]:
        """Return skce from the sum of all h_ij (`total`) and the sum of the h_ii (`diagonal`).

        h_ij is the kernel at two predictions times the inner product of their residuals.
        """
        value = total / n**2 if self.form == "biased" else (total - diagonal) / (n * (n - 1))
        return {"skce": Estimate(float(value), diagnostics=diagnostics)}

    def _total(
        self, q: np.ndarray, r: np.ndarray, gamma: float, rng: np.random.Generator | None
    ) -> tuple[float, int]:
        """Return sum_ij k(f_i, f_j) <r_i, r_j>, and the number of features (0 without features).

        q and r (n, k) are predictions and residuals.
        """
        if self.method == "features":
            f = fourier_features(q, gamma, int(self.features), rng)
            return ((f.T @ r) ** 2).sum(), f.shape[1]
        max_rank = int(2 * np.sqrt(len(q))) + 1
        low = complete_cholesky(q, rbf_rate(gamma), COMPLETE_TRACE, max_rank)
        if low is not None:
            f = np.column_stack([q, low.factor])
            return ((f.T @ r) ** 2).sum(), f.shape[1]
        return rbf_form(q, rbf_rate(gamma), r) + ((q.T @ r) ** 2).sum(), 0


def _by_blocks(
    q: np.ndarray, r: np.ndarray, gamma: float, size: int, rng: np.random.Generator | None
) -> Estimate:
    """Return skce averaged over random blocks, each with the mean over its pairs of samples.

    q and r (n, k) are predictions and residuals; `size` is the number of samples of a block.
    """
    rng = generator(rng, "draws the blocks")
    count, k = len(q) // size, q.shape[1]
    order = rng.permutation(len(q))[: count * size].reshape(count, size)
    first, second = np.triu_indices(size, 1)
    values = np.empty(count)
    step = max(1, BLOCK_ENTRIES // (len(first) * k))
    for start in range(0, count, step):
        a, b = order[start : start + step, first], order[start : start + step, second]
        kernel = (q[a] * q[b]).sum(axis=2) + np.exp(
            -rbf_rate(gamma) * ((q[a] - q[b]) ** 2).sum(axis=2)
        )
        values[start : start + step] = (kernel * (r[a] * r[b]).sum(axis=2)).mean(axis=1)
    diagnostics = {"gamma": gamma, "blocks": count, "left_out": len(q) - count * size}
    if count > 1:
        diagnostics["standard_error"] = values.std(ddof=1) / np.sqrt(count)
    return Estimate(float(values.mean()), diagnostics=diagnostics)


@dataclass(frozen=True)
class UCME:
    """Unnormalised calibration mean embedding (UCME), squared, at random places.

        ucme = 1/J sum_j [1/n sum_i k(f_i, t_j) (1{y_i = c_j} - f_i(c_j))]^2

    f_i is one of n predictions of k classes, f_i(c) its probability of class c, and y_i its label.
    The places j = 1, ..., J are pairs of a point t_j and a class c_j. t_j is uniform on the simplex
    and c_j uniform among the classes; the paper leaves this choice to the user. k(., .) is the
    kernel of `SKCE`.

    Parameters
    ----------
    gamma : float or str
        As in `CKCE`.
    places : int
        Number of places, J, which are drawn from rng.

    Notes
    -----
    The term in brackets estimates a function of the place that is 0 if f is calibrated. Its square
    is too large by the variance of the mean, O(1 / n). Scalar predictions p (n,) count as the two
    columns (1 - p, p). Cost: O(n J k).

    References
    ----------
    Widmann, Lindsten and Zachariah (2021), ICLR.

    Examples
    --------
    >>> e = UCME(gamma=0.5)([0.1, 0.4, 0.8, 0.9], [0, 1, 1, 1], np.random.default_rng(0))["ucme"]
    >>> round(e.value, 4)
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
        q, r = check_residuals(p, y)
        rng, gamma = generator(rng, "draws the places"), resolve_gamma(self.gamma, q)
        count, k = int(self.places), q.shape[1]
        t, c = rng.dirichlet(np.ones(k), count), rng.integers(k, size=count)
        return {"ucme": Estimate(ucme_at_places(q, r, t, c, gamma), diagnostics={"gamma": gamma})}


def ucme_at_places(
    q: np.ndarray, r: np.ndarray, t: np.ndarray, c: np.ndarray, gamma: float
) -> float:
    """Return the mean over places j of the square of mean_i k(f_i, t_j) r_i(c_j).

    q and r (n, k) are predictions f_i and residuals r_i. The places are points t (J, k) with
    classes c (J,).
    """
    kernel = q @ t.T + rbf(q, t, rbf_rate(gamma))
    return float(((kernel * r[:, c]).mean(axis=0) ** 2).mean())


@dataclass(frozen=True)
class MMCE:
    """Maximum mean calibration error (MMCE) of scalars.

        mmce = sqrt(1/n^2 sum_ij u_i u_j exp(-|f_i - f_j| / width)),   u_i = y_i - f_i

    f_i is one of n predictions and y_i its outcome. This is the norm (not squared) of
    E (Y - f) k(f, .) for the Laplace kernel k. In the paper, f is the confidence in the predicted
    label, and y is 1 if that label is right.

    Parameters
    ----------
    width : float
        Width of the kernel, at least 0.002. The paper uses 0.4.

    Notes
    -----
    Biased upwards: for a calibrated model, E mmce^2 = E f (1 - f) / n. The double sum is computed
    from cumulative sums over the sorted f. Cost: O(n log n).

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
        p, y = checked_scalars(p, y)
        order = np.argsort(p)
        p, u = p[order], (y - p)[order]
        # Cumulative sums give sum_{j < i} u_j exp(-(p_i - p_j) / width). Since width >= 0.002,
        # growth is at most exp(500).
        growth = np.exp(p / self.width)
        before = np.cumsum(u * growth) / growth - u
        return {"mmce": Estimate(float(np.sqrt(max((u * (u + 2.0 * before)).sum(), 0.0)) / len(p)))}
