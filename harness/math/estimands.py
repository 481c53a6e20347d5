"""Estimands: the population quantities that estimators estimate.

f is the prediction, Y the label and C = E[Y given f] the truth (E[e_Y given f] for vectors). Most
estimands aggregate a distance d(f, C). The same functions serve the truth (integrals), the oracle
(sample means) and plug-in estimators (means over bins).

Scalar notions (binary, top_label, classwise), f and C of shape (n,). Class-wise estimands are
averages over the classes:

    l<p>                       E |f - C|, for every p
    l2_squared                 E (f - C)^2
    rms                        sqrt(E (f - C)^2)
    kl                         E KL(Ber(C) || Ber(f))
    linf                       ess sup |f - C|, the maximum calibration error
    l1_over, l2_squared_over   l1 and l2_squared, with 0 where f is not overconfident
    l1_under, l2_squared_under l1 and l2_squared, with 0 where f is not underconfident
    brier                      E (f - Y)^2
    logloss                    E -log f_Y
    refinement_l2_squared      E C (1 - C)
    refinement_kl              E entropy of Ber(C)
    sharpness_l2_squared       E (C - E C)^2
    sharpness_kl               E KL(Ber(C) || Ber(E C))

A binary prediction f is overconfident in two cases: f is farther from 1/2 than C on the same side,
or C is on the other side of 1/2. f = 1/2 is neither over- nor underconfident (berta2026, Appendix
C). A top-label confidence is overconfident where f > C.

Canonical notion, f and C of shape (n, k):

    l<p>                       E ||f - C||_p, any p >= 1 (not to the power p)
    linf                       E max_j |f_j - C_j| (a mean, as in berta2026)
    l2_squared                 E ||f - C||_2^2
    rms                        sqrt(E ||f - C||_2^2)
    kl                         E KL(C || f)
    top_class_l1               E |f_t - C_t|, t = argmax f, C given the whole vector
    top_class_l1_over          E max(f_t - C_t, 0)
    top_class_l1_under         E max(C_t - f_t, 0)
    top_class_l2_squared       E (f_t - C_t)^2, also with _over and _under
    brier                      E ||f - e_Y||^2
    logloss                    E -log f_Y
    refinement_l2_squared      E sum_j C_j (1 - C_j)
    refinement_kl              E entropy of C
    sharpness_l2_squared       E ||C - E C||^2
    sharpness_kl               E KL(C || E C)

The expected score is calibration error plus refinement: brier = l2_squared + refinement_l2_squared,
and logloss = kl + refinement_kl. Refinement plus sharpness is the refinement of the constant
prediction E C, which measures the uncertainty of Y alone (popordanoska2024, Section 3). That paper
omits the constant of the Brier score from the refinement. Refinement and sharpness depend on C
alone. They are no distances, so they are not 0 at f = C.

Two estimands measure how well predictions separate the outcomes. They are no calibration errors,
and their truths are unknown:

    auroc                      P(f > f') + P(f = f') / 2 (scalar notions), with f the prediction
                               of a sample with Y = 1, and f' of a sample with Y = 0
    accuracy                   P(argmax f = Y) (any notion)

Two estimands of scalar notions describe the logistic recalibration of f. They are no calibration
errors, and their truths are unknown. With sigma the logistic function:

    slope                      b of the best fit P(Y = 1) = sigma(a + b logit f); 1 if f = C
    intercept                  c of the best fit P(Y = 1) = sigma(c + logit f); 0 if f = C

`bregman_<name>`, `refinement_bregman_<name>` and `sharpness_bregman_<name>` belong to a user's
Bregman divergence (harness.math.divergences), `distance_<name>` to a user's distance
(harness.math.losses.Distance). Their truths are unknown.

Some estimands depend on a kernel k that the estimator chooses (harness.estimators.kernel_errors).
They exist for any notion, unless the table says otherwise. (f', Y') is an independent copy of (f,
Y), and the truths are unknown:

    ckce                       squared Hilbert-Schmidt norm of the difference of the conditional
                               mean operators of e_Y and of f, given f
    grouped_ckce               the same given f and the group of the sample
    skce                       squared norm of the function E (e_Y - f) k(f, .)
    mmce                       the norm of this function, for scalars
    ucme                       mean square of this function at random places
    laplace_kce                sqrt E (Y - f) (Y' - f') exp(-|f - f'|), for scalars
    laplace_kce_squared        the square of laplace_kce, for scalars

`interval_ce` (scalar notions) is an upper bound of the distance of f from the nearest calibrated
prediction. Cut [0, 1] into intervals of width w with a random offset. interval_ce is the minimum
over w of w plus the expected sum over the intervals of |E (Y - f) 1{f in interval}|. Its truths are
unknown.

`p_value` (any notion) is the p-value of a test of the hypothesis f = C. If f = C holds, the p-value
is at most u with probability at most u, for every u in [0, 1].

Further estimands of scalar notions are defined by their estimators, or not computed by problems
(e50, e90). Their truths are unknown:

    e50, e90                   median and 0.9-quantile of |f - C| over the predictions
    smooth_ece                 L1 norm of the smoothed residual
    smooth_ce                  largest E w(f) (Y - f) over functions w with |w| <= 1 and slopes in
                               [-1, 1]: the distance of f from calibration, up to powers
    tce                        share of predictions that a binomial test rejects
    ks, kuiper                 largest absolute value and range of the cumulative residual
    ace_average                unweighted mean over bins of |mean prediction - mean outcome|
    tace                       class-wise l1 over predictions above a threshold
    uncertainty_l2_squared     refinement_l2_squared of the constant prediction E C
    uncertainty_kl             refinement_kl of the constant prediction E C

Beware of two differences. In the scalar notions, `linf` is a supremum over predictions; in the
canonical notion it is the mean of a vector norm. With two classes, ||f - C||_p = 2^(1/p) |f_1 -
C_1|.
"""

from __future__ import annotations

import re

import numpy as np
from scipy.special import entr, rel_entr, xlogy

from harness.errors import BadInputError

# Scores, refinements and sharpnesses. They are no distances: they are not 0 at f = C.
SCORES = (
    "brier", "logloss", "refinement_l2_squared", "refinement_kl",
    "sharpness_l2_squared", "sharpness_kl",
)  # fmt: skip
ORDERINGS = ("auroc", "accuracy")  # how well predictions order or name the outcomes
# Quantities in the unit of the kernel that an estimator chooses.
OF_KERNELS = (
    "ckce", "grouped_ckce", "skce", "mmce", "ucme", "laplace_kce", "laplace_kce_squared",
)  # fmt: skip
# Scalar quantities that are defined by their estimators.
OF_DEFINITIONS = (
    "ace_average", "e50", "e90", "interval_ce", "ks", "kuiper", "smooth_ce", "smooth_ece", "tace",
    "tce",
)  # fmt: skip
OF_LINES = ("slope", "intercept")  # coefficients of the logistic recalibration
OF_OUTCOMES = ("uncertainty_l2_squared", "uncertainty_kl")  # properties of the label Y alone
TESTS = ("p_value",)  # p-values of tests of calibration: small if the labels contradict calibration
USER_DEFINED = re.compile(r"((refinement|sharpness)_)?bregman_\w+|distance_\w+")
SCALAR = (
    "l1", "l2_squared", "rms", "kl", "linf", "l1_over", "l1_under",
    "l2_squared_over", "l2_squared_under", *SCORES,
)  # fmt: skip
CANONICAL = (
    "l1", "l2", "linf", "l2_squared", "rms", "kl",
    "top_class_l1", "top_class_l1_over", "top_class_l1_under",
    "top_class_l2_squared", "top_class_l2_squared_over", "top_class_l2_squared_under", *SCORES,
)  # fmt: skip


def names(notion: str) -> tuple[str, ...]:
    """Return the names of the estimands of a notion.

    Norms `l<p>` with any p >= 1 are allowed too, and are not listed.
    """
    return CANONICAL if notion == "canonical" else SCALAR


def check_name(name: str, notion: str | None = None) -> str:
    """Return `name` if it is an estimand of `notion`; otherwise raise BadInputError.

    If `notion` is None, estimands of all notions are allowed.
    """
    allowed = names(notion) if notion else tuple(dict.fromkeys(SCALAR + CANONICAL))
    allowed += (*OF_KERNELS, *TESTS)
    if notion == "canonical":
        allowed += ("accuracy",)
    else:
        allowed += (*ORDERINGS, *OF_LINES, *OF_DEFINITIONS, *OF_OUTCOMES)
    if name not in allowed and norm_order(name) is None and not USER_DEFINED.fullmatch(name):
        scope = f" for the {notion} notion" if notion else ""
        raise BadInputError(
            f"estimand is {name!r}; allowed{scope} are {', '.join(allowed)}, l<p> for a number "
            "p >= 1, bregman_<name> of a Bregman divergence and distance_<name> of a distance that "
            "you defined."
        )
    return name


def is_distance(name: str) -> bool:
    """Return True if the estimand is 0 for a calibrated prediction."""
    return name not in SCORES + ORDERINGS + OF_LINES + OF_OUTCOMES + TESTS


def is_error(name: str) -> bool:
    """Return True if the estimand is a calibration error, which is at least 0.

    A calibration error is 0 under calibration; sharpness and refinement are not.
    """
    return is_distance(name) and not name.startswith(("refinement_", "sharpness_"))


def has_truth(name: str) -> bool:
    """Return True if problems can know the true value of the estimand.

    Quantities that only their estimator defines have no truth, for example a user's Bregman
    divergence.
    """
    return not (
        USER_DEFINED.fullmatch(name)
        or name in ORDERINGS + OF_LINES + OF_KERNELS + OF_DEFINITIONS + OF_OUTCOMES + TESTS
    )


def norm_order(name: str) -> float | None:
    """Return the order p of a norm from its name: 'l1' -> 1.0, 'l1.5' -> 1.5, 'linf' -> inf.

    Return None if the name is no norm, or differs from the spelling of `norm_name`.
    """
    try:
        order = float(name[1:])
    except ValueError:
        return None
    return order if order >= 1.0 and norm_name(order) == name else None


def norm_name(order: float) -> str:
    """Return the name of the norm of a given order: 1.0 -> 'l1', inf -> 'linf'."""
    return "linf" if np.isinf(order) else f"l{order:g}"


def value(
    name: str,
    f: np.ndarray,
    c: np.ndarray,
    notion: str = "binary",
    weights: np.ndarray | None = None,
) -> float:
    """Return the value of the estimand `name` for predictions f and truths c = E[y given f].

    f and c have shape (n,) for scalar notions and (n, k) for canonical. `weights` (n,) are the
    weights of the mean, uniform if None. Weights that already contain a density need not sum to 1.
    """
    check_name(name, notion)
    if notion != "canonical" and name == "linf":
        return float(np.abs(f - c).max())
    if name.startswith("sharpness_"):  # the distance of C from the constant prediction E C
        centre = c.mean(axis=0) if weights is None else weights @ c / weights.sum()
        constant = np.broadcast_to(centre, np.shape(c))
        return value(name.removeprefix("sharpness_"), constant, c, notion, weights)
    d = pointwise("l2_squared" if name == "rms" else name, f, c, notion)
    mean = float(d.mean() if weights is None else weights @ d)
    return float(np.sqrt(mean)) if name == "rms" else mean


def pointwise(name: str, f: np.ndarray, c: np.ndarray, notion: str = "binary") -> np.ndarray:
    """Return the terms d(f, c), shape (n,), whose mean is the estimand `name`.

    f and c have shape (n,) for scalar notions and (n, k) for canonical. BadInputError for `rms` and
    sharpness, which are not means over samples.
    """
    if name == "rms" or name.startswith("sharpness_"):
        raise BadInputError(
            f"estimand is {name!r}, which is not a mean over samples; call estimands.value."
        )
    if not has_truth(name):
        raise BadInputError(
            f"estimand is {name!r}; only estimators define it, so no truth can be computed."
        )
    if notion == "canonical":
        return _canonical(name, f, c)
    if name.endswith(("_over", "_under")):
        base, side = name.rsplit("_", 1)
        return pointwise(base, f, c, notion) * _on_side(side, f, c, pivot(notion))
    if name == "l2_squared":
        return (f - c) ** 2
    if name == "kl":
        return rel_entr(c, f) + rel_entr(1.0 - c, 1.0 - f)
    if name == "brier":
        return (f - c) ** 2 + c * (1.0 - c)
    if name == "refinement_l2_squared":
        return c * (1.0 - c)
    if name == "refinement_kl":
        return entr(c) + entr(1.0 - c)
    if name == "logloss":
        return -xlogy(c, f) - xlogy(1.0 - c, 1.0 - f)
    return np.abs(f - c)  # every l<p>: the norm of a scalar


def pivot(notion: str) -> float:
    """Return the pivot of a notion: predictions above it speak for the event, others against it.

    It is 1/2 for probabilities. For a top-label confidence it is -1, because all confidences speak
    for the event.
    """
    return -1.0 if notion == "top_label" else 0.5


def _on_side(side: str, f: np.ndarray, c: np.ndarray, pivot: float) -> np.ndarray:
    """Return the mask (n,) of overconfident (`side` "over") or underconfident predictions f."""
    over = np.where(f > pivot, c < f, np.where(f < pivot, c > f, False))
    return over if side == "over" else ~over & (f != pivot)


def _canonical(name: str, f: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Return the terms d(f, c), shape (n,), of the estimand `name` for vectors f and c (n, k)."""
    if name.startswith("top_class_"):
        top = f.argmax(axis=1)
        rows = np.arange(len(f))
        f, c = f[rows, top], c[rows, top]
        name = name.removeprefix("top_class_")
        return pointwise(name, f, c, "top_label")
    d = f - c
    if name == "l2_squared":
        return (d * d).sum(axis=1)
    if name == "kl":
        return rel_entr(c, f).sum(axis=1)
    if name == "brier":
        return (d * d).sum(axis=1) + 1.0 - (c * c).sum(axis=1)
    if name == "logloss":
        return -xlogy(c, f).sum(axis=1)
    if name == "refinement_l2_squared":
        return (c * (1.0 - c)).sum(axis=1)
    if name == "refinement_kl":
        return entr(c).sum(axis=1)
    order = norm_order(name)
    assert order is not None  # `value` checked the name
    return p_norm(d, order)


def p_norm(d: np.ndarray, order: float) -> np.ndarray:
    """Return the norm ||d||_order of the vectors along the last axis of d."""
    a = np.abs(d)
    if order == 1.0:
        return a.sum(axis=-1)
    if np.isinf(order):
        return a.max(axis=-1)
    if order == 2.0:
        return np.sqrt((a * a).sum(axis=-1))
    largest = a.max(axis=-1, keepdims=True)
    ratio = np.divide(a, largest, out=np.zeros_like(a), where=largest > 0)
    return largest[..., 0] * (ratio**order).sum(axis=-1) ** (1.0 / order)
