"""Interval calibration error: closed forms, other code, invariances and edge cases."""

import numpy as np
import pytest
from literature import CONTINUOUS, NUMBERS, sample, values

from harness.estimators import IntervalCE
from harness.estimators.interval_ce import shifted_error


def test_interval_error_closed_forms():
    """One sample, or two equal samples, lie in one bin. Opposite residuals cancel for some
    shifts.
    """
    assert values(IntervalCE(), [0.3], [1])["interval_ce"] == pytest.approx(0.7 + 2**-9)
    assert values(IntervalCE(), [0.3, 0.3], [1, 0])["interval_ce"] == pytest.approx(0.2 + 2**-9)
    p, sums = np.array([0.375, 0.625]), np.array([0.0, 0.1875, 0.0])
    for w in (0.25, 0.5, 1.0):
        assert shifted_error(p, sums, w) == pytest.approx(0.375 * 0.25 / w)


@pytest.mark.golden
def test_interval_error_equals_the_package():
    assert values(IntervalCE(), *sample("lattice"))["interval_ce"] == pytest.approx(
        NUMBERS["lattice"]["interval"], abs=1e-12
    )
    for name in CONTINUOUS:
        mean, error = NUMBERS[name]["interval_mc"]
        assert values(IntervalCE(), *sample(name))["interval_ce"] == pytest.approx(
            mean, abs=4 * error
        )
