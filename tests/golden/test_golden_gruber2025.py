"""Agreement with the numbers of gruber2025's own code (tests/golden/gruber2025)."""

import csv
import re
from functools import lru_cache
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from harness.experiments.gruber2025 import authors
from slow_params import slow

from harness import load_estimator, reduce
from harness.estimators import Binned, DirichletKernel, KernelRidge
from harness.math.kernels import dirichlet_sums
from harness.math.notions import one_hot
from harness.math.risk import ResidualGram, residuals, risk

pytestmark = pytest.mark.golden

FOLDER = Path(__file__).parents[1] / "golden" / "gruber2025"
NOTION = {"TCE": "top_label", "CCE": "canonical"}
PIPELINES = {
    "bins TCE": authors.Binned(),
    "kde TCE": authors.DirichletKernel(float32=False),
    "kkr TCE": KernelRidge("kkr", gamma=1.0),
    "ukkr TCE": KernelRidge("ukkr", gamma=1.0),
    "kkr CCE": KernelRidge("kkr", gamma=1.0),
    "ukkr CCE": KernelRidge("ukkr", gamma=1.0),
    "kde CCE (float32 inputs)": authors.DirichletKernel(float32=True),
}
AS_CONFIGURED = {"bins": "binned", "kkr": "kkr", "ukkr": "ukkr"}


def rows(name="golden.csv", **equal):
    with open(FOLDER / name, newline="") as f:
        return [r for r in csv.DictReader(f) if all(r[k] == v for k, v in equal.items())]


@lru_cache
def arrays(case):
    with np.load(FOLDER / f"{case}.npz") as archive:
        return {name: archive[name] for name in archive.files}


def reduced(case, kind):
    data = arrays(case)
    return reduce(data["F"], data["Y"], NOTION[kind])


def fitted(estimator, setting, p, y, train_n):
    (products,) = next(iter(estimator.products(p[:train_n], y[:train_n], [p[train_n:]], [setting])))
    return products, residuals(p, y)[train_n:]


def statistic(name, products, u):
    h = products.weighted() @ products.features.T
    seen = np.isfinite(products.features).all(axis=1)
    if name == "risk_eq20":
        return (
            risk(u[seen], ResidualGram(products.features[seen], products.core))
            if seen.sum() > 1
            else np.nan
        )
    pairs = {"H[0,1]": (0, 1), "H[2,2]": (2, 2)}
    if name in pairs:
        return h[pairs[name]]
    of_h = {
        "diag_mean": lambda: h.diagonal().mean(),
        "H_mean": h.mean,
        "H_fro": lambda: np.linalg.norm(h),
    }
    return of_h.get(name, lambda: np.isnan(h).mean())()


def close(ours, theirs, relative, absolute=0.0):
    return ours == pytest.approx(float(theirs), rel=relative, abs=absolute, nan_ok=True)


@pytest.mark.parametrize("case", ["K3", "K100"])
@pytest.mark.parametrize("kind", ["TCE", "CCE"])
def test_the_risk_of_nothing_is_that_of_the_residuals(case, kind):
    p, y = reduced(case, kind)
    train_n = int(arrays(case)["n_train"])
    u = residuals(p, y)[train_n:]
    (theirs,) = rows(case=case, function="risk_h0", params=kind)
    assert close(risk(u, ResidualGram(np.zeros((len(u), 1)))), theirs["value"], 1e-12)


OF_VECTORS = ("kkr_fit CCE", "ukkr_fit CCE")


@pytest.mark.parametrize(
    "function, case",
    [
        *product(["bin_fit TCE", "kkr_fit TCE", "ukkr_fit TCE", "kde_fit TCE"], ["K3", "K100"]),
        *slow(*product(OF_VECTORS, ["K3", "K100"])),
    ],
)
def test_one_fit_and_one_setting(case, function):
    head, kind = function.split()
    p, y = reduced(case, kind)
    checked = 0
    for r in rows(case=case, function=function):
        numbers = [float(x) for x in re.findall(r"=([\d.e+-]+)", r["params"])]
        if head == "bin_fit":
            estimator, setting = authors.Binned(), {"bins": int(numbers[0])}
        elif head == "kde_fit":
            estimator, setting = (
                authors.DirichletKernel(float32=False),
                {"bandwidth": float(np.float32(numbers[0]))},
            )
        else:
            estimator, setting = (
                KernelRidge(head.removesuffix("_fit"), gamma=numbers[0]),
                {"ridge": numbers[1]},
            )
        products, u = fitted(estimator, setting, p, y, int(arrays(case)["n_train"]))
        assert close(statistic(r["statistic"], products, u), r["value"], 1e-6), r
        checked += 1
    assert checked >= 21


@pytest.mark.parametrize("case", ["K3", "K100"])
def test_canonical_kernel_regression_on_their_logarithmic_path(case):
    p, y = reduced(case, "CCE")
    for r in rows(
        case=case, function="kde_fit CCE (log path, float64 kernel, diff stored in float32)"
    ):
        bandwidth = float(np.float32(re.search(r"bw=([\d.e+-]+)", r["params"])[1]))
        estimator = authors.DirichletKernel(float32=False, rescaled=True)
        products, u = fitted(
            estimator, {"bandwidth": bandwidth}, p, y, int(arrays(case)["n_train"])
        )
        assert close(statistic(r["statistic"], products, u), r["value"], 1e-6), r


def test_canonical_kernel_regression_with_unscaled_densities():
    """The authors' exponents are float32 numbers of size log(z) / b, with relative errors of
    2^-24.
    """
    p, y = reduced("K3", "CCE")
    golden = rows(case="K3", function="kde_fit CCE (authors default path, float32 inputs, K<=60)")
    for r in golden:
        bandwidth = float(np.float32(re.search(r"bw=([\d.e+-]+)", r["params"])[1]))
        products, u = fitted(
            authors.DirichletKernel(), {"bandwidth": bandwidth}, p, y, int(arrays("K3")["n_train"])
        )
        rounding = 2.0**-24 * (10.0 / max(bandwidth, 1e-3) + 100.0)
        size = products.diagonal().mean()  # entries of h, and their mean, are sums that cancel
        assert close(
            statistic(r["statistic"], products, u), r["value"], rounding, rounding * size
        ), r
    assert len(golden) == 42


@pytest.mark.slow
@pytest.mark.parametrize("case", ["K3", "K100"])
@pytest.mark.parametrize("pipeline", list(PIPELINES))
def test_their_whole_pipeline(case, pipeline):
    p, y = reduced(case, "TCE" if "TCE" in pipeline else "CCE")
    estimator = authors.Tuned(PIPELINES[pipeline], misaligned="kkr" in pipeline)
    estimate, (settings, risks, tests, _) = estimator(p, y)["rms"], estimator.path(p, y)
    chosen = int(risks.mean(axis=1).argmin())
    ours = {
        ("notebook aggregation", "eta_selected"): next(
            iter(settings[estimate.diagnostics["choice"]].values())
        ),
        ("notebook aggregation", "sqrt_risk_mean"): estimate.diagnostics["root_risk"],
        ("notebook aggregation", "sqrt_risk_sd_ddof1"): estimate.diagnostics["root_risk_se"]
        * 5**0.5,
        ("notebook aggregation", "CE_mean_of_sqrt"): estimate.value,
        ("notebook aggregation", "CE_sd"): estimate.diagnostics["rms_sd"],
        ("Algorithm 1 aggregation", "eta_selected"): next(iter(settings[chosen].values())),
        ("Algorithm 1 aggregation", "mean_val_risk"): risks[chosen].mean(),
        ("Algorithm 1 aggregation", "CE_sqrt_of_mean"): tests[chosen].mean() ** 0.5,
    }
    theirs = {
        (r["params"], r["statistic"]): r["value"]
        for r in rows(case=case, function=f"pipeline {pipeline}")
    }
    # sums in float32: 50 roundings of 2^-24; spreads over the folds are that of numbers up to a
    # hundred times as large
    single = 50 * 2.0**-24 if "float32" in pipeline else 0.0
    for key, value in ours.items():
        spread = key[1] in ("sqrt_risk_sd_ddof1", "CE_sd")
        assert close(value, theirs[key], max(1e-6, single), single * estimate.value * spread), key
    name = AS_CONFIGURED.get(pipeline.split()[0])
    if name:
        assert load_estimator(f"tuned_{name}_gruber2025")(p, y)["rms"] == estimate


@pytest.mark.parametrize("case", ["K3", *slow("K100")])
@pytest.mark.parametrize("kind", ["kkr", "ukkr", "kde"])
def test_the_canonical_pipeline_with_the_right_labels(case, kind):
    """Compare with an independent implementation of the text in float64, labels aligned."""
    p, y = reduced(case, "CCE")
    estimator = (
        authors.DirichletKernel(float32=False, rescaled=True)
        if kind == "kde"
        else KernelRidge(kind, gamma=1.0)
    )
    _, risks, tests, _ = authors.Tuned(estimator, misaligned=False).path(p, y)
    theirs = rows("golden_corrected.csv", case=case, pipeline=f"{kind} CCE aligned/float64")
    assert len(theirs) == len(risks)
    for r, risk_of, test in zip(theirs, risks, tests):
        assert close(risk_of.mean(), r["mean_val_risk"], 1e-6), r
        assert close(np.sqrt(risk_of).std(ddof=1), r["sd_sqrt_val_risk"], 1e-6), r
        assert close(test.mean(), r["mean_test_CE_squared"], 1e-6, 1e-12), r


def test_misaligned_labels_are_what_they_computed():
    p, y = reduced("K3", "CCE")
    theirs = float(
        rows(
            case="K3",
            function="pipeline kkr CCE",
            params="notebook aggregation",
            statistic="CE_mean_of_sqrt",
        )[0]["value"]
    )
    aligned = authors.Tuned(KernelRidge("kkr", gamma=1.0), misaligned=False)(p, y)["rms"].value
    assert abs(aligned - theirs) > 0.01


@pytest.mark.parametrize("case", ["K3", "K100"])
@pytest.mark.parametrize("notion", ["canonical", "toplabel"])
def test_leave_one_out_kernel_estimates(case, notion):
    p, y = reduced(case, "CCE" if notion == "canonical" else "TCE")
    name = "canonical_log" if notion == "canonical" else "toplabel"
    function = f"get_ratio_{name} p=2 (LOO, squared, float64)"
    for r in rows(case=case, function=function):
        bandwidth = float(np.float32(r["params"].removeprefix("bw=")))
        assert close(
            DirichletKernel(bandwidth, floor=1e-300)(p, y)["l2_squared"].value, r["value"], 1e-6
        ), r
    (theirs,) = rows(case=case, function="kde_ratio_estimator E||E[Y|f]||^2 (LOO)")
    p, y = reduced(case, "CCE")
    ratio = dirichlet_sums(
        p, p, one_hot(y, p.shape[1]), (float(np.float32(0.01)),), leave_out=np.arange(len(p))
    )[0][0]
    assert close((ratio**2).sum(axis=1).mean(), theirs["value"], 1e-6)


def test_the_plain_binned_estimator_agrees_with_theirs_in_sample():
    p, y = reduced("K3", "TCE")
    (theirs,) = rows(case="K3", function="ECE_bin(in-sample,squared)")
    assert close(Binned(15)(p, y)["l2_squared"].value, theirs["value"], 1e-12)


@pytest.mark.parametrize("case", ["K3", "K100"])
def test_the_plain_binned_estimator_agrees_with_a_third_implementation(case):
    theirs = {
        r["function"].partition(":")[0].partition(" ")[0]: float(r["value"])
        for r in rows("golden_mlolab.csv", case=case)
    }
    top = Binned(15)(*reduced(case, "TCE"))
    assert top["l2_squared"].value == pytest.approx(theirs["sTCE"], rel=1e-12)
    assert top["l1"].value ** 2 == pytest.approx(theirs["sECE"], rel=1e-12)
    data = arrays(case)
    per_class = [
        Binned(15)(data["F"][:, j], (data["Y"] == j).astype(int))["l2_squared"].value
        for j in range(data["F"].shape[1])
    ]
    assert sum(per_class) == pytest.approx(theirs["sCWCE"], rel=1e-9)


def test_a_saturated_confidence_drops_its_row():
    """A third of all confidences are exactly 1 in float32, and their rows are lost."""
    data = arrays("sat32")
    logits = data["logits"]
    shifted = np.exp(logits - logits.max(axis=1, keepdims=True))
    p = shifted / shifted.sum(axis=1, keepdims=True)
    assert p.dtype == np.float32
    confidence, correct = (
        p.max(axis=1).astype(np.float64),
        (p.argmax(axis=1) == data["Y"]).astype(np.int64),
    )
    assert close(
        (confidence == 1.0).mean(),
        rows(case="sat32", function="fraction conf==1.0f")[0]["value"],
        1e-12,
    )
    train_n = 480
    for bandwidth in (0.001, 0.01, 0.1):
        setting = {"bandwidth": float(np.float32(bandwidth))}
        products, u = fitted(authors.DirichletKernel(), setting, confidence, correct, train_n)
        theirs = {
            r["statistic"]: r["value"] for r in rows(case="sat32", params=f"bw={bandwidth:g}")
        }
        lost = np.isnan(products.features).any(axis=1)
        assert (
            lost.sum() == float(theirs["nan_rows"])
            and (lost == (confidence[train_n:] == 1.0)).all()
        )
        rounding = 2.0**-24 * (20.0 / bandwidth + 100.0)
        assert close(np.nanmean(products.diagonal()), theirs["diag_nanmean"], rounding)
        assert close(statistic("risk_eq20", products, u), theirs["risk_eq20_ignore_nan"], rounding)
