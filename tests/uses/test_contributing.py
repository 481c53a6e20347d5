"""The diffs of docs/how-to/add-*.md apply to the whole tree, and its tests and lint still pass."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.xdist_group("copy of the checkout")
PAGES = [
    ROOT / "docs" / "how-to" / f"add-{piece}.md"
    for piece in ("an-estimator", "a-problem", "a-calibrator", "a-paper")
]
DIFFS = [
    diff
    for page in PAGES
    for diff in re.findall(r"^```diff\n(.*?)^```", page.read_text(), flags=re.M | re.S)
]
ADDED = ("mean_gap", "fair_coin", "recentred", "doe2027")  # ids that the diffs add
# The diffs change no file, so that only a test which lists ids or files of the checkout can see
# them: all tests of the rooms whose commands list everything, and files with such a list elsewhere.
SEEING = ("commands", "golden", "plan", "uses")
# Of these rooms only the parameters that are added: their tests list files of their own.
UNSEEN = ("contract", "execute", "judging", "sources", "stand_ins")
IDS = re.compile(r"\b(list_(estimators|problems|experiments)|catalogue|papers\(\))")
FOLDER = re.compile(r"\b(CHECKOUT|CONF|EXPERIMENTS|ROOT|parents)\b")
LISTED = re.compile(r"\b(r?glob|iterdir)\(")
# A plugin of pytest: keep the tests of an addition, slow ones too. Of the default tests in the
# files that can see an addition, leave out those of one component or module that was there before.
PLUGIN = """
import harness

ADDED, FILES = {added}, {files}
OTHERS = {{*harness.list_estimators(), *harness.list_problems(), *harness.list_experiments()}}

def sees_an_addition(test):
    if any(name in test.nodeid for name in ADDED):
        return True
    if any(test.get_closest_marker(mark) for mark in ("slow", "golden")):
        return False
    parameters = test.callspec.params.values() if hasattr(test, "callspec") else ()
    texts = [value for value in parameters if isinstance(value, str)]
    of_one = any(text in OTHERS or text.startswith("harness.") for text in texts)
    return test.nodeid.partition("::")[0] in FILES and not of_one

def pytest_collection_modifyitems(items):
    items[:] = [test for test in items if sees_an_addition(test)]
"""


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


def test_there_is_a_diff_of_at_most_45_lines_for_each_addition():
    assert len(DIFFS) == 5 and all(0 < diff.count("\n") <= 45 for diff in DIFFS)


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """A copy of all files of the checkout, with the diffs applied."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("this is no git checkout")
    folder = tmp_path_factory.mktemp("copy") / "checkout"
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    for diff in DIFFS:
        subprocess.run(["git", "apply", "-"], input=diff, text=True, cwd=folder, check=True)
    yield folder
    shutil.rmtree(folder)


def passes(copy, *command):
    """Assert that a Python module passes in the copy: passes(copy, "ruff", "check", ".")."""
    own = ("PYTEST_", "CALHARNESS_OUT")
    environment = {name: text for name, text in os.environ.items() if not name.startswith(own)}
    done = subprocess.run(
        [sys.executable, "-m", *command],
        cwd=copy,
        env={**environment, "PYTHONPATH": str(copy)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]


def seeing_files(copy):
    """Return the files of tests that can see an addition, relative to the copy."""
    names = []
    for path in sorted((copy / "tests").rglob("test_*.py")):
        room, text = path.parent.name, path.read_text()
        lists = IDS.search(text) or FOLDER.search(text) and LISTED.search(text)
        if room in SEEING or lists and room not in UNSEEN:
            names.append(path.relative_to(copy).as_posix())
    return names


@pytest.mark.slow
def test_default_tests_and_lint_pass_with_the_additions(copy):
    passes(copy, "ruff", "check", ".")
    passes(copy, "ruff", "format", "--check", ".")
    if (ROOT / ".mypy_cache").is_dir():  # unchanged modules are not checked again
        shutil.copytree(ROOT / ".mypy_cache", copy / ".mypy_cache")
    passes(copy, "mypy")
    plugin = PLUGIN.format(added=ADDED, files=seeing_files(copy))
    (copy / "seeing_additions.py").write_text(plugin)
    ignored = f"--ignore={Path(__file__).relative_to(ROOT)}"
    options = ("-p", "seeing_additions", "-p", "no:cacheprovider", "-m", "not hours", ignored)
    passes(copy, "pytest", *options)


@pytest.mark.slow
def test_what_the_diffs_add_works(copy, tmp_path):
    for target in (
        "estimators.mean_gap.MeanGap",
        "problems.fair_coin.FairCoin",
        "calibrators.recentred.Recentred",
    ):
        done = calharness(tmp_path, copy, "check", f"harness.{target}")
        assert done.returncode == 0, done.stdout + done.stderr
    options = [
        "experiment=doe2027_fig1",
        "reps=2",
        "n=[500]",
        "jobs=1",
        "problem=[beta_calibrated,fair_coin]",
        "estimator=[binned15,mean_gap,variational_recentred]",
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
