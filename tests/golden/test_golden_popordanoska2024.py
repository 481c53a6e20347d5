"""Agreement with the numbers of popordanoska2024's own code (tests/golden/popordanoska2024)."""

import csv
import re
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest
from harness.experiments.popordanoska2024 import authors

from harness import BadInputError, reduce
from harness.estimators.application import apply
from harness.math.kernels import dirichlet_sums
from harness.math.notions import one_hot

FOLDER = Path(__file__).parents[1] / "golden" / "popordanoska2024"
CASES = ("K2", "K3", "K10", "K30", "missing_class")
ESTIMAND = {"l2": "l2_squared", "kl": "kl"}
STATISTICS = {  # theirs: our prefix and sign
    "CE": ("", 1),
    "S=+E F(ratio)": ("refinement_", -1),
    "refinement=-E F": ("refinement_", 1),
    "sharpness": ("sharpness_", 1),
}


def rows(case):
    with open(FOLDER / "golden.csv", newline="") as f:
        return [r for r in csv.DictReader(f) if r["case"] == case]


@lru_cache
def arrays(name):
    with np.load(FOLDER / f"{name}.npz") as archive:
        return {key: archive[key] for key in archive.files}


def reduced(q, y, notion):
    """Reduce rows that their clipping or calibration left off the simplex."""
    return (q, one_hot(y, q.shape[1]).astype(np.int64)) if notion == "classwise" else (q, y)


def bandwidth(r):
    return float(re.search(r"bw=([\d.e+-]+)", r["params"])[1])


def clipped(case):
    return np.clip(arrays(case)["q"], 1e-7, 1 - 1e-7)


@pytest.mark.golden
@pytest.mark.parametrize("case", CASES)
def test_bregman_calibration_errors_refinement_and_sharpness(case):
    q, y = arrays(case)["q"], arrays(case)["y"]
    checked = 0
    for r in rows(case):
        match = re.match(
            r"get_(classwise_)?bregman_(ce_via_risk|ce|stats_via_risk_(l2|kl))(?:\[(l2|kl)\])?",
            r["function"],
        )
        if not match or r["statistic"] == "EXCEPTION":
            continue
        notion = "classwise" if match[1] else "canonical"
        estimator = authors.DirichletKernel(
            "direct" if match[2] == "ce" else "risk", bandwidth(r), zero_rows="stats" in match[2]
        )
        estimates = apply(estimator, *reduced(q, y, notion), notion, None)
        name = ESTIMAND[match[3] or match[4]]
        prefix, sign = STATISTICS[r["statistic"]]
        ours = sign * estimates[f"{prefix}{name}"].value
        assert ours == pytest.approx(float(r["value"]), rel=1e-6), r
        checked += 1
    assert checked == (1 if case == "missing_class" else 72)


@pytest.mark.golden
def test_their_sharpness_fails_on_a_class_never_seen_and_ours_does_not():
    q, y = arrays("missing_class")["q"], arrays("missing_class")["y"]
    assert len(np.unique(y)) < q.shape[1]
    failed = [r for r in rows("missing_class") if r["statistic"] == "EXCEPTION"]
    assert failed
    estimates = apply(
        authors.DirichletKernel(bandwidth=bandwidth(failed[0])), q, y, "canonical", None
    )
    assert np.isfinite(estimates["sharpness_kl"].value)


@pytest.mark.golden
@pytest.mark.parametrize("case", CASES[:4])
def test_kernels_and_ratios(case):
    g, y = clipped(case), arrays(case)["y"]
    hits = one_hot(y, g.shape[1])
    checked = 0
    for r in rows(case):
        if r["function"] == "ratio E[Y|g] LOO":
            ours = dirichlet_sums(g, g, hits, (bandwidth(r),), leave_out=np.arange(len(g)))[0][0]
        elif r["function"] == "log Dirichlet kernel":
            pairs = [(a, b) for a in (g[:1], g[1:2]) for b in (g[:1], g[1:2])]
            ones, h = np.ones((1, 1)), (bandwidth(r),)
            ours = np.reshape([dirichlet_sums(a, b, ones, h)[1][0, 0] for a, b in pairs], (2, 2))
        else:
            continue
        place = tuple(int(x) for x in re.findall(r"\d+", r["statistic"]))
        assert ours[place] == pytest.approx(float(r["value"]), rel=1e-6), r
        checked += 1
    assert checked == 20


@pytest.mark.golden
@pytest.mark.parametrize("case", CASES[:4])
def test_bandwidth_of_the_largest_likelihood(case):
    (theirs,) = [r for r in rows(case) if r["function"].startswith("get_bandwidth")]
    assert authors.DirichletKernel(bandwidth="likelihood")._bandwidth(clipped(case)) == float(
        theirs["value"]
    )


@pytest.mark.golden
@pytest.mark.parametrize("case", CASES[:4])
def test_binned_estimators(case):
    """The authors compute in float32."""
    q, y = arrays(case)["q"], arrays(case)["y"]
    theirs = {r["function"]: float(r["value"]) for r in rows(case)}
    for power, name in ((1, "l1"), (2, "l2_squared")):
        top = authors.Binned()(*reduce(q, y, "top_label"))[name].value
        assert top == pytest.approx(theirs[f"ECELoss top-label p={power} 15 bins"], rel=1e-6)
        per_class = apply(authors.Binned(), *reduced(q, y, "classwise"), "classwise", None)[
            name
        ].value
        assert per_class == pytest.approx(theirs[f"ClasswiseECELoss p={power} 15 bins"], rel=1e-6)
    logits = arrays(case)["logits2"]
    softmax = np.exp(logits - logits.max(axis=1, keepdims=True))
    softmax /= softmax.sum(axis=1, keepdims=True)
    kl = apply(authors.BinnedKL(), *reduced(softmax, y, "classwise"), "classwise", None)["kl"].value
    assert kl == pytest.approx(theirs["ECELoss_KL classwise 15 bins"], rel=1e-6)


@pytest.mark.golden
@pytest.mark.parametrize("method", ["uncal", "temp-nll", "iso"])
def test_the_numbers_of_table_2_on_recalibrated_networks(method):
    data, out = arrays("recal"), arrays("recal_out")
    if method == "uncal":
        logits = data["logits_test"]
        scores = np.exp(logits - logits.max(axis=1, keepdims=True))
        scores = scores / scores.sum(axis=1, keepdims=True)
    else:
        scores = out["temp" if method == "temp-nll" else "iso"]
    estimates = apply(
        authors.DirichletKernel(),
        *reduced(scores.astype(np.float64), data["y_test"], "classwise"),
        "classwise",
        None,
    )
    theirs = {r["function"]: float(r["value"]) for r in rows("recal")}
    for name, estimand in (("KL", "kl"), ("L2", "l2_squared")):
        ours = estimates[estimand].value
        assert ours == pytest.approx(theirs[f"{method} CE_{name} classwise via risk"], rel=1e-6)


@pytest.mark.parametrize("kind", [authors.BinnedKL, authors.Binned])
def test_bins_are_checked(kind):
    for bins in (0, -1, 2.5):
        with pytest.raises(BadInputError, match="bins is"):
            kind(bins)
