"""What people look at: evaluation, tables, paper against ours, figures, the page."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from browser import chromium

import harness
from harness.configure.compose import compose
from harness.configure.figure import Labels
from harness.configure.settings import Settings
from harness.errors import BadInputError
from harness.evaluation import missing, outcomes, reproduction, tables, verdicts
from harness.evaluation.latex import latex
from harness.figures import plots
from harness.pages.page import build_sections as sections
from harness.pages.templating import breakable, inline
from harness.workflow.experiment import Experiment


def frame(values, truth=0.5, low=None, high=None, status="ok", **more):
    n = len(values)
    return pd.DataFrame(
        {
            "key": [f"k{i}" for i in range(n)],
            "problem": "p",
            "notion": "binary",
            "n": 100,
            "rep": range(n),
            "estimator": "e",
            "estimator_key": "1",
            "problem_key": "2",
            "estimand": "l1",
            "value": values,
            "low": low if low is not None else np.nan,
            "high": high if high is not None else np.nan,
            "kind": "point",
            "status": status,
            "reason": None,
            "truth": truth,
            "truth_error": 0.0,
            "cpu_seconds": 0.1,
            **more,
        }
    )


def test_evaluate_closed_form():
    """Values 0.4, 0.6, 0.8 around a truth of 0.5.

    Bias 0.1, sd 0.2, rmse sqrt((0.01 + 0.01 + 0.09) / 3).
    """
    (row,) = harness.evaluate(frame([0.4, 0.6, 0.8])).to_dict("records")
    assert (
        row["reps"] == 3 and row["mean"] == pytest.approx(0.6) and row["sd"] == pytest.approx(0.2)
    )
    assert row["se"] == pytest.approx(0.2 / np.sqrt(3)) and row["bias"] == pytest.approx(0.1)
    assert row["rmse"] == pytest.approx(np.sqrt(0.11 / 3)) and np.isnan(row["coverage"])


def test_evaluate_coverage_of_intervals_and_one_sided_bounds():
    both = frame([0.5] * 4, low=[0.4, 0.6, 0.5, 0.1], high=[0.6, 0.7, 0.5, 0.2])
    assert harness.evaluate(both)["coverage"].item() == 0.5
    assert harness.evaluate(frame([0.5] * 4, high=[0.6, 0.4, 0.9, 0.51]))["coverage"].item() == 0.75
    assert harness.evaluate(frame([0.5] * 4, low=[0.6, 0.4, 0.3, 0.2]))["coverage"].item() == 0.75


def test_evaluate_invents_nothing_of_categories(monkeypatch):
    """Texts may be categories, as `load_records` gives them.

    Pandas before version 3 makes groups of all combinations of categories by default.
    """
    plain = pd.concat(
        [frame([0.4, 0.6]), frame([0.5]).assign(problem="q", problem_key="3", key="k")],
        ignore_index=True,
    )
    texts = plain.astype(
        {
            name: "category"
            for name in ("problem", "notion", "estimator", "estimand", "kind", "problem_key")
        }
    )
    groupby = pd.DataFrame.groupby
    monkeypatch.setattr(
        pd.DataFrame,
        "groupby",
        lambda self, by, **more: groupby(self, by, **{"observed": False, **more}),
    )
    pd.testing.assert_frame_equal(
        harness.evaluate(texts).astype(object), harness.evaluate(plain).astype(object)
    )


def test_evaluate_drops_nothing():
    parts = [
        frame([0.4, 0.6]),
        frame([np.inf], status="undefined").assign(key="u"),
        frame([np.nan] * 2, status="failed").assign(
            estimand=None, key=["f1", "f2"], reason="why", estimator="g", value=np.nan
        ),
        frame([np.nan], status="skipped").assign(
            estimand=None, key="s", reason="limit", n=9, value=np.nan
        ),
    ]
    table = harness.evaluate(pd.concat(parts, ignore_index=True))
    ok = table[table["status"] == "ok"]
    assert ok["reps"].item() == 2 and ok["undefined"].item() == 1
    rest = table[table["status"] != "ok"].set_index("status")
    assert (
        rest["cells"].to_dict() == {"failed": 2, "skipped": 1}
        and rest.loc["failed", "reason"] == "why"
    )
    assert len(harness.evaluate(parts[0].iloc[:0])) == 0


def test_one_rep_has_no_standard_error():
    assert np.isnan(harness.evaluate(frame([0.4]))["se"].item())


@pytest.fixture
def ours():
    return pd.DataFrame(
        {
            "item": "fig1",
            "row": ["Calibrated, n = 200"],
            "column": ["ECE (15 bins)"],
            "value": [0.0],
            "error": [0.001],
            "reps": [40],
        }
    )


def reported_value():
    r = reproduction.reported("berta2026", ["fig1"])
    return r[(r["row"] == "Calibrated, n = 200") & (r["column"] == "ECE (15 bins)")].iloc[0]


@pytest.mark.parametrize(
    ("off_by", "expected"),
    [
        (0.0, "identical"),
        (5e-10, "identical"),
        (1e-6, "within error"),
        (0.01, "within error"),
        (0.1, "differs"),
        (-0.1, "differs"),
    ],
)
def test_verdicts(ours, off_by, expected):
    r = reported_value()
    ours["value"] = r["value"] + off_by
    compared = reproduction.compare(ours, "berta2026", ["fig1"])
    row = compared[compared["row"].eq(r["row"]) & compared["column"].eq(r["column"])].iloc[0]
    assert row["verdict"] == expected and row["difference"] == pytest.approx(off_by, abs=1e-12)
    assert row["z"] == pytest.approx(row["difference"] / np.hypot(r["plus_minus"], 0.001))
    assert len(compared) == 180 and (compared["verdict"] == "not reproducible here").sum() == 179
    assert (
        compared.loc[compared["ours"].isna(), "reason"]
        .eq("this experiment does not compute this number")
        .all()
    )


def verdict(ours, reported=1.0, plus_minus=0.0, error=0.0, reps=np.inf, precision=0.0):
    """Return the verdict on a number of ours, against a reported mean over ten replications."""
    number = {
        "reported": reported, "plus_minus": plus_minus, "reported_reps": 10, "unit": "",
        "precision": precision, "ours": ours, "error": error, "reps": reps, "why": None,
        "difference": ours - reported, "low": np.nan, "high": np.nan,
    }  # fmt: skip
    return verdicts.judge(pd.DataFrame([number]), pd.Series([False]))["verdict"].item()


def test_within_error_is_welchs_t():
    """Ten runs each with equal errors s.

    18 degrees of freedom, the 0.1 % quantile 3.92 s sqrt 2.
    """
    for z, expected in ((3.91, "within error"), (3.94, "differs")):
        ours = 1.0 + z * 0.01 * np.sqrt(2)
        assert verdict(ours, plus_minus=0.01, error=0.01, reps=10) == expected


def test_printed_precision_counts_as_identical():
    """A number printed as 0.128: 0.1284 is identical, 0.1286 is not."""
    for ours, expected in ((0.1284, "identical"), (0.1286, "differs")):
        assert verdict(ours, 0.128, precision=0.001) == expected


def test_one_replication_is_not_judged(ours):
    """Without a Monte Carlo error of ours, only equality is judged."""
    for off_by, expected in ((0.0, "identical"), (0.5, "not reproducible here")):
        table = ours.assign(value=reported_value()["value"] + off_by, error=np.nan, reps=1)
        row = reproduction.compare(table, "berta2026", ["fig1"]).dropna(subset="ours").iloc[0]
        assert row["verdict"] == expected
    assert row[
        "reason"
    ] == "our number comes from one replication and has no Monte Carlo error" and np.isnan(row["z"])


def test_on_the_same_draws_only_equality_is_agreement(ours):
    table = ours.assign(value=reported_value()["value"] + 1e-6, reps=9)
    row = (
        reproduction.compare(table, "berta2026", ["fig1"], same_draws_as_paper=True)
        .dropna(subset="ours")
        .iloc[0]
    )
    assert (
        row["verdict"] == "differs"
        and row["reason"] == "the reported mean is over 10 runs, ours over 9"
    )


def test_why_a_number_is_missing(ours):
    """Each missing number has the reason of its own kind."""
    failed = pd.DataFrame(
        {
            "item": "fig1",
            "row": ["Calibrated, n = 264"],
            "column": ["ECE (15 bins)"],
            "why": ["failed: no memory"],
        }
    )
    both = pd.concat([ours, failed], ignore_index=True)
    compared = reproduction.compare(
        both, "berta2026", ["fig1"], {"Isotonic (CV)": "later"}, {"ECE (15 bins)"}
    ).set_index(["row", "column"])
    assert compared.loc[("Calibrated, n = 264", "ECE (15 bins)"), "reason"] == "failed: no memory"
    assert (
        compared.loc[("Calibrated, n = 350", "ECE (15 bins)"), "reason"] == "not part of this run"
    )
    assert compared.loc[("Calibrated, n = 350", "Isotonic (CV)"), "reason"] == "later"
    assert (
        compared.loc[("Calibrated, n = 350", "True value"), "reason"]
        == "this experiment does not compute this number"
    )


def test_two_numbers_for_one_label_are_refused(ours):
    with pytest.raises(BadInputError, match="unique"):
        reproduction.compare(pd.concat([ours, ours]), "berta2026", ["fig1"])
    with pytest.raises(BadInputError, match="item"):
        reproduction.compare(ours, "berta2026", ["fig99"])


def test_every_reported_row_is_asked_of_an_experiment_that_can_answer():
    """The labels of an experiment are those of the paper's reported numbers, and the reverse."""
    for name in (
        "berta2026_fig1",
        "berta2026_fig3",
        "berta2026_fig1_legacy",
        "berta2026_fig3_legacy",
    ):
        settings = compose([f"experiment={name}"])
        reported = reproduction.reported(settings.paper, settings.compare)
        ours = (
            set(settings.labels.estimator.values()) | {reproduction.TRUTH} | set(settings.reasons)
        )
        assert set(reported["column"]) <= ours
        panels = set(reported["row"].str.replace(r", n = .*", "", regex=True))
        assert panels == set(settings.labels.problem.values())
        assert set(settings.labels.problem) == set(settings.problem) and set(
            settings.labels.estimator
        ) == set(settings.estimator)


@pytest.mark.slow
def test_paper_experiment_end_to_end_on_few_reps(out, cli):
    """Three replications of berta2026_fig1 have a number beside each of the paper's. None
    differs.
    """
    code, text, _ = cli("experiment=berta2026_fig1", "reps=3", "n=[200,264]", "jobs=1", "name=few")
    assert code == 0 and "paper vs ours" in text
    table = pd.read_csv(out / "variations" / "few" / "reproduction.csv")
    assert (
        len(table) == 3 * 2 * 4
        and table["ours"].notna().all()
        and not table["verdict"].eq("differs").any()
    )
    cli(
        "experiment=berta2026_fig1_legacy",
        "reps=2",
        "n=[200]",
        "problem=[beta_shifted_legacy]",
        "jobs=1",
        "name=alone",
    )
    runs = pd.read_csv(out / "variations" / "alone" / "reproduction_runs.csv")
    assert (
        runs["verdict"].eq("identical").sum() == len(runs) == 2 * 9
    )  # eight estimators and the truth line, two seeds
    assert runs["difference"].abs().max() < 1e-12


def test_wide_table_has_the_papers_labels_and_says_what_is_missing(out):
    experiment = Experiment.of(["experiment=smoke", "n=[50,100]", "reps=2", "jobs=1"])
    experiment.compute(quiet=True)
    records = experiment.records.read()
    settings = replace(
        experiment.settings, labels=Labels({"beta_calibrated": "Calibrated"}, {"binned15": "ECE"})
    )
    wide = tables.wide(records, settings)
    assert list(wide.index.names) == ["problem", "notion", "n"]
    assert ("Calibrated", "binary", 50) in wide.index and "ECE" in wide.columns
    assert wide.loc[("dirichlet3_overconfident", "canonical", 100), "ECE"] == "skipped"
    assert re.fullmatch(r"\d\.\d{4} ± \d\.\d{4}", wide.loc[("Calibrated", "binary", 50), "ECE"])
    tex = latex(wide)
    assert (
        r"$\pm$" in tex
        and r"dirichlet3\_overconfident" in tex
        and r"\toprule" in tex
        and not re.search(r"(?<!\\)_", tex.split("\n", 1)[1].replace(r"\_", ""))
    )


def test_convergence_figure_shows_estimates_errors_truth_and_labels(out):
    experiment = Experiment.of(
        ["experiment=smoke", "problem=[beta_overconfident]", "reps=3", "jobs=1"]
    )
    experiment.compute(quiet=True)
    figure = plots.convergence(experiment.records.read(), experiment.settings)
    (ax,) = [a for a in figure.axes if a.get_visible()]
    assert (
        ax.get_xscale() == "log"
        and "calibration error" in ax.get_ylabel()
        and "samples" in ax.get_xlabel()
    )
    dashed = [line for line in ax.lines if line.get_linestyle() == "--"]
    assert dashed and dashed[0].get_ydata()[0] == pytest.approx(0.13715662074146, abs=1e-12)
    evaluated = harness.evaluate(experiment.records.read()).query(
        "estimator == 'binned15' and estimand == 'l1'"
    )
    drawn = next(c for c in ax.containers if c.get_label() == "binned15")
    np.testing.assert_array_equal(drawn[0].get_ydata(), evaluated["mean"])
    legend = {text.get_text() for text in figure.legends[0].get_texts()}
    assert {"binned15", "oracle", "true value"} <= legend


def test_page_is_self_contained_and_complete(result, cli):
    cli("experiment=berta2026_fig1", "reps=2", "n=[200]", "jobs=1")
    page = result(".html").read_text()
    assert not re.search(r'(src|href)="(https?:)?//', page) and "@import" not in page
    assert (
        page.count("<svg") == 1 and "prefers-color-scheme: dark" in page and "@media print" in page
    )
    assert (
        "Paper against ours" in page
        and "within error" in page
        and f"calharness {harness.__version__}" in page
    )
    assert "uncommitted" not in page and str(result(".html").parents[2]) not in page
    assert page.count("<tr>") >= 12
    for link in re.findall(r'<a href="([^"]+)"', page):
        assert (result(".html").parent / link).is_file()


def test_page_tells_the_papers_numbers_from_recomputed_ones():
    """The paper's own numbers, recomputed ones and claims are sections of their own.

    A cause is one line, and is never nan.
    """
    authors = {"item": "fig1", "column": "ECE (15 bins)", "source": "authors' data"}
    absent = {**authors, "verdict": "not reproducible here", "ours": np.nan, "reason": "no file"}
    agrees = {"row": "Calibrated, n = 200", "verdict": "within error", "error": 0.0034}
    recomputed = {"item": "fig3", "row": "of others", "column": "x", "verdict": "differs"}
    claim = {"item": "fig1", "row": "a claim", "column": "difference", "source": "claim"}
    rows = [
        {**authors, **agrees, "power": 0.03},
        {**absent, "row": "Calibrated, n = 264"},
        {**absent, "row": "Calibrated, n = 350"},
        {**recomputed, "source": "recomputed by independent code", "power": np.inf},
        {
            **claim,
            "verdict": "holds",
            "reason": "on three problems",
            "where": "ours",
            "unit": "above",
        },
    ]
    usual = {"reported": 0.06, "plus_minus": 0.01, "reps": 10, "difference": 0.0, "z": np.nan,
             "low": 0.2, "high": 0.4, "ours": 0.06, "error": np.nan, "power": np.nan,
             "reason": None, "where": None, "unit": None}  # fmt: skip
    claims, own, others = sections(pd.DataFrame([usual | row for row in rows]), "berta2026", None)
    assert claims["title"] == "What the paper concludes"
    assert claims["rows"][0]["reason"] == "on three problems"
    assert claims["rows"][0]["where"] == "ours"
    assert own["title"] == "Paper against ours"
    assert own["counts"] == [("authors' data", {"within error": 1, "not reproducible here": 2})]
    assert own["causes"] == [("1", 2, "no file")]
    assert [row["mark"] for row in own["rows"]] == ["", "1", "1"]
    assert own["rows"][0]["power_text"] == "± 3 %"
    assert others["title"] == "Against recomputed numbers"
    assert others["causes"] == [] and others["rows"][0]["power_text"] == "any"


def test_what_undefined_cells_say_is_whole_and_never_nan():
    long = "x" * 500
    outcome = frame([np.nan] * 3, status="skipped").assign(
        reason=[long, long, None], estimator=["a", "b", "c"]
    )
    lines = missing.causes(
        missing.without_number(outcome), Settings.from_dict({"labels": {"estimator": {"a": "A"}}})
    )
    assert sorted(lines) == [("skipped", ["A", "b"], 2, long), ("skipped", ["c"], 1, "")]


@pytest.mark.slow
def test_the_same_numbers_drawn_elsewhere_are_the_same_bytes(cli, tmp_path):
    """Page, figure and tables say nothing of when, where and how fast they were computed."""
    for folder in ("a", "b/c"):
        run = ["experiment=smoke", "problem=[beta_wavy]", "n=[60,120]", "reps=2", "jobs=1"]
        code, _, error = cli(*run, f"out={tmp_path / folder}")
        assert code == 0, error
    (first,), (second,) = ((tmp_path / folder / "variations").iterdir() for folder in ("a", "b/c"))
    names = sorted(path.name for path in first.iterdir())
    assert names == sorted(path.name for path in second.iterdir())
    assert {Path(name).suffix for name in names} >= {".html", ".csv", ".svg", ".png"}
    assert [
        name for name in names if (first / name).read_bytes() != (second / name).read_bytes()
    ] == []


def test_page_escapes_what_it_shows(result, cli, module):
    module("angry", "def f(p, y):\n    raise ValueError('<script>alert(1)</script>')\n")
    cli(
        "problem=beta_wavy",
        "n=50",
        "reps=1",
        "estimator=[binned15]",
        "jobs=1",
        "+estimator.f._target_=angry.f",
    )
    page = result(".html").read_text()
    assert "<script>alert" not in page and "&lt;script&gt;alert" in page


def test_reproduced_numbers_name_their_cells(ours, tmp_path):
    cell = {"notion": "binary", "n": 200, "estimator": "e"}
    frame_ = pd.DataFrame([{**cell, "key": f"k{i}", "problem": f"a_seed{i}"} for i in range(2)])
    ours["keys"] = [("k0", "k1")]
    compared = reproduction.compare(ours, "berta2026", ["fig1"], records=frame_)
    mine = compared[compared["ours"].notna()].iloc[0]
    assert (mine["cells"], mine["of"]) == (2, "a_seed* | binary | n = 200 | e")
    assert compared.loc[compared["ours"].isna(), "of"].eq("").all()
    files = outcomes.save_comparison(compared, "berta2026_fig1", tmp_path)
    assert [path.name for path in files] == ["reproduction.csv", "reproduction_cells.parquet"]
    cells = pd.read_parquet(files[1])
    assert cells[["experiment", "row", "key"]].drop_duplicates().to_numpy().tolist() == [
        ["berta2026_fig1", ours["row"][0], "k0"],
        ["berta2026_fig1", ours["row"][0], "k1"],
    ]
    outcomes.save_comparison(compared, "berta2026_fig3", tmp_path)
    # Takes the place of its own rows alone.
    outcomes.save_comparison(compared, "berta2026_fig1", tmp_path)
    assert pd.read_parquet(files[1])["experiment"].value_counts().to_dict() == {
        "berta2026_fig1": 2,
        "berta2026_fig3": 2,
    }


def test_small_formatting():
    scaled = '<svg style="max-width: 60pt; min-width: 36pt" viewBox="0 0 3 2"></svg>'
    assert inline('<?xml?>\n<svg height="20pt" width="30pt" viewBox="0 0 3 2"></svg>') == scaled
    assert 'role="img" aria-labelledby="caption"' in inline(
        '<svg width="30pt" viewBox="0 0 3 2"></svg>', "caption"
    )
    assert breakable("a_b <i> `c`") == "a_<wbr>b &lt;i&gt; <code>c</code>"


@pytest.mark.slow
def test_chromium_shows_the_page_without_errors(result, cli):
    """The page asks nothing of other hosts. Nothing is wider than the window, no text is cut."""
    cli("experiment=berta2026_fig1", "reps=2", "n=[200,264]", "jobs=1")
    cut = """[...document.querySelectorAll("td, th, p, li, dd, h1")]
        .filter(e => e.clientWidth > 1 && e.scrollWidth > e.clientWidth + 1).length"""
    with chromium() as browser:
        for size in ("desk", "phone"):
            with browser.opened(result(".html"), size) as seen:
                seen.assert_quiet()
                assert seen.overflow() <= 0 and seen.page.evaluate(cut) == 0, size
