"""Experiments, problems and estimators of the user's own folder of configuration."""

import sys

import pandas as pd
import pytest

from harness.common.module_names import item_module, paper_folder
from harness.common.paths import EXPERIMENTS
from harness.configure.compose import compose, replace_config_dir
from harness.errors import BadInputError
from harness.pages import own_results

EXPERIMENT = """# @package _global_
defaults:
  - override /problem: [beta_wavy]
  - override /estimator: [binned15]
name: doe_fig1
paper: doe
item: fig1
compare: [fig1]
n: [50]
reps: 2
"""
ITEM = """
from harness.evaluation import items
from harness.figures.plots import convergence as render

def reproduced(records, settings):
    return items.convergence_numbers(records, settings, "l1"){columns}
"""
HEADER = "item,row,column,value,unit,plus_minus,reps,precision,source\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A user's folder with conf/experiment/doe_fig1.yaml and the package doe."""
    place = tmp_path / "paper"
    for name in ("conf/experiment", "doe"):
        (place / name).mkdir(parents=True)
    (place / "conf/experiment/doe_fig1.yaml").write_text(EXPERIMENT)
    (place / "conf/experiment/doe_more.yaml").write_text(
        "# @package _global_\nname: doe_more\nrecords_of: [doe_fig1]\n"
    )
    (place / "doe/fig1.py").write_text(ITEM.format(columns=""))
    (place / "doe/reported.csv").write_text(
        f'{HEADER}fig1,"beta_wavy, n = 50",binned15,5,fraction,0.01,2,1,printed\n'
    )
    monkeypatch.chdir(place)
    monkeypatch.syspath_prepend(str(place))
    yield place
    for name in ("doe", "doe.fig1"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize("flag", [["--config-dir=conf"], ["--config-dir", "conf"], ["-cd", "conf"]])
def test_the_flag_becomes_an_option_with_an_absolute_path(folder, flag):
    words = replace_config_dir(["experiment=doe_fig1", *flag])
    assert words == ["experiment=doe_fig1", f"config_dir='{folder / 'conf'}'"]


def test_an_own_experiment_is_compared_with_its_own_reported_numbers(folder, cli, out):
    words = ("--config-dir=conf", "experiment=doe_fig1", "trust=[doe]", "jobs=1")
    code, printed, _ = cli(*words)
    assert code == 0 and "2 computed" in printed
    rows = pd.read_csv(out / "doe" / "reproduction.csv")
    assert rows["verdict"].tolist() == ["differs"]
    code, printed, _ = cli(*words, "n=[60]")
    assert code == 0 and "results/doe" not in printed and (out / "variations").is_dir()


def test_corrected_reported_numbers_are_compared_again(folder, cli, out):
    words = ("--config-dir=conf", "experiment=doe_fig1", "trust=[doe]", "jobs=1")
    cli(*words)
    assert "up to date" in cli(*words)[1]
    path = folder / "doe/reported.csv"
    path.write_text(path.read_text().replace(",5,fraction", ",6,fraction"))
    code, printed, _ = cli(*words)
    assert code == 0 and "0 computed" in printed and "up to date" not in printed
    assert pd.read_csv(out / "doe" / "reproduction.csv")["reported"].tolist() == [6.0]


def test_one_file_may_define_several_problems(folder):
    (folder / "conf/problem").mkdir()
    shapes = "".join(f"{name}: {{_target_: harness.problems.Beta, a: 2}}\n" for name in "uv")
    (folder / "conf/problem/shapes.yaml").write_text(shapes)
    settings = compose(["--config-dir=conf", "problem=[shapes]", "problem.v.a=3"])
    assert {name: node["a"] for name, node in settings.problem.items()} == {"u": 2, "v": 3}


def test_predictions_are_no_numbers_of_a_paper(folder, cli, out):
    path = folder / "doe/reported.csv"
    path.write_text(path.read_text().replace("printed", "predicted"))
    code, printed, _ = cli("--config-dir=conf", "experiment=doe_fig1", "trust=[doe]", "jobs=1")
    assert code == 0 and "theory vs ours" in printed and "paper vs ours" not in printed
    page = (out / "doe" / "fig1.html").read_text()
    assert "Predictions against ours" in page and "Paper against ours" not in page


def test_an_own_paper_is_listed_with_the_users_runs(folder, cli, out):
    """The index of the papers of calharness does not know it, and is not written."""
    cli("--config-dir=conf", "experiment=doe_fig1", "trust=[doe]", "jobs=1")
    (run,) = own_results.runs(out)
    assert (run.kind, run.page, run.picture) == ("papers", "doe/fig1.html", "doe/fig1.png")
    assert "doe_fig1" in (out / "own_runs.html").read_text()
    assert not (out / "index.html").exists()


def test_records_of_another_own_experiment_are_used(folder, cli):
    words = ("--config-dir=conf", "experiment=doe_more", "trust=[doe]")
    code, printed, _ = cli("plan", *words)
    assert code == 0 and "2 to do" in printed


@pytest.mark.slow
def test_an_own_experiment_is_swept(folder, cli):
    words = ("-m", "--config-dir=conf", "experiment=doe_fig1", "trust=[doe]", "seed=0,1", "jobs=1")
    code, printed, _ = cli(*words)
    assert code == 0 and "sweeps" in printed


def test_code_of_an_own_paper_needs_trust(folder):
    with pytest.raises(BadInputError, match=r"item .*'doe\.fig1'.*trust=\[doe\]"):
        compose(["--config-dir=conf", "experiment=doe_fig1"])


def test_mistakes_are_one_sentence_each(folder):
    with pytest.raises(BadInputError, match="'doe_fig2' .*doe_fig1.*experiment/doe_fig2.yaml"):
        compose(["--config-dir=conf", "experiment=doe_fig2"])
    (folder / "o'b").mkdir()
    with pytest.raises(BadInputError, match="o'b.*rename the folder"):
        compose(["--config-dir=o'b", "experiment=doe_fig1"])
    with pytest.raises(BadInputError, match="'absent', which is no folder"):
        compose(["--config-dir=absent", "experiment=doe_fig1"])
    (folder / "conf/experiment/smoke.yaml").write_text(EXPERIMENT)
    with pytest.raises(BadInputError, match="'smoke', which calharness has already"):
        compose(["--config-dir=conf", "experiment=doe_more"])


def test_an_item_without_the_needed_columns_is_refused(folder, cli):
    (folder / "doe/fig1.py").write_text(ITEM.format(columns=".drop(columns='value')"))
    words = ("--config-dir=conf", "experiment=doe_fig1", "trust=[doe]", "jobs=1")
    code, _, error = cli(*words)
    assert code == 2 and "without value" in error


def test_the_papers_of_this_package_keep_their_folders():
    assert item_module("berta2026", "fig1") == "harness.experiments.berta2026.fig1"
    assert paper_folder("berta2026") == EXPERIMENTS / "berta2026"
