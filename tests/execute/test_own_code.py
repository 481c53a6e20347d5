"""User code: its key depends on all its files, and its errors name the place."""

import sys

import pytest
from slow_params import slow

import harness
from harness import BadInputError
from harness.common.user_code import error_place, error_text, source_digests
from harness.plan.components import build_component

RUN = ["problem=beta_wavy", "estimator=[]", "n=20", "reps=2", "jobs=1"]


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Write user modules: files({"pack/helper.py": text}).

    After the test, they are removed from sys.modules.
    """
    folder = tmp_path / "own"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    before = set(sys.modules)

    def write(texts):
        for name, text in texts.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
        return folder

    yield write
    for name in set(sys.modules) - before:
        if str(folder) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def restart():
    """Remove the user's modules from Python, as a restart does."""
    for name in [name for name in sys.modules if name.startswith("own_")]:
        del sys.modules[name]


def value(target):
    """Return the estimate and the key of the estimator, from a run in this process."""
    frame = harness.run([*RUN, f"+estimator.mine._target_={target}"])
    assert frame["value"].nunique() == 1, frame["reason"].iloc[0]
    return frame["value"].iloc[0], frame["estimator_key"].iloc[0]


ASKS = "from own_helper import number\ndef mine(p, y):\n    return number()\n"
LATE = "def mine(p, y):\n    import own_helper\n    return own_helper.number()\n"
TWO = "import own_between\ndef mine(p, y):\n    return own_between.number()\n"


@pytest.mark.parametrize(
    "source", [ASKS, *slow(LATE, TWO)], ids=["from", "inside a function", "through another"]
)
def test_a_changed_helper_is_another_estimator_and_its_new_code_runs(out, files, source):
    """Old code never runs under the new key: a process that imported it refuses."""
    files({"own_main.py": source, "own_between.py": "from own_helper import number\n"})
    keys = set()
    for i in (1, 2, 3):
        files({"own_helper.py": f"def number():\n    return 0.{i}{'0' * i}\n"})
        if (
            keys and source != LATE
        ):  # what a function imports is imported by the process of the cell alone
            with pytest.raises(
                BadInputError,
                match="own_helper.py was edited after Python had imported it; restart Python",
            ):
                value("own_main.mine")
        restart()
        result, key = value("own_main.mine")
        assert result == i / 10
        keys.add(key)
    assert len(keys) == 3
    files({"own_helper.py": "def number():\n    return 0.10\n"})
    restart()
    result, key = value("own_main.mine")
    assert result == 0.1 and key in keys  # what was there before has its old key


def test_packages_submodules_and_cycles(out, files):
    """A package with relative imports, whose modules import each other."""
    files(
        {
            "own_pack/__init__.py": "SCALE = 1.0\n",
            "own_pack/sub/__init__.py": "",
            "own_pack/sub/deep.py": (
                "from .. import SCALE\nfrom ..main import BASE\n"
                "def number():\n    return BASE * SCALE\n"
            ),
            "own_pack/main.py": (
                "BASE = 0.5\nfrom .sub import deep\ndef mine(p, y):\n    return deep.number()\n"
            ),
        }
    )
    assert value("own_pack.main.mine")[0] == 0.5
    named = {text.split(":")[0] for text in source_digests("own_pack.main")}
    assert named == {"own_pack", "own_pack.main", "own_pack.sub", "own_pack.sub.deep"}
    files({"own_pack/__init__.py": "SCALE = 0.50\n"})
    restart()
    assert value("own_pack.main.mine")[0] == 0.25
    files(
        {"own_pack/sub/deep.py": "from ..main import BASE\ndef number():\n    return BASE + 0.25\n"}
    )
    restart()
    assert value("own_pack.main.mine")[0] == 0.75


def test_helpers_that_change_places_are_told_apart(files):
    files(
        {
            "own_x.py": "A = 1\n",
            "own_y.py": "A = 2\n",
            "own_main.py": "import own_x, own_y\ndef mine(p, y):\n    return 0.0\n",
        }
    )
    before = build_component("estimator", "mine", {"_target_": "own_main.mine"}).key
    files({"own_x.py": "A = 2\n", "own_y.py": "A = 1\n"})
    restart()
    assert build_component("estimator", "mine", {"_target_": "own_main.mine"}).key != before


def test_only_local_modules_are_in_the_key(files):
    """Leave out the standard library, installed packages, the harness and absent modules."""
    imports = "import json, numpy as np\nimport harness.math.notions\nimport own_absent\n"
    files({"own_main.py": imports})
    assert [text.split(":")[0] for text in source_digests("own_main")] == ["own_main"]


def test_a_helper_of_a_user_part_of_our_object_counts(out, files):
    """A user's calibrator inside our estimator."""
    calibrator = """
from own_helper import AT
class Mine:
    determinism = "exact"
    def fit(self, p, y, rng=None):
        return lambda x: 0 * x + AT
"""
    target = [
        "estimator.variational_isotonic.calibrator._target_=own_calibrator.Mine",
        "estimator=[variational_isotonic]",
    ]
    files({"own_calibrator.py": calibrator, "own_helper.py": "AT = 0.5\n"})
    run = ["problem=beta_wavy", "n=50", "reps=1", "jobs=1", *target]
    first = harness.run(run)
    files({"own_helper.py": "AT = 0.95\n"})
    restart()
    second = harness.run(run)
    assert not set(first["key"]) & set(second["key"])
    assert not set(first["value"]) & set(second["value"])


@pytest.mark.slow
def test_workers_that_are_used_again_run_the_new_code(out, files):
    """Processes outlive the run, as in a cluster when the driver restarts."""
    files({"own_main.py": ASKS})
    for i in (1, 2):
        files({"own_helper.py": f"def number():\n    return 0.{i}{'0' * i}\n"})
        restart()
        frame = harness.run(
            [*RUN[:3], "reps=24", "jobs=2", "+estimator.mine._target_=own_main.mine"]
        )
        assert set(frame["value"]) == {i / 10}


def test_a_broken_module_is_named_and_its_repair_runs(out, files):
    """A module that failed to import can be repaired without a restart."""
    files({"own_main.py": ASKS})
    files({"own_helper.py": "def number(:\n    return 0.2\n"})
    place = r"\(own_helper.py, line 1: def number\(:\)"
    message = rf"'own_main' raised an error when it was imported \(SyntaxError: .* {place}"
    with pytest.raises(BadInputError, match=message):
        value("own_main.mine")
    files({"own_helper.py": "def number():\n    return 0.3\n"})
    assert value("own_main.mine")[0] == 0.3


BAD = "def bad(p, y):\n    raise KeyError('no such bin')\n"


def test_a_failure_names_file_line_function_and_text(out, files, cli):
    """The record and the terminal name them."""
    files({"own_bad.py": BAD})
    code, _, err = cli(*RUN, "+estimator.bad._target_=own_bad.bad")
    line = "KeyError: 'no such bin' (own_bad.py, line 2, in bad: raise KeyError('no such bin'))"
    assert code == 1 and line in err
    reason = harness.load_records(out)["reason"].iloc[0]
    assert reason.splitlines()[-1] == line and reason.startswith("Traceback")


def test_the_innermost_line_of_user_code_is_named(files):
    """The place is never in numpy or in our code. Without user code no place is named."""
    files({"own_deep.py": "import numpy as np\ndef f(p):\n    return np.linalg.inv(p)\n"})
    import own_deep

    with pytest.raises(Exception, match="Singular") as error:
        own_deep.f([[0.0]])
    assert (
        error_text(error.value)
        == "LinAlgError: Singular matrix (own_deep.py, line 3, in f: return np.linalg.inv(p))"
    )
    assert (
        error_place(ValueError("no traceback")) == ""
        and error_text(ValueError("a\nb")) == "ValueError: a b"
    )


def test_a_long_message_is_kept_whole_in_the_record(out, files):
    files({"own_bad.py": "def bad(p, y):\n    raise ValueError('one\\n' + 'x' * 400)\n"})
    reason = harness.run([*RUN, "+estimator.bad._target_=own_bad.bad"])["reason"].iloc[0]
    assert "x" * 400 in reason and "(own_bad.py, line 2, in bad:" in reason.splitlines()[-1]


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("x = = 1\n", "SyntaxError: invalid syntax (own_wrong.py, line 1: x = = 1)"),
        (
            "import own_absent\n",
            "ModuleNotFoundError: No module named 'own_absent' "
            "(own_wrong.py, line 1: import own_absent)",
        ),
        ("from json import nothing\n", "(own_wrong.py, line 1: from json import nothing)"),
        (
            "import json\njson.nothing\n",
            "AttributeError: module 'json' has no attribute 'nothing' (own_wrong.py, line 2",
        ),
        ("import sys\nsys.exit(3)\n", "SystemExit: 3 (own_wrong.py, line 2: sys.exit(3))"),
        (
            "def miner(p, y):\n    return 0.0\n",
            "module 'own_wrong' has no 'mine' (did you mean 'miner'?)",
        ),
    ],
)
def test_a_failed_import_names_the_place(files, source, says):
    files({"own_wrong.py": source})
    with pytest.raises(BadInputError) as error:
        build_component("estimator", "mine", {"_target_": "own_wrong.mine"})
    assert says in str(error.value) and "\n" not in str(error.value)


@pytest.mark.slow
def test_refresh_computes_every_cell_again_and_the_latest_counts(out, files, cli):
    """The estimator reads a data file that is not in its key."""
    estimator = "def mine(p, y):\n    return float(Path(FILE).read_text())\n"
    folder = files({"own_data.py": f"from pathlib import Path\n{estimator}"})
    (folder / "own_data.py").write_text(
        f"FILE = {str(folder / 'value.txt')!r}\n" + (folder / "own_data.py").read_text()
    )
    run = [*RUN, "+estimator.mine._target_=own_data.mine"]
    for text, refresh, expected in (
        ("0.1", "false", 0.1),
        ("0.2", "false", 0.1),
        ("0.2", "true", 0.2),
        ("0.3", "true", 0.3),
    ):
        (folder / "value.txt").write_text(text)
        frame = harness.run([*run, f"refresh={refresh}"])
        assert frame["value"].tolist() == [expected] * 2
    code, text, _ = cli("doctor")
    assert (
        code == 0 and "2 cells have more than one record" in text
    )  # what a refresh replaced is no contradiction
    (folder / "value.txt").unlink()
    code, text, err = cli(*run, "refresh=true")
    assert code == 1 and "2 computed" in text and "2 failed" in text
    assert "2 cells failed when they were computed again" in err and "FileNotFoundError" in err
    with pytest.raises(BadInputError, match="refresh is 'often'; allowed are true"):
        harness.run([*run, "refresh=often"])


def test_refresh_leaves_skips_as_they_are(out):
    run = [
        "problem=dirichlet3_calibrated",
        "estimator=[binned15,variational_temperature]",
        "n=30",
        "reps=2",
        "jobs=1",
    ]
    harness.run(run)
    from harness.workflow.experiment import Experiment

    counts = Experiment.of([*run, "refresh=true"]).compute(quiet=True)
    assert (counts["todo"], counts["skipped"], counts["new_skips"], counts["done"]) == (2, 2, 0, 0)


WRONG = """
from dataclasses import dataclass
def none(p, y): return None
def listed(p, y): return [0.1, 0.2]
def text(p, y): return "0.5"
def complex_(p, y): return 0.5 + 0.1j
def bool_(p, y): return True
def unknown(p, y): return {"ece": 0.1}
def one(p): return 0.1
def four(p, y, rng, bins): return 0.1
class NoArguments:
    def __call__(self): return 0.1
class NotCallable: pass
class PlainNotion:
    notions = "binary"
    def __call__(self, p, y): return 0.1
class OtherNotion(PlainNotion): notions = ("binary", "marginal")
class NoNotion(PlainNotion): notions = ()
class Numbers(PlainNotion): notions = 3
class PlainEstimand(PlainNotion):
    notions = ("binary",)
    estimands = "l1"
class OtherEstimand(PlainEstimand): estimands = ("ece",)
class Determined(PlainEstimand):
    estimands = ("l1",)
    determinism = "exakt"
class Wants(PlainEstimand):
    estimands = ("l1",)
    wants = ("notions",)
class WantsAndTakesNot(Wants): wants = ("notion",)
class Limit(Wants):
    wants = ()
    max_n = "10000"
class NoTruth:
    def sample(self, n, rng): return rng.random(n), rng.integers(0, 2, n)
class NoSample: pass
class SampleOfThree:
    def sample(self, n, rng): return 1, 2, 3
class SampleWithoutRng:
    def sample(self, n): return 1, 2
class Range(NoTruth):
    def sample(self, n, rng): return 100 * rng.random(n), rng.integers(0, 2, n)
class TextTruth(NoTruth):
    def truth(self, estimand, notion): return "0.1"
class PairTruth(NoTruth):
    def truth(self, estimand, notion): return (0.1, 0.01)
class RaisingTruth(NoTruth):
    def truth(self, estimand, notion): return {"l1": 0.1}[estimand]
class TruthOfOne(NoTruth):
    def truth(self, estimand): return 0.1
class ProblemNotion(NoTruth): notions = "binary"
class OtherDefault(NoTruth):
    notions = ("binary",)
    default_notions = ("canonical",)
class Classes(NoTruth): classes = "two"
class NoFit: determinism = "exact"
class FitOfTwo:
    determinism = "exact"
    def fit(self, p, y): return lambda x: x
"""
CALIBRATOR = [
    "estimator=[variational_isotonic]",
    "estimator.variational_isotonic.calibrator._target_=own_wrong",
]
# refused when the cells run: their results are wrong
RETURNED = {
    "none": "the estimator returned None; allowed are a float",
    "listed": "the estimator returned a list; allowed are a float",
    "text": "l1 is Estimate(value='0.5'",
    "complex_": "l1 is Estimate(value=(0.5+0.1j)",
    "bool_": "value, low, high, level and diagnostics must be numbers",
    "unknown": "estimand is 'ece'; allowed",
}
SAMPLED = ("SampleOfThree", "Range")
TRUTHS = {
    "TextTruth": "truth('l1', 'binary') of TextTruth returns '0.1'",
    "PairTruth": "of PairTruth returns (0.1, 0.01)",
    "RaisingTruth": (
        "truth('l2_squared', 'binary') of RaisingTruth raises KeyError: 'l2_squared' "
        "(own_wrong.py, line "
    ),
}
# refused before anything is computed: their declarations and signatures are wrong
ESTIMATORS = {
    "one": "it takes (p), but is called as (p, y) or (p, y, rng)",
    "four": "it takes (p, y, rng, bins), but is called as",
    "NoArguments": "it takes (), but is called as",
    "NotCallable": "it is a NotCallable, which cannot be called as (p, y)",
    "PlainNotion": "notions is 'binary'; a tuple of binary, top_label",
    "OtherNotion": "notions is ('binary', 'marginal'); a tuple of binary",
    "NoNotion": "notions is (); a tuple of binary",
    "Numbers": "notions is 3; a tuple of binary",
    "PlainEstimand": "estimands is 'l1'; a tuple of names such as",
    "OtherEstimand": "estimands is ('ece',); a tuple of names such as",
    "Determined": "determinism is 'exakt'; one of exact, rounding, statistical",
    "Wants": "wants is ('notions',); a tuple of notion, problem",
    "WantsAndTakesNot": "with notion by name",
    "Limit": "max_n is '10000'; a positive integer, or None",
}
PROBLEMS = {
    "NoSample": "it is a NoSample without a method sample(n, rng)",
    "SampleWithoutRng": "sample takes (n), but is called as (n, rng)",
    "TruthOfOne": "truth takes (estimand), but is called as (estimand, notion)",
    "ProblemNotion": "notions is 'binary'; a tuple of binary",
    "OtherDefault": "default_notions contains 'canonical', which is not among its notions binary",
    "Classes": "classes is 'two'; an integer of at least 2 is needed",
}
CALIBRATORS = {
    "NoFit": "without a method fit(p, y, rng)",
    "FitOfTwo": "fit takes (p, y), but is called as (p, y, rng)",
}


def problem_run(name):
    return [
        "problem=[]",
        "n=20",
        "estimator=[binned15]",
        f"+problem.mine._target_=own_wrong.{name}",
    ]


@pytest.mark.parametrize("name", [*ESTIMATORS, *PROBLEMS, "NoFit", "FitOfTwo"])
def test_a_wrong_contract_is_found_before_anything_is_computed(out, files, name):
    """The sentence names the wrong value, the allowed values and the command for a check."""
    files({"own_wrong.py": WRONG})
    overrides = [*RUN[:1], CALIBRATOR[0], f"{CALIBRATOR[1]}.{name}"]
    if name in ESTIMATORS:
        overrides = [*RUN, f"+estimator.mine._target_=own_wrong.{name}"]
    elif name in PROBLEMS:
        overrides = problem_run(name)
    with pytest.raises(BadInputError) as error:
        harness.run([*overrides, "jobs=1"])
    text = str(error.value)
    assert f"`calharness check own_wrong.{name}` explains " in text and "\n" not in text
    assert {**ESTIMATORS, **PROBLEMS, **CALIBRATORS}[name] in text
    assert not (out / "records").exists()


def test_a_wrong_result_fails_its_own_cells(out, files):
    files({"own_wrong.py": WRONG})
    estimators = [f"+estimator.{name}._target_=own_wrong.{name}" for name in RETURNED]
    problems = [f"+problem.{name}._target_=own_wrong.{name}" for name in SAMPLED]
    frame = harness.run([RUN[0], "estimator=binned15", *RUN[2:], *estimators, *problems])
    ours = frame["estimator"].eq("binned15") & frame["problem"].eq("beta_wavy")
    assert ours.any() and frame["status"].eq("ok").eq(ours).all()
    for name, text in RETURNED.items():
        reasons = frame.loc[
            frame["estimator"].eq(name) & frame["problem"].eq("beta_wavy"), "reason"
        ]
        assert len(reasons) and reasons.str.contains(text, regex=False).all()


@pytest.mark.parametrize("name", TRUTHS)
def test_a_wrong_truth_is_one_sentence(out, files, name):
    files({"own_wrong.py": WRONG})
    with pytest.raises(BadInputError) as error:
        harness.run([*problem_run(name), "jobs=1"])
    assert TRUTHS[name] in str(error.value) and "\n" not in str(error.value)


NUMBER = """
import numpy as np
class Mine:
    "p uniform, Y = 1 with probability p / 2."
    def sample(self, n, rng):
        rng_p, rng_y = rng.spawn(2)
        p = rng_p.random(n)
        return p, (rng_y.random(n) < p / 2).astype(int)
    def truth(self, estimand, notion):
        return {"l1": 0.25, "l2_squared": np.float32(0.0833), "rms": float("nan")}.get(estimand)
"""


def test_a_truth_may_be_a_number(out, files):
    """A number is an exact truth. None and NaN stand for an unknown truth."""
    files({"own_problem.py": NUMBER})
    frame = harness.run(
        [
            "problem=[]",
            "+problem.mine._target_=own_problem.Mine",
            "estimator=[binned15]",
            "n=50",
            "reps=1",
        ]
    )
    result = frame.set_index("estimand")[["truth", "truth_error"]]
    assert (
        result.loc["l1"].tolist() == [0.25, 0.0]
        and result.loc["rms"].isna().all()
        and result.loc["linf"].isna().all()
    )
    assert result.loc["l2_squared", "truth"] == pytest.approx(0.0833, abs=1e-7)


def test_a_package_of_ones_own_called_experiments(tmp_path, monkeypatch):
    """A user's package neither hides our papers nor is hidden by them."""
    from harness.common import user_code
    from harness.plan.components import build_component

    assert user_code.is_ours("experiments.berta2026.authors") and user_code.is_ours("harness.math")
    folder = tmp_path / "experiments"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "mine.py").write_text("def gap(p, y):\n    return abs(p.mean() - y.mean())\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    theirs = {"_target_": "experiments.berta2026.authors.Variational"}
    ours = build_component("estimator", "theirs", theirs)
    assert type(ours.object).__module__ == "harness.experiments.berta2026.authors"
    assert not user_code.is_ours("experiments.mine")
    before = build_component("estimator", "mine", {"_target_": "experiments.mine.gap"}).key
    (folder / "mine.py").write_text("def gap(p, y):\n    return abs(p.mean() - y.mean()) / 2\n")
    del sys.modules["experiments.mine"]  # as a restart would
    assert build_component("estimator", "mine", {"_target_": "experiments.mine.gap"}).key != before
    assert build_component("estimator", "theirs", theirs).key == ours.key
    for name in [name for name in sys.modules if name.split(".")[0] == "experiments"]:
        del sys.modules[name]
