"""The sech perturbation: its law, its path derivative, and its bounds, each nearly attained."""

import csv
import re
from functools import lru_cache

import numpy as np
import pytest
from golden_data import FOLDER
from refusals import refuses
from scipy.integrate import quad

import harness
from harness.math import sech_noise as sech
from harness.math.sech_noise import cdf, mean_shift, normaliser, path_derivative, perturbed

H = (2.0**-10, 2.0**-6, 0.0625, 0.3, 1.0, 20.0)
S0 = (0.0, 0.003, 0.3, 0.5, 0.97, 1.0)


@lru_cache
def golden(prefix):
    with open(FOLDER.parent / "ciosek2026" / "perturbation.csv", newline="") as f:
        rows = list(csv.DictReader(f))
    return [
        (row["case"], row["quantity"], float(row["value"]))
        for row in rows
        if row["case"].startswith(prefix)
    ]


# The law


@pytest.mark.golden
def test_normaliser_sampler_and_path_derivative_have_their_golden_values():
    rows = golden("sech")
    assert len(rows) == 28
    for case, quantity, expected in rows:
        s0, h, u = (float(x) for x in re.fullmatch(r"sech s0=(\S+) h=(\S+) u=(\S+)", case).groups())
        s = perturbed(s0, u, h)
        ours = {
            "Z": normaliser(s0, h),
            "sample": s,
            "cdf_at_sample": cdf(s, s0, h),
            "ds_ds0": path_derivative(s, s0, u, h),
        }
        assert ours[quantity] == pytest.approx(expected, abs=1e-12), (case, quantity)


@pytest.mark.golden
def test_the_gudermannian_is_the_golden_one():
    for case, _, expected in [*golden("gd x"), *golden("gdinv")]:
        x = float(re.search(r"-?\d+\.\d+", case)[0])
        g = sech.gudermann(x)
        ours = g if case.startswith("gd x") else 2.0 * np.arctanh(np.tan(g / 2.0))
        assert ours == pytest.approx(expected, abs=1e-12), case


@pytest.mark.parametrize("h", [0.01, 0.3, 20.0])
@pytest.mark.parametrize("s0", S0)
def test_the_cdf_is_the_integral_of_the_density(s0, h):
    def density(s):
        return 1 / np.cosh((s - s0) / h) / normaliser(s0, h)

    for s in (0.0, 0.02, 0.5, 0.96, 1.0):
        edges = np.unique(np.clip([0.0, *(s0 + h * np.linspace(-40, 40, 41)), s], 0.0, s))
        integral = sum(quad(density, a, b, epsabs=1e-13)[0] for a, b in zip(edges, edges[1:]))
        assert cdf(s, s0, h) == pytest.approx(integral, abs=1e-11)


@pytest.mark.parametrize("h", H)
def test_the_sampler_inverts_the_cdf(h):
    u = np.r_[0.0, 1e-12, np.linspace(1e-6, 1 - 1e-6, 501), 1.0]
    for s0 in S0:
        s = perturbed(s0, u, h)
        assert s.min() >= 0.0 and s.max() <= 1.0 and (np.diff(s) >= 0.0).all()
        np.testing.assert_allclose(cdf(s, s0, h), u, atol=3e-15)


def test_the_mirror_image_of_a_score_has_the_mirror_image_as_its_perturbation():
    rng = np.random.default_rng(0)
    s0, u = rng.random((2, 1000))
    for h in H:
        np.testing.assert_allclose(perturbed(1 - s0, 1 - u, h), 1 - perturbed(s0, u, h), atol=1e-12)


def test_a_wide_perturbation_is_uniform_and_a_narrow_one_nothing():
    s0, u = np.random.default_rng(0).random((2, 1000))
    np.testing.assert_allclose(perturbed(s0, u, 1e6), u, atol=1e-11)
    np.testing.assert_allclose(perturbed(s0, u, 1e-9), s0, atol=4e-8)
    np.testing.assert_allclose(
        perturbed(np.array([0.0, 0.5, 1.0]), 0.3, 1e-300), [0.0, 0.5, 1.0], atol=1e-298
    )


def test_shapes_broadcast_and_an_empty_sample_stays_empty():
    assert (
        perturbed(np.zeros((2, 3)), 0.5, 0.1).shape
        == (2, 3)
        == perturbed(0.2, np.full((2, 3), 0.5), 0.1).shape
    )
    assert np.ndim(perturbed(0.2, 0.3, 0.1)) == 0 and perturbed([], [], 0.1).shape == (0,)
    assert harness.perturb([], 0.1, np.random.default_rng(0)).shape == (0,)
    assert harness.perturb([1], 0.1, np.random.default_rng(0)).shape == (1,)
    long = np.random.default_rng(0).random((2, 40_000))  # more than one block
    np.testing.assert_array_equal(perturbed(*long, 0.1)[-7:], perturbed(*long[:, -7:], 0.1))


def test_a_small_sample_is_perturbed_as_a_prefix_of_a_large_one():
    p = np.random.default_rng(0).random(30_000)
    many = harness.perturb(p, 0.05, np.random.default_rng(3))
    u = np.random.default_rng(3).random(30_000)
    np.testing.assert_array_equal(many, perturbed(p, u, 0.05))
    for n in (1, 20_000):
        np.testing.assert_array_equal(
            harness.perturb(p[:n], 0.05, np.random.default_rng(3)), many[:n]
        )


# The path derivative


@pytest.mark.parametrize("h", H)
def test_the_path_derivative_equals_finite_differences(h):
    rng = np.random.default_rng(2)
    s0, u = rng.uniform(0.01, 0.99, 300), rng.uniform(0.01, 0.99, 300)
    step = 1e-5 * min(h, 1.0)
    difference = (perturbed(s0 + step, u, h) - perturbed(s0 - step, u, h)) / (2 * step)
    np.testing.assert_allclose(
        path_derivative(perturbed(s0, u, h), s0, u, h), difference, atol=1e-7
    )


def test_the_path_derivative_lies_between_0_and_1_also_where_cosh_overflows():
    rng = np.random.default_rng(3)
    s0, u = np.r_[0.0, 1.0, 0.0, 1.0, rng.random(1000)], np.r_[0.0, 1.0, 1.0, 0.0, rng.random(1000)]
    for h in (1e-5, 1e-3, *H, 1e6):
        slope = path_derivative(perturbed(s0, u, h), s0, u, h)
        assert slope.min() >= -1e-9 and slope.max() <= 1.0
    assert path_derivative(0.5, 0.5, 0.5, 1e-5) == 1.0  # far from both ends the score is only moved


# Smoothness of eta, whatever the law of the original scores and eta0


def eta(s, s0, weight, c, h):
    """Return eta, eta', eta'', f, f' at s from sums over atoms s0, by the quotient rule."""
    x = (np.asarray(s)[:, None] - s0) / h
    k, t = weight / np.cosh(x) / normaliser(s0, h), np.tanh(x)
    f, f1, f2 = (a.sum(axis=1) for a in (k, -t * k / h, (2 * t**2 - 1) * k / h**2))
    n, n1, n2 = ((a * c).sum(axis=1) for a in (k, -t * k / h, (2 * t**2 - 1) * k / h**2))
    slope = (n1 - n / f * f1) / f
    return n / f, slope, (n2 - n / f * f2) / f - 2 * f1 / f * slope, f, f1


def mixtures(count=1500):
    """Yield random laws of one to eight atoms with outcomes in [0, 1], half of them 0 or 1."""
    rng = np.random.default_rng(4)
    for i in range(count):
        m = rng.integers(1, 9)
        s0, weight = rng.random(m), np.exp(rng.normal(0, 3, m))
        c = rng.random(m) if i % 2 else (rng.random(m) < 0.5).astype(float)
        yield s0, weight / weight.sum(), c, float(np.exp(rng.uniform(np.log(0.01), np.log(2))))


def test_slope_and_curvature_stay_within_their_bounds():
    """Slope and curvature nearly attain their bounds: 2 % and 10 % smaller bounds would fail."""
    nearest, s = np.zeros(2), np.r_[0.0, 1.0, np.linspace(0.001, 0.999, 200)]
    for s0, weight, c, h in mixtures():
        value, slope, curvature, _, _ = eta(s, s0, weight, c, h)
        ratio = np.abs([slope, curvature]).max(axis=1) / (
            sech.slope_bound(h),
            sech.curvature_bound(h),
        )
        assert (ratio <= 1 + 1e-9).all()
        assert (np.abs(slope) <= np.sqrt(np.maximum(value * (1 - value), 0.0)) / h + 1e-9 / h).all()
        nearest = np.maximum(nearest, ratio)
    assert (nearest > (0.98, 0.9)).all(), nearest


def test_the_worst_cases_of_slope_and_curvature_attain_the_bounds():
    h, ends = 0.03, 1 / np.cosh(0.5 / 0.03)
    s0, c = np.array([0.0, 1.0]), np.array([0.0, 1.0])
    assert eta([0.5], s0, np.array([0.5, 0.5]), c, h)[1][0] == pytest.approx(
        sech.slope_bound(h), rel=1e-12
    )
    s0, c = (
        np.array([0.0, 0.5, 1.0]),
        np.array([1.0, 0.0, 1.0]),
    )  # at 1/2: half from 1/2, a quarter from either end
    weight = normaliser(s0, h) * [0.25 / ends, 0.5, 0.25 / ends]
    assert eta([0.5], s0, weight, c, h)[2][0] == pytest.approx(sech.curvature_bound(h), rel=1e-9)


def test_the_constants():
    assert sech.slope_bound(2.0**-6) == 32.0
    assert (sech.curvature_bound(2.0**-6), sech.curvature_bound(2.0**-6, "paper")) == (
        2048.0,
        6144.0,
    )
    assert sech.shift_bound(2.0**-6) == pytest.approx(0.01822256, abs=1e-8)
    assert sech.shift_bound(1.0) == pytest.approx(
        4 / np.pi * quad(lambda x: x / np.cosh(x) / 2, 0, 60)[0], rel=1e-9
    )


def density_bound(h):
    """Return 1 / (h gd(1 / h)): sech is at most 1, and the normaliser smallest at 0 and 1."""
    return 1.0 / (h * sech.gudermann(1.0 / h))


def test_the_density_is_bounded_and_changes_by_at_most_a_factor_e_over_h():
    s = np.linspace(0.0, 1.0, 201)
    for s0, weight, c, h in mixtures(300):
        f, f1 = eta(s, s0, weight, c, h)[3:]
        assert f.min() > 0.0 and (np.abs(f1) <= f / h * (1 + 1e-12)).all()
        assert f.max() <= density_bound(h) * (1 + 1e-12)
    at_zero = eta([0.0], np.array([0.0]), np.array([1.0]), np.array([1.0]), 0.1)[3][0]
    assert at_zero == pytest.approx(density_bound(0.1), rel=1e-14)
    assert density_bound(0.01) * 0.01 == pytest.approx(2 / np.pi, rel=1e-12)


def test_the_total_variation_never_grows_and_order_is_kept():
    """A piecewise linear eta0 has the variation of its values. Monotone outcomes stay monotone."""
    s, closest = np.linspace(0.0, 1.0, 2001), 0.0
    for s0, weight, c, h in mixtures(400):
        order = np.argsort(s0)
        before, after = (np.abs(np.diff(v)).sum() for v in (c[order], eta(s, s0, weight, c, h)[0]))
        assert after <= before + 1e-10
        closest = max(closest, after / before if before > 1.5 else 0.0)
        assert np.diff(eta(s, s0[order], weight, np.sort(c), h)[0]).min() >= -1e-12
    assert closest > 0.9  # waves that survive almost whole


# How far a score is moved


@pytest.mark.parametrize("h", H)
@pytest.mark.parametrize("s0", S0)
def test_the_mean_shift_is_an_integral_below_its_bound(s0, h):
    edges = np.unique(np.clip([0.0, *(s0 + h * np.linspace(-40, 40, 41)), 1.0], 0.0, 1.0))

    def moved(s):
        return abs(s - s0) / np.cosh(min(abs(s - s0) / h, 700.0))

    integral = sum(quad(moved, a, b, epsabs=1e-14)[0] for a, b in zip(edges, edges[1:]))
    assert mean_shift(s0, h) == pytest.approx(integral / normaliser(s0, h), rel=1e-10)
    assert mean_shift(s0, h) <= sech.shift_bound(h) * (1 + 1e-14)
    if h < 0.02 and s0 in (0.0, 0.5, 1.0):
        assert mean_shift(s0, h) == pytest.approx(sech.shift_bound(h), rel=1e-9)  # attained


# Refusals

RNG = np.random.default_rng(0)


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda: perturbed(0.5, 0.5, 0.0), "h is 0.0"),
        (lambda: perturbed(0.5, 0.5, -0.1), "h is -0.1"),
        (lambda: normaliser(0.5, float("nan")), "h is nan"),
        (lambda: cdf(0.5, 0.5, float("inf")), "h is inf"),
        (lambda: sech.slope_bound("narrow"), "h is 'narrow'"),
        (lambda: sech.curvature_bound(0.1, "best"), "constant is 'best'"),
        (lambda: perturbed([0.5, 1.5, 2.0], 0.5, 0.1), "s0 holds 1.5"),
        (lambda: perturbed([0.5, np.nan], 0.5, 0.1), "s0 holds nan"),
        (lambda: perturbed(0.5, -0.5, 0.1), "u holds -0.5"),
        (lambda: harness.perturb([-0.1], 0.1, RNG), "p holds -0.1"),
        (lambda: harness.perturb([[0.4, 0.6]], 0.1, RNG), "p has shape (1, 2)"),
        (lambda: harness.perturb(["a"], 0.1, RNG), "p has type"),
        (lambda: harness.perturb([0.5], 0.1, 7), "rng is 7"),
    ],
)
def test_input_out_of_range_is_refused(call, words):
    refuses(call, words)
