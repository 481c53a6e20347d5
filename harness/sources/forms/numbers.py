"""Whether numbers are probabilities or logits, and whether they can be what they are called."""

from __future__ import annotations

import numpy as np
from scipy import special

from harness.errors import BadInputError
from harness.math.notions import ROW_SUM_TOLERANCE
from harness.sources.forms.terms import ROUNDED


def softmax(z, path="logits"):
    """(n, k) logits -> probabilities, in the precision given; (n,) -> logistic. Infinite or NaN logits are refused."""
    if not np.isfinite(z).all():
        raise BadInputError(f"{path}: {int((~np.isfinite(z)).sum())} logits are NaN or infinite; finite numbers are needed.")
    return special.expit(z.reshape(-1)) if z.ndim == 1 or z.shape[1] == 1 else special.softmax(z, axis=1)


def in_unit(values):
    return bool(len(values)) and bool(((values >= 0) & (values <= 1)).all())  # false for NaN


def _tolerance(k):
    """How far a row of k probabilities rounded to 2 digits can be from a sum of 1."""
    return min(k * ROUNDED, 0.5) + ROW_SUM_TOLERANCE


def sums_to_one(matrix, total=1.0):
    return bool((np.abs(matrix.sum(axis=1, dtype=np.float64) - total) <= total * _tolerance(matrix.shape[1])).all())


def refuse_probabilities_as_logits(z, name, named, path):
    """Rows that sum to 1 are no logits, whoever says so; a vector within [0, 1] may be, if the user says so."""
    if z.ndim == 2 and in_unit(z) and sums_to_one(z):
        raise BadInputError(
            f"{path}: {name} holds no logits but probabilities: every row lies in [0, 1] and sums to 1; "
            f"say so by probabilities={name}, or store the logits."
        )
    if z.ndim == 2 and (z >= 0).all() and sums_to_one(z, 100.0):
        raise BadInputError(
            f"{path}: {name} holds no logits but percent: every row sums to 100; divide by 100, as probabilities."
        )
    if z.ndim == 1 and not named and in_unit(z) and ((z > 0) & (z < 1)).any():
        raise BadInputError(
            f"{path}: {name} lies within [0, 1], as probabilities do; say probabilities={name}, or, if it does hold logits, "
            f"logits={name}."
        )


def checked_probabilities(p, columns, asked, path):
    """The probabilities, validated, and what was done to them. Nothing is clipped; rows are renormalised only if asked to."""
    if not in_unit(p.reshape(-1)):
        _refuse_values(p, columns, path)
    if p.ndim == 1:
        return p, ""
    sums = p.sum(axis=1)
    off = np.abs(sums - 1.0)
    worst = int(np.argmax(off))
    if off[worst] > ROW_SUM_TOLERANCE:
        found = f"{path}: row {worst} sums to {sums[worst]:.6g}, the worst of {len(p)} rows ({columns.title})"
        if off[worst] > _tolerance(p.shape[1]):
            raise BadInputError(
                f"{found}; every row must sum to 1 within {ROW_SUM_TOLERANCE:g}: a class is missing, or one too many."
            )
        if not asked.renormalise:
            raise BadInputError(
                f"{found}; every row must sum to 1 within {ROW_SUM_TOLERANCE:g}: if they were rounded, "
                "renormalise=true divides each row by its sum."
            )
    if not asked.renormalise:
        return p, ""
    low, high = float(sums.min()), float(sums.max())
    return p / sums[:, None], f", whose rows summed to {low:.4g} to {high:.4g} and are divided by their sums"


def _refuse_values(p, columns, path):
    wrong = np.argwhere(~((p >= 0.0) & (p <= 1.0)))
    at = tuple(int(i) for i in wrong[0])
    name = columns.names[at[1]] if columns.values is None and len(columns.names) > 1 else columns.title
    if columns.values is None and len(columns.names) == 1:
        name = columns.names[0]
    place = f"row {at[0]}" + (f", column {at[1]}" if p.ndim == 2 and columns.values is not None else "")
    value = "NaN" if np.isnan(p[at]) else f"{p[at]:.10g}"
    found = f"{path}: {name} holds {value} at {place} ({len(wrong)} such values); probabilities must lie in [0, 1]"
    finite = p[np.isfinite(p)]
    if np.isnan(p[at]):
        remedy = "fill in or leave out the rows that lack one"
    elif len(finite) < p.size:
        remedy = "infinite values and NaN are none"
    elif finite.min() >= -1e-3 and finite.max() <= 1.001:
        remedy = "if this is round-off, clip to [0, 1]"
    elif finite.min() < 0 or finite.max() > 100:
        remedy = f"these look like logits: logits={columns.title if columns.values is not None else columns.title.rstrip('*_')}"
    elif p.ndim == 1 or sums_to_one(p, 100.0):
        remedy = "these look like percent: divide by 100"
    elif (p == np.floor(p)).all():
        remedy = "these look like counts: divide each row by its sum"
    else:
        remedy = f"neither probabilities nor percent, whose rows sum to 100; if they are logits: logits={columns.title}"
    raise BadInputError(f"{found}: {remedy}.")
