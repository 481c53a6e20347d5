"""moskvichev2025's items: exact values, the reliability diagram, who answers what, and small runs
end to end."""

import csv
import importlib
import json
import os
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from harness.experiments.moskvichev2025 import (
    appendix_a,
    claims,
    fig2,
    population_metrics,
    table1,
    two_class_laws,
)
from harness.experiments.moskvichev2025.population_metrics import PopulationMetrics
from harness.experiments.moskvichev2025.shift import CovariateShift, Points
from record_frames import record_frame
from scipy.special import expit

from harness import load_estimator, load_problem, reduce
from harness.configure.compose import compose
from harness.estimators import FirstClassBins
from harness.evaluation import reproduction, verdicts
from harness.workflow import drawing
from harness.workflow.experiment import Experiment

GOLDEN = Path(__file__).parents[1] / "golden" / "moskvichev2025"


def rows(name):
    with open(GOLDEN / name, newline="") as f:
        return list(csv.DictReader(f))


@pytest.mark.golden
@pytest.mark.parametrize(("model", "power"), [("true", 1.0), ("under", 0.5), ("over", 2.0)])
def test_bins_of_the_reliability_diagram(model, power):
    """Somebody else's bins of 1,000 rows drawn from default_rng(0): p from Dir(1, 1), then y = 0
    where a uniform is below p_0."""
    rng = np.random.default_rng(0)
    p = rng.dirichlet([1.0, 1.0], 1000)
    y = (rng.random(1000) > p[:, 0]).astype(int)
    q = p**power / (p**power).sum(axis=1, keepdims=True)
    bins = FirstClassBins()(q, y)["l1"].arrays
    golden = [row for row in rows("fig1_bins_seed0.csv") if row["model"] == model]
    for ours, theirs, error in (
        ("count", "count", 0.0),
        ("mean", "conf", 1e-12),
        ("share", "acc", 1e-12),
    ):
        assert np.allclose(
            [float(r[theirs]) for r in golden],
            bins[ours],
            rtol=0.0,
            atol=error,
        )


def exact(p):
    """The population values of Appendix A, as a cell has them."""
    law = Points((p, 1.0 - p), (0.3, 0.6), (0.5, 0.5))
    return PopulationMetrics()(np.full((9, 2), 0.5), np.zeros(9, dtype=int), problem=law)[
        "l1"
    ].diagnostics


@pytest.mark.parametrize("p", [0.05, 0.3, 0.5, 0.95])
def test_appendix_a_by_hand(p):
    """||d||^2 is 0.08 at the prediction 0.3 and 0.02 at 0.6; with a ridge each is shrunk by (w / (w
    + ridge))^2."""
    result = exact(p)
    assert result["CKCE"] == pytest.approx(0.1)
    assert (
        result["JKCE"]
        == pytest.approx(0.08 * p**2 + 0.02 * (1 - p) ** 2)
        == pytest.approx(0.1 * p**2 - 0.04 * p + 0.02)
    )
    assert result["ECE"] == pytest.approx(0.2 + 0.2 * p)
    for n in (100, 10**8):
        ridge = n**-0.25
        shrunk = 0.08 * (p / (p + ridge)) ** 2 + 0.02 * ((1 - p) / (1 - p + ridge)) ** 2
        assert result[f"CKCE, ridge of n = {n:,}"] == pytest.approx(shrunk)


def test_the_papers_line_for_ece_has_its_weights_exchanged():
    """Right at p = 1/2 alone; CKCE and JKCE are right everywhere."""
    result = appendix_a.printed()
    for metric, right in (("CKCE", True), ("JKCE", True), ("ECE", False)):
        p, values = (
            result.loc[result["column"].eq(metric), name].to_numpy() for name in ("p", "value")
        )
        agree = np.isclose(values, [exact(weight)[metric] for weight in p])
        assert agree.all() if right else agree.tolist() == np.isclose(p, 0.5).tolist()
    assert values == pytest.approx(0.2 + 0.2 * (1.0 - p))


@pytest.mark.slow
def test_population_values_are_limits_of_the_estimators():
    """60,000 rows with the ridge and bandwidth of the quadrature; four standard deviations of one
    draw are 8 %."""
    for location in (-0.5, 0.3):
        shift = CovariateShift(location)
        q, y = reduce(*shift.sample(60_000, np.random.default_rng(1)), "canonical")
        limits = PopulationMetrics()(q, y, problem=shift)["l1"]
        result = load_estimator("ckce", gamma=0.5, ridge=0.1)(q, y)["ckce"].value
        assert result == pytest.approx(limits.diagnostics["CKCE, ridge 0.1"], rel=0.08)
        x, w = shift.nodes(population_metrics.PIECES, population_metrics.THIRDS)
        limit = two_class_laws.jkce(
            w, expit(5 * x), expit(x), two_class_laws.linear_and_gaussian(0.5)
        )
        assert load_estimator("skce", gamma=0.5)(q, y)["skce"].value == pytest.approx(
            limit, rel=0.08
        )
        assert load_estimator("simplex_ece")(q, y)["l1"].value == pytest.approx(
            limits.diagnostics["ECE, thirds"], rel=0.08
        )
        assert limits.value == pytest.approx(shift.truth("l1").value, rel=1e-9)


def test_median_distance_of_a_law_on_two_points():
    """Distance 0 with probability w^2 + (1 - w)^2, sqrt(2) 0.3 otherwise."""
    p = np.array([0.3, 0.6])
    assert two_class_laws.median_distance(np.array([0.5, 0.5]), p) == 0.0
    assert two_class_laws.median_distance(np.array([0.49, 0.51]), p) == 0.0
    assert two_class_laws.median_distance(
        np.full(3, 1 / 3), np.array([0.0, 0.3, 0.6])
    ) == pytest.approx(0.3 * np.sqrt(2))


def test_accuracies_are_those_of_published_confidences():
    """Table 1 has the accuracy of DenseNet-40 from its confidences alone."""
    if not os.environ.get("CALHARNESS_DATA"):
        pytest.skip("CALHARNESS_DATA is not set")
    problem = load_problem("cifar10_densenet40_toplabel")
    p, y = problem.sample(problem.n_max, np.random.default_rng(0))
    assert load_estimator("accuracy")(p, y, None, notion="top_label")[
        "accuracy"
    ].value == pytest.approx(0.9242)


def record(experiment, problem, estimator, value, n, rep):
    return {
        "experiment": f"moskvichev2025_{experiment}", "problem": problem, "estimator": estimator,
        "n": n, "rep": rep, "estimand": claims.METRICS.get(estimator, "l1"), "value": value,
    }  # fmt: skip


def records_of(rows):
    return record_frame(rows, notion="canonical")


@pytest.mark.golden
def test_claims_on_trials_by_hand():
    """CKCE has every pair and set in order, JKCE none, ECE half of the trials."""
    order = {"ckce": 1, "skce": -1}
    rows = []
    for rep in range(12):
        sign = {**order, "simplex_ece": 1 if rep % 2 else -1}
        for n in (20, 100, 1000):
            for estimator, s in sign.items():
                for pair in claims.PAIRS.values():
                    rows += [
                        record("fig2", p, estimator, s * (0.1 + i + 0.001 * rep), n, rep)
                        for i, p in enumerate(pair)
                    ]
        for estimator, s in sign.items():
            for models in claims.SETS:
                rows += [
                    record("fig3_offline", p, estimator, s * float(i), 500, rep)
                    for i, p in enumerate(models)
                ]
    for estimator in order.keys() | {"simplex_ece"}:
        for models in claims.SETS:
            rows += [
                record("fig3_offline", p, estimator, float(i), 10_000, 0)
                for i, p in enumerate(models)
            ]
    records = records_of(rows).drop_duplicates("key")
    settings = compose(["experiment=moskvichev2025_claims"])
    trials = claims.networks(records[records["experiment"].str.endswith("fig3_offline")])
    assert trials["CKCE ranks networks more consistently than JKCE"].value == 1.0
    assert trials["CKCE ranks networks more consistently than ECE"].value == 0.5
    assert trials["JKCE misses the order nearly half of the time"].value == 1.0
    assert trials["The three metrics agree on all rows"].value == 1.0
    assert trials["CKCE is the best at finding the marginal model"].value == 0.5
    pairs = claims.synthetic_pairs(records[records["experiment"].str.endswith("fig2")])
    assert pairs["CKCE is more reliable than JKCE at small n"].value == 1.0
    assert pairs["CKCE is more reliable than ECE at small n"].value == 0.5
    assert (
        pairs["All three metrics tell the pairs apart at large n"].value == 0.0
    )  # the least of the metrics: JKCE
    verdicts = claims.summary(
        records[records["experiment"].str.endswith("fig3_offline")], settings
    ).set_index("claim")["verdict"]
    assert verdicts["CKCE ranks networks more consistently than JKCE"] == "holds"
    assert verdicts["CKCE ranks networks more consistently than ECE"] == "holds"
    assert verdicts["CKCE stays constant under covariate shift"] == "not reproducible here"


@pytest.mark.golden
def test_brightness_by_hand():
    """The first network is better in the light and the second in the dark, by CKCE and JKCE, in
    every seed."""
    rows = []
    for network, seed, percent in product(("a", "b"), range(12), (-50, 0, 50)):
        better = (network == "a") == (percent >= 0)
        for estimator in ("ckce", "skce"):
            value = (1.0 if better else 2.0) + 0.001 * seed * (network == "a")
            rows.append(
                record(
                    "fig4b_offline",
                    f"x/{network}_seed{seed}_brightness{percent:+d}",
                    estimator,
                    value,
                    1000,
                    0,
                )
            )
    result = claims.brightness(records_of(rows))
    assert result["CKCE prefers one network at every brightness"].low > 0.0
    assert result["CKCE hardly moves with the brightness"].value == pytest.approx(2.0, rel=0.01)
    assert result["JKCE prefers different networks by brightness"].low > 0.0


@pytest.mark.golden
def test_the_toy_models_claims_are_sums():
    """||d||^2 is 0.08 at weight p and 0.02 at 1 - p, shrunk by the ridge of n = 1,000; ECE = 0.2 +
    0.2 p."""
    p, ridge = np.linspace(0.05, 0.95, 19), 1000**-0.25
    shrunk = 0.08 * (p / (p + ridge)) ** 2 + 0.02 * ((1 - p) / (1 - p + ridge)) ** 2
    rows = []
    for weight in p:
        row = record("appendix_a", f"p{weight:.2f}", "population", 0.2 + 0.2 * weight, 10_000, 0)
        row |= {
            "problem_parameters": json.dumps({"weights": [weight, 1 - weight]}),
            "diagnostics": json.dumps(exact(weight)),
        }
        rows.append(row)
    result = claims.toy(records_of(rows))
    ratio = shrunk.max() / shrunk.min()
    assert result["CKCE without a ridge ignores the marginal law"].value == pytest.approx(1.0)
    assert result["CKCE as estimated ignores the marginal law"].value == pytest.approx(ratio)
    jkce = 0.08 * p**2 + 0.02 * (1 - p) ** 2
    assert result[
        "CKCE depends less on the marginal law than JKCE, toy model"
    ].value == pytest.approx(ratio / (jkce.max() / jkce.min()))
    assert result[
        "CKCE depends less on the marginal law than ECE, toy model"
    ].value == pytest.approx(ratio / (0.39 / 0.21))


def run(name, *overrides):
    experiment = Experiment.of(
        [f"experiment=moskvichev2025_{name}", "jobs=1", "engine=serial", *overrides]
    )
    experiment.compute(quiet=True)
    files, _, _ = drawing.render(experiment, experiment.records.read())
    assert all(f.is_file() and f.stat().st_size for f in files)
    table = pd.read_csv(experiment.identity.folder / "reproduction.csv").query(
        "experiment == @experiment.settings.name"
    )
    return table, verdicts.count(table)


@pytest.mark.slow
def test_figure_1_end_to_end(out):
    table, verdicts = run("fig1", "reps=3", "estimator=[ckce,skce,simplex_ece,ckce_features]")
    assert verdicts["not reproducible here"] == 0 and len(table) == 12
    assert table["verdict"].ne("differs").all()


@pytest.mark.slow
def test_figure_2_end_to_end(out):
    table, _ = run("fig2", "reps=5", "n=[20,50]", "estimator=[ckce,skce]")
    ours = table[table["ours"].notna()]
    assert len(ours) == 2 * 2 * (4 + 4) and ours["verdict"].ne("differs").all()
    share = ours[ours["row"].eq("marginal < under, n = 50") & ours["column"].eq("CKCE")]
    assert (
        share["ours"].item() == 1.0 and share["error"].item() > 0.0
    )  # five of five is no certainty


def ask(name, *overrides):
    """What the item itself answers, also where a variation changes what its numbers are of, so that
    rows are not compared."""
    experiment = Experiment.of(
        [f"experiment=moskvichev2025_{name}", "jobs=1", "engine=serial", *overrides]
    )
    experiment.compute(quiet=True)
    ours = importlib.import_module(f"harness.experiments.moskvichev2025.{name}").reproduced(
        experiment.records.read(), experiment.settings
    )
    table = reproduction.compare(
        ours, "moskvichev2025", experiment.settings.compare, experiment.settings.reasons
    )
    return table, verdicts.count(table)


@pytest.mark.slow
def test_figure_4a_end_to_end_at_three_locations(out):
    table, _ = ask(
        "fig4a", "reps=3", "problem.shift.count=3", "estimator=[ckce,simplex_ece]", "n=200"
    )
    exact = table[table["item"].eq("fig4a_population") & table["ours"].notna()]
    assert len(exact) == 3 * 6 and exact["verdict"].eq("identical").all()


@pytest.mark.slow
def test_appendix_a_end_to_end(out):
    table, verdicts = ask("appendix_a", "reps=2", "n=[100]")
    assert verdicts["not reproducible here"] == 0
    assert set(table.loc[table["verdict"].eq("differs"), "column"]) == {"ECE"}
    assert table.loc[table["verdict"].eq("differs"), "reason"].notna().all()
    assert table["item"].eq("appendix_a").sum() == 3


@pytest.mark.slow
def test_files_that_are_absent_leave_a_reason_in_every_row(out, monkeypatch):
    monkeypatch.setenv("CALHARNESS_DATA", str(out))
    for name, numbers in (("fig3", 0), ("table1", 5)):  # ImageNet's marginal model needs no file
        table, verdicts = run(name)
        assert table["ours"].notna().sum() == numbers
        assert table.loc[table["ours"].isna(), "reason"].str.len().gt(20).all()
        agree = (
            (3, 1) if numbers else (0, 0)
        )  # all but its ECE, 0 and not .003; CKCE is 0 against 0
        assert (verdicts["identical"], verdicts["no test"]) == agree


@pytest.mark.slow
def test_networks_end_to_end(out):
    if not os.environ.get("CALHARNESS_DATA"):
        pytest.skip("CALHARNESS_DATA is not set")
    table, _ = run("fig3_offline", "reps=20")
    assert table["verdict"].ne("differs").all() and table["ours"].notna().all()


def test_table_1_has_every_network_on_cifar_whose_test_outputs_are_packed():
    """Packs of validation parts and of published confidences, and Kull's own files, are others."""
    settings = compose(["experiment=moskvichev2025_table1_networks"])
    packs = yaml.safe_load((Path(__file__).parents[2] / "data" / "packs.yaml").read_text())
    expected = {
        name
        for name, pack in packs.items()
        if pack["path"].startswith("cifar_logits/cifar") and not name.endswith("_val")
    }
    assert len(expected) == 39
    assert set(settings.problem) == expected | {"cifar10_uniform", "trained_here"}
    assert {*settings.labels.problem} == expected | {
        "cifar10_uniform",
        "trained_here/preresnet20_epochs10_seed5/test",
    }


@pytest.mark.golden
def test_figure_2_draws_the_second_implementation_beside_ours():
    settings = compose(["experiment=moskvichev2025_fig2"])
    rows = [
        record("fig2", problem, estimator, float(i), n, rep)
        for n in (20, 50)
        for rep in range(2)
        for estimator in claims.METRICS
        for i, problem in enumerate(settings.problem)
    ]
    figure = fig2.render(records_of(rows), settings)
    assert [ax.get_title() for ax in figure.axes] == list(settings.ranking.orders)
    second = [line for line in figure.axes[0].lines if line.get_markerfacecolor() == "none"]
    assert len(second[0].get_xdata()) == 8 and len(second) == 4  # three metrics, and the legend's
    texts = [text.get_text() for text in figure.legends[0].get_texts()]
    assert texts == ["CKCE, ours", "JKCE, ours", "ECE, ours", fig2.SECOND]


@pytest.mark.golden
def test_table_1_tells_our_networks_from_the_papers():
    settings = compose(["experiment=moskvichev2025_table1_offline"])
    row = record("table1_offline", "cifar10_resnet20", "ckce", 0.0056, 10_000, 0)
    numbers, printed, models = table1.numbers_and_models(records_of([row]), settings)
    assert numbers["value"].tolist() == pytest.approx([0.056])
    assert models[-4:] == [
        f"CIFAR-10, {n} (paper)" for n in ("LeNet", "DenseNet", "ResNet", "Marginal")
    ]
    assert set(printed["model"]) == set(models[-4:])
    texts = [
        t.get_text() for t in table1.render(records_of([row]), settings).legends[0].get_texts()
    ]
    assert texts == ["the paper's networks, as printed", "other networks, computed here"]
