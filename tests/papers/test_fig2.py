"""Figure 2 and Table 2 of berta2026: over- and underconfidence, in closed form and through a small
run."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from harness.experiments.berta2026 import fig2, table2
from record_frames import record_frame

import harness
from harness.common.seeds import data_rng
from harness.configure.compose import compose
from harness.evaluation import reproduction
from harness.workflow.experiment import Experiment

FAITHFUL, PLAIN = "variational_catboost_ws_berta2026", "variational_catboost_ws"
VALUES = {"l1_over": [0.12, 0.14], "l1_under": [-0.003, 0.001], "l1": [0.117, 0.141]}


@pytest.fixture(scope="module")
def settings():
    return compose(["experiment=berta2026_table2"])


def records(values=VALUES, estimator=FAITHFUL, n=5000, **more):
    """Return two replications on the overconfident problem; its truths are 0.1287 and 0."""
    rows = [
        {"estimand": name, "rep": rep, "value": value, "truth": 0.0 if "under" in name else 0.1287}
        for name, results in values.items()
        for rep, value in enumerate(results)
    ]
    common = {"problem": "beta_overconfident_centred", "estimator": estimator, "truth_error": 0.0}
    return record_frame(rows, n=n, **common, **more)


def test_table_2_clips_the_mean_beside_the_plain_one(settings):
    """Underconfidence -0.003 and 0.001: mean -0.001 +- 0.002; the paper prints such means as
    0.000."""
    table = table2.table(records(), settings)
    under = table.loc[("Over-confident", "under")]
    assert under["WS CatBoost"] == "-0.0010 ± 0.0020"
    assert under["WS CatBoost, clipped"] == "0.000" == under["paper"]
    over = table.loc[("Over-confident", "over")]
    assert (over["truth"], over["paper"], over["WS CatBoost"]) == (
        "0.1287",
        "0.128",
        "0.1300 ± 0.0100",
    )
    assert list(table.index) == [("Over-confident", part) for part in ("over", "under", "total")]


def test_only_the_printed_table_is_compared_clipped(settings):
    asked = replace(settings, compare=["table2", "over_under"])
    ours = table2.reproduced(records(), asked).set_index(["item", "row", "column"])["value"]
    row, column = "Over-confident, under", "WS CatBoost"
    assert ours["table2", row, column] == 0.0
    assert ours["over_under", row, column] == pytest.approx(-0.001)
    results = reproduction.compare(table2.reproduced(records(), asked), "berta2026", asked.compare)
    results = results.set_index(["item", "row", "column"])
    assert results.loc[("table2", row, column), ["verdict", "difference"]].to_list() == [
        "no test",
        0.0,
    ]  # 0 against a printed 0
    unclipped = results.loc[("over_under", row, column)]
    assert (
        unclipped["verdict"] == "no test" and abs(unclipped["z"]) < 2
    )  # it agrees with a number that is 0 within its error
    assert results.loc[("over_under", "Over-confident, total", "True value"), "ours"] == 0.1287


def test_another_estimator_or_sample_size_does_not_answer_for_the_paper(settings):
    ours = table2.reproduced(pd.concat([records(estimator=PLAIN), records(n=500)]), settings)
    results = reproduction.compare(ours, "berta2026", settings.compare)
    assert results.loc[results["column"].eq("WS CatBoost"), "ours"].isna().all()
    assert "WS CatBoost (our default)" in set(ours["column"])


def test_a_cell_without_a_number_leaves_its_reason(settings):
    lost = records({"l1": [np.nan]}, status="failed", reason="Traceback\nMemoryError: no").assign(
        estimand=None
    )
    results = reproduction.compare(table2.reproduced(lost, settings), "berta2026", settings.compare)
    assert set(results.loc[results["row"].str.startswith("Over-conf"), "reason"].dropna()) >= {
        "failed: MemoryError: no"
    }
    assert table2.table(lost, settings)["WS CatBoost"].to_list() == ["failed"] * 3
    assert table2.render(lost, settings).axes


@pytest.mark.parametrize(
    ("name", "over", "under"),
    [
        ("beta_overconfident_centred", 0.12865953547, 0.0),
        ("beta_underconfident_centred", 0.0, 0.12757175442),
        ("beta_mixed", 0.064329767735, 0.06378587721),
    ],
)
def test_true_parts_of_the_three_problems(name, over, under):
    """The mixed problem is the overconfident one below 1/2 and the underconfident one above: half
    of either."""
    problem = harness.load_problem(name)
    assert problem.truth("l1_over").value == pytest.approx(over, abs=1e-9)
    assert problem.truth("l1_under").value == pytest.approx(under, abs=1e-9)
    assert problem.truth("l1").value == pytest.approx(over + under, abs=1e-9)


@pytest.mark.slow
def test_figure_2_draws_500_points_of_the_true_map_and_every_number_of_table_2(out):
    experiment = Experiment.of(
        [
            "experiment=berta2026_fig2",
            "estimator=[variational_isotonic]",
            "n=500",
            "reps=3",
            "jobs=1",
        ]
    )
    experiment.compute(quiet=True)
    figure = fig2.render(experiment.records.read(), experiment.settings)
    above, below = figure.axes[:3], figure.axes[3:]
    assert [ax.get_title() for ax in above] == ["Over-confident", "Under-confident", "Both"]
    identity, points = above[1].lines
    f, c = points.get_data()
    problem = harness.load_problem("beta_underconfident_centred")
    key = experiment.plan.problems["beta_underconfident_centred"].key
    assert list(f) == list(
        problem.sample(500, data_rng(experiment.settings.seed, key, 0))[0]
    )  # those of replication 0
    assert len(f) == 500 and list(identity.get_xdata()) == list(identity.get_ydata()) == [0, 1]
    np.testing.assert_allclose(c, f**4 / (f**4 + (1 - f) ** 4), atol=1e-12)  # sigma(4 logit f)
    table = table2.numbers(experiment.records.read(), experiment.settings)
    for ax, problem in zip(below, experiment.settings.problem):
        drawn = [
            x
            for c in ax.containers
            if c.get_label() == "variational_isotonic"
            for x in c[0].get_xdata()
        ]
        assert drawn == table.loc[table["problem"] == problem, "mean"].to_list()
    assert [t.get_text() for t in below[0].get_yticklabels()] == ["over", "under", "total"]


@pytest.mark.slow
def test_table_2_end_to_end(out, result, cli):
    """Two replications of the paper's experiment: every number has a verdict, nothing differs."""
    code, text, err = cli(
        "experiment=berta2026_table2",
        "reps=2",
        "estimator=[variational_catboost_ws_berta2026]",
        "jobs=1",
    )
    assert code == 0, err
    (compared,) = (out / "variations").glob("*/reproduction.csv")
    table = pd.read_csv(compared)
    assert len(table) == 12
    assert table["ours"].notna().all()
    assert not table["verdict"].eq("differs").any()
    tex = result(".tex").read_text()
    assert "WS CatBoost" in tex and "clipped" in tex and r"$\pm$" in tex
