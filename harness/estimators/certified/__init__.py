"""Certified bounds of the binary L1 calibration error.

S is a score, Y its label, and eta(s) = E[Y given S = s]. The error is CE = E |eta(S) - S|. The
bounds hold at every sample size and for every law of the score, also a discrete one.

The upper bounds first bound the error at the scores s_1, ..., s_n of the sample,

    CE_n = (1/n) sum_i |eta(s_i) - s_i|,

and then its expectation CE. They estimate eta by a function etahat of the labels. A bound has these
terms:

    empirical    the mean of |etahat(s_i) - s_i|
    bias         a bound of the distance between etahat and eta, from an assumption about eta
    deviation    a bound of the effect of random labels, by McDiarmid's inequality
    transfer     the step from CE_n to CE, by kl inversion: |eta(S) - S| are i.i.d. in [0, 1]

The sum of the first three terms bounds CE_n with probability 1 - delta_1. The transfer is valid
with probability 1 - delta_2.

The assumption about eta is one of two:

* Its total variation on [0, 1] is at most V. Any monotone eta has V = 1.
* Its derivatives are bounded. This is true for scores that were perturbed by sech noise of
  bandwidth h (`harness.math.sech_noise`).

A problem may declare its `variation` or `perturbation`. If these contradict the assumption, the
estimate is undefined, because it would certify nothing.

`certified.base` documents the fields that several estimators share, which are given by keyword:
`level` in `CertifiedBound`, `variation` in `VariationBound`, `h` in `PerturbationBound`.

The `diagnostics` of an estimate hold the terms of its bound. Docstrings label the source of a
formula:

    [P]    stated in ciosek2026
    [R]    follows from a formula stated in ciosek2026
    [D]    derived for this project

Proofs of [R] and [D] are in experiments/ciosek2026/NOTES.md.
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
