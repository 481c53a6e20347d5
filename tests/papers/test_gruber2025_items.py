"""gruber2025's figures and tables: the risk curve in closed form, and what the render modules make
of records."""

import json
import os

import numpy as np
import pandas as pd
import pytest
from harness.experiments.gruber2025 import estimates, fig1, risk_table, runtime, tuned
from harness.experiments.gruber2025.risk_curve import candidate
from harness.experiments.gruber2025.saturated_share import SaturatedShare
from record_frames import record_frame
from slow_params import slow

import harness
from harness import BadInputError
from harness.common.paths import EXPERIMENTS
from harness.configure.compose import compose
from harness.configure.settings import Settings
from harness.evaluation import reproduction
from harness.workflow.experiment import Experiment

REPORTED = pd.read_csv(EXPERIMENTS / "gruber2025" / "reported.csv")
TRUTH = 0.06329356262852  # squared calibration error of the simulation, by quadrature


class Given:
    """A problem whose posterior is a table: row i of p is answered by row i."""

    classes = 2

    def __init__(self, c):
        self.c = np.asarray(c, dtype=float)

    def posterior(self, p):
        return self.c


def curve(p, y, c, **fields):
    return harness.load_estimator("risk_curve", **fields)(
        np.asarray(p, dtype=float), np.asarray(y), None, Given(c)
    )["l2_squared"]


# The estimator


def test_two_points_by_hand():
    """p = (1/2, 1/2) twice, y = 0, 1: <u, u'> = -1/2. C = (4/5, 1/5): v_1 = (-0.3, 0.3), h = 0.18,
    risk 0.68^2; at t = 1/2 C^t is (2/3, 1/3), h = 1/18, risk (10/18)^2, which is less."""
    results = curve([[0.5, 0.5]] * 2, [0, 1], [[0.8, 0.2]] * 2, low=-1.0, high=1.0, per_octave=1)
    assert results.arrays["theta"].tolist() == [0.5, 1.0]
    assert results.arrays["risk"] == pytest.approx([(10 / 18) ** 2, 0.68**2])
    assert results.diagnostics == {"theta": 0.5, "risk": results.arrays["risk"][0]}
    assert results.value == pytest.approx(1 / 18)


def test_candidates_are_differences_of_probabilities_whatever_the_scale_of_c():
    p, c = (
        np.array([[0.2, 0.3, 0.5], [1.0, 0.0, 0.0]]),
        np.array([[0.1, 0.1, 0.8], [0.5, 0.5, 0.0]]),
    )
    v = candidate(p, c, 3.0)
    np.testing.assert_allclose(v.sum(axis=1), 0.0, atol=1e-15)
    np.testing.assert_allclose(candidate(p, 7.0 * c, 3.0), v, atol=1e-15)
    np.testing.assert_allclose(candidate(p, c, 1.0), p - c, atol=1e-15)


def test_the_grid_is_the_papers():
    """2^-5, 2^-4.95, ..., 2^4.95."""
    t = harness.load_estimator("risk_curve").exponents()
    assert len(t) == 200 and (t[0], t[100]) == (2.0**-5, 1.0) and t[-1] == pytest.approx(2.0**4.95)
    names = set(REPORTED.loc[REPORTED["item"].eq("fig1_authors_code"), "row"])
    assert names == {f"theta = {x:.6g}" for x in t}


def test_powers_of_a_posterior_with_tiny_entries_keep_their_rows():
    results = curve([[0.5, 0.5]] * 3, [0, 1, 1], [[1.0, 1e-300]] * 3, low=4.0, high=5.0)
    assert np.isfinite(results.arrays["risk"]).all() and np.isfinite(results.value)


@pytest.mark.parametrize(
    "fields", [{"low": 1.0, "high": 1.0}, {"per_octave": 0}, {"per_octave": 1.5}]
)
def test_a_grid_without_points_is_refused(fields):
    with pytest.raises(BadInputError, match="low below high"):
        harness.load_estimator("risk_curve", **fields)


def test_without_a_posterior_there_is_no_curve():
    with pytest.raises(BadInputError, match="posterior"):
        harness.load_estimator("risk_curve")(np.full((2, 2), 0.5), np.array([0, 1]), None, object())


@pytest.mark.slow
def test_one_large_sample_finds_the_truth_and_the_exact_curve():
    """50,000 draws: argmin within two grid steps of 1, every risk within 2.5 % of the population's,
    the error within 3 %."""
    problem = harness.load_problem("simplex5_gruber2025")
    p, y = problem.sample(50_000, np.random.default_rng(3))
    results = harness.load_estimator("risk_curve")(p, y, None, problem)["l2_squared"]
    _, exact = fig1.exact_risk()
    np.testing.assert_allclose(results.arrays["risk"], exact, rtol=0.025)
    assert abs(np.log2(results.diagnostics["theta"])) < 0.11
    assert results.value == pytest.approx(TRUTH, rel=0.03)


def test_the_exact_curve_has_its_least_value_at_1_and_a_second_valley():
    """R(1) = (B^2 - CE^4) / 4 with Brier score B = 0.196626895962; at theta = 0.3 v is 0 and the
    risk B^2 / 4."""
    (theta, exact), brier = fig1.exact_risk(), 0.19662689596185
    assert theta[exact.argmin()] == pytest.approx(1.0)
    assert exact.min() == pytest.approx(
        (brier**2 - TRUTH**2) / 4, rel=2e-4
    )  # the file is good to 1e-4
    np.testing.assert_allclose(exact[(0.29 <= theta) & (theta <= 0.31)], brier**2 / 4, rtol=2e-4)
    assert theta[exact == exact[theta < 0.3].min()] == pytest.approx([0.159], abs=0.003)


# Figure 1


@pytest.mark.slow
def test_figure_1_end_to_end(out, result, cli, monkeypatch):
    monkeypatch.setattr(
        "harness.problems.tempered_truths.POINTS", 10
    )  # a rough truth is enough here
    code, _, err = cli("experiment=gruber2025_fig1", "reps=8", "jobs=1")
    assert code == 0, err
    (compared,) = (out / "variations").glob("*/reproduction.csv")
    table = pd.read_csv(compared)
    assert len(table) == 271
    assert table["verdict"].isin(["identical", "within error", "no test"]).mean() > 0.9
    assert result(".png").stat().st_size > 20_000


def test_figure_1_reads_between_the_candidates():
    """Linear in log theta: half way between two candidates the mean of their risks."""
    curves = [{"theta": np.array([0.01, 100]), "risk": np.array([a, 3.0])} for a in (1.0, 2.0)]
    rows = {
        "status": "ok",
        "estimand": "l2_squared",
        "rep": [0, 1],
        "arrays": curves,
    }
    results = fig1.reproduced(
        pd.DataFrame(rows),
        Settings.from_dict({"paper": "gruber2025", "compare": ["fig1_authors_code"]}),
    ).set_index("row")
    at_one = results.loc["theta = 1"]
    assert at_one["value"] == pytest.approx((2.0 + 2.5) / 2)
    assert at_one["error"] == pytest.approx(0.25)
    assert at_one["reps"] == 2


# The tables


PUBLISHED, SAME, OWN = "tuned_kde_gruber2025", "tuned_kde_split_gruber2025", "tuned_kde"
NETWORK, ABSENT = "cifar10_densenet40_toplabel_gruber2025", "cifar10_lenet5_kull_gruber2025"


@pytest.fixture(scope="module")
def settings():
    return compose(["experiment=gruber2025_table1"])


def record(estimator, problem=NETWORK, status="ok", reason=None, cpu=1.0, folds=5, **parts):
    row = {
        "problem": problem, "estimator": estimator, "status": status, "reason": reason,
        "estimator_parameters": json.dumps({"folds": folds}), "cpu_seconds": cpu,
    }  # fmt: skip
    if status != "ok":
        return {**row, "estimand": None}
    usual = {"root_risk": 0.1370, "root_risk_se": 0.0027, "rms_sd": 0.01, "choice": 6}
    diagnostics = json.dumps({**usual, "dropped_share": 0.5, **parts})
    return {**row, "estimand": "rms", "value": 0.146, "diagnostics": diagnostics}


def frame(*records):
    return record_frame(records, notion="top_label", n=10_000)


def test_the_end_of_a_label_names_the_variant(settings):
    assert tuned.base_and_kind("kde") == ("kde", "as published")
    assert tuned.base_and_kind("15 bins, corrected") == ("15 bins", "corrected")
    assert tuned.base_and_kind("kkr, own split") == ("kkr", "corrected, own split")
    kinds = [tuned.base_and_kind(text) for text in settings.labels.estimator.values()]
    assert {base for base, _ in kinds} == set(tuned.BASES) and len(set(kinds)) == len(kinds) == 17
    assert tuned.base_and_kind("ukkr, float32's ridge") == ("ukkr", tuned.RIDGE)


def test_only_the_published_variant_answers_for_the_paper_and_in_units_of_a_hundredth(settings):
    ours = risk_table.reproduced(
        frame(record(PUBLISHED), record(SAME, root_risk=0.06), record(OWN, root_risk=0.05)),
        settings,
    )
    results = reproduction.compare(
        ours, "gruber2025", ["table1"], settings.reasons, (), same_draws_as_paper=True
    ).set_index(["row", "column"])
    kde = results.loc[("DenseNet-40", "kde")]
    assert (kde["reported"], kde["verdict"], kde["reps"]) == (13.7, "identical", 5)
    assert kde["ours"] == pytest.approx(13.70)
    assert results.loc[("DenseNet-40", "kde (standard error)"), "verdict"] == "identical"
    assert results["ours"].notna().sum() == 2


def test_a_paired_number_that_differs_says_why(settings):
    ours = risk_table.reproduced(frame(record(PUBLISHED, root_risk=0.1374)), settings)
    results = reproduction.compare(
        ours, "gruber2025", ["table1"], settings.reasons, (), same_draws_as_paper=True
    ).set_index(["row", "column"])
    assert results.loc[("DenseNet-40", "kde"), ["verdict", "reason"]].to_list() == [
        "differs",
        settings.reasons["kde"],
    ]


def test_an_absent_file_is_the_reason_of_all_its_rows(settings):
    lost = record(PUBLISHED, problem=ABSENT, status="skipped", reason="no file x; fetch y")
    results = reproduction.compare(
        risk_table.reproduced(frame(record(PUBLISHED), lost), settings), "gruber2025", ["table1"]
    )
    lenet = results[
        results["row"].eq("LeNet-5") & results["column"].isin(["kde", "kde (standard error)"])
    ]
    assert lenet["reason"].to_list() == ["skipped: no file x; fetch y"] * 2
    assert set(results.loc[results["ours"].isna(), "verdict"]) == {"not reproducible here"}
    assert len(risk_table.render(frame(record(PUBLISHED), lost), settings).axes) == 5


@pytest.mark.parametrize("module", [*slow(risk_table), estimates], ids=["risk_table", "estimates"])
def test_without_any_file_the_papers_numbers_stand_alone(module):
    settings = compose([f"experiment=gruber2025_{'table2' if module is risk_table else 'fig2b'}"])
    nothing = frame(
        record(
            PUBLISHED,
            problem="cifar100_lenet5_kull_gruber2025",
            status="skipped",
            reason="no file x",
        )
    )
    results = reproduction.compare(
        module.reproduced(nothing, settings),
        "gruber2025",
        settings.compare,
        {},
        (),
        settings.same_draws_as_paper,
    )
    assert len(results) and set(results["verdict"]) == {"not reproducible here"}
    assert "skipped: no file x" in set(results["reason"])
    assert module.render(nothing, settings).axes
    assert list(module.table(nothing, settings).columns) == ["paper"]
    assert len(module.summary(nothing, settings)) == 0


@pytest.mark.slow
def test_other_networks_are_shown_and_never_judged():
    offline = compose(["experiment=gruber2025_table1_offline"])
    ours = risk_table.reproduced(frame(record(PUBLISHED, problem="cifar10_lenet5")), offline)
    results = reproduction.compare(ours, "gruber2025", ["table1"])
    assert set(results["verdict"]) == {"not reproducible here"} and results["ours"].isna().all()
    assert set(results["reason"]) == {offline.reasons["other networks"]}
    names = set(REPORTED["row"])
    for experiment in (
        e
        for e in harness.list_experiments()
        if e.startswith("gruber2025_") and e.endswith("_offline")
    ):
        assert not names & set(compose([f"experiment={experiment}"]).labels.problem.values()), (
            experiment
        )


@pytest.mark.skipif(
    not os.environ.get("CALHARNESS_DATA"),
    reason="CALHARNESS_DATA, the folder of data files, is not set",
)
def test_table_1_shows_the_cost_of_saturation(settings):
    """5,599 of DenseNet-40's 10,000 confidences are exactly 1: the root risk without that factor is
    13.70 (1 - 0.5599) = 6.03."""
    problem = harness.load_problem(NETWORK)
    p, y = harness.reduce(*problem.sample(10_000, np.random.default_rng(0)), "top_label")
    share = SaturatedShare()(p, y)["accuracy"]
    assert (share.value, share.diagnostics["saturated_share"]) == (pytest.approx(0.9242), 0.5599)
    saturated = {
        **record("saturated_share", **share.diagnostics),
        "estimand": "accuracy",
        "value": share.value,
    }
    table = risk_table.table(
        frame(record(PUBLISHED), record(SAME, root_risk=0.0609, root_risk_se=0.0012), saturated),
        settings,
    )
    kde = table.loc[("DenseNet-40", "kde")]
    assert (kde["paper"], kde["as published"], kde["corrected"]) == (
        "13.70 ± 0.27",
        "13.70 ± 0.27",
        "6.09 ± 0.12",
    )
    assert (kde["q"], kde["1 / (1 - q)"], kde["as published × (1 - q)"]) == (
        "0.5599",
        "2.272",
        "6.03",
    )
    assert table.loc[("LeNet-5", "kkr"), ["paper", "as published"]].to_list() == [
        "14.96 ± 0.31",
        "–",
    ]


@pytest.mark.skipif(
    not os.environ.get("CALHARNESS_DATA"),
    reason="CALHARNESS_DATA, the folder of data files, is not set",
)
@pytest.mark.parametrize(
    ("table", "images", "differing"),
    [("table1", "cifar10", set()), ("table2", "cifar100", {"kkr"})],
)
def test_tables_1_and_2_digit_by_digit_on_the_published_files(out, table, images, differing):
    """Means and standard errors of two networks are the printed ones: the file's order is the
    pickle's. Kernel ridge has the ridge that float32 chose; noise is part of kkr in Table 2."""
    networks = [f"{images}_{name}_toplabel_gruber2025" for name in ("densenet40", "resnet110")]
    estimators = [
        "binned15_gruber2025",
        "tuned_binned_gruber2025",
        "tuned_kkr_gruber2025",
        "kkr_float32_ridge_gruber2025",
        "ukkr_float32_ridge_gruber2025",
    ]
    experiment = Experiment.of(
        [
            f"experiment=gruber2025_{table}",
            f"problem=[{','.join(networks)}]",
            f"estimator=[{','.join(estimators)}]",
            "jobs=1",
        ]
    )
    experiment.compute(quiet=True)
    ours = risk_table.reproduced(experiment.records.read(), experiment.settings)
    results = reproduction.compare(ours, "gruber2025", [table], {}, (), same_draws_as_paper=True)
    mine = results[results["ours"].notna()].assign(
        base=lambda rows: rows["column"].str.removesuffix(risk_table.ERROR)
    )
    differs = mine["base"].isin(differing)
    assert len(mine) == 16 and mine.loc[~differs, "verdict"].eq("identical").all()
    assert mine.loc[differs, "verdict"].eq("differs").all()


# Figures of estimates, and costs


@pytest.mark.slow
def test_the_figures_read_the_same_cells_as_the_tables():
    for figure, table in (
        ("fig2a", "table1"),
        ("fig2b", "table2"),
        ("fig4", "table3"),
        ("fig5a", "table4"),
        ("fig5b", "table5"),
    ):
        for end in ("", "_offline"):
            a, b = (
                Experiment.of([f"experiment=gruber2025_{name}{end}"]).plan
                for name in (figure, table)
            )
            assert {c.key for c in a.cells} <= {c.key for c in b.cells}, figure


@pytest.mark.slow
def test_estimates_are_compared_in_their_own_unit_with_the_reading_error_alone():
    """kde of DenseNet-40 reads 0.14605 +- 0.00026: 0.146 is within error, and so are its folds no
    Monte Carlo error."""
    settings = compose(["experiment=gruber2025_fig2a"])
    records = frame(record(PUBLISHED))
    results = reproduction.compare(
        estimates.reproduced(records, settings), "gruber2025", ["fig2a"]
    ).set_index(["row", "column"])
    kde = results.loc[("DenseNet-40", "kde")]
    assert (kde["verdict"], kde["error"], kde["plus_minus"]) == ("within error", 0.0, 0.00026)
    far = frame({**record(PUBLISHED), "value": 0.149})
    results = reproduction.compare(
        estimates.reproduced(far, settings), "gruber2025", ["fig2a"]
    ).set_index(["row", "column"])
    assert results.loc[("DenseNet-40", "kde"), "verdict"] == "differs"
    entry = estimates.table(records, settings).loc[("DenseNet-40", "kde")]
    assert entry["as published"] == "0.1460 ± 0.0100"
    assert entry["as published × √(1 - q)"] == f"{0.146 * 0.5**0.5:.4f}"
    higher = {**record(SAME), "value": 0.3}
    axes = estimates.render(frame(record(PUBLISHED), higher), settings).axes
    assert (
        len(axes) == 2 and axes[1].get_ylim()[0] == 0.0 and axes[1].get_ylim()[1] > 0.3
    )  # no point of either panel is cut off


def test_seconds_are_means_over_networks_and_never_judged():
    settings = compose(["experiment=gruber2025_fig3"])
    names = ["tuned_binned_gruber2025", PUBLISHED, "tuned_kkr_gruber2025", "tuned_ukkr_gruber2025"]
    rows = [
        record(name, cpu=cpu, problem=p)
        for name in names
        for p, cpu in ((NETWORK, 2.0), ("cifar10_resnet110_toplabel_gruber2025", 4.0))
    ]
    results = reproduction.compare(
        runtime.reproduced(frame(*rows), settings), "gruber2025", ["fig3"]
    ).set_index("row")
    assert results.loc["kkr", "ours"] == 3.0 and results.loc["all of them", "ours"] == 12.0
    assert set(results["verdict"]) == {"not reproducible here"}
    assert settings.reasons["seconds"] in set(results["reason"])
    assert runtime.table(frame(*rows), settings).loc["kde", "as published"].item() == "3"
    assert runtime.render(frame(*rows), settings).axes


# The reported numbers
