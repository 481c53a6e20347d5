"""The width of intervals over the narrowest fixed ones that cover as often."""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

sys.path.append(str(Path(__file__).resolve().parents[2] / "benchmarks"))
from best_goals import over_same_coverage  # noqa: E402

ERRORS = {"a": np.array([-0.1, 0.0, 0.1, 0.2]), "b": np.array([0.0, 0.0, 0.1, 0.5])}


def settings(half_width):
    """Return two families with one problem each, and intervals of [value - h, value + h]."""
    rows = []
    for family, errors in ERRORS.items():
        of = {"notion": "binary", "estimand": "l1", "n": 50, "family": family, "truth": 0.3}
        of |= {"calibrated": False, "width": 2.0 * half_width}
        of |= {"errors": errors, "lost": np.zeros(4, dtype=bool)}
        rows.append(of | {"coverage": np.mean(np.abs(errors) <= half_width)})
    return pd.DataFrame(rows)


@pytest.mark.parametrize(
    "half_width, narrowest",
    [
        (0.5, 0.6),  # all eight errors, from -0.1 to 0.5
        (0.2, 0.3),  # seven of eight, from -0.1 to 0.2
        (0.1, 0.2),  # six of eight, from -0.1 to 0.1 or from 0.0 to 0.2
        (0.0, 0.0),  # three of eight are 0
    ],
)
def test_the_yardstick_covers_as_often(half_width, narrowest):
    with np.errstate(invalid="ignore"):
        ratio = over_same_coverage(settings(half_width))["binary", "l1", 50]
    if narrowest:
        assert ratio == pytest.approx(2.0 * half_width / narrowest)
    else:
        assert np.isnan(ratio)


def test_problems_without_an_error_do_not_count():
    more = settings(0.1).assign(calibrated=True, coverage=0.0, width=9.0)
    ratio = over_same_coverage(pd.concat([settings(0.1), more], ignore_index=True))
    pd.testing.assert_series_equal(ratio, over_same_coverage(settings(0.1)))
