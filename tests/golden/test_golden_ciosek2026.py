"""Certified bounds agree with an independent prototype to 1e-9 (tests/golden/README.md)."""

import csv
import math
import re
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest
from golden_data import optimality_gap, tv_denoise

from harness.estimators import (
    Binned,
    BVWindow,
    LipBkt,
    LowerPreq,
    NWJensen,
    NWKfold,
    TVInsample,
    TVKfold,
)
from harness.estimators.certified.base import deviation_width
from harness.estimators.certified.denoising import tv_lambda, tvb
from harness.estimators.certified.lower import epoch_ends
from harness.estimators.certified.rank_window_kernels import rank_windows
from harness.math.concentration import dkw, empirical_bernstein, kl_lower, kl_upper

pytestmark = pytest.mark.golden

FOLDER = Path(__file__).parents[1] / "golden" / "ciosek2026"
RAW = ("F1_smooth raw", "F3_step raw")
PERTURBED = ("F1_smooth pert", "F3_step pert")
CLOSE = {"rel": 0.0, "abs": 1e-9}


@lru_cache
def golden():
    with open(FOLDER / "golden.csv", newline="") as file:
        return {(r["case"], r["quantity"]): float(r["value"]) for r in csv.DictReader(file)}


def of_data(data, quantity):
    return golden()[f"{data} n=2000 delta=0.05", quantity]


@lru_cache
def sample(data):
    """Return scores, labels, shuffle; and scores, labels, folds in ascending order of scores."""
    with np.load(FOLDER / f"data_{data.replace(' ', '_')}.npz") as file:
        z = dict(file)
    sorted_ones = (
        z["s"][z["order"]],
        z["y"][z["order"]].astype(np.uint8),
        z["folds"][z["order"]].astype(np.uint8),
    )
    return z["s"], z["y"].astype(np.int64), z["perm"], sorted_ones, z


def numbers_in(case):
    return {name: float(value) for name, value in re.findall(r"(\w+)=([-\d.e]+)", case)}


@pytest.mark.parametrize(
    "case, quantity",
    [k for k in golden() if k[0].startswith(("hoeffding", "dkw", "emp_", "kl ", "tv m="))],
)
def test_widths(case, quantity):
    x = numbers_in(case)
    ours = {
        "hoeffding": lambda: deviation_width(1.0 / int(x["n"]), x["delta"]),
        "dkw": lambda: dkw(int(x["n"]), x["delta"]),
        "emp_bernstein": lambda: empirical_bernstein(x["var"], int(x["n"]), x["delta"]),
        "kl": lambda: (kl_upper if quantity == "upper" else kl_lower)(x["q"], x["c"]),
        "tv": lambda: (
            tv_lambda(int(x["m"]), int(x["k"]), x["delta1"])
            if quantity == "lambda"
            else tvb(int(x["m"]), int(x["k"]), x["V"], x["delta1"], quantity.removeprefix("TVB_"))
        ),
    }[case.split()[0]]()
    assert ours == pytest.approx(golden()[case, quantity], **CLOSE)


@pytest.mark.parametrize("case", range(10))
def test_denoised_vectors(case):
    with np.load(FOLDER / "tv_cases.npz") as file:
        y, weights, strength, v = (file[f"{name}{case}"] for name in ("y", "c", "lam", "v"))
    ours = tv_denoise(y, weights, float(strength))
    assert np.abs(ours - v).max() <= 1e-9
    assert optimality_gap(y, weights, ours, float(strength)) <= 1e-9
    scalars = {"TV": np.abs(np.diff(ours)).sum(), "sum_c_v2": weights @ ours**2}
    for quantity, value in scalars.items():
        row = next(
            v
            for (c, q), v in golden().items()
            if c.startswith(f"tvd case {case} ") and q == quantity
        )
        assert value == pytest.approx(row, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("data", RAW + PERTURBED)
def test_bounded_variation(data):
    p, y, _, (scores, labels, fold), z = sample(data)
    sharp, basic = (
        TVKfold(mode=m).evaluate_sorted(scores, labels, fold, 1.0)["l1"] for m in ("sharp", "basic")
    )
    assert sharp.high == pytest.approx(of_data(data, "tv_kfold.U"), **CLOSE)
    assert basic.high == pytest.approx(of_data(data, "tv_kfold_basic.U"), **CLOSE)
    share = np.bincount(fold) / len(p)
    for ours, theirs in {
        "lambda": "lam",
        "tvb": "tvb",
        "ptb": "ptb",
        "empirical": "mean",
        "bernstein": "eb",
    }.items():
        of_folds = np.array([of_data(data, f"tv_kfold.fold{k}.{theirs}") for k in range(5)])
        assert sharp.diagnostics[ours] == pytest.approx(share @ of_folds, **CLOSE)
    e = TVInsample()(p, y)["l1"]
    for name, value in {
        "U": e.high, "lam": e.diagnostics["lambda"], "emp": e.diagnostics["empirical"],
        "tvb": e.diagnostics["tvb"],
        "tvhat": e.diagnostics["variation_fitted"], "pieces": e.diagnostics["pieces"],
    }.items():  # fmt: skip
        assert value == pytest.approx(of_data(data, f"tv_insample.{name}"), **CLOSE)
    fixed, chosen = BVWindow(window=40)(p, y)["l1"], BVWindow()(p, y)["l1"]
    low, high = rank_windows(scores, 40)
    assert (low == z["bv_lo"]).all() and (high == z["bv_hi"]).all()
    for name, value in {
        "emp": fixed.diagnostics["empirical"],
        "maxA": fixed.diagnostics["largest_share"],
        "U": fixed.high,
    }.items():
        assert value == pytest.approx(of_data(data, f"bv(w=40).{name}"), **CLOSE)
    assert fixed.diagnostics["deviation"] == pytest.approx(
        math.sqrt(math.log(40) * of_data(data, "bv(w=40).sumc2") / 2), **CLOSE
    )
    assert chosen.diagnostics["window"] == of_data(data, "bv(auto).w")
    assert chosen.high == pytest.approx(of_data(data, "bv(auto).U"), **CLOSE)


@pytest.mark.parametrize("data", RAW + PERTURBED)
def test_lower_bound_and_binning(data):
    p, y, order, _, _ = sample(data)
    epoch = np.empty(len(p), np.uint8)
    epoch[order] = np.searchsorted(epoch_ends(len(p)), np.arange(len(p)), side="right")
    e = LowerPreq().evaluate_epochs(p, y, epoch)["l1"]
    assert e.low == pytest.approx(of_data(data, "lower.L"), **CLOSE)
    assert e.diagnostics["empirical"] == pytest.approx(of_data(data, "lower.z"), **CLOSE)
    assert e.diagnostics["deviation"] == pytest.approx(of_data(data, "lower.hoef"), **CLOSE)
    for bins in (10, 15):
        assert Binned(bins)(p, y)["l1"].value == pytest.approx(of_data(data, f"ece{bins}"), **CLOSE)


@pytest.mark.parametrize("bandwidth", [0.01, None])
@pytest.mark.parametrize("data", PERTURBED)
def test_bounded_derivatives(data, bandwidth):
    p, y, _, (scores, labels, fold), _ = sample(data)
    e = NWJensen(bandwidth=bandwidth)(p, y)["l1"]
    ours = {
        "emp": "empirical",
        "bias": "bias",
        "mcd": "deviation",
        "u": "before_transfer",
        "b": "bandwidth",
    }
    for theirs, name in ours.items():
        assert e.diagnostics[name] == pytest.approx(
            of_data(data, f"nw_jensen(b={bandwidth}).{theirs}"), **CLOSE
        )
    assert e.high == pytest.approx(of_data(data, f"nw_jensen(b={bandwidth}).U"), **CLOSE)
    for second in ("sharp", "paper"):
        e = NWKfold(second=second, bandwidth=bandwidth).evaluate_sorted(
            scores, labels, fold, 1 / 64
        )["l1"]
        for theirs, name in {
            "emp": "empirical",
            "g": "bias",
            "mcd": "deviation",
            "u": "before_transfer",
        }.items():
            assert e.diagnostics[name] == pytest.approx(
                of_data(data, f"nw_kfold_{second}(b={bandwidth}).{theirs}"), **CLOSE
            )
        assert e.high == pytest.approx(
            of_data(data, f"nw_kfold_{second}(b={bandwidth}).U"), **CLOSE
        )


@pytest.mark.parametrize("data", PERTURBED)
def test_buckets_and_cells(data):
    p, y, _, _, _ = sample(data)
    classical, jensen = LipBkt()(p, y)["l1"], LipBkt(form="jensen")(p, y)["l1"]
    names = {"B": "buckets", "bias": "bias", "U": None}
    for e, prefix, parts in (
        (classical, "lip_bkt", {"ece": "empirical", "dev": "deviation"}),
        (jensen, "lip_bkt_jensen", {"emp": "empirical", "mcd": "deviation"}),
    ):
        for theirs, name in {**names, **parts}.items():
            value = e.high if name is None else e.diagnostics[name]
            assert value == pytest.approx(of_data(data, f"{prefix}.{theirs}"), **CLOSE)
    assert NWJensen(histogram=20)(p, y)["l1"].high == pytest.approx(
        of_data(data, "hist_nw(bits=20).U"), **CLOSE
    )
