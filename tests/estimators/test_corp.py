"""Isotonic parts of a score: closed forms, other code, invariances and edge cases."""

import math

import numpy as np
import pytest

from harness.estimators import Corp
from harness.math import reliability


def test_parts_by_hand():
    """p = .1 .1 .6 .8, y = 0 0 1 0: q = 0 0 1/2 1/2, mean y = 1/4."""
    p, y = np.array([0.1, 0.1, 0.6, 0.8]), np.array([0, 0, 1, 0])
    parts = {name: e.value for name, e in Corp()(p, y).items()}
    unc = -(0.25 * math.log(0.25) + 0.75 * math.log(0.75))
    given_p = -(2 * math.log(0.9) + math.log(0.6) + math.log(0.2)) / 4
    assert parts == pytest.approx(
        {
            "l2_squared": (0.01 + 0.01 + 0.16 + 0.64) / 4 - 0.125,
            "sharpness_l2_squared": 0.1875 - 0.125,
            "uncertainty_l2_squared": 0.1875, "kl": given_p - math.log(2) / 2,
            "sharpness_kl": unc - math.log(2) / 2,
            "uncertainty_kl": unc,
        },
        abs=1e-14,
    )  # fmt: skip


@pytest.mark.golden
def test_parts_make_up_the_scores_and_are_those_of_the_diagram(inputs):
    for name in ("miscalibrated", "calibrated", "tied"):
        p, y = inputs[f"{name}_p"], inputs[f"{name}_y"]
        estimates = {key: e.value for key, e in Corp()(p, y).items()}
        curve = reliability.corp(p, y)
        parts = [estimates[f"{part}l2_squared"] for part in ("", "sharpness_", "uncertainty_")]
        assert parts == pytest.approx([curve.mcb, curve.dsc, curve.unc], abs=1e-13)
        assert parts[0] - parts[1] + parts[2] == pytest.approx(np.mean((p - y) ** 2), abs=1e-13)
        with np.errstate(divide="ignore"):
            logloss = -np.log(np.where(y == 1, p, 1 - p)).mean()
        assert estimates["kl"] - estimates["sharpness_kl"] + estimates[
            "uncertainty_kl"
        ] == pytest.approx(logloss, abs=1e-12)


def test_an_impossible_outcome_makes_kl_alone_infinite():
    parts = {name: e.value for name, e in Corp()(np.array([0.0, 0.5]), np.array([1, 0])).items()}
    assert parts.pop("kl") == math.inf and all(map(math.isfinite, parts.values()))
