"""Agreement with an independent implementation of moskvichev2025 (tests/golden/moskvichev2025)."""

import json
import os
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest

from harness import load_problem
from harness.estimators import CKCE, SKCE, SimplexECE
from harness.estimators.ckce_solvers import System
from harness.math.kernels import median_distance

pytestmark = pytest.mark.golden

FOLDER = Path(__file__).parents[1] / "golden" / "moskvichev2025"
METHODS = ("cholesky", "low_rank", "auto")
REAL = {
    "lenet-5-cifar-10": "cifar10_lenet5",
    "wideresnet-16-4-cifar-10": "cifar10_wideresnet16_4",
    "vgg16_keras": "cifar10_vgg16",
}


@lru_cache
def golden(case):
    return json.loads((FOLDER / "golden.json").read_text())[case]


def close(value, rel=1e-9):
    return pytest.approx(value, rel=rel)


def ckce(p, y, rng=None, **fields):
    return CKCE(**fields)(p, y, rng)["ckce"].value


def skce(p, y, rng=None, **fields):
    return SKCE(**fields)(p, y, rng)["skce"].value


def six():
    case = golden("G1_n6_m3")
    return np.array(case["q"]), np.array(case["y"])


@pytest.mark.parametrize(
    ("stored", "rule"),
    [
        ("dist", "median"),
        ("dist_all", "median_with_diagonal"),
        ("sqhalf", "sqrt_half_median_squared"),
        ("sq", "median_squared"),
    ],
)
def test_six_samples_and_every_median_rule(stored, rule):
    q, y = six()
    case = golden("G1_n6_m3")
    assert median_distance(q, rule) == close(case["gamma"][stored])
    for form in ("ckce", "ckce_eigh", "ckce_trace"):
        for method in METHODS:
            assert ckce(q, y, gamma=rule, method=method) == close(case[f"{form}_{stored}"])
    assert skce(q, y, gamma=rule) == close(case[f"jkce_{stored}"])


def test_six_samples_with_a_given_width_and_ridge():
    q, y = six()
    case = golden("G1_n6_m3")
    assert CKCE()(q, y)["ckce"].diagnostics["ridge"] == close(case["lam"])
    for method in METHODS:
        assert ckce(q, y, gamma=1.0, method=method) == close(case["ckce_gamma1"])
        assert ckce(q, y, gamma=1.0, ridge=1e-3, method=method) == close(
            case["ckce_gamma1_lam1e-3"]
        )
    assert skce(q, y, gamma=1.0) == close(case["jkce_gamma1"])
    assert SimplexECE()(q, y)["l1"].value == close(case["ece3"])


def test_constant_predictions():
    case = golden("G2_marginal_n500_m10")
    y = np.repeat(np.arange(10), case["counts"])
    p = np.full((500, 10), 0.1)
    for name in ("ckce", "ckce_closed"):
        for method in METHODS:
            assert ckce(p, y, method=method) == close(case[name])
    for name in ("jkce", "jkce_closed"):
        assert skce(p, y) == close(case[name])
    for name in ("ece", "ece_closed"):
        assert SimplexECE()(p, y)["l1"].value == close(case[name])


def test_constant_predictions_that_are_right_on_average():
    """Table 1 has these marginal models. A tenth of the rows of ImageNet is computed."""
    case = golden("G2b_balanced_cifar10")
    p, y = np.full((10_000, 10), 0.1), np.arange(10_000) % 10
    assert ckce(p, y) == pytest.approx(case["ckce"], abs=1e-15)
    assert skce(p, y) == close(case["jkce"])
    assert SimplexECE()(p, y)["l1"].value == pytest.approx(case["ece"], abs=1e-12)
    for n, k, expected in (
        (50_000, 1000, golden("G2b_balanced_imagenet")["jkce"]),
        (5000, 100, None),
    ):
        closed = -(1 + 1 / k) * (1 - 1 / k) / (n - 1)
        if expected is not None:
            assert closed == close(expected)
        else:
            assert skce(np.full((n, k), 1 / k), np.arange(n) % k) == close(closed)


@lru_cache
def drawn():
    """Return predictions by name and y of G3: f ~ Dir(0.1), y ~ f, f sharpened or flattened."""
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.full(10, 0.1), 200)
    y = (p.cumsum(axis=1) < rng.random((200, 1))).sum(axis=1)
    powers = {
        name: p**power
        for name, power in (("true", 1.0), ("under", 0.5), ("over", 2.0), ("marginal", 0.0))
    }
    return {name: q / q.sum(axis=1, keepdims=True) for name, q in powers.items()}, y


@pytest.mark.parametrize("name", ["true", "under", "over", "marginal"])
def test_a_drawn_sample(name):
    models, y = drawn()
    case = golden("G3_seed0_n200")
    assert y[:20].tolist() == case["y_head"]
    q, theirs = models[name], case[name]
    assert median_distance(q) == close(theirs["gamma"])
    for method in METHODS:
        assert ckce(q, y, method=method) == close(theirs["ckce"])
    assert skce(q, y) == close(theirs["jkce"])
    assert SimplexECE()(q, y)["l1"].value == close(theirs["ece"])
    assert ckce(q, y, 0, method="features", features=100) == close(theirs["ckce_rff_D100_seed0"])
    assert skce(q, y, 0, method="features", features=100) == close(theirs["jkce_rff"])


def test_the_toy_of_appendix_a():
    """Exact proportions make the sample the population. The paper's ECE swaps p and 1 - p."""
    case = golden("G4_toy_p0.3")
    q, y = np.repeat([0.3, 0.6], [300, 700]), np.tile([0, 1], 500)
    assert ckce(q, y, kernel="kronecker", ridge=1e-12) == close(case["ckce"])
    assert skce(q, y, kernel="kronecker", form="biased") == close(case["jkce"])
    halves = SimplexECE(intervals=2)(q, y)["l1"].value  # 0.3 and 0.6 part at 1/2
    assert halves == close(case["ece_true"]) and abs(halves - case["ece_paper"]) > 0.05


def test_given_fourier_features(monkeypatch):
    q, y = six()
    case = golden("G5_rff_explicit")
    angle = q @ np.array(case["w_rows_d_cols_D"])
    f = np.column_stack([q, np.cos(angle) / np.sqrt(2), np.sin(angle) / np.sqrt(2)])
    r = np.eye(3)[y] - q
    assert System(f, case["lam"] * 6).primal(r) == close(case["ckce_primal"])
    w = np.linalg.solve(f @ f.T + case["lam"] * 6 * np.eye(6), r)
    assert np.vdot(w, f @ f.T @ w) == close(case["ckce_dual_check"])
    monkeypatch.setattr("harness.estimators.kernel_errors.fourier_features", lambda *_: f)
    skce = SKCE(method="features", gamma=1.0)(q, y)["skce"]
    assert skce.value == close(case["jkce_rff"])


@pytest.mark.skipif(not os.environ.get("CALHARNESS_DATA"), reason="CALHARNESS_DATA is not set")
@pytest.mark.parametrize("name", list(REAL))
def test_real_predictions(name):
    case = golden("G6_real_first500")[name]
    problem = load_problem(REAL[name], order="file")
    if problem.unavailable:
        pytest.skip(problem.unavailable)
    p, y = problem.sample(500, None)
    p = p / p.sum(axis=1, keepdims=True)
    assert median_distance(p) == close(case["gamma"])
    for method in METHODS:
        assert ckce(p, y, method=method) == close(case["ckce"])
        assert ckce(p, y, gamma=1.0, method=method) == close(case["ckce_gamma1"])
    assert skce(p, y) == close(case["jkce"]) and skce(p, y, gamma=1.0) == close(case["jkce_gamma1"])
    assert SimplexECE()(p, y)["l1"].value == close(case["ece3"])


def test_the_expectation_if_calibrated():
    case = golden("G7_noise_floor")
    p = np.random.default_rng(1).dirichlet(np.full(10, 0.1), 300)
    y = np.zeros(300, dtype=int)  # no matter which
    parts = CKCE()(p, y)["ckce"].diagnostics
    assert parts["gamma"] == close(case["gamma"])
    assert parts["noise_floor"] == close(case["expected_ckce_if_calibrated"])
    assert CKCE(method="low_rank")(p, y)["ckce"].diagnostics["noise_floor"] == close(
        case["expected_ckce_if_calibrated"], 0.01
    )
