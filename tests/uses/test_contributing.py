"""The diffs of docs/how-to/add-*.md and templates/ apply and pass the contract."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    ROOT / "docs" / "how-to" / f"add-{piece}.md"
    for piece in ("an-estimator", "a-problem", "a-calibrator", "a-paper")
]
DIFFS = [
    diff
    for page in PAGES
    for diff in re.findall(r"^```diff\n(.*?)^```", page.read_text(), flags=re.M | re.S)
]


def calharness(folder, package, *arguments):
    environment = {
        **os.environ,
        "PYTHONPATH": str(package),
        "CALHARNESS_OUT": str(folder / "results"),
    }
    command = [sys.executable, "-m", "harness", *arguments]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300
    )


def test_there_is_a_diff_of_at_most_40_lines_for_each_addition():
    assert len(DIFFS) == 5 and all(0 < diff.count("\n") <= 40 for diff in DIFFS)


@pytest.mark.slow
def test_the_diffs_apply_and_what_they_add_works(tmp_path):
    copy = tmp_path / "checkout"
    for folder in ("harness", "conf", "experiments", "data"):
        ignored = shutil.ignore_patterns("__pycache__", "cache", "*.parquet")
        shutil.copytree(ROOT / folder, copy / folder, ignore=ignored)
    for diff in DIFFS:
        subprocess.run(["git", "apply", "-"], input=diff, text=True, cwd=copy, check=True)
    for target in (
        "estimators.mean_gap.MeanGap",
        "problems.coin.Coin",
        "calibrators.constant.Constant",
    ):
        done = calharness(tmp_path, copy, "check", f"harness.{target}")
        assert done.returncode == 0, done.stdout + done.stderr
    options = [
        "experiment=doe2027_fig1",
        "reps=2",
        "n=[500]",
        "jobs=1",
        "estimator=[binned15,mean_gap,variational_constant]",
    ]
    done = calharness(tmp_path, copy, *options)
    assert done.returncode == 0, done.stdout + done.stderr
    done = calharness(tmp_path, copy, "experiment=doe2027_fig1", "jobs=1")
    assert (
        done.returncode == 0 and (tmp_path / "results" / "doe2027" / "reproduction.csv").is_file()
    ), done.stdout + done.stderr
    done = calharness(tmp_path, copy, "experiment=doe2027_published", "jobs=1")
    assert done.returncode == 0 and " 0 computed" in done.stdout, done.stdout + done.stderr
    page = (tmp_path / "results" / "doe2027_published" / "doe2027_published.html").read_text()
    assert "imported" in page and "published" in page


@pytest.mark.slow
@pytest.mark.parametrize("target", ["estimator.MeanGap", "problem.Coin", "calibrator.Shift"])
def test_templates_pass_the_contract_test(target, tmp_path):
    for file in (ROOT / "templates").glob("*.py"):
        shutil.copy(file, tmp_path)
    done = calharness(tmp_path, ROOT, "check", target)
    assert done.returncode == 0, done.stdout + done.stderr
