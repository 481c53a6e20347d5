"""Numbers of the stored records that README.md and docs/explanation quote, for tests/uses/test_numbers.py."""

import functools
import json
import re
from pathlib import Path

import numpy as np
import pandas as pd

import harness

ROOT = Path(__file__).resolve().parent.parent
RESULTS, EXPERIMENTS = ROOT / "results", ROOT / "experiments"
BERTA, CIOSEK, GRUBER, MOSKVICHEV, POPORDANOSKA = (
    "berta2026",
    "ciosek2026",
    "gruber2025",
    "moskvichev2025",
    "popordanoska2024",
)
DENSENET, RESNET = "DenseNet-40", "ResNet-110"


# Stored records


@functools.cache
def table(paper, name):
    return pd.read_csv(RESULTS / paper / f"{name}.csv", low_memory=False)


def rows(paper, name, **wanted):
    found = table(paper, name)
    for column, value in wanted.items():
        found = found[found[column].eq(value)]
    assert len(found), (paper, name, wanted)
    return found


def row(paper, name, **wanted):
    """The only row of a table with these values."""
    found = rows(paper, name, **wanted)
    assert len(found) == 1, (paper, name, wanted, len(found))
    return found.iloc[0]


def claim(paper, name, sign=1):
    """Value, low and high of a claim; with sign -1 of the negative statistic."""
    found = row(paper, "claims", claim=name)
    low, high = (found["low"], found["high"]) if sign > 0 else (found["high"], found["low"])
    return [sign * value for value in (found["value"], low, high)]


def compared(paper, name):
    """What a claim was compared on, in words."""
    return row(paper, "claims", claim=name)["compared"]


def after(text, words):
    """The number after these words."""
    return float(re.search(rf"{re.escape(words)} ([\d.]+\d)", text)[1])


@functools.cache
def reported(paper):
    return pd.read_csv(EXPERIMENTS / paper / "reported.csv", low_memory=False)


def printed(paper, item, row, column):
    """A number that the paper reports."""
    found = reported(paper)
    found = found[found["item"].eq(item) & found["row"].eq(row) & found["column"].eq(column)]
    assert len(found) == 1, (paper, item, row, column)
    return found["value"].iloc[0]


def generated(page, row, column):
    """A cell of a table that tools/docs/write.py wrote, as a number."""
    cells = re.search(rf"^\| {re.escape(row)} \|(.*)\|$", (ROOT / page).read_text(), re.M)[1].split(
        "|"
    )
    return float(cells[column].split("±")[0])


# gruber2025


def top_label(model, estimator):
    """The row of Table 1 of an estimator on a network: root_risk (x 100), root_risk_se, rms."""
    return row(GRUBER, "table1", model=model, estimator=estimator)


def both(estimator, *columns):
    """These columns of Table 1 for the two networks."""
    return [
        top_label(model, estimator)[column] for model in (DENSENET, RESNET) for column in columns
    ]


def kde_and_bins(model):
    """Root risk of kde as published, as printed and with all rows, and of 15 bins."""
    return [
        top_label(model, "tuned_kde_gruber2025")["root_risk"],
        printed(GRUBER, "table1", model, "kde"),
        top_label(model, "tuned_kde_split_gruber2025")["root_risk"],
        top_label(model, "binned15_gruber2025")["root_risk"],
    ]


def printed_both(item, column, *ends):
    return [
        printed(GRUBER, item, model, column + end)
        for model in (DENSENET, RESNET)
        for end in ends or ("",)
    ]


def dropped_rows():
    """Rows of DenseNet-40 that float32 rounds to 1, and all."""
    share, n = claim(GRUBER, "few inputs are dropped")[0], 10_000
    return round(share * n), n


def spread_of(model, column, estimators):
    held = [top_label(model, name)[column] for name in estimators]
    return max(held) - min(held)


TUNED = [f"tuned_{name}_split_gruber2025" for name in ("binned", "kde", "kkr", "ukkr")]
CORRECTED = ["crossfit_binned15_split_gruber2025", *TUNED]


def over_brier():
    """The largest excess of a corrected root risk over the Brier score, %, and DenseNet-40's least and largest estimate."""
    excess = []
    for model, problem in ((DENSENET, "cifar10_densenet40"), (RESNET, "cifar10_resnet110")):
        brier = row(GRUBER, "table1", problem=f"{problem}_toplabel_gruber2025", estimator="brier")[
            "mean"
        ]
        excess += [top_label(model, name)["root_risk"] / brier - 100.0 for name in CORRECTED]
    held = [top_label(DENSENET, name)["rms"] for name in CORRECTED]
    return max(excess), min(held), max(held)


def labels(base, problem="simplex5_gruber2025", name="own_labels"):
    """Truth, then mean and standard error of canonical kernel ridge as published and with its own labels."""
    found = [
        row(
            GRUBER,
            name,
            problem=problem,
            notion="canonical",
            estimand="rms",
            estimator=f"tuned_{base}_{end}",
        )
        for end in ("gruber2025", "aligned_gruber2025")
    ]
    return [found[0]["truth"], *(one[column] for one in found for column in ("mean", "se"))]


def networks_misaligned():
    """kkr on four networks: as published, then with their own labels."""
    models = ("DenseNet-121", "ResNet-110 (other)", "ResNet-50", "Wide ResNet-26")
    return [
        row(GRUBER, "fig5b_offline", model=model, base="kkr", kind=kind)["rms"]
        for kind in ("as published", "corrected")
        for model in models
    ]


def lenet():
    """Printed root risk and error of kde on LeNet-5, and of the largest other."""
    columns = ("15 bins", "bins", "kkr", "ukkr")
    worst = max(columns, key=lambda column: printed(GRUBER, "table1", "LeNet-5", column))
    return [
        printed(GRUBER, "table1", "LeNet-5", c + end)
        for c in ("kde", worst)
        for end in ("", " (standard error)")
    ]


def seconds(column):
    return [
        row(GRUBER, "reproduction", experiment="gruber2025_fig3", row=r)[column]
        for r in ("kkr", "ukkr", "kde")
    ]


def accuracy():
    found = row(GRUBER, "fig1", estimator="accuracy")
    return found["mean"], found["se"], 100.0 * found["mean"]


# ciosek2026


def losses(pattern, end):
    """The decrease of AUROC by network or model: of its plain scores less those of the same name with this end."""
    means = table(CIOSEK, "perturbation").set_index("problem")["mean"]
    held = {}
    for name, mean in means.items():
        found = re.fullmatch(pattern, name)
        if found:
            held.setdefault(found[1], []).append(mean - means[f"{name}/{end}"])
    return pd.Series({name: np.mean(each) for name, each in held.items()})


def cifar_losses():
    """Of the networks on CIFAR-10, perturbed afterwards: their number, the least, the largest and the median decrease."""
    held = losses(r"cifar10_one_vs_rest/([^/]+)/class\d", "h2^-6")
    return len(held), held.min(), held.max(), held.median()


def retrained():
    """Of the models trained with the perturbation: the largest decrease."""
    return losses(r"perturbed_networks/(\w+)_seed\d", "aware_h2^-6").max()


def bound(problem, estimator, n, column="mean"):
    return row(CIOSEK, "bound", problem=f"score_{problem}_perturbed", estimator=estimator, n=n)[
        column
    ]


def waves(estimator, n, column="mean"):
    return row(CIOSEK, "ece", problem="score_waves", estimator=estimator, n=n)[column]


def trials():
    """Upper bounds of level 0.95 in the coverage experiments; all of them hold."""
    ends = ("", "_raw", "_waves", "_adversarial", "_adversarial_perturbed")
    found = pd.concat([rows(CIOSEK, f"coverage{end}", kind="upper") for end in ends])
    assert found["coverage"].eq(1.0).all()
    return found["cells"].sum()


def lower_misses():
    """The most samples of 1,000 on which a certified lower bound lies above the truth."""
    found = pd.concat(
        [
            rows(CIOSEK, name, kind="lower")
            for name in ("coverage", "coverage_raw", "coverage_adversarial")
        ]
    )
    assert found["cells"].eq(1000).all()
    return round(1000 * (1.0 - found["coverage"].min()))


def certified():
    """The least and largest certified lower bound on five ImageNet networks, the least of the six left out."""
    held = rows(CIOSEK, "bound_offline", estimator="lower_preq", n=50_000)["mean"].sort_values()
    assert len(held) == 6
    return held.iloc[1], held.iloc[-1]


def slopes(column):
    found = rows(CIOSEK, "reproduction", item="slopes", row="Lip+Bkt").set_index("column")[column]
    return found["slope, steepest"], found["slope, flattest"]


# berta2026


def legacy():
    return [
        rows(BERTA, "reproduction", experiment=f"berta2026_{name}_legacy", source="authors' data")
        for name in ("fig1", "fig3")
    ]


def largest_difference():
    """Limit of the differences between the authors' means and ours, where both are over the same runs.

    Files hold nothing below 1e-12, so that 0 means at most that.
    """
    means = pd.concat(legacy())
    return max(
        means[~means["reason"].fillna("").str.startswith("their mean")]["difference"].abs().max(),
        1e-12,
    )


def doubled_means():
    held = legacy()[1]
    held = held[held["reason"].fillna("").str.contains("over 11 runs")]
    return len(held), (held["difference"] / held["error"]).abs().max()


def nine_runs():
    held = row(
        BERTA,
        "reproduction",
        experiment="berta2026_fig1_legacy",
        row="Over-confident, n = 10000",
        column="Isotonic (CV)",
    )
    return held["reported"], held["ours"]


def clustered():
    """Least and largest ratio of clustered to printed errors of Table 1's percentages, and its groups and data sets."""
    held = rows(BERTA, "table1_published", grouping="as in the paper")
    ratio = (held["se_clustered"] / held["se"])[held["column"].str.contains("%")]
    counts = [
        held[held["column"].eq(c)][["groups", "clusters"]].iloc[0]
        for c in ("binary L1 (%)", "multiclass L2 (%)")
    ]
    return (
        ratio.min(),
        ratio.max(),
        sum(c["groups"] for c in counts),
        sum(c["clusters"] for c in counts),
    )


def text(row_name, column, side="ours"):
    return row(BERTA, "reproduction", item="text", row=row_name, column=column)[side]


def truth_line():
    held = row(
        BERTA,
        "reproduction",
        experiment="berta2026_fig1",
        row="Over-confident, n = 10000",
        column="True value",
    )
    return (held["reported"] - held["ours"]) / held["plus_minus"], held["ours"]


def lightgbm():
    held = row(
        BERTA, "fig1_heavy_legacy", problem="beta_calibrated_legacy",
        estimator="variational_lightgbm_ws_berta2026", n=10_000,
        estimand="l2_squared",
    )  # fmt: skip
    return held["mean"], held["se"]


# popordanoska2024


def network_errors(relabelled):
    """Least and largest KL error x 100 of the paper's estimator on CIFAR-10 networks, or on their predictions' own labels."""
    held = rows(
        POPORDANOSKA,
        "table2_offline",
        estimator="kde_popordanoska2024",
        estimand="kl",
        notion="classwise",
    )
    held = held[
        held["problem"].str.fullmatch(rf"cifar10_[a-z0-9_]+{'_relabelled' if relabelled else ''}")
    ]
    held = held[~held["problem"].str.contains("isotonic|temperature")]
    held = held[held["problem"].str.contains("relabelled").eq(relabelled)]
    return 100.0 * held["mean"].min(), 100.0 * held["mean"].max()


def printed_errors():
    found = reported(POPORDANOSKA)
    held = found[
        found["item"].eq("table2")
        & found["column"].eq("CE_KL")
        & found["row"].str.fullmatch("CIFAR-10, .*, none")
    ]
    return held["value"].min(), held["value"].max()


def limits():
    ends = ("direct", "risk")
    held = [
        row(
            POPORDANOSKA, "bias_rate", problem="simplex2_popordanoska2024", estimand="kl", n=6400,
            estimator=f"limit_{end}_b01_popordanoska2024",
        )
        for end in ends
    ]  # fmt: skip
    return *(one["mean"] for one in held), held[0]["truth"]


def on_all_images():
    """How far 2,000 points are from 10,000, and from the truth, %."""
    held = rows(
        POPORDANOSKA,
        "fig5_offline",
        problem="simplex10_popordanoska2024",
        estimator="kde_popordanoska2024",
        estimand="kl",
    ).set_index("n")
    return (
        100.0 * abs(held["mean"][2000] / held["mean"][10_000] - 1.0),
        100.0 * (held["mean"][2000] / held["truth"][2000] - 1.0),
    )


def squared_bias(estimator, n=5000):
    held = row(POPORDANOSKA, "fig2a", estimator=estimator, estimand="l2_squared", n=n)
    return 100.0 * held["bias"] / held["truth"]


KERNELS = ("kde_direct_schedule_popordanoska2024", "kde_risk_schedule_popordanoska2024")


def bins_closer_from():
    """The least n from which bins are closer to the squared error than both forms of the kernel."""
    sizes = sorted(table(POPORDANOSKA, "fig2a")["n"].unique())
    closer = [
        all(abs(squared_bias("binned15", n)) < abs(squared_bias(kernel, n)) for kernel in KERNELS)
        for n in sizes
    ]
    return next(n for i, n in enumerate(sizes) if all(closer[i:]))


def kl_bias(k):
    held = row(
        POPORDANOSKA,
        "fig4",
        problem=f"simplex{k}_popordanoska2024",
        estimator=KERNELS[1],
        estimand="kl",
        n=10_000,
    )
    return 100.0 * held["bias"] / held["truth"]


def bandwidths():
    held = [
        row(
            POPORDANOSKA,
            "bandwidths",
            problem="simplex10_popordanoska2024",
            estimator=name,
            estimand="kl",
            n=2000,
        )
        for name in ("kde_likelihood", "kde")
    ]
    return held[0]["mean"], held[0]["truth"], held[1]["mean"]


def vector_truths():
    held = rows(POPORDANOSKA, "fig4", estimator="vector_truth_popordanoska2024", n=10_000)
    excess = (
        100.0
        * (held["mean"] / held["truth"] - 1.0)[held["problem"].ne("simplex2_popordanoska2024")]
    )
    return excess.min(), excess.max()


def repeated():
    """Numbers of the authors' code that are judged, and those of them that are no test; none differs."""
    held = rows(POPORDANOSKA, "reproduction", source="recomputed by authors' code")
    assert not held["verdict"].eq("differs").any()
    held = held.drop_duplicates(["item", "row", "column"])
    return len(held), held["verdict"].eq("no test").sum()


def kl_after(method):
    return printed(POPORDANOSKA, "table2", f"CIFAR-10, VGG16BN, {method}", "CE_KL")


def falling():
    """The cases in which sharpness falls from layer to layer, and all: 14 epochs of five networks."""
    assert "five networks" in compared(POPORDANOSKA, "sharpness falls from layer to layer")
    cases = 5 * after(compared(POPORDANOSKA, "sharpness falls from layer to layer"), "share of")
    return claim(POPORDANOSKA, "sharpness falls from layer to layer")[0] * cases, cases


# moskvichev2025


def ridges():
    said = compared(MOSKVICHEV, "CKCE is constant because the conditional laws are")
    held = [
        float(re.search(rf"([\d.]+) with {ridge}\b", said)[1])
        for ridge in ("0.0001", "1e-06", "1e-08")
    ]
    return claim(MOSKVICHEV, "CKCE stays constant under covariate shift")[0], *held


def over_locations():
    """Return the largest over the smallest value of CKCE and of ECE on Figure 4a."""
    row = compared(MOSKVICHEV, "CKCE depends less on the marginal law than ECE, covariate shift")
    return [float(number) for number in re.findall(r"CE (\d+\.\d+)", row)]


def over_p():
    said = compared(MOSKVICHEV, "CKCE depends less on the marginal law than ECE, toy model")
    return claim(MOSKVICHEV, "CKCE as estimated ignores the marginal law")[0], after(said, "ECE")


def networks_printed(column):
    return [
        f"{printed(MOSKVICHEV, 'table1', f'ImageNet, {name}', column):.3f}"[1:]
        for name in ("ResNet", "ViT")
    ]


def printed_ratio():
    held = [
        printed(MOSKVICHEV, "table1", f"CIFAR-10, {name}", "JKCE")
        / printed(MOSKVICHEV, "table1", f"CIFAR-10, {name}", "CKCE")
        for name in ("DenseNet", "ResNet")
    ]
    assert round(held[0], 2) == round(held[1], 2)
    return held[0]


# the arena, judge, and the four points


def arena_counts():
    """Estimators of the L1 or the squared error in the arena, and its problems."""
    drawn = re.sub(r"<[^>]+>|\s+", " ", (RESULTS / "arena" / "index.html").read_text())
    estimators, problems = (
        int(n) for n in re.search(r"(\d+) estimators were run on (\d+) problems", drawn).groups()
    )
    baseline = json.loads((RESULTS / "baseline" / "baseline.json").read_text())
    assert problems == len(baseline["classes"]) and len(baseline["families"]) == 12
    return estimators, problems


def best():
    """Of the families that `best` was not designed on, from the table of its notes, that the records give (test_readme)."""
    notes = " ".join((ROOT / "harness/estimators/BEST_NOTES.md").read_text().split())
    held = [
        re.search(
            rf"\| {estimand}, test \| ([\d.]+) \(([\d.]+)\) .*?\| \w+ ([\d.]+)", notes
        ).groups()
        for estimand in ("l1", "l2_squared")
    ]
    return [float(one[i]) for i in (0, 2, 1) for one in held]


def worst_of_best():
    found = pd.read_csv(RESULTS / "arena" / "index.csv")
    held = found[found["estimator"].eq("best")].sort_values("worst")["worst"].tail(2)
    assert round(held.iloc[0]) == round(held.iloc[1])
    return held.iloc[0]


P, Y = np.array([0.1, 0.4, 0.7, 0.8]), np.array([0, 1, 0, 1])


def four_points(estimator, estimand="l1", **changed):
    return harness.estimate(harness.load_estimator(estimator, **changed), P, Y, "binary")[
        estimand
    ].value


def temperature_bound():
    held = row(
        BERTA, "fig1_legacy", problem="beta_overconfident_legacy",
        estimator="variational_temperature_berta2026", n=10_000,
        estimand="l1",
    )  # fmt: skip
    return held["low"], held["truth"]
