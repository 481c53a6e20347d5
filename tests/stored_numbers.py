"""Numbers of stored records that README.md and docs/explanation quote."""

import functools
import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
from harness.experiments.popordanoska2024.kernel_limit import compute_limits

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
    selected = table(paper, name)
    for column, value in wanted.items():
        selected = selected[selected[column].eq(value)]
    assert len(selected), (paper, name, wanted)
    return selected


def row(paper, name, **wanted):
    """Return the only row of a table with these values."""
    selected = rows(paper, name, **wanted)
    assert len(selected) == 1, (paper, name, wanted, len(selected))
    return selected.iloc[0]


def claim(paper, name, sign=1):
    """Return value, low and high of a claim; with sign -1 of the negative statistic."""
    line = row(paper, "claims", claim=name)
    low, high = (line["low"], line["high"]) if sign > 0 else (line["high"], line["low"])
    return [sign * value for value in (line["value"], low, high)]


def compared(paper, name):
    """Return the text that says on what a claim was compared."""
    return row(paper, "claims", claim=name)["compared"]


def after(text, words):
    """Return the number after these words."""
    return float(re.search(rf"{re.escape(words)} ([\d.]+\d)", text)[1])


@functools.cache
def reported(paper):
    return pd.read_csv(EXPERIMENTS / paper / "reported.csv", low_memory=False)


def printed(paper, item, row, column):
    """Return a number that the paper reports."""
    selected = reported(paper)
    selected = selected[
        selected["item"].eq(item) & selected["row"].eq(row) & selected["column"].eq(column)
    ]
    assert len(selected) == 1, (paper, item, row, column)
    return selected["value"].iloc[0]


def generated(page, row, column):
    """Return an entry of a table that tools/docs/write.py wrote, as a number."""
    cells = re.search(rf"^\| {re.escape(row)} \|(.*)\|$", (ROOT / page).read_text(), re.M)[1].split(
        "|"
    )
    return float(cells[column].split("±")[0])


# gruber2025


TABLES = {"table1": "fig2a", "table2": "fig2b"}  # and the figure of the same cells


def top_label(model, estimator, name="table1"):
    """Return an estimator's row of Table 1 or 2 on a network: root_risk (x 100), its error, rms."""
    return row(GRUBER, name, model=model, estimator=estimator)


def all_four(estimator, *columns):
    """These columns of Tables 1 and 2 for the two networks of each."""
    return [
        top_label(model, estimator, name)[column]
        for name in TABLES
        for model in (DENSENET, RESNET)
        for column in columns
    ]


def kde_and_bins(model, name="table1"):
    """Root risk of kde as published, as printed and with all rows, and of 15 bins."""
    return [
        top_label(model, "tuned_kde_gruber2025", name)["root_risk"],
        printed(GRUBER, name, model, "kde"),
        top_label(model, "tuned_kde_split_gruber2025", name)["root_risk"],
        top_label(model, "binned15_gruber2025", name)["root_risk"],
    ]


def printed_four(items, column, *ends):
    return [
        printed(GRUBER, item, model, column + end)
        for item in items
        for model in (DENSENET, RESNET)
        for end in ends or ("",)
    ]


def at_ridge(kind, *names):
    """Root risks of kernel ridge at the ridge that float32 chose, which are the printed ones."""
    estimator = f"{kind}_float32_ridge_gruber2025"
    found = [
        (n, m, top_label(m, estimator, n)["root_risk"]) for n in names for m in (DENSENET, RESNET)
    ]
    for name, model, value in found:
        assert f"{value:.2f}" == f"{printed(GRUBER, name, model, kind):.2f}"
    return [value for *_, value in found]


def dropped_rows():
    """Return the rows of DenseNet-40 that float32 rounds to 1, and all."""
    share, n = claim(GRUBER, "few inputs are dropped")[0], 10_000
    return round(share * n), n


def spread_of(model, column, estimators):
    values = [top_label(model, name)[column] for name in estimators]
    return max(values) - min(values)


TUNED = [f"tuned_{name}_split_gruber2025" for name in ("binned", "kde", "kkr", "ukkr")]
CORRECTED = ["crossfit_binned15_split_gruber2025", *TUNED]


def over_brier():
    """Return the largest excess of a root risk over the Brier score in %.

    The smallest and largest estimate on DenseNet-40 follow.
    """
    excess = []
    for model, problem in ((DENSENET, "cifar10_densenet40"), (RESNET, "cifar10_resnet110")):
        brier = row(GRUBER, "table1", problem=f"{problem}_toplabel_gruber2025", estimator="brier")[
            "mean"
        ]
        excess += [top_label(model, name)["root_risk"] / brier - 100.0 for name in CORRECTED]
    estimates = [top_label(DENSENET, name)["rms"] for name in CORRECTED]
    return max(excess), min(estimates), max(estimates)


def labels(base, problem="simplex5_gruber2025", name="own_labels"):
    """Return the truth, and canonical kernel ridge as published and with its own labels."""
    lines = [
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
    return [lines[0]["truth"], *(line[column] for line in lines for column in ("mean", "se"))]


def networks_misaligned():
    """Return kkr on four networks: as published, then with their own labels."""
    models = ("DenseNet-121", "ResNet-110 (other)", "ResNet-50", "Wide ResNet-26")
    return [
        row(GRUBER, "fig5b_offline", model=model, base="kkr", kind=kind)["rms"]
        for kind in ("as published", "corrected")
        for model in models
    ]


def lenet():
    """Return the printed root risk and error of kde on LeNet-5, and of the largest other."""
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


# ciosek2026


def losses(pattern, end):
    """Return the decrease of AUROC by network: plain scores less those with this ending."""
    means = table(CIOSEK, "perturbation").set_index("problem")["mean"]
    decreases = {}
    for name, mean in means.items():
        match = re.fullmatch(pattern, name)
        if match:
            decreases.setdefault(match[1], []).append(mean - means[f"{name}/{end}"])
    return pd.Series({name: np.mean(each) for name, each in decreases.items()})


def cifar_losses():
    """Return count, least, largest and median decrease of networks perturbed afterwards."""
    decreases = losses(r"cifar10_one_vs_rest/([^/]+)/class\d", "h2^-6")
    return len(decreases), decreases.min(), decreases.max(), decreases.median()


def retrained():
    """Return the decreases of the nine models, with and without the perturbation in training.

    The index has the models; the network on CIFAR-10 is "preresnet20".
    """
    ends = {"retrained": "aware_h2^-6", "not": "h2^-6"}
    small = {name: losses(r"perturbed_networks/(\w+)_seed\d", end) for name, end in ends.items()}
    means = table(CIOSEK, "perturbation_trained").set_index("problem")["mean"]
    folder = "cifar10_trained{}/preresnet20_epochs10_seed5{}/test/class{}{}"
    ends = {"retrained": ("_aware", "_h2^-6"), "not": ("", "")}
    on_cifar = {
        name: np.mean(
            [
                means[folder.format("", "", k, "")] - means[folder.format(*parts, k, "/h2^-6")]
                for k in range(10)
            ]
        )
        for name, parts in ends.items()
    }
    frame = pd.DataFrame(small)
    frame.loc["preresnet20"] = on_cifar
    assert len(frame) == 9
    return frame


def retraining_summary():
    """Return what the pages say of the nine retrained models, in the order of the sentence.

    Number of models, number of them below 0.001, the largest decrease, that of the same model
    without retraining, and the largest decrease of the others.
    """
    frame = retrained()
    largest = frame["retrained"].idxmax()
    assert largest == "preresnet20"
    below = (frame["retrained"] < 0.001).sum()
    others = frame.drop(index=largest)["retrained"].max()
    words = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
    return words[len(frame)], words[below], *frame.loc[largest], words[len(frame) - 1], others


def retraining_gains():
    """Return the number of retrained models that lose less, and the largest gain."""
    frame = retrained()
    gain = frame["not"] - frame["retrained"]
    words = {7: "seven", 8: "eight", 9: "nine"}
    return words[(gain > 0).sum()], words[len(frame)], gain.max()


def bound(problem, estimator, n, column="mean"):
    return row(CIOSEK, "bound", problem=f"score_{problem}_perturbed", estimator=estimator, n=n)[
        column
    ]


def waves(estimator, n, column="mean"):
    return row(CIOSEK, "ece", problem="score_waves", estimator=estimator, n=n)[column]


def trials():
    """Return the number of upper bounds in the coverage experiments; all of them hold."""
    ends = ("", "_raw", "_waves", "_adversarial", "_adversarial_perturbed")
    bounds = pd.concat([rows(CIOSEK, f"coverage{end}", kind="upper") for end in ends])
    assert bounds["coverage"].eq(1.0).all()
    return bounds["cells"].sum()


def lower_misses():
    """Return the most samples of 1,000 on which a certified lower bound exceeds the truth."""
    bounds = pd.concat(
        [
            rows(CIOSEK, name, kind="lower")
            for name in ("coverage", "coverage_raw", "coverage_adversarial")
        ]
    )
    assert bounds["cells"].eq(1000).all()
    return round(1000 * (1.0 - bounds["coverage"].min()))


def certified():
    """Return the second and the largest certified lower bound on six ImageNet networks."""
    means = rows(CIOSEK, "bound_offline", estimator="lower_preq", n=50_000)["mean"].sort_values()
    assert len(means) == 6
    return means.iloc[1], means.iloc[-1]


def slopes(column):
    slope = rows(CIOSEK, "reproduction", item="slopes", row="Lip+Bkt").set_index("column")[column]
    return slope["slope, steepest"], slope["slope, flattest"]


# berta2026


def legacy():
    return [
        rows(BERTA, "reproduction", experiment=f"berta2026_{name}_legacy", source="authors' data")
        for name in ("fig1", "fig3")
    ]


def largest_difference():
    """Return the largest difference between means of the authors and ours of the same runs.

    Files store nothing below 1e-12: 0 means at most that.
    """
    return max(pd.concat(legacy())["difference"].abs().max(), 1e-12)


def over_ten_runs(figure, estimand):
    """Return the published means of other numbers of runs than ten, beside ours over ten."""
    published = reported(BERTA)
    published = published[published["item"].eq(figure) & ~published["reps"].isin([10.0])]
    ours = table(BERTA, f"{figure}_legacy")
    ours = ours[ours["estimand"].eq(estimand)]
    rows = ours["problem_label"] + ", n = " + ours["n"].astype(str)
    ours = ours.assign(row=rows, column=ours["estimator_label"])
    return published.dropna(subset="reps").merge(ours, on=["row", "column"])


def doubled_means():
    means = over_ten_runs("fig3", "l2")
    means = means[means["value"].abs().gt(1e-12)]
    return len(means), ((means["mean"] - means["value"]) / means["se"]).abs().max()


def in_float32():
    """Return kkr's root risk (x 100) and its error on CIFAR-100, in float32 at 1e-5 and printed."""
    risks = pd.read_csv(EXPERIMENTS / GRUBER / "float32_ridges.csv")
    risks = risks[risks["products"].eq("authors") & risks["file"].eq("kull_densenet40_c100")]
    least = risks.loc[risks["root_risk"].idxmin()]
    assert least["ridge"] == 1e-5
    ends = ("", " (standard error)")
    return (
        least["root_risk"],
        least["root_risk_se"],
        *(printed(GRUBER, "table2", DENSENET, f"kkr{end}") for end in ends),
    )


def nine_runs():
    means = over_ten_runs("fig1", "l1").set_index("column")
    line = means.loc["Isotonic (CV)"]
    return line["value"], line["mean"]


def clustered():
    """Return the range of clustered over printed errors of Table 1, its groups and data sets."""
    lines = rows(BERTA, "table1_published", grouping="as in the paper")
    ratio = (lines["se_clustered"] / lines["se"])[lines["column"].str.contains("%")]
    counts = [
        lines[lines["column"].eq(c)][["groups", "clusters"]].iloc[0]
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
    line = row(
        BERTA,
        "reproduction",
        experiment="berta2026_fig1",
        row="Over-confident, n = 10000",
        column="True value",
    )
    return (line["reported"] - line["ours"]) / line["plus_minus"], line["ours"]


def lightgbm():
    line = row(
        BERTA, "fig1_heavy_legacy", problem="beta_calibrated_legacy",
        estimator="variational_lightgbm_ws_berta2026", n=10_000,
        estimand="l2_squared",
    )  # fmt: skip
    return line["mean"], line["se"]


# popordanoska2024


def network_errors(relabelled):
    """Return the range of KL errors x 100 on CIFAR-10 networks, or with labels drawn from them."""
    lines = rows(
        POPORDANOSKA,
        "table2_offline",
        estimator="kde_popordanoska2024",
        estimand="kl",
        notion="classwise",
    )
    lines = lines[
        lines["problem"].str.fullmatch(rf"cifar10_[a-z0-9_]+{'_relabelled' if relabelled else ''}")
    ]
    lines = lines[~lines["problem"].str.contains("isotonic|temperature")]
    lines = lines[lines["problem"].str.contains("relabelled").eq(relabelled)]
    return 100.0 * lines["mean"].min(), 100.0 * lines["mean"].max()


def printed_errors():
    numbers = reported(POPORDANOSKA)
    errors = numbers[
        numbers["item"].eq("table2")
        & numbers["column"].eq("CE_KL")
        & numbers["row"].str.fullmatch("CIFAR-10, .*, none")
    ]
    return errors["value"].min(), errors["value"].max()


def limits():
    problem = harness.load_problem("simplex2_popordanoska2024")
    values = compute_limits(problem.truth_power, problem.prediction_power, 0.01)
    truth = problem.truth("kl", "classwise").value
    return values["direct", "kl"], values["risk", "kl"], truth


def on_all_images():
    """Return how far 2,000 points are from 10,000, and from the truth, in %."""
    lines = rows(
        POPORDANOSKA,
        "fig5_offline",
        problem="simplex10_popordanoska2024",
        estimator="kde_popordanoska2024",
        estimand="kl",
    ).set_index("n")
    return (
        100.0 * abs(lines["mean"][2000] / lines["mean"][10_000] - 1.0),
        100.0 * (lines["mean"][2000] / lines["truth"][2000] - 1.0),
    )


def squared_bias(estimator, n=5000):
    line = row(POPORDANOSKA, "fig2a", estimator=estimator, estimand="l2_squared", n=n)
    return 100.0 * line["bias"] / line["truth"]


KERNELS = ("kde_direct_schedule_popordanoska2024", "kde_risk_schedule_popordanoska2024")


def bins_closer_from():
    """Return the least n from which bins are closer than both forms of the kernel."""
    sizes = sorted(table(POPORDANOSKA, "fig2a")["n"].unique())
    closer = [
        all(abs(squared_bias("binned15", n)) < abs(squared_bias(kernel, n)) for kernel in KERNELS)
        for n in sizes
    ]
    return next(n for i, n in enumerate(sizes) if all(closer[i:]))


def kl_bias(k):
    line = row(
        POPORDANOSKA,
        "fig4",
        problem=f"simplex{k}_popordanoska2024",
        estimator=KERNELS[1],
        estimand="kl",
        n=10_000,
    )
    return 100.0 * line["bias"] / line["truth"]


def bandwidths():
    lines = [
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
    return lines[0]["mean"], lines[0]["truth"], lines[1]["mean"]


def vector_truths():
    lines = rows(POPORDANOSKA, "fig4", estimator="vector_truth_popordanoska2024", n=10_000)
    excess = (
        100.0
        * (lines["mean"] / lines["truth"] - 1.0)[lines["problem"].ne("simplex2_popordanoska2024")]
    )
    return excess.min(), excess.max()


def repeated():
    """Return the count of judged numbers of the authors' code, and of those without power."""
    lines = rows(POPORDANOSKA, "reproduction", source="recomputed by authors' code")
    assert not lines["verdict"].eq("differs").any()
    lines = lines.drop_duplicates(["item", "row", "column"])
    return len(lines), lines["verdict"].eq("no test").sum()


def kl_after(method):
    return printed(POPORDANOSKA, "table2", f"CIFAR-10, VGG16BN, {method}", "CE_KL")


def falling():
    """Return the cases in which sharpness falls from layer to layer, and all cases."""
    assert "five networks" in compared(POPORDANOSKA, "sharpness falls from layer to layer")
    cases = 5 * after(compared(POPORDANOSKA, "sharpness falls from layer to layer"), "share of")
    return claim(POPORDANOSKA, "sharpness falls from layer to layer")[0] * cases, cases


# moskvichev2025


def ridges():
    comparison = compared(MOSKVICHEV, "CKCE is constant because the conditional laws are")
    ratios = [
        float(re.search(rf"([\d.]+) with {ridge}\b", comparison)[1])
        for ridge in ("0.0001", "1e-06", "1e-08")
    ]
    return claim(MOSKVICHEV, "CKCE stays constant under covariate shift")[0], *ratios


def over_locations():
    """Return the largest over the smallest value of CKCE and of ECE on Figure 4a."""
    row = compared(MOSKVICHEV, "CKCE depends less on the marginal law than ECE, covariate shift")
    return [float(number) for number in re.findall(r"CE (\d+\.\d+)", row)]


def over_p():
    comparison = compared(MOSKVICHEV, "CKCE depends less on the marginal law than ECE, toy model")
    return claim(MOSKVICHEV, "CKCE as estimated ignores the marginal law")[0], after(
        comparison, "ECE"
    )


def networks_printed(column):
    return [
        f"{printed(MOSKVICHEV, 'table1', f'ImageNet, {name}', column):.3f}"[1:]
        for name in ("ResNet", "ViT")
    ]


def printed_ratio():
    ratios = [
        printed(MOSKVICHEV, "table1", f"CIFAR-10, {name}", "JKCE")
        / printed(MOSKVICHEV, "table1", f"CIFAR-10, {name}", "CKCE")
        for name in ("DenseNet", "ResNet")
    ]
    assert round(ratios[0], 2) == round(ratios[1], 2)
    return ratios[0]


# the arena, judge, and the four points


def cpu_hours():
    """Return the CPU hours of the records of experiments, and of the arena's estimators."""
    cell = ["problem_key", "estimator_key", "notion", "n", "rep", "seed"]
    tables = [
        pd.read_parquet(path, columns=[*cell, "cpu_seconds"]).drop_duplicates(cell)
        for path in (RESULTS / "records_of").glob("*.parquet")
    ]
    costs = pd.read_csv(RESULTS / "baseline" / "costs.csv.gz")
    seconds = sum(table["cpu_seconds"].sum() for table in tables)
    return seconds / 3600, (costs["cells"] * costs["cpu_seconds"]).sum() / 3600


def arena_counts():
    """Return the numbers of estimators and of problems of the arena."""
    drawn = (RESULTS / "arena" / "README.md").read_text()
    estimators, problems = (
        int(n) for n in re.search(r"(\d+) estimators were run on (\d+) problems", drawn).groups()
    )
    baseline = json.loads((RESULTS / "baseline" / "baseline.json").read_text())
    assert problems == len(baseline["classes"])
    return estimators, problems, len(baseline["families"])


def verdicts_on_best(by_class):
    """Return the numbers of lines in which `best` is better, of all, and in which it is worse.

    The lines are those of class-wise errors, or all others.
    """
    verdicts = lines_on_best(by_class)["verdict"]
    return verdicts.eq("better").sum(), len(verdicts), verdicts.eq("worse").sum()


def lines_on_best(by_class):
    lines = pd.read_csv(RESULTS / "arena" / "index_recommendations.csv")
    is_main = lines["estimand"].isin(["l1", "l2_squared"])
    return lines[is_main & lines["notion"].eq("classwise").eq(by_class)]


def best():
    """Return the mean ratios of `best` to the best published estimator, and the verdicts.

    They are the smallest and the largest geometric mean of the ratio over n, and the result of
    `verdicts_on_best`, all without class-wise errors.
    """
    lines = lines_on_best(by_class=False)
    logs = np.log(lines["ratio"]).groupby([lines["notion"], lines["estimand"]]).mean()
    return (*np.exp(logs.agg(["min", "max"])), *verdicts_on_best(by_class=False))


def worst_of_best():
    """Return the largest mean regret of `best` in a family, without and for class-wise errors."""
    index = pd.read_csv(RESULTS / "arena" / "index.csv")
    main = index[index["estimator"].eq("best") & index["estimand"].isin(["l1", "l2_squared"])]
    by_class = main["notion"].eq("classwise")
    return main.loc[~by_class, "worst"].max(), main.loc[by_class, "worst"].max()


def worst_settings_of_best():
    """Return the largest regret of `best` in one setting, by notion."""
    index = pd.read_csv(RESULTS / "arena" / "index.csv")
    main = index[index["estimator"].eq("best") & index["estimand"].isin(["l1", "l2_squared"])]
    worst = main.groupby("notion")["worst_setting"].max()
    return [worst[notion] for notion in ("binary", "top_label", "canonical", "classwise")]


def wins_by_n():
    """Return in how many lines `best` is better, of how many, at n <= 200 and at n >= 1,000.

    The last two numbers are those of binary and top-label errors at n >= 1,000. Class-wise errors
    are left out.
    """
    lines = lines_on_best(by_class=False)
    is_late = lines["n"].ge(1000)
    assert lines.loc[~is_late, "n"].le(200).all()
    parts = lines[~is_late], lines[is_late], lines[is_late & lines["notion"].ne("canonical")]
    return [count for part in parts for count in (part["verdict"].eq("better").sum(), len(part))]


def wins_on_tables():
    """Return in how many lines `best` is better on tables of real predictions.

    First against rivals of the development families, at n <= 200 and at n >= 1,000, with the
    numbers of lines. Then against those of the tables at n >= 1,000: lines better, and worse.
    """
    lines = pd.read_csv(RESULTS / "arena" / "tables.csv")
    lines = lines[lines["families_of"].eq("tables")]
    late = lines[lines["n"].ge(1000)]
    early = lines[lines["n"].le(200)]
    assert len(early) + len(late) == len(lines) and lines["families"].eq(27).all()
    counts = [x for part in (early, late) for x in (part["verdict"].eq("better").sum(), len(part))]
    return [27, *counts, *(late["lucky_verdict"].eq(word).sum() for word in ("better", "worse"))]


def wins_against_chosen_on_test():
    """Return the lines in which `best` is better than rivals of the test families, and ratios."""
    table = pd.read_csv(RESULTS / "arena" / "index_sensitivity.csv")
    is_rule = table["rule"].eq("rivals of the test families")
    (row,) = table[is_rule & table["notions"].ne("classwise")].to_dict("records")
    return row["better"], row["lines"], row["smallest"], row["largest"]


def canonical_rivals():
    """Return the number of published estimators of canonical errors at n = 5,000 and at 20,000."""
    numbers = [int(generated("docs/explanation/trust.md", "canonical", i)) for i in (4, 5)]
    assert numbers[0] == numbers[1]
    return numbers[0]


P, Y = np.array([0.1, 0.4, 0.7, 0.8]), np.array([0, 1, 0, 1])


def four_points(estimator, estimand="l1", **changed):
    return harness.estimate(harness.load_estimator(estimator, **changed), P, Y, "binary")[
        estimand
    ].value


def temperature_bound():
    line = row(
        BERTA, "fig1_legacy", problem="beta_overconfident_legacy",
        estimator="variational_temperature_berta2026", n=10_000,
        estimand="l1",
    )  # fmt: skip
    return line["low"], line["truth"]
