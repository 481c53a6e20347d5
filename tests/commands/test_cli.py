"""The command line: each command as a user gives it; each mistake one sentence and exit status 2."""

import contextlib
import io
import shutil
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from harness import list_estimators, run
from harness.commands.app import COMMANDS, main

SMOKE = ("experiment=smoke", "n=[100,200]", "reps=2", "jobs=1")


@pytest.fixture(scope="module")
def smoke_once(tmp_path_factory):
    """(results folder of a finished SMOKE, what it printed)."""
    folder, text = tmp_path_factory.mktemp("finished") / "results", io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(text):
        patch.setenv("CALHARNESS_OUT", str(folder))
        assert main(list(SMOKE)) == 0
    return folder, text.getvalue()


@pytest.fixture
def smoke(smoke_once, out):
    """What SMOKE printed; its results are a copy in `out`."""
    shutil.copytree(smoke_once[0], out)
    return smoke_once[1]


def test_help_names_every_command(cli):
    code, text, _ = cli("--help")
    assert code == 0 and cli("-h")[1] == cli("help")[1] == cli()[1] == text
    listed = [line.split()[0] for line in text.split("Commands:\n")[1].splitlines()]
    assert listed == [*COMMANDS, "help", "data"]


def test_list(cli):
    assert "beta_wavy" in cli("list", "problems")[1].split()
    assert "oracle" in cli("list", "estimators")[1].split()
    assert "arena" in cli("list", "experiments")[1].split()


def test_info(cli):
    _, text, _ = cli("info", "beta_overconfident")
    assert "Beta" in text and "slope: 0.4" in text and "0.1371566207" in text
    _, text, _ = cli("info", "variational_isotonic")
    assert "berta2026" in text and "Isotonic" in text
    assert "override /problem" in cli("info", "smoke")[1]
    assert cli("info", "predictions")[0] == 0


def test_plan_runs_nothing(cli, out):
    code, text, _ = cli("plan", *SMOKE)
    assert (
        code == 0 and "96 cells: 0 done, 12 skipped, 84 to do" in text and "partly guessed" in text
    )
    assert not out.exists()


@pytest.mark.slow
def test_plan_knows_the_past(cli, smoke):
    text = cli("plan", *SMOKE)[1]
    assert "84 done" in text and "0 to do" in text
    assert "skipped 4 of binned15: the estimator has no canonical notion" in text
    assert "by past records" in cli("plan", *SMOKE[:2], "reps=3", "jobs=1")[1]


def test_plan_of_a_shard_counts_its_own_cells(cli, out):
    """The rows of a shard's plan add up to its own cells, before and after it ran."""
    mine = (*SMOKE, "shards=3", "shard=1")
    cli(*mine)
    lines = cli("plan", *mine)[1].splitlines()
    rows = [
        [int(x) for x in line.split()[1:4]]
        for line in lines
        if line.split()[0] in list_estimators()
    ]
    total = next(line for line in lines if "cells (shard 1 of 3)" in line)
    assert (
        len(rows) == 8
        and sum(map(sum, rows)) == int(total.split()[0])
        and sum(r[0] for r in rows) == 0
    )


def test_an_estimand_that_no_cell_gave_is_said(cli, out, module):
    """A stranger's estimator declares nothing, so it is known only afterwards; nothing is drawn then."""
    module("undeclared", "def f(p, y):\n    return 0.25\n")
    arguments = (
        "problem=beta_wavy",
        "estimator=[]",
        "n=20",
        "reps=1",
        "jobs=1",
        "+estimator.f._target_=undeclared.f",
    )
    code, _, err = cli(*arguments, "estimand=l7")
    assert (
        code == 2
        and "which no cell of this run gave; they gave l1" in err
        and not (out / "variations").exists()
    )


def test_run_leaves_figure_tables_and_page_and_says_where(cli, result, smoke):
    assert (
        "84 computed, 12 skipped, 0 failed" in smoke
        and "a variation of smoke (n, reps); its results go to" in smoke
    )
    for end in (".png", ".pdf", ".svg", ".csv", ".parquet", ".tex", ".html"):
        assert result(end).stat().st_size > 100
    assert result(".html").name in smoke
    table = pd.read_csv(result(".csv"))
    assert {"estimator_label", "bias", "rmse", "coverage", "truth", "status"} <= set(table)
    assert "skipped" in set(table["status"])
    code, text, _ = cli(*SMOKE)
    assert code == 0 and "84 done before, 0 computed" in text and "up to date" in text
    figure = result(".png")
    stamp = figure.stat().st_mtime_ns
    assert "up to date" in cli(*SMOKE)[1] and figure.stat().st_mtime_ns == stamp
    assert (
        "up to date" not in cli(*SMOKE, "title=Other")[1] and figure.stat().st_mtime_ns == stamp
    )  # another variation


@pytest.mark.slow
def test_report_draws_again_without_computing(cli, result, smoke):
    page = result(".html")
    page.unlink()
    code, text, _ = cli("report", *SMOKE)
    assert code == 0 and page.is_file() and "96 of 96 cells are recorded" in text
    code, text, _ = cli("report", "experiment=smoke", "reps=9")
    assert code == 0 and " of " in text


@pytest.mark.slow
def test_figures_are_the_same_bytes_again(cli, result, smoke):
    files = [result(end) for end in (".png", ".pdf", ".svg", ".tex", ".csv")]
    before = [f.read_bytes() for f in files]
    cli("report", *SMOKE)
    assert before == [f.read_bytes() for f in files]


@pytest.mark.slow
def test_estimand_selects_what_is_shown_not_what_is_recorded(cli, out, smoke):
    _, text, _ = cli(*SMOKE, "estimand=l2_squared", "name=squared")
    assert "0 computed" in text
    assert set(
        pd.read_csv(out / "variations" / "squared" / "squared.csv")["estimand"].dropna()
    ) == {"l2_squared"}
    anew = run(
        [
            "problem=beta_wavy",
            "estimator=binned15",
            "n=50",
            "reps=1",
            "jobs=1",
            "estimand=l2_squared",
        ]
    )
    assert {"l1", "l2_squared"} <= set(anew["estimand"])
    assert cli(*SMOKE, "estimand=l7")[0] == 2


def test_failed_cells_give_status_1_and_one_sentence(cli, out, module):
    module("bad_module", "def bad(p, y):\n    raise KeyError('no such bin')\n")
    code, text, err = cli(
        "problem=beta_wavy",
        "n=50",
        "reps=2",
        "estimator=[binned15]",
        "jobs=1",
        "+estimator.bad._target_=bad_module.bad",
    )
    assert (
        code == 1
        and "2 failed" in text
        and "KeyError: 'no such bin'" in err
        and "run again with the next run" in err
    )


@pytest.mark.slow
def test_predictions_file_under_all_notions(cli, result, tmp_path):
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(3), 300)
    y = (rng.random(300)[:, None] > p.cumsum(axis=1)).sum(axis=1)
    np.savez(tmp_path / "preds.npz", probs=p, labels=y)
    code, text, _ = cli(
        "problem=predictions",
        f"problem.predictions.path={tmp_path}/preds.npz",
        "estimator=glob(*)",
        "jobs=1",
    )
    assert code == 0 and "0 failed" in text
    table = pd.read_csv(result(".csv"))
    assert set(table["notion"]) == {"top_label", "classwise", "canonical"}
    oracle = table[table["estimator"] == "oracle"]
    assert (
        set(oracle["status"]) == {"skipped"}
        and oracle["reason"]
        .str.contains("posterior is not known|has no (?:top_label|classwise) notion")
        .all()
    )
    assert (table.loc[table["status"] == "ok", "n"] == 300).all()


@pytest.mark.slow
def test_a_changed_file_is_another_problem(cli, out, tmp_path):
    path = tmp_path / "preds.npz"
    rng = np.random.default_rng(1)
    arguments = (
        "problem=predictions",
        f"problem.predictions.path={path}",
        "estimator=[binned15]",
        "jobs=1",
    )
    np.savez(path, p=rng.random(50), y=rng.integers(0, 2, 50))
    assert "1 computed" in cli(*arguments)[1]
    assert "0 computed" in cli(*arguments)[1]
    np.savez(path, p=rng.random(60), y=rng.integers(0, 2, 60))
    assert "1 computed" in cli(*arguments)[1]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("experiment=smoke", "rep=3"), "there is no option 'rep'"),
        (("lst", "problems"), "there is no command 'lst' (did you mean 'list'?)"),
        (("list", "things"), "takes one of problems, estimators, experiments"),
        (("info", "beta_wawy"), "did you mean 'beta_wavy'?"),
        (("check", "nowhere.Mine"), "cannot import 'nowhere'"),
        (("check",), "check: Missing argument"),
        (("data", "fetsh"), "No such command 'fetsh'"),
        (("data", "fetch", "no_pack"), "there is no pack 'no_pack'"),
        (("experiment=smoke", "estimand=ece"), "estimand is 'ece'"),
        (("problem=predictions", "problem.predictions.path=absent.csv"), "no file absent.csv"),
        (("doctor", "--all"), "No such option: --all"),
        (("status", "uot=x"), "it takes out="),
        (("-m", "experiment=smokee"), "there is no experiment 'smokee'"),
        (("experiment=[smoke,arena]",), "names several experiments"),
        (
            ("experiment=smoke", "estimator=null"),
            "Config group override must be a string or a list",
        ),
        (("experiment=smoke", "n=[]"), "n is []"),
        (("experiment=smoke", "notion=[]"), "notion is []"),
        (("experiment=smoke", "estimator.binned15.bins=abc"), "bins is 'abc'; an integer"),
        (("experiment=smoke", "+estimator.variational_isotonic.folds=abc"), "folds is 'abc'"),
        (("experiment=smoke", "seed=99999999999999999999999"), "seed is 9999"),
        (("experiment=smoke", "reps=[true]"), "reps is [True]"),
        (("experiment=smoke", "name=../x"), "it becomes a file name"),
        (("experiment=smoke", "name=records"), "choose another"),
        (("experiment=smoke", "item=fig1"), "an item belongs to an experiment"),
        (("experiment=smoke", "figure.estimand=foo"), "estimand is 'foo'"),
        (("experiment=smoke", "figure.panels_per_row=0"), "at least 1"),
        (("report", "experiment=smoke"), "nothing is drawn and nothing overwritten"),
    ],
)
def test_mistakes(cli, out, arguments, says):
    code, text, err = cli(*arguments)
    assert (
        code == 2 and says in err and len(err.strip().splitlines()) == 1 and "Traceback" not in err
    )
    assert not out.exists()


@pytest.mark.parametrize(
    ("arrays", "says"),
    [
        ({"probs": [[0.5, 0.6], [0.5, 0.5]], "labels": [0, 1]}, "row 0 sums to 1.1"),
        ({"p": [0.5, np.nan], "y": [0, 1]}, "p holds NaN at row 1"),
        ({"p": [0.5, 1.5], "y": [0, 1]}, "p holds 1.5 at row 1"),
        (
            {"p": [0.5, 0.5], "y": [0, 2]},
            "y holds 0, 2, and p is one column: labels must be 0 and 1",
        ),
        ({"p": [0.5, 0.5], "y": [0, 0.5]}, "y holds 0, 0.5, and p is one column"),
        ({"p": [0.5, 0.5], "y": [0]}, "p has 2 rows but y has 1 labels"),
        ({"p": [], "y": []}, "p is empty"),
    ],
)
def test_bad_files(cli, out, tmp_path, arrays, says):
    np.savez(tmp_path / "bad.npz", **{k: np.array(v) for k, v in arrays.items()})
    code, _, err = cli(
        "problem=predictions", f"problem.predictions.path={tmp_path}/bad.npz", "jobs=1"
    )
    assert code == 2 and says in err and len(err.strip().splitlines()) == 1


def test_n_larger_than_the_file(cli, tmp_path):
    np.savez(tmp_path / "small.npz", p=np.full(5, 0.5), y=np.zeros(5, int))
    code, _, err = cli(
        "problem=predictions", f"problem.predictions.path={tmp_path}/small.npz", "n=6"
    )
    assert code == 2 and "n is 6, but problem 'predictions' holds 5 samples" in err


def test_traceback_only_when_asked(cli):
    with pytest.raises(ValueError, match="there is no option 'rep'"):
        cli("experiment=smoke", "rep=3", "--traceback")


def test_module_entry_point_and_light_start():
    """`python -m harness --help` imports neither pandas nor scikit-learn nor matplotlib."""
    heavy = "('pandas', 'sklearn', 'matplotlib', 'duckdb')"
    code = f"import sys, harness.commands.app as m; m.main(['--help']); print([x for x in {heavy} if x in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip().endswith("[]")
    done = subprocess.run(
        [sys.executable, "-m", "harness", "--help"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("Usage: calharness ")


@pytest.mark.slow
def test_hydra_multirun_over_shards(cli, tmp_path):
    """-m runs the shards as Hydra jobs; what they add up to is drawn once, when the last one has ended."""
    code, text, err = cli("-m", *SMOKE, "shards=2", "shard=0,1", f"out={tmp_path / 'shared'}")
    assert code == 0, err
    assert (
        "job 2 of 2 (shard=1)" in text
        and text.count("  page ") == 1
        and "96 of 96 cells are recorded" in text
    )
    (folder,) = (tmp_path / "shared" / "variations").iterdir()
    assert (folder / f"{folder.name}.html").is_file()
