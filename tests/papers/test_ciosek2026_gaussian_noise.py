"""Truncated Gaussian perturbation: its law and its two bounds, one attained, one approached."""

import numpy as np
import pytest
from harness.experiments.ciosek2026 import gaussian_noise
from scipy.stats import truncnorm

from harness.errors import BadInputError
from harness.math import sech_noise


@pytest.mark.parametrize("h", [2.0**-6, 0.3, 5.0])
@pytest.mark.parametrize("s0", [0.0, 0.3, 1.0])
def test_draws_are_quantiles_of_the_truncated_normal_law(s0, h):
    u = np.array([1e-6, 0.2, 0.5, 0.9, 1 - 1e-6])
    law = truncnorm((0.0 - s0) / h, (1.0 - s0) / h, loc=s0, scale=h)
    assert gaussian_noise.perturbed(s0, u, h) == pytest.approx(law.ppf(u), abs=1e-9)
    assert law.expect(lambda s: abs(s - s0), lb=0, ub=1) <= gaussian_noise.shift_bound(h) * (
        1 + 1e-9
    )


def eta(s, places, weights, outcomes, h):
    """E[Y | S = s] for original scores at `places` with these weights under S = 1/2."""
    places, weights = np.asarray(places), np.asarray(weights)
    log_ratio = -((s - places) ** 2 - (0.5 - places) ** 2) / (2 * h**2)
    mass = weights * np.exp(log_ratio - log_ratio.max())
    return mass @ np.asarray(outcomes) / mass.sum()


def test_the_slope_is_largest_for_scores_0_and_1():
    h, step = 0.05, 1e-6

    def slope(*law):
        return (eta(0.5 + step, *law, h) - eta(0.5 - step, *law, h)) / (2 * step)

    assert slope([0, 1], [0.5, 0.5], [0, 1]) == pytest.approx(
        gaussian_noise.slope_bound(h), rel=1e-6
    )
    rng = np.random.default_rng(0)
    for _ in range(200):
        law = (rng.random(4), rng.dirichlet(np.ones(4)), rng.random(4))
        assert abs(slope(*law)) <= gaussian_noise.slope_bound(h)


def test_sech_noise_has_the_smaller_slope_at_equal_shifts():
    """At h = 2^-6: 32 against 479, where the Gaussian scale has the same bound of the shift."""
    h = 2.0**-6
    scale = sech_noise.shift_bound(h) / gaussian_noise.shift_bound(1.0)
    assert gaussian_noise.shift_bound(scale) == pytest.approx(sech_noise.shift_bound(h))
    assert sech_noise.slope_bound(h) == 32.0
    assert gaussian_noise.slope_bound(scale) == pytest.approx(479.3, abs=0.1)


def test_scores_outside_the_unit_interval_are_refused():
    with pytest.raises(BadInputError, match="s0"):
        gaussian_noise.perturbed(1.1, 0.5, 0.1)
    with pytest.raises(BadInputError, match="h"):
        gaussian_noise.slope_bound(0.0)
