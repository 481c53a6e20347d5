"""Certified bounds of the binary L1 calibration error.

With eta(s) = E[Y given S = s] the error is CE = E |eta(S) - S|. The bounds hold at every sample
size and for every law of the score, atoms included. All upper bounds split CE_n = (1/n) sum
|eta(s_i) - s_i|, the error at the sample's scores, from its expectation CE:

    empirical    shown by the labels: the mean of |etahat(s_i) - s_i| for a surrogate etahat of eta
    bias         how far etahat may be from eta (by an assumption on eta), and
    deviation    how far the labels may be from their mean (McDiarmid); together these bound CE_n
                 with probability 1 - delta_1
    transfer     from CE_n to CE: kl inversion, valid with probability 1 - delta_2, because
                 |eta(S) - S| are i.i.d. in [0, 1].

The assumption is either a total variation TV(eta) <= V on [0, 1] (V = 1 for monotone eta), or
bounds of the derivatives of eta, which scores get by the sech perturbation of bandwidth h
(harness.math.sech_noise). If a problem declares `variation` or `perturbation` and the assumption is
known to be false, the estimate is undefined: it would certify nothing.

The fields that several estimators share are documented in `certified.base`: `level` in
`CertifiedBound`, `variation` in `VariationBound`, `h` in `PerturbationBound`. They are given by
keyword.

Every estimate carries its ingredients in `diagnostics`. Docstrings label the basis of a formula:
[P] stated in ciosek2026, [R] forced by a formula stated there, [D] derived for this project; proofs
of [R] and [D] are in experiments/ciosek2026/NOTES.md.
"""

from harness.estimators.certified.buckets import LipBkt
from harness.estimators.certified.denoising import TVInsample, TVKfold
from harness.estimators.certified.interval import CertifiedInterval
from harness.estimators.certified.lower import LowerPreq
from harness.estimators.certified.rank_window import BVWindow
from harness.estimators.certified.smoothing import NWJensen, NWKfold

__all__ = [
    "BVWindow",
    "CertifiedInterval",
    "LipBkt",
    "LowerPreq",
    "NWJensen",
    "NWKfold",
    "TVInsample",
    "TVKfold",
]
