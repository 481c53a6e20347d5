"""The command line: each command as a user gives it; a mistake is one sentence and status 2."""

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
OWN = ("problem=beta_wavy", "n=20", "reps=2", "jobs=1")


@pytest.fixture(scope="module")
def smoke_once(tmp_path_factory):
    """Return the results folder of a finished SMOKE, and its output."""
    folder, text = tmp_path_factory.mktemp("finished") / "results", io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(text):
        patch.setenv("CALHARNESS_OUT", str(folder))
        assert main(list(SMOKE)) == 0
    return folder, text.getvalue()


@pytest.fixture
def smoke(smoke_once, out):
    """Return the output of SMOKE; `out` is a copy of its results."""
    shutil.copytree(smoke_once[0], out)
    return smoke_once[1]


def predictions(path, **arrays):
    """Write an npz file. Return the overrides of a run on it."""
    np.savez(path, **{name: np.array(values) for name, values in arrays.items()})
    return "problem=predictions", f"problem.predictions.path={path}", "jobs=1"


def test_help_names_every_command(cli):
    code, text, _ = cli("--help")
    assert code == 0 and cli("-h")[1] == cli("help")[1] == cli()[1] == text
    listed = [line.split()[0] for line in text.split("Commands:\n")[1].splitlines()]
    assert listed == [*COMMANDS, "data"]


def test_plan_runs_nothing(cli, out):
    code, text, _ = cli("plan", *SMOKE)
    assert code == 0 and "96 cells: 0 done, 12 skipped, 84 to do" in text
    assert "unknown time on" in text and not out.exists()


@pytest.mark.slow
def test_plan_knows_the_past(cli, smoke):
    text = cli("plan", *SMOKE)[1]
    assert "84 done" in text and "0 to do" in text
    assert "skipped 4 of binned15: the estimator has no canonical notion" in text
    assert "from earlier records" in cli("plan", *SMOKE[:2], "reps=3", "jobs=1")[1]


def test_plan_of_a_shard_counts_its_cells(cli, out):
    shard = (*SMOKE, "shards=3", "shard=1")
    cli(*shard)
    lines = [line.split() for line in cli("plan", *shard)[1].splitlines()]
    rows = [[int(x) for x in words[1:4]] for words in lines if words[0] in list_estimators()]
    (total,) = [int(words[0]) for words in lines if words[1:4] == ["cells", "(shard", "1"]]
    assert len(rows) == 8 and sum(map(sum, rows)) == total
    assert sum(to_do for to_do, _, _ in rows) == 0


def test_an_estimand_that_no_cell_gave(cli, out, module):
    """A user's estimator declares no estimands, so that the run has to tell them."""
    module("undeclared", "def f(p, y):\n    return 0.25\n")
    own = ("estimator=[]", "+estimator.f._target_=undeclared.f", "estimand=l7")
    code, _, err = cli(*OWN, *own)
    assert code == 2 and "which no record of this run has; choose among l1" in err
    assert not (out / "variations").exists()


def test_a_run_leaves_figure_tables_and_page_and_is_drawn_once(cli, result, smoke):
    assert "84 computed, 12 skipped, 0 failed" in smoke
    assert "a variation of smoke (n, reps); its results go to" in smoke
    for end in (".png", ".pdf", ".svg", ".csv", ".parquet", ".tex", ".html"):
        assert result(end).stat().st_size > 100
    assert result(".html").name in smoke
    table = pd.read_csv(result(".csv"))
    assert {"estimator_label", "bias", "rmse", "coverage", "truth", "status"} <= set(table)
    assert "skipped" in set(table["status"])
    figure = result(".png")
    stamp = figure.stat().st_mtime_ns
    code, text, _ = cli(*SMOKE)
    assert code == 0 and "84 done before, 0 computed" in text and "up to date" in text
    assert "up to date" not in cli(*SMOKE, "title=Other")[1]  # another variation
    assert figure.stat().st_mtime_ns == stamp


@pytest.mark.slow
def test_report_draws_the_same_bytes_without_computing(cli, result, smoke):
    files = [result(end) for end in (".png", ".pdf", ".svg", ".tex", ".csv", ".html")]
    before = [file.read_bytes() for file in files]
    files[-1].unlink()
    code, text, _ = cli("report", *SMOKE)
    assert code == 0 and "96 of 96 cells are recorded" in text
    assert before == [file.read_bytes() for file in files]
    assert cli("report", "experiment=smoke", "reps=9")[0] == 0


@pytest.mark.slow
def test_estimand_selects_for_display_not_for_records(cli, out, smoke):
    assert "0 computed" in cli(*SMOKE, "estimand=l2_squared", "name=squared")[1]
    table = pd.read_csv(out / "variations" / "squared" / "squared.csv")
    assert set(table["estimand"].dropna()) == {"l2_squared"}
    records = run([*OWN, "estimator=binned15", "estimand=l2_squared"])
    assert {"l1", "l2_squared"} <= set(records["estimand"])
    assert cli(*SMOKE, "estimand=l7")[0] == 2


def test_failed_cells_give_status_1_and_one_sentence(cli, out, module):
    module("bad_module", "def bad(p, y):\n    raise KeyError('no such bin')\n")
    code, text, err = cli(*OWN, "estimator=[binned15]", "+estimator.bad._target_=bad_module.bad")
    assert code == 1 and "2 failed" in text
    assert "KeyError: 'no such bin'" in err and "the next run computes them again" in err


@pytest.mark.slow
def test_predictions_file_under_all_notions(cli, result, tmp_path):
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(3), 120)
    y = (rng.random(120)[:, None] > p.cumsum(axis=1)).sum(axis=1)
    chosen = (
        "estimator=[oracle,binned15,debiased15,kde,ukkr,skce,ckce,best,ici,variational_temperature]"
    )
    code, text, _ = cli(*predictions(tmp_path / "p.npz", probs=p, labels=y), chosen)
    assert code == 0 and "0 failed" in text
    table = pd.read_csv(result(".csv"))
    assert set(table["notion"]) == {"top_label", "classwise", "canonical"}
    oracle = table[table["estimator"] == "oracle"]
    assert set(oracle["status"]) == {"skipped"}
    reasons = "posterior is not known|has no (?:top_label|classwise) notion"
    assert oracle["reason"].str.contains(reasons).all()
    assert (table.loc[table["status"] == "ok", "n"] == 120).all()


def test_traceback_only_on_request(cli):
    with pytest.raises(ValueError, match="there is no option 'rep'"):
        cli("experiment=smoke", "rep=3", "--traceback")


def test_help_imports_nothing_heavy():
    modules = "('pandas', 'sklearn', 'matplotlib', 'duckdb')"
    code = (
        "import sys, harness.commands.app as m; m.main(['--help']); "
        f"print([x for x in {modules} if x in sys.modules])"
    )
    for arguments in (["-c", code], ["-m", "harness", "--help"]):
        command = [sys.executable, *arguments]
        text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        assert text.startswith("Usage: calharness ")
        assert arguments[0] == "-m" or text.strip().endswith("[]")


def test_a_wrong_setting_is_refused_before_plans_are_imported():
    code = (
        "import sys, harness.commands.app as m; status = m.main(['experiment=smoke', 'reps=-1']); "
        "print(status, [x for x in ('sklearn', 'matplotlib', 'duckdb') if x in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["2", "[]"] and "reps is -1" in done.stderr


@pytest.mark.parametrize("option", ["reps=-1,2", "jobs=1,0"])
def test_each_value_of_a_multirun_is_checked_before_the_first_job(cli, out, option):
    code, text, err = cli("-m", "experiment=smoke", option)
    assert code == 2 and option[:4] in err and not text and not out.exists()


@pytest.mark.slow
def test_hydra_multirun_over_shards(cli, tmp_path):
    """Each shard is a job of Hydra. The result is drawn once, after the last job."""
    code, text, err = cli("-m", *SMOKE, "shards=2", "shard=0,1", f"out={tmp_path / 'shared'}")
    assert code == 0, err
    assert "job 2 of 2 (shard=1)" in text and text.count("  page ") == 1
    assert "96 of 96 cells are recorded" in text
    (folder,) = (tmp_path / "shared" / "variations").iterdir()
    assert (folder / f"{folder.name}.html").is_file()
