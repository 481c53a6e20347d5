"""Variations write their own results; only an experiment as configured writes committed results."""

import json
import re

import pandas as pd
import pytest

from harness.commands.experiment import Experiment
from harness.configure import variations
from harness.configure.compose import compose
from harness.evaluation import papers

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


def test_the_experiment_as_configured_is_no_variation():
    experiment = Experiment.of(
        [*FIG1, "engine=serial", "reps=40"]
    )  # 40 is what it has; jobs and engine change nothing
    assert (
        not experiment.is_variation
        and experiment.stem == "fig1"
        and experiment.folder.name == "berta2026"
    )


@pytest.mark.parametrize(
    "changed",
    [
        ["n=[200]"],
        ["reps=2"],
        ["seed=1"],
        ["name=mine"],
        ["title=Other"],
        ["figure.dpi=100"],
        ["estimator=[binned15]"],
        ["estimator.binned15_mass.bins=7"],
        ["problem=[beta_wavy]"],
        ["estimand=l2_squared"],
    ],
    ids=lambda c: c[0],
)
def test_anything_else_is_one(changed):
    experiment = Experiment.of([*FIG1, *changed])
    assert experiment.is_variation and experiment.folder.parent.name == "variations"
    assert re.fullmatch(
        "mine" if changed == ["name=mine"] else r"berta2026_fig1-[0-9a-f]{8}", experiment.stem
    )


def test_each_variation_has_a_folder_of_its_own():
    names = [
        Experiment.of([*FIG1, *more]).stem
        for more in (["seed=1"], ["seed=2"], ["reps=2"], ["seed=1", "jobs=2"])
    ]
    assert names[0] == names[3] and len(set(names)) == 3


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


@pytest.mark.parametrize(
    ("changed", "title"),
    [
        ([], None),
        (
            ["reps=3", "problem=[beta_wavy]"],
            "A variation of berta2026_fig1: problem=[beta_wavy], reps=3",
        ),
        (["title=Mine", "reps=3"], "Mine. A variation of berta2026_fig1: reps=3"),
        (["name=mine"], "A variation of berta2026_fig1"),
        (["sweep.seed=[1,2]"], "berta2026_fig1 swept over seed"),
        (["sweep.seed=[1,2]", "reps=3"], "A variation of berta2026_fig1 swept over seed: reps=3"),
        (
            ["estimator.binned15_mass.bins=7"],
            "A variation of berta2026_fig1: estimator.binned15_mass.bins=7",
        ),
    ],
)
def test_a_title_says_what_was_changed(changed, title):
    experiment = Experiment.of([*FIG1, *changed])
    assert experiment.title == (title or experiment.settings.title)


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


def test_rows_that_name_no_n_are_not_compared_at_another():
    """Rows of berta2026_table2, for example, have n = 5,000 and do not name it."""
    compared = pd.DataFrame(
        {
            "row": ["Both, over", "Both, n = 200", "Both, n = 500"],
            "column": ["ECE", "ECE", "ECE"],
            "ours": [0.1, 0.2, None],
        }
    )
    assert variations.comparable(compared, {"reps": (10, 2)})["ours"].tolist() == [0.1, 0.2]
    assert variations.comparable(compared, {"n": ([5000], [200])})["row"].tolist() == [
        "Both, n = 200"
    ]


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


def test_differences_name_paths_and_both_values():
    settings = compose(
        ["experiment=smoke", "reps=9", "estimator.binned15.bins=3", "problem=[beta_calibrated]"]
    )
    differs = variations.differences(settings, variations.as_configured(settings.experiment))
    assert differs["reps"] == (3, 9) and differs["estimator.binned15.bins"] == (15, 3)
    assert differs["problem.beta_overconfident"][1] is None and "jobs" not in differs
    assert variations.changed_components(differs, "estimator") == {"binned15"}
    assert not variations.changed_components(differs, "problem")


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
