"""Variations write their own results; only an experiment as configured writes committed results."""

import json

import pandas as pd
import pytest
from sweep_runs import BASE, BINS

from harness.evaluation import papers
from harness.figures import sweep_plots
from harness.records import plan_records
from harness.workflow import drawing
from harness.workflow.experiment import Experiment

FIG1 = ("experiment=berta2026_fig1", "jobs=1")
SMALL = (*FIG1, "n=[200]", "reps=2")


@pytest.fixture
def ledger(out):
    """Make a folder with a paper's results. Return a function that tests if they are unchanged."""
    folder = out / "berta2026"
    folder.mkdir(parents=True)
    files = {
        folder / name: f"committed {name}"
        for name in ("fig1.png", "fig1.csv", "fig1.html", "reproduction.csv")
    }
    for path, text in files.items():
        path.write_text(text)
    return lambda: (
        sorted(folder.iterdir()) == sorted(files)
        and all(p.read_text() == text for p, text in files.items())
    )


def folders(out):
    return sorted(path.name for path in (out / "variations").iterdir())


@pytest.mark.slow
def test_a_variation_writes_nothing_of_the_papers(cli, out, ledger):
    code, text, _ = cli(*SMALL, "seed=1")
    assert code == 0 and ledger()
    assert "a variation of berta2026_fig1 (n, reps, seed); its results go to" in text
    (name,) = folders(out)
    files = {path.name for path in (out / "variations" / name).iterdir()}
    assert {f"{name}{end}" for end in (".png", ".csv", ".html", ".tex", ".json")} <= files
    description = json.loads((out / "variations" / name / f"{name}.json").read_text())
    assert description["experiment"] == "berta2026_fig1"
    assert description["differs"]["reps"] == [40, 2]
    page = (out / "variations" / name / f"{name}.html").read_text()
    assert (
        "Settings that differ from berta2026_fig1" in page and '<td class="left">seed</td>' in page
    )
    assert (
        page.count("A variation of berta2026_fig1: n=[200], reps=2, seed=1") == 2
    )  # title and heading
    paper = papers.find("berta2026")
    assert paper.asks in page and not any(text in page for text in (paper.here, paper.claims))


@pytest.mark.slow
def test_other_samples_are_compared_with_the_paper_in_a_file_of_their_own(cli, out, ledger):
    _, text, _ = cli(*SMALL)
    assert "paper vs ours" in text and ledger()
    (table,) = (out / "variations").glob("*/reproduction.csv")
    compared = pd.read_csv(table)
    assert (
        compared["ours"].notna().all()
        and compared["row"].str.endswith("n = 200").all()
        and len(compared) == 12
    )


@pytest.mark.slow
def test_other_estimators_are_compared_with_nothing_and_drawn(cli, out, ledger):
    """The chosen estimators are drawn, not those that the experiment's figure names."""
    code, text, _ = cli(*SMALL, "estimator=[kmeans15,debiased15]", "estimand=[l1,l2_squared]")
    assert code == 0 and "paper vs ours" not in text and ledger()
    code, text, _ = cli(
        "experiment=berta2026_fig1_legacy",
        "problem=[beta_shifted_legacy]",
        "n=[200]",
        "reps=1",
        "jobs=1",
        "estimator=[binned15]",
    )
    assert code == 0 and "binned15" in text


@pytest.mark.slow
def test_an_estimator_without_the_figures_estimand_is_shown_by_its_own(cli, out):
    code, text, _ = cli(*SMALL, "estimator=[debiased15]")
    assert code == 0 and "l2_squared: mean" in text and "failed" in text


@pytest.mark.slow
def test_a_changed_parameter_does_not_bear_the_papers_name(cli, out):
    _, text, _ = cli(*SMALL, "estimator.binned15_mass.bins=30")
    assert (
        "binned15_mass (bins=30)" in text
        and "ECE (15 bins)" not in text
        and "paper vs ours" not in text
    )


@pytest.mark.slow
def test_one_name_for_two_configurations_loses_neither(cli, out, ledger):
    cli(*SMALL, "name=mine")
    assert ledger()
    first = (out / "variations" / "mine" / "mine.csv").read_bytes()
    cli(*SMALL, "name=mine")
    assert folders(out) == ["mine"]
    code, text, _ = cli(*SMALL, "name=mine", "seed=3")
    assert code == 0 and "another configuration" in text
    kept, now = folders(out)[::-1]
    assert now == "mine" and kept.startswith("mine~")
    assert (out / "variations" / kept / "mine.csv").read_bytes() == first
    assert (out / "variations" / "mine" / "mine.csv").read_bytes() != first


@pytest.mark.slow
def test_a_run_without_experiment_is_its_own_result_too(cli, out):
    code, text, _ = cli("problem=beta_wavy", "estimator=[binned15]", "n=[50]", "reps=2", "jobs=1")
    assert (
        code == 0
        and "a run without an experiment; its results go to" in text
        and folders(out)[0].startswith("adhoc-")
    )
    assert "Settings that differ" not in next((out / "variations").glob("*/*.html")).read_text()


@pytest.mark.slow
@pytest.mark.parametrize(
    "experiment",
    ["moskvichev2025_fig1", "berta2026_table2", "ciosek2026_bound", "gruber2025_fig1"],
)
def test_items_draw_their_variations_in_sampling(cli, out, experiment):
    """An item that cannot draw fewer sizes or replications leaves it to the general figure."""
    code, text, err = cli(f"experiment={experiment}", "n=[300]", "reps=2", "jobs=1")
    assert code == 0, err
    assert not (out / experiment.split("_")[0]).exists() and "figure" in text
    assert "paper vs ours" not in text  # n = 300 is none of theirs


@pytest.mark.slow
def test_a_search_does_not_prefer_values_for_which_hard_cells_have_no_number(out):
    result = Experiment.of([*BASE, f"out={out}"])
    assert result.compute(quiet=True) and 0 < drawing.mean_rmse(result) < 1
    run = [*BASE, "estimator=[binned15,kde]", "n=[1,60]", f"out={out}"]
    some = Experiment.of(run)
    some.compute(quiet=True)
    assert some.records.read()["status"].isin(["failed", "undefined"]).any() and drawing.mean_rmse(
        some
    ) == float("inf")


def test_the_tables_are_written_even_if_the_figure_fails(out, monkeypatch):
    experiment = Experiment.of([*BASE, BINS, "name=mine", f"out={out}"])
    experiment.compute(quiet=True)

    def fails(*_):
        raise KeyError("bins")

    monkeypatch.setattr(sweep_plots, "render", fails)
    with pytest.raises(KeyError) as caught:
        drawing.render(experiment, experiment.records.read())
    table = out / "sweeps" / "mine" / "mine.csv"
    assert len(pd.read_csv(table)) and str(table) in caught.value.__notes__[0]


@pytest.mark.slow
def test_many_cells_are_drawn_like_few(out, cli, module, monkeypatch):
    """Above MANY_TO_DRAW cells, texts are categories, and columns are left out."""
    module("often_fails", "def often(p, y):\n    return 1 / 0 if p[0] < 0.5 else float(p[0])\n")
    run = [
        "problem=[beta_wavy,dirichlet3_overconfident]", "estimator=[binned15,variational_isotonic]",
        "+estimator.often._target_=often_fails.often", "n=[30,60]", "reps=5", "jobs=1",
    ]  # fmt: skip
    assert cli(*run)[0] == 1
    written = []
    for limit in (10**9, 0):
        monkeypatch.setattr(plan_records, "MANY_TO_DRAW", limit)
        code, text, err = cli("report", *run)
        files = {
            path.relative_to(out): path.read_bytes()
            for path in out.rglob("*")
            if path.suffix in (".csv", ".html", ".png", ".md", ".tex")
        }
        written.append((code, text, err, files))
    assert len(written[0][3]) > 3
    for few, many in zip(*written):
        assert few == many
