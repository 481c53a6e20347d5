"""Bregman calibration errors from predictions p and estimates of E[Y given p]."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from harness.errors import BadInputError
from harness.estimators.base import check_choice
from harness.math.divergences import ENTROPY, SQUARED, Bregman
from harness.math.estimands import norm_name, p_norm
from harness.math.kernels import PREDICTION_FLOOR, two_columns
from harness.math.notions import one_hot

FORMS = ("direct", "risk")


def check_form(form: str) -> None:
    """Raise BadInputError unless `form` is "direct" or "risk"."""
    check_choice("form", form, FORMS)


def check_generators(generators: Sequence[Bregman]) -> None:
    """Raise BadInputError unless all generators are Bregman objects named bregman_<name>."""
    for generator in generators:
        if not isinstance(generator, Bregman):
            raise BadInputError(
                f"generators holds {generator!r}; give objects of harness.math.divergences.Bregman."
            )
        if not re.fullmatch(r"bregman_\w+", generator.name):
            raise BadInputError(
                f"generators holds a Bregman object named {generator.name!r}; name it "
                "bregman_<name>."
            )


def estimand_names(
    form: str, norms: Sequence[float], generators: Sequence[Bregman]
) -> tuple[str, ...]:
    """Return the names of all estimands that `bregman_errors` returns under any notion.

    `form`, `norms` and `generators` are arguments of `bregman_errors`.
    """
    used = [g.name for g in (SQUARED, ENTROPY, *generators)]
    direct = ["rms", "l1", *(norm_name(p) for p in norms if p != 1.0)] if form == "direct" else []
    parts = [f"{part}_{name}" for part in ("refinement", "sharpness") for name in used]
    return (*direct, *used, *parts)


def bregman_errors(
    p: np.ndarray,
    ratio: np.ndarray,
    y: np.ndarray,
    form: str,
    norms: Sequence[float] = (),
    generators: Sequence[Bregman] = (),
    floor: float = PREDICTION_FLOOR,
) -> dict[str, float]:
    """Return {estimand: value} from predictions p, estimates `ratio` of E[Y given p] and labels y.

    Parameters
    ----------
    p : array (n,) or (n, k)
        Predictions of scalars or of vectors.
    ratio : array (n, 1) or (n, k)
        Estimates of E[Y given p] for scalars or for vectors.
    y : array (n,)
        Labels.
    form : {"direct", "risk"}
        The formula of the error, as in `DirichletKernel`.
    norms : sequence of float
        The norms p of the errors l<p>, for form "direct".
    generators : sequence of Bregman
        Convex functions in addition to the squared norm and the negative entropy.
    floor : float
        p is clipped to [floor, 1 - floor] for generators that need the interior of the simplex.
    """
    scalar = p.ndim == 1
    g, r = two_columns(p), two_columns(ratio[:, 0]) if scalar else ratio
    k = g.shape[1]
    e = one_hot(y, k)
    values = {}
    if form == "direct":
        gap = p - ratio[:, 0] if scalar else p - ratio
        for order in (1.0,) if scalar else norms:  # all norms of a scalar are equal
            norm = np.abs(gap) if scalar else p_norm(gap, order)
            values[norm_name(order)] = float(norm.mean())
    for generator in (SQUARED, ENTROPY, *generators):
        name, unit = generator.name, 0.5 if scalar and generator is SQUARED else 1.0
        tangent_point = np.clip(g, floor, 1.0 - floor) if generator.interior else g
        f_r, f_e = generator.value(r), generator.value(e)
        if form == "direct":
            value = (f_r - generator.linear(r, tangent_point)).mean()
        else:
            value = f_r.mean() - generator.linear(e, tangent_point).mean()
        constant = generator.value(e.mean(axis=0)[None])[0]
        values[name] = unit * float(value)
        values[f"refinement_{name}"] = unit * float(f_e.mean() - f_r.mean())
        values[f"sharpness_{name}"] = unit * float(f_r.mean() - constant)
    if form == "direct":
        values["rms"] = float(np.sqrt(values["l2_squared"]))
    return values
