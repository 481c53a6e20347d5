"""Hints at mistakes in the predictions: a reversed ranking, and rows in another order."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from harness.estimators.calibration_line import FEWEST_EVENTS
from harness.judging.bins import Array
from harness.judging.judged import Judged
from harness.judging.words import join_names

WEAK = 0.5  # a calibrated model has the strength 1, and shuffled rows have 0


def hints(data: Judged, level: float) -> list[str]:
    """Return sentences on mistakes that these predictions suggest.

    There are none if rows come in groups: the tests below need independent rows.

    Examples
    --------
    >>> from harness.judging.data import from_arrays
    >>> p = np.linspace(0.01, 0.99, 100)
    >>> len(hints(from_arrays(p, p > 0.5), 0.95)), len(hints(from_arrays(1 - p, p > 0.5), 0.95))
    (0, 1)
    """
    if data.row_groups is not None:
        return []
    texts = [reversed_ranking(data, level), shuffled_rows(data, level)]
    return [text for text in texts if text is not None]


def reversed_ranking(data: Judged, level: float) -> str | None:
    """Return a sentence if an event is shown to occur less often where its score is higher.

    An AUROC below 1/2 is shown if the one-sided test of Mann and Whitney rejects at (1 - level) /
    2, divided by the number of classes if there are more than two. Then two classes are needed,
    because two columns were swapped. At least 10 events and 10 other rows are needed.
    """
    columns = range(data.k) if data.k > 2 else [1]
    allowed = (1.0 - level) / 2.0 / len(columns)
    areas = {}
    for j in columns:
        hit = data.y == j
        events, others = data.p[hit, j], data.p[~hit, j]
        if min(len(events), len(others)) < FEWEST_EVENTS:
            continue
        from scipy.stats import mannwhitneyu  # slow to import

        test = mannwhitneyu(events, others, alternative="less", method="asymptotic")
        if test.pvalue <= allowed:
            areas[data.classes[j]] = float(test.statistic) / len(events) / len(others)
    if len(areas) < min(2, len(columns)):
        return None
    if data.confidences:
        return (
            f"The ranking is reversed: predictions are right less often where their confidence is "
            f"higher (AUROC {areas[data.classes[1]]:.2f}). The confidences may be probabilities of "
            "an error."
        )
    if data.k == 2:
        name = data.classes[1]
        return (
            f"The ranking is reversed: class {name} occurs less often where its probability is "
            f"higher (AUROC {areas[name]:.2f}). This may be the probability of the other class, "
            f"{data.classes[0]}."
        )
    return (
        f"The ranking is reversed for the classes {join_names(list(areas))}: they occur less often "
        "where their probabilities are higher. The columns may be in another order than the names "
        "of the classes."
    )


def shuffled_rows(data: Judged, level: float) -> str | None:
    """Return a sentence if labels show no relation to predictions whose means are right.

    With the probabilities p_ij of class j in row i, their means m_j over the rows, and c_ij = p_ij
    - m_j, the strength of the relation is

        b = sum_ij c_ij [y_i = j] / sum_ij c_ij^2

    It is 1 in expectation for calibrated predictions, and 0 if the labels are shuffled. The rows
    may be shuffled if the interval of b contains 0 and lies below 1/2, and if no class is more or
    less frequent than its mean probability. Its standard error is the larger one of that of these
    rows and that of calibrated predictions. At least 10 rows must have another label than the
    most frequent one.
    """
    if data.confidences or data.n - np.bincount(data.y).max() < FEWEST_EVENTS:
        return None
    centred = data.p - data.p.mean(axis=0)
    spread = float((centred**2).sum())
    if spread <= 0.0:
        return None
    terms: Array = centred[np.arange(data.n), data.y]
    residuals = terms - centred @ (np.bincount(data.y, minlength=data.k) / data.n)
    calibrated = (centred**2 * data.p).sum(axis=1) - (centred * data.p).sum(axis=1) ** 2
    error = np.sqrt(max(float((residuals**2).sum()), float(calibrated.sum()))) / spread
    strength, reach = float(terms.sum()) / spread, float(ndtri(0.5 + level / 2.0)) * error
    if strength + reach >= WEAK or strength - reach > 0.0 or strength + reach < 0.0:
        return None
    gaps = data.p - np.eye(data.k)[data.y]
    errors = gaps.std(axis=0) / np.sqrt(data.n)
    if (np.abs(gaps.mean(axis=0)) > ndtri(1.0 - (1.0 - level) / 2.0 / data.k) * errors).any():
        return None
    return (
        "The labels show no relation to the predictions, although each class is as frequent as "
        "predicted. The rows of predictions and labels may be in different orders."
    )
