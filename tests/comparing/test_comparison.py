"""`calharness compare`: a user's estimator, problem or calibrator against a small baseline.

The small baseline takes the place of the arena's.
"""

import hashlib
import inspect
import re
import shutil

import numpy as np
import pandas as pd
import pytest

import harness
from harness import BadInputError
from harness.comparing import sentences as words
from harness.configure.compose import compose
from harness.evaluation import arena
from harness.evaluation.arena import candidates, constant, opponents
from harness.plan.plan import plan
from harness.records import baseline, baseline_description, baseline_store, tables
from harness.workflow.experiment import Experiment

ARENA = (
    "problem=[beta_overconfident,dirichlet3_harmonic]",
    "estimator=[binned15,binned15_mass]",
    "n=100",
    "reps=4",
    "notion=main",
)
FAMILIES = {"power": ["beta_overconfident"], "wavy": ["dirichlet3_harmonic"]}
MINE = '''
import numpy as np

def mine(p, y):
    """Mean absolute residual over ten bins of equal width."""
    cell = np.digitize(p, np.linspace(0.1, 0.9, 9))
    return sum(abs((p - y)[cell == b].sum()) for b in range(10)) / len(p)
'''


@pytest.fixture(scope="module")
def held(tmp_path_factory):
    """(folder of a small baseline, digests of its files)."""
    with pytest.MonkeyPatch.context() as patch:
        patched(patch)
        out, folder = tmp_path_factory.mktemp("arena"), tmp_path_factory.mktemp("baseline")
        harness.run(["experiment=smoke", *ARENA, "engine=serial", f"out={out}"])
        baseline_store.store(plans(), out, folder)
    return folder, digests(folder)


def plans():
    return {"arena": plan(baseline.compose_settings("arena"))}


def patched(patch):
    shown = ["arena_tests", "arena_pairs"]
    patch.setattr(baseline, "experiments", lambda compared=True: ["arena"] if compared else shown)
    patch.setattr(baseline, "families", lambda: FAMILIES)
    overrides = {"arena": ARENA, "arena_tests": ARENA, "arena_pairs": ()}
    patch.setattr(
        baseline,
        "compose_settings",
        lambda name, more=(): compose(["experiment=smoke", *overrides[name], *more]),
    )


def digests(folder):
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.iterdir())
    }


@pytest.fixture
def compare(cli, held, module, monkeypatch):
    """Return compare("my_module.mine", ...) -> (exit status, output, errors).

    It asserts that the baseline stays as it is.
    """
    patched(monkeypatch)
    monkeypatch.setenv("PYTHONHASHSEED", "0")

    def call(*arguments):
        result = cli("compare", *arguments, f"baseline={held[0]}", "jobs=1")
        assert digests(held[0]) == held[1]
        return result

    return call


def test_the_baseline_has_the_numbers_of_the_records(held, tmp_path, monkeypatch):
    patched(monkeypatch)
    out = tmp_path / "again"
    fresh = harness.run(["experiment=smoke", *ARENA, "engine=serial", f"out={out}"])
    loaded = baseline.load(held[0])
    same = (
        "key problem problem_key notion n rep estimator estimator_key seed estimand level".split()
    )
    same += "kind status reason truth truth_error".split()
    by, numbers = ["key", "estimand"], ["value", "low", "high"]
    loaded = loaded.astype(fresh[same].dtypes.to_dict()).sort_values(by, ignore_index=True)
    fresh = fresh.sort_values(by, ignore_index=True)
    pd.testing.assert_frame_equal(loaded[same], fresh[same], check_dtype=False)
    pd.testing.assert_frame_equal(loaded[numbers], fresh[numbers], rtol=1.6e-5, atol=0.0)
    assert baseline.read(held[0]).classes == {"beta_overconfident": 2, "dirichlet3_harmonic": 3}
    done = fresh[fresh["status"].eq("ok")]
    settings = done[["estimator", "problem", "notion", "n"]].drop_duplicates()
    costs = pd.read_csv(held[0] / "costs.csv.gz")
    assert len(costs) == len(settings) and costs["cells"].eq(4).all()
    assert loaded["cpu_seconds"].notna().sum() == len(done)


def test_pandas_alone_reads_the_file_of_an_estimator(held):
    assert {path.stem for path in held[0].glob("*.parquet")} == {"binned15", "binned15_mass"}
    rows = pd.read_parquet(held[0] / "binned15.parquet")
    assert set(rows["estimator"]) == {"binned15"} and rows["value"].dtype == np.float32
    l1 = rows[rows["problem"].eq("beta_overconfident") & rows["estimand"].eq("l1")]
    assert len(l1) == 4 and l1["truth"].nunique() == 1 and abs(l1["value"] - l1["truth"]).max() < 1


@pytest.fixture
def copied(held, tmp_path, monkeypatch):
    """A copy of the small baseline in the folder of results of a checkout."""
    patched(monkeypatch)
    folder = tmp_path / "results" / "baseline"
    shutil.copytree(held[0], folder)
    monkeypatch.setattr(baseline_description, "BASELINE", folder)
    return folder


def raise_revision(monkeypatch, name):
    monkeypatch.setattr(f"harness.estimators.{name}.revision", "raised")


def changed_files(folder, held):
    return {name for name, digest in digests(folder).items() if digest != held[1][name]}


def test_one_estimator_is_computed_again_and_the_other_files_stay(
    cli, copied, held, tmp_path, monkeypatch
):
    """The class of binned15 has a new revision, and binned15_mass too until it is computed."""
    raise_revision(monkeypatch, "Binned")
    with pytest.raises(BadInputError, match="binned15, binned15_mass have changed.*--rebuild binn"):
        baseline.read(copied)
    words = ("compare", "--rebuild", "binned15", f"out={tmp_path / 'out'}", "engine=serial")
    code, text, err = cli(*words, f"baseline={copied}")
    assert code == 0 and "8 computed, 0 failed" in text, err
    assert changed_files(copied, held) == {"binned15.parquet", "costs.csv.gz"}
    old, new = (pd.read_parquet(f / "binned15.parquet") for f in (held[0], copied))
    same = [name for name in old if name not in ("estimator_key", "run_id")]
    pd.testing.assert_frame_equal(old[same], new[same])
    assert not set(old["estimator_key"]) & set(new["estimator_key"])
    others = [
        pd.read_csv(f / "costs.csv.gz").query("estimator != 'binned15'") for f in (held[0], copied)
    ]
    pd.testing.assert_frame_equal(*others)
    assert len(others[0]) == 2
    first = digests(copied)
    code, text, err = cli(*words, f"baseline={copied}")
    assert code == 0 and " 0 computed" in text and digests(copied) == first, err
    with pytest.raises(BadInputError, match="of binned15_mass have changed"):
        baseline.read(copied)
    code, _, err = cli(*words[:2], "binned15_mass", *words[3:], f"baseline={copied}")
    assert code == 0 and baseline.read(copied).families == FAMILIES, err


def test_an_estimator_with_other_parameters_and_a_new_one_are_computed_alone(
    cli, copied, held, tmp_path, monkeypatch
):
    settings = baseline.compose_settings
    more = ("estimator.binned15.bins=9",)
    monkeypatch.setattr(
        baseline, "compose_settings", lambda name, o=(): settings(name, (*more, *o))
    )
    words = ("compare", "--rebuild", f"out={tmp_path / 'out'}", "engine=serial")
    code, _, err = cli(*words, "binned15", f"baseline={copied}")
    assert code == 0 and baseline.read(copied), err
    assert changed_files(copied, held) == {"binned15.parquet", "costs.csv.gz"}
    monkeypatch.setattr(
        baseline,
        "compose_settings",
        lambda name, o=(): settings(name, (*more, "estimator=[binned15,binned15_mass,corp]", *o)),
    )
    with pytest.raises(BadInputError, match="of corp have changed"):
        baseline.read(copied)
    code, _, err = cli(*words, "corp", f"baseline={copied}")
    assert code == 0 and (copied / "corp.parquet").is_file() and baseline.read(copied), err
    assert set(baseline.load(copied)["estimator"]) == {"binned15", "binned15_mass", "corp"}


def test_new_sizes_are_computed_for_all_estimators_and_stored_cells_stay(
    cli, copied, held, tmp_path, monkeypatch
):
    """Cells of n = 100 are stored, and those of n = 150 are not."""
    settings = baseline.compose_settings
    monkeypatch.setattr(
        baseline, "compose_settings", lambda name, o=(): settings(name, ("n=[100,150]", *o))
    )
    words = ("compare", "--rebuild", f"out={tmp_path / 'out'}", "engine=serial")
    code, _, err = cli(*words, "binned15", f"baseline={copied}")
    assert code == 2 and "the cells of arena have changed" in err
    code, text, err = cli(*words, f"baseline={copied}")
    assert code == 0 and "16 computed, 0 failed" in text, err
    assert baseline.read(copied).description.n == [100, 150]
    for name in ("binned15", "binned15_mass"):
        old, new = (pd.read_parquet(f / f"{name}.parquet") for f in (held[0], copied))
        kept = new[new["n"].eq(100)].reset_index(drop=True)
        pd.testing.assert_frame_equal(kept, old)
        assert len(new) == 2 * len(old)
        assert new.groupby(["problem", "estimand"])["truth"].nunique().eq(1).all()
    old, new = (pd.read_csv(f / "costs.csv.gz") for f in (held[0], copied))
    pd.testing.assert_frame_equal(new[new["n"].eq(100)].reset_index(drop=True), old)


def with_new_experiment(monkeypatch, *samples):
    """Let the arena have a further experiment, with the estimator corp and these samples."""
    settings = baseline.compose_settings
    more = ("estimator=[corp]", *samples)
    monkeypatch.setattr(
        baseline,
        "compose_settings",
        lambda name, o=(): settings("arena", (*(more if name == "arena_new" else ()), *o)),
    )
    monkeypatch.setattr(
        baseline, "experiments", lambda compared=True: ["arena", "arena_new"] if compared else []
    )


def test_a_new_experiment_is_added_to_the_baseline(cli, copied, held, tmp_path, monkeypatch):
    with_new_experiment(monkeypatch, "reps=3", "problem=[beta_overconfident]")
    with pytest.raises(BadInputError, match="of corp have changed; .*--rebuild corp"):
        baseline.read(copied)
    stored = baseline_description.read(copied)
    out = tmp_path / "out"
    words = ("compare", "--rebuild", "corp", f"out={out}", "engine=serial")
    code, text, err = cli(*words, f"baseline={copied}")
    assert code == 0 and "3 computed, 0 failed" in text, err
    changed = {name for name, digest in digests(copied).items() if held[1].get(name) != digest}
    assert changed == {"corp.parquet", "costs.csv.gz", "baseline.json"}
    added = baseline.read(copied).description
    assert added.samples == stored.samples and added.reps == 4
    assert added.estimators == stored.estimators | {"arena_new": ["corp"]}
    rows = baseline.load(copied)
    truths = rows[rows["estimand"].eq("l2_squared") & rows["problem"].eq("beta_overconfident")]
    assert truths.groupby("estimator", observed=True).size()["corp"] == 3
    assert truths["truth"].nunique() == 1  # as for the others


def test_a_new_experiment_with_samples_of_its_own_is_refused(
    cli, copied, held, tmp_path, monkeypatch
):
    words = ("compare", "--rebuild", "corp", f"out={tmp_path / 'out'}", f"baseline={copied}")
    for samples, sentence in (
        ("reps=5", "has 4 of its 5 samples of beta_overconfident, binary, n = 100"),
        ("n=200", "has 0 of its 4 samples of beta_overconfident, binary, n = 200"),
    ):
        with monkeypatch.context() as patch:
            with_new_experiment(patch, samples)
            code, _, err = cli(*words)
        assert code == 2 and sentence in err
    assert not changed_files(copied, held) and not (tmp_path / "out" / "records").exists()


def test_records_that_the_page_only_shows_are_computed_alone_too(
    cli, copied, tmp_path, monkeypatch
):
    monkeypatch.setattr(
        baseline, "experiments", lambda compared=True: ["arena" if compared else "arena_tests"]
    )
    words = ("compare", "--rebuild", f"out={tmp_path / 'out'}", "engine=serial")
    path = copied.parent / "records_of" / "arena_tests.parquet"
    experiment = Experiment.of_settings(
        baseline.compose_settings("arena_tests", [f"out={tmp_path / 'first'}"])
    )
    experiment.compute(quiet=True)
    tables.store(experiment.records.read_own(), experiment.plan, tmp_path / "first", path)
    old = pd.read_parquet(path).set_index(["problem", "notion", "rep", "estimator", "estimand"])
    raise_revision(monkeypatch, "Binned")
    code, text, err = cli(*words, "binned15")
    assert code == 0 and "not stored, 12 cells" in err, text
    code, text, err = cli(*words, "binned15_mass")
    assert code == 0 and "arena_tests.parquet" in text, err
    new = pd.read_parquet(path).set_index(old.index.names)
    pd.testing.assert_series_equal(old["value"], new["value"])
    assert not set(old["estimator_key"]) & set(new["estimator_key"])


def test_one_estimator_is_refused_if_it_is_unknown_or_the_samples_are_others(
    cli, copied, held, tmp_path, monkeypatch
):
    words = ("compare", "--rebuild", f"out={tmp_path / 'out'}", f"baseline={copied}")
    code, _, err = cli(*words, "binned51")
    assert code == 2 and "the arena has no estimator 'binned51' (did you mean 'binned15'?)" in err
    settings = baseline.compose_settings
    monkeypatch.setattr(
        baseline, "compose_settings", lambda name, o=(): settings(name, ("reps=5", *o))
    )
    code, _, err = cli(*words, "binned15")
    assert code == 2 and "the cells of arena have changed" in err
    assert not (tmp_path / "out" / "records").exists() and not changed_files(copied, held)


@pytest.mark.slow
def test_readmes_estimator_is_judged_once_and_its_second_run_computes_nothing(compare, module, out):
    module("my_module", MINE)
    code, text, err = compare("my_module.mine")
    assert code == 0, err
    assert (
        "mine: 12 cells, 0 done before, 8 computed, 4 skipped" in text
    )  # 4 canonical cells of 3 classes
    where = "1 problem of calharness's arena (n = 100; 4 replications)"
    assert f"For the binary L1 calibration error on {where}, the RMSE of mine" in text
    folder = out / "compare" / "mine"
    ends = {path.name.removeprefix("mine") for path in folder.iterdir()}
    pictures = {".png", ".svg", ".pdf"}
    tables = {".csv", "_verdicts.csv", "_settings.csv"}
    assert ends == pictures | tables | {".html", ".tex", ".txt"}
    first = digests(folder)
    page = (folder / "mine.html").read_text()
    assert (
        "t test over families" in page
        and "power" in page
        and 'src="' not in page.replace('src="data:', "")
        and "–nan" not in page
    )
    code, text, _ = compare("my_module.mine")
    assert code == 0 and "8 done before, 0 computed" in text and digests(folder) == first


INTERVAL = """
from dataclasses import dataclass
from harness import Estimate

@dataclass(frozen=True)
class mine:
    notions = ("binary",)
    estimands = ("l1",)
    null_bias = 0.2

    def __call__(self, p, y, rng=None):
        value = abs(float(p.mean() - y.mean()))
        return {{"l1": Estimate(value, value - 0.1, value + 0.3, 0.95, kind="{kind}")}}
"""


def test_an_interval_without_a_point_has_no_regret_and_is_told_why(compare, module):
    module("my_module", INTERVAL.format(kind="interval"))
    code, _, err = compare("my_module.mine", "reps=2", "notion=binary")
    assert code == 2 and "no regret; if the value is an estimate, return kind='point'" in err
    module("my_point", INTERVAL.format(kind="point"))
    code, text, err = compare("my_point.mine", "reps=2", "notion=binary")
    assert code == 0 and "the RMSE of mine is" in text, err


@pytest.mark.slow
def test_from_python_an_estimator_typed_at_a_prompt_is_not_recorded(held, out, monkeypatch):
    patched(monkeypatch)
    import __main__

    def typed(p, y):
        """Gap of the means."""
        return abs(p.mean() - y.mean())

    typed.__module__, typed.__qualname__ = "__main__", "typed"
    monkeypatch.setattr(__main__, "typed", typed, raising=False)
    table = harness.compare(typed, baseline=held[0], notion="binary", n=100)
    assert set(table["notion"]) == {"binary"} and not (out / "records").exists()
    own = table[table["estimator"].eq("typed")]
    p, y = zip(*(_sample(rep) for rep in range(4)))
    errors = [abs(a.mean() - b.mean()) - own["truth"].iloc[0] for a, b in zip(p, y)]
    assert own["rmse"].iloc[0] == pytest.approx(np.sqrt(np.mean(np.square(errors))), rel=1e-12)
    assert set(table["estimator"]) == {"typed", own["best"].iloc[0]}


def _sample(rep):
    from harness.common.seeds import problem_rng
    from harness.configure.options import option
    from harness.plan.components import build_component
    from harness.problems.base import ProblemSpec

    one = build_component(
        "problem", "beta_overconfident", dict(option("problem", "beta_overconfident").config)
    )
    return one.object.sample(100, problem_rng(0, ProblemSpec.of(one.object), one.key, rep))


BAD = {
    "signature": ("def bad(p):\n    return 0.1", "bad"),
    "list": ("def bad(p, y):\n    return [0.1]", "returned a list"),
    "text": ("def bad(p, y):\n    return 'much'", "bad"),
    "absent": ("def good(p, y):\n    return 0.1", "bad"),
    "broken": ("def bad(p, y:\n    return 0.1", "SyntaxError"),
}
BAD_LATER = {
    "nan": (
        "def bad(p, y):\n    return float('nan')",
        "bad gives no number in its first 5 cells; on beta_overconfident (n = 100, rep 0)",
    ),
    "raises": (
        "def bad(p, y):\n    raise KeyError('no such bin')",
        "on beta_overconfident (n = 100, rep 0): KeyError",
    ),
    "exits": (
        "import os\ndef bad(p, y):\n    os._exit(0)",
        "n = 100, rep 0, ended its process with exit status 0",
    ),
    "crashes": (
        "import ctypes\ndef bad(p, y):\n    ctypes.string_at(0)",
        "rep 0, crashed its process",
    ),
    "hangs": (
        "import time\ndef bad(p, y):\n    time.sleep(600)",
        "beta_overconfident, n = 100, rep 0, took longer than 1 s",
    ),
    "hangs later": (
        "import time\ndef bad(p, y):\n"
        "    return 0.1 if len(p) != 100 or p[0] < 0.5 else time.sleep(600)",
        "took longer than 1 s",
    ),
    "of nothing known": (
        "def bad(p, y):\n    from harness import Estimate\n    return {'ks': Estimate(0.1)}",
        "bad",
    ),
}


AT_IMPORT = {
    "ends": ("import os\nos._exit(3)", "importing bad_ends ended its process with exit status 3"),
    "exits": ("import sys\nsys.exit('no licence')", "SystemExit: no licence"),
    "crashes": ("import ctypes\nctypes.string_at(0)", "importing bad_crashes crashed its process"),
}


@pytest.mark.parametrize("fault", AT_IMPORT)
def test_a_module_that_ends_its_process_when_it_is_imported_is_named(compare, module, out, fault):
    source, message = AT_IMPORT[fault]
    module(f"bad_{fault}", source)
    assert_refused(compare(f"bad_{fault}.bad"), message, out)


@pytest.mark.parametrize("fault", BAD)
def test_what_is_no_estimator_is_refused_in_one_sentence(compare, module, out, fault):
    source, message = BAD[fault]
    module(f"bad_{fault}", source)
    assert_refused(compare(f"bad_{fault}.bad"), message, out)


def assert_refused(result, message, out):
    code, text, err = result
    told = [line for line in err.splitlines() if line.startswith("calharness: ")]
    assert code == 2 and len(told) == 1 and message in told[0] and "Traceback" not in err, err
    assert not text and not (out / "compare").exists()


@pytest.mark.slow
@pytest.mark.parametrize("fault", BAD_LATER)
def test_an_estimator_that_misbehaves_is_named_with_problem_n_and_rep(compare, module, out, fault):
    source, message = BAD_LATER[fault]
    name = f"bad_{fault.replace(' ', '_')}"
    module(name, source)
    assert_refused(compare(f"{name}.bad", "limit=1"), message, out)


@pytest.mark.slow
def test_an_estimator_without_a_number_on_some_samples_is_compared(compare, module, out):
    module(
        "my_module",
        MINE
        + """
def some(p, y):
    if len(p) == 120:
        raise ZeroDivisionError("n is 120")  # on the samples of the contract test
    return float("nan") if p[0] > 0.9 else mine(p, y)
""",
    )
    code, text, err = compare("my_module.some", "notion=binary")
    assert code == 0, err
    assert "undefined in 1 of 4 cells" in text or "undefined in 2 of 4 cells" in text


@pytest.mark.slow
def test_an_own_problem_is_given_to_the_arenas_estimators(compare, held, module, out):
    module(
        "my_problem",
        '''
import numpy as np
from dataclasses import dataclass
from harness import Truth

@dataclass(frozen=True)
class Half:
    """p is uniform, and Y a fair coin whatever p says; l1 = 1/4."""

    def sample(self, n, rng):
        draws = rng.random((n, 2))
        return draws[:, 0], (draws[:, 1] < 0.5).astype(int)

    def truth(self, estimand, notion):
        return Truth(0.25, 0.0, "closed form") if estimand == "l1" else None
''',
    )
    code, text, err = compare("problem=my_problem.Half")
    assert code == 0, err
    problem = "Half (k = 2, true binary L1 calibration error 0.25; 4 replications)"
    assert f"On {problem} the most accurate of 2 published" in text
    table = pd.read_csv(out / "compare" / "Half" / "Half.csv")
    assert set(table["estimator"]) == {"binned15", "binned15_mass"} and table["may_be_best"].any()
    assert f"has an RMSE of {abs(constant_of_the_arena(held) - 0.25):.2g}" in text


def constant_of_the_arena(held):
    return constant.median_truths(baseline.read(held[0]).truths().values())["binary", "l1"]


@pytest.mark.slow
def test_an_own_calibrator_is_judged_as_a_variational_estimator(compare, module, out):
    folder = module("my_calibrator", inspect.getsource(harness.calibrators.temperature))
    code, text, err = compare("calibrator=my_calibrator.Temperature", "notion=binary")
    assert code == 0, f"{err} {folder}"
    assert (
        "variational_Temperature: 4 cells" in text
        and (out / "compare" / "variational_Temperature").is_dir()
    )


def test_options_that_name_nothing_of_the_baseline_are_refused(compare, module, out):
    module("my_module", MINE)
    for option, message in (
        ("n=300", "n is 300, which the baseline does not have; choose among 100"),
        ("family=rare", "choose among power, wavy"),
        ("notion=ece", "notion is 'ece'"),
        ("reps=9", "the baseline has 4 replications"),
        ("limit=0", "limit is 0"),
        ("sizes=3", "compare has no option 'sizes'"),
    ):
        assert_refused(compare("my_module.mine", option), message, out)
    assert_refused(compare(), "nothing to compare", out)
    assert_refused(compare("binned16"), "did you mean 'binned15'", out)


def test_an_absent_and_an_old_baseline_are_refused_with_the_remedy(held, tmp_path, monkeypatch):
    patched(monkeypatch)
    with pytest.raises(BadInputError, match="is absent or broken.*calharness compare --rebuild"):
        baseline.load(tmp_path)
    monkeypatch.setattr(
        baseline,
        "compose_settings",
        lambda name, more=(): compose(["experiment=smoke", *ARENA[:3], "reps=5", ARENA[4]]),
    )
    with pytest.raises(
        BadInputError, match="cannot be used: .*have changed; `calharness compare --rebuild`"
    ):
        baseline.load(held[0])
    with pytest.raises(BadInputError, match="cells of arena have no record"):
        baseline_store.store(plans(), tmp_path / "none", tmp_path / "baseline")


def draws(rivals, reps, families, own=1.0, seed=0):
    """Settings of e0 and its rivals, which differ only by the factor `own` of the errors of e0.

    There is one problem per family. The errors of one rep are correlated, as on one draw of data.
    """
    rng = np.random.default_rng(seed)
    shape = (families, rivals + 1, reps)
    errors = 0.8 * rng.normal(size=(families, 1, reps)) + 0.6 * rng.normal(size=shape)
    errors[:, 0] *= own
    index = pd.MultiIndex.from_product([range(size) for size in shape])
    frame = index.to_frame(index=False, name=["family", "estimator", "rep"])
    frame = frame.assign(
        problem=frame["family"].map("p{:03}".format),
        estimator=frame["estimator"].map("e{}".format),
        value=0.3 + errors.ravel(), truth=0.3, notion="binary", n=100, estimand="l1", status="ok",
        kind="point", low=np.nan, high=np.nan, cpu_seconds=0.1,
    ).drop(columns="family")  # fmt: skip
    problems = [f"p{i:03}" for i in range(families)]
    names = {f"f{i:03}": [problem] for i, problem in enumerate(problems)}
    return arena.settings(frame, names, dict.fromkeys(problems, 2))


def verdicts(settings, own, development=()):
    logs = opponents.opponents(settings, own, development)
    return opponents.statements(logs, own, development)


def test_the_verdict_is_about_families_outside_the_development_half():
    """e0 has 2.5 times the error of its rival on 12 families, of which two are for choosing."""
    table = draws(1, 20, 12, own=2.5)
    (row,) = verdicts(table, "e0", ["f000", "f001"]).itertuples()
    assert (row.opponent, row.rivals, row.families) == ("published", {100: "e1"}, 10)
    assert row.verdict == "worse" and row.low < 2.5 < row.high and row.p_adjusted == row.p_value
    (row,) = verdicts(draws(1, 20, 12, own=0.4), "e0").itertuples()
    assert row.verdict == "better" and row.families == 12
    (row,) = verdicts(draws(1, 20, 4, own=0.4), "e0").itertuples()
    assert (row.verdict, row.about) == ("undecided", "these families")
    assert np.isnan([row.low, row.high, row.p_value, row.p_adjusted]).all()


def test_best_is_an_opponent_beside_the_published_ones():
    """Two statements share the error rate: the smaller p-value is doubled."""
    table = draws(2, 20, 12, own=0.4)
    table["estimator"] = table["estimator"].replace("e1", "best")
    result = verdicts(table, "e0").set_index("opponent")
    assert result.loc["best", "rivals"] == {100: "best"}
    assert result.loc["published", "rivals"] == {100: "e2"}
    smaller = result["p_value"].idxmin()
    assert result.loc[smaller, "p_adjusted"] == 2 * result.loc[smaller, "p_value"]
    logs = opponents.opponents(table, "e0", [])
    families = opponents.by_family(table, logs, "e0")
    for name in ("best", "published"):
        ratio = np.exp(np.log(families[f"ratio_{name}"]).mean())
        assert ratio == pytest.approx(result.loc[name, "ratio"])
    assert set(opponents.opponents(table, "best", [])) == {"published"}


def test_equals_are_rarely_called_different():
    """The rate over 150 comparisons is at most 0.05, up to three Monte Carlo errors."""
    table = draws(1, 5, 150 * 8)
    trial = pd.factorize(table["problem"])[0] // 8
    wrong = [verdicts(part, "e0")["verdict"].ne("undecided").any()
             for _, part in table.groupby(trial)]  # fmt: skip
    assert np.mean(wrong) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 150)


def log_tables(trials, seed=0):
    """Random logs of up to 8 boards against up to 3 opponents, with 1 to 12 families each."""
    rng = np.random.default_rng(seed)
    names = ("best", "published", "constant")
    for _ in range(trials):
        logs, truths = {}, {}
        for opponent in names[: rng.integers(1, 4)]:
            parts = []
            for board in range(rng.integers(1, 9)):
                mean = rng.choice([0.0, 0.002, rng.normal()])
                values = mean + rng.choice([0.01, 0.5]) * rng.normal(size=rng.integers(1, 13))
                names = [f"f{i}" for i in range(len(values))]
                parts.append(pd.DataFrame({"family": names, "log": values}).assign(
                    notion="binary", estimand=f"e{board}", n=100, rival=opponent))  # fmt: skip
                truths[f"e{board}", opponent] = np.exp(mean)
            logs[opponent] = pd.concat(parts, ignore_index=True)
        yield logs, truths


def printed_range(sentence):
    """Return the ends of the interval in a headline."""
    return [float(end.replace(",", "")) for end in re.search(RANGE, sentence).groups()]


RANGE = r"interval(?:, corrected for \d+ comparisons)?: ([\d.,]+)–([\d.,]+)\)"


def test_verdict_and_printed_interval_agree_and_all_intervals_hold_together():
    """In 300 random tables; 5 % may miss a ratio, up to three Monte Carlo errors."""
    missed = 0
    for logs, truths in log_tables(300):
        table = opponents.statements(logs, "mine", [])
        for row in table.itertuples(index=False):
            sentence = words.describe_statement(row, "mine")
            if row.families < 5:
                assert "is not judged" in sentence and not re.search(RANGE, sentence)
                continue
            low, high = printed_range(sentence)
            sides = {"better": high < 1.0, "worse": low > 1.0, "undecided": low <= 1.0 <= high}
            assert [name for name, holds in sides.items() if holds] == [row.verdict], sentence
        truth = [truths[row.estimand, row.opponent] for row in table.itertuples()]
        missed += ((table["low"] > truth) | (table["high"] < truth)).any()
    assert missed / 300 <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 300)


def own_records(values, n):
    """Records of one estimator on one problem, with one value per replication."""
    return pd.DataFrame({
        "problem": "p", "notion": "binary", "n": n, "rep": range(len(values)), "estimand": "l1",
        "value": values, "status": "ok",
    })  # fmt: skip


def test_only_values_that_do_not_vary_with_the_data_are_called_constant():
    def found(*parts):
        table = constant.constant_values(pd.concat(parts), {"p": 2})
        return table[["low", "high", "samples"]].to_numpy().tolist()

    assert found(own_records([0.03] * 9, 100)) == [[0.03, 0.03, 9]]
    assert found(own_records([0.0] * 10, 100)) == [[0.0, 0.0, 10]]
    assert found(own_records([0.0] * 9, 100)) == []  # many estimators are cut at 0
    by_n = [own_records([1 / n] * 9, n) for n in (100, 200)]
    assert found(*by_n) == [[0.005, 0.01, 18]]
    assert found(own_records([0.03] * 2, 100)) == []  # too few samples to tell
    assert found(own_records([0.03] * 8 + [0.0301], 100)) == []
    assert found(*by_n, own_records([0.03] * 8 + [0.0301], 300)) == []
    rng = np.random.default_rng(0)
    for _ in range(100):
        clipped = np.maximum(rng.normal(size=20), 0.0)  # a debiased estimate is often 0
        assert found(own_records(clipped, 100)) == []


CONSTANT = """
import time

def constant(p, y):
    return 0.03

def sleeps(p, y):
    time.sleep(0.05)
    return float(abs(p - y).mean())
"""


@pytest.mark.slow
def test_a_constant_is_told_so_and_is_an_opponent_of_all(compare, module, out):
    module("my_module", CONSTANT)
    code, text, err = compare("my_module.constant", "notion=binary")
    assert code == 0, err
    assert "constant ignores the data" in text and "0.03 in all 4 estimates" in text
    assert "against the constant 0." in text
    page = (out / "compare" / "constant" / "constant.html").read_text()
    assert "constant ignores the data" in page and "RMSE / constant" in page
    code, text, err = compare("my_module.sleeps", "notion=binary")
    assert code == 0 and "ignores the data" not in text, err
    settings = pd.read_csv(out / "compare" / "sleeps" / "sleeps_settings.csv")
    assert (settings["seconds"] >= 0.05).all() and (settings["cpu_seconds"] < 0.03).all()
    (wall,) = re.findall(r"An estimate takes (\d+) ms \(", text)
    assert 50 <= float(wall) < 500


@pytest.mark.slow
def test_the_best_is_rarely_missing_from_those_that_may_be():
    """Among five equals, each is the best. An estimator with a fifth of the error is best alone.

    The bound is three Monte Carlo errors over 60 trials.
    """
    result = candidates.find_best_candidates(draws(4, 20, 60))
    assert (~result.loc[result["estimator"].eq("e0"), "may_be_best"]).mean() <= 0.05 + 3 * np.sqrt(
        0.05 * 0.95 / 60
    )
    alone = candidates.find_best_candidates(draws(4, 20, 1, own=0.2))
    assert alone.loc[alone["may_be_best"], "estimator"].tolist() == ["e0"]
