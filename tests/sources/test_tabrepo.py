"""TabRepo's layout: reader, tasks and families as problems, download from a local server."""

import hashlib
import json
import os
import pickle
import re
import shutil
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from http_server import Silent, serving

import harness
from harness import BadInputError
from harness.configure.compose import compose
from harness.plan.components import build_component, component
from harness.plan.plan import plan
from harness.problems import TabRepoTask, TabRepoTasks
from harness.problems.tabrepo import task_list
from harness.sources import tabrepo, tabrepo_fetch
from harness.sources.tabrepo import Repository

DATA = os.environ.get("CALHARNESS_DATA")
MINI = Path(DATA or "") / "tabrepo_mini"
needs_fixture = pytest.mark.skipif(
    not DATA or not MINI.is_dir(), reason="CALHARNESS_DATA has no tabrepo_mini"
)
CONFIGS = [
    f"{family}_c1_BAG_L1"
    for family in ("CatBoost", "LightGBM", "RandomForest", "ExtraTrees", "LinearModel")
]


def write_task(root, dataset, fold, models, val, labels, test=None, test_labels=None):
    """Write a task in TabRepo's layout: val (models, n) or (models, n, k)."""
    val = np.asarray(val)
    folder = root / "model_predictions" / dataset / str(fold)
    folder.mkdir(parents=True)
    test = val[:, :2] if test is None else np.asarray(test, dtype=val.dtype)
    test_labels = list(labels)[:2] if test_labels is None else test_labels
    about = {"models": list(models), "dataset": dataset, "fold": fold, "dtype": str(val.dtype)}
    for part, values, y in (("val", val, labels), ("test", test, test_labels)):
        values.tofile(folder / f"pred-{part}.dat")
        about[f"pred_{part}_shape"] = list(values.shape)
        how = {"method": "zip", "archive_name": f"label-{part}.csv"}
        pd.DataFrame({"target": y}).to_csv(folder / f"label-{part}.csv.zip", compression=how)
    (folder / "metadata.json").write_text(json.dumps(about))
    return folder


def write_index(root, **kinds):
    pd.DataFrame({"dataset": list(kinds), "problem_type": list(kinds.values())}).to_parquet(
        root / "configs.parquet"
    )


@pytest.fixture
def tiny(tmp_path):
    """Return a repository of three data sets.

    `two` is binary with 4 rows and the models A_1 and B_1. `three` has 3 classes and 3 rows.
    `amount` is a regression.
    """
    root = tmp_path / "tiny"
    two = np.array([[0.1, 0.2, 0.7, 1.0], [0.25, 0.5, 0.75, 0.0]], dtype=np.float32)
    three = np.array([[[0.5, 0.25, 0.25], [0.0, 1.0, 0.0], [0.25, 0.25, 0.5]]], dtype=np.float32)
    write_task(root, "two", 0, ["A_1", "B_1"], two, [0, 0, 1, 1])
    write_task(root, "two", 1, ["B_1"], two[1:], [0, 1, 1, 0])
    write_task(root, "three", 0, ["A_1"], three, [0, 1, 2])
    write_task(root, "amount", 0, ["A_1"], np.array([[12.5, 3.0]], dtype=np.float32), [13.0, 2.5])
    write_index(root, two="binary", three="multiclass", amount="regression")
    return root


# Reader


def test_rows_are_found_by_name_in_each_tasks_order(tiny):
    repository = Repository(tiny)
    assert repository.datasets() == ["amount", "three", "two"] and repository.folds("two") == [0, 1]
    assert [repository.configs("two", fold) for fold in (0, 1)] == [["A_1", "B_1"], ["B_1"]]
    for fold in (0, 1):
        assert repository.predict_val("two", fold, "B_1").tolist() == [0.25, 0.5, 0.75, 0.0]
    assert repository.predict_test("two", 0, "B_1").tolist() == [0.25, 0.5]
    assert repository.labels_val("two", 0).tolist() == [0, 0, 1, 1]
    assert repository.labels_test("two", 0).tolist() == [0, 0]
    assert repository.predict_val("three", 0, "A_1").shape == (3, 3)
    assert repository.problem_type("three") == "multiclass"
    assert [repository.shape(name, 0) for name in ("two", "three")] == [(4, 2), (3, 3)]


def test_a_name_with_a_point_is_stored_with_an_underscore(tiny):
    write_task(tiny, "v2_6", 0, ["A_1"], np.array([[0.5, 0.25]], dtype=np.float32), [0, 1])
    write_index(tiny, **{"v2.6": "binary"})
    assert Repository(tiny).predict_val("v2.6", 0, "A_1").tolist() == [0.5, 0.25]


@pytest.mark.parametrize("dtype, off", [("float16", 1e-3), ("float32", 1e-6)])
def test_vectors_are_float64_and_sum_to_one(tmp_path, dtype, off):
    """Stored in 16 bits, thirds sum to 0.9998. They come back as thirds."""
    write_task(tmp_path, "t", 0, ["A"], np.full((1, 2, 3), 1 / 3).astype(dtype), [0, 1])
    write_index(tmp_path, t="multiclass")
    p = Repository(tmp_path).predict_val("t", 0, "A")
    assert p.dtype == np.float64 and np.abs(p - 1 / 3).max() < 1e-15
    assert 0 < abs(float(np.full(3, 1 / 3).astype(dtype).astype(float).sum()) - 1) < off


@pytest.mark.parametrize("row", [[0.5, 0.25, 0.2], [0.5, 0.5, np.nan], [1.5, -0.25, -0.25]])
def test_vectors_that_are_no_probabilities_are_refused(tmp_path, row):
    write_task(tmp_path, "t", 0, ["A"], np.array([[row, [1, 0, 0]]], dtype=np.float32), [0, 1])
    write_index(tmp_path, t="multiclass")
    with pytest.raises(BadInputError, match="t, fold 0, A.*(row 0 sums to 0.95|must lie in)"):
        Repository(tmp_path).predict_val("t", 0, "A")


def test_regression_is_refused_with_its_name(tiny):
    for ask in (lambda r: r.predict_val("amount", 0, "A_1"), lambda r: r.labels_val("amount", 0)):
        with pytest.raises(BadInputError, match="amount is a regression data set"):
            ask(Repository(tiny))


def _shorten(path):
    path.write_bytes(path.read_bytes()[:-1])


def _relabel(labels):
    how = {"method": "zip", "archive_name": "l.csv"}
    return lambda path: pd.DataFrame({"target": labels}).to_csv(path, compression=how)


def _describe(**changes):
    return lambda path: path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


@pytest.mark.parametrize(
    "name, damage, message",
    [
        (
            "pred-val.dat",
            _shorten,
            "pred-val.dat has 31 bytes, but shape .2, 4. in float32 needs 32",
        ),
        ("pred-val.dat", Path.unlink, "pred-val.dat is missing"),
        ("label-val.csv.zip", _relabel([0, 1, 1]), "3 labels for 4 rows"),
        ("label-val.csv.zip", _relabel([0, 1, 1, 2]), "labels from 0 to 2; integers 0..1"),
        ("label-val.csv.zip", _relabel([0, 1, 1, 0.5]), "type float64; integers 0..1"),
        ("label-val.csv.zip", _relabel(list("abba")), "integers 0..1"),
        ("label-val.csv.zip", _shorten, "cannot be read as zipped csv"),
        ("metadata.json", _shorten, "is not valid metadata of predictions"),
        ("metadata.json", _describe(dtype="int8"), "dtype int8; allowed are"),
        ("metadata.json", _describe(models=["A_1", "A_1"]), "names a model twice"),
        ("metadata.json", _describe(models=["A_1"]), "for 1 models"),
        (
            "metadata.json",
            _describe(pred_val_shape=[2, 5]),
            "has 32 bytes, but shape .2, 5. in float32 needs 40",
        ),
        ("metadata.json", _describe(pred_val_shape=[2, 2, 2]), "is binary, but its predictions"),
    ],
)
def test_damage_is_one_sentence(tiny, name, damage, message):
    damage(tiny / "model_predictions" / "two" / "0" / name)
    repository = Repository(tiny)
    with pytest.raises(BadInputError, match=message) as error:
        repository.predict_val("two", 0, "A_1")
        repository.labels_val("two", 0)
    assert "\n" not in str(error.value) and str(error.value).endswith(".")


def test_absent_names_are_refused(tiny):
    repository = Repository(tiny)
    with pytest.raises(BadInputError, match="'C_1'"):
        repository.predict_val("two", 0, "C_1")
    with pytest.raises(BadInputError, match="'four'"):
        repository.folds("four")
    with pytest.raises(BadInputError, match="neither it nor a folder"):
        Repository(tiny.parent)


def test_a_repository_is_looked_for_in_three_folders(tiny, tmp_path, monkeypatch):
    """The working folder, CALHARNESS_DATA, the cache. Folders without predictions do not count."""
    working, data, cache = (tmp_path / name for name in ("working", "data", "cache"))
    for folder in (working / "mine", data, cache):
        folder.mkdir(parents=True)
    monkeypatch.chdir(working)
    monkeypatch.setenv("CALHARNESS_DATA", str(data))
    monkeypatch.setattr(tabrepo, "CACHE", cache)
    with pytest.raises(
        BadInputError, match="at .*working/tabrepo, .*data/tabrepo, .*cache/tabrepo; "
    ):
        tabrepo.find("tabrepo")
    context = Path("mine", "results", "context")
    for place in (cache / "mine", data / context, working / context):
        shutil.copytree(tiny, place)
        assert tabrepo.find("mine").root == place.resolve()
    shutil.copytree(tiny, working / "mine" / "results" / "another")
    with pytest.raises(BadInputError, match="contexts another, context"):
        tabrepo.find("mine")


# Reader on files that TabRepo's own code wrote


@needs_fixture
def test_both_layouts_hold_the_same():
    first, second = Repository(MINI / "repo"), Repository(MINI / "public_layout")
    names = ["breast_cancer", "diabetes_reg", "digits", "iris", "wine"]
    assert first.datasets() == second.datasets() == names
    for dataset, classes in (("breast_cancer", 2), ("digits", 10), ("iris", 3), ("wine", 3)):
        for fold in (0, 1):
            assert first.configs(dataset, fold) == CONFIGS
            assert first.shape(dataset, fold)[1] == classes
            for config in CONFIGS:
                for part in ("val", "test"):
                    p = getattr(first, f"predict_{part}")(dataset, fold, config)
                    y = getattr(first, f"labels_{part}")(dataset, fold)
                    right = (p > 0.5) == y if classes == 2 else p.argmax(axis=1) == y
                    # the models are trained, so rows and labels belong together
                    assert right.mean() > 0.8 and len(p) == len(y)
                    assert (p == getattr(second, f"predict_{part}")(dataset, fold, config)).all()


@needs_fixture
def test_validation_and_test_rows_part_the_table():
    """Nine tenths of the rows of wine are validation rows. The labels are scikit-learn's."""
    from sklearn.datasets import load_wine

    repository = Repository(MINI / "repo")
    labels = repository.labels_val("wine", 0), repository.labels_test("wine", 0)
    counts = np.bincount(np.concatenate(labels)).tolist()
    assert len(labels[0]) == 160 and counts == np.bincount(load_wine().target).tolist()


@needs_fixture
def test_legal_irregularities():
    """Models in another order, one missing, 16 bits: the same numbers by name."""
    plain, ragged = Repository(MINI / "repo"), Repository(MINI / "repo_ragged")
    assert ragged.configs("wine", 0) == CONFIGS[::-1]
    assert ragged.configs("iris", 1) == [c for c in CONFIGS if not c.startswith("LightGBM")]
    assert ragged.metadata("breast_cancer", 1).dtype == np.float16
    for dataset, fold, allowed in (("wine", 0, 0), ("iris", 1, 0), ("breast_cancer", 1, 2.5e-4)):
        for config in ragged.configs(dataset, fold):
            p, q = (r.predict_val(dataset, fold, config) for r in (ragged, plain))
            assert np.abs(p - q).max() <= allowed
    with pytest.raises(BadInputError, match="iris, fold 1 has no config 'LightGBM_c1_BAG_L1'"):
        ragged.predict_val("iris", 1, "LightGBM_c1_BAG_L1")
    assert ragged.problem_type("diabetes_reg") == "regression"


# One task as a problem


def task(tiny, dataset="two", config="A_1", **more):
    return TabRepoTask(str(tiny), dataset, 0, config, **more)


def test_a_task_is_judged_as_a_file_of_predictions_is(tiny):
    two, three = task(tiny), task(tiny, "three")
    assert two.notions == ("binary", "canonical", "classwise")
    assert two.default_notions == ("binary",)
    assert three.notions == ("top_label", "classwise", "canonical")
    assert three.default_notions == ("canonical",)
    sizes = (two.classes, three.classes, two.n_max, two.default_n, two.default_reps)
    assert sizes == (2, 3, 4, 4, 10)
    assert task(tiny, max_n=3).default_n == 3 and two.truth("l1") is None


def test_a_rep_is_an_order_of_the_rows_and_a_small_n_its_beginning(tiny):
    p, y = task(tiny).sample(4, np.random.default_rng(1))
    values = np.float32([0.1, 0.2, 0.7, 1.0]).astype(float).tolist()
    assert sorted(zip(p, y)) == list(zip(values, [0, 0, 1, 1]))
    q, z = task(tiny).sample(2, np.random.default_rng(1))
    assert q.tolist() == p[:2].tolist() and z.tolist() == y[:2].tolist()
    with pytest.raises(BadInputError, match="n is 5"):
        task(tiny).sample(5, np.random.default_rng(1))


def test_a_task_is_known_by_its_content_not_by_its_place(tiny, tmp_path):
    def key(root, config="A_1"):
        node = {"_target_": "harness.problems.TabRepoTask", "repository": str(root)}
        return build_component(
            "problem", "x", {**node, "dataset": "two", "fold": 0, "config": config}
        ).key

    moved = tmp_path / "elsewhere"
    shutil.copytree(tiny, moved)
    assert key(moved) == key(tiny) != key(tiny, "B_1")
    predictions = moved / "model_predictions/two/0/pred-val.dat"
    values = np.fromfile(predictions, np.float32)
    values[7] = 0.5  # of the other model
    values.tofile(predictions)
    assert key(moved) == key(tiny) and key(moved, "B_1") != key(tiny, "B_1")
    _relabel([1, 0, 1, 1])(predictions.with_name("label-val.csv.zip"))
    assert key(moved) != key(tiny)


@pytest.mark.parametrize(
    "options, reason",
    [
        (
            {"dataset": "four"},
            "lacks metadata.json, pred-val.dat, label-val.csv.zip of four, fold 0",
        ),
        ({"dataset": "amount"}, "amount is a regression data set"),
        ({"config": "C_1"}, "no predictions of C_1 for two, fold 0"),
        ({"n_samples": 5}, "list of tasks says 5 rows .* the repository has 4 and 2"),
    ],
)
def test_an_unavailable_task_says_why(tiny, options, reason):
    unavailable = task(tiny, **{"n_samples": 4, "n_classes": 2, **options})
    assert re.search(reason, unavailable.unavailable) and unavailable.fingerprint["sha256"] is None
    assert task(tiny).unavailable is None and len(task(tiny).fingerprint["sha256"]) == 64


# Families


def test_a_family_stands_for_its_members(tiny):
    two = ["two/0/A_1", "two/0/B_1"]
    for options, names in (
        ({}, ["amount/0/A_1", "three/0/A_1", *two, "two/1/B_1"]),
        ({"families": ("B",)}, ["two/0/B_1", "two/1/B_1"]),
        ({"datasets": "two", "folds": [0]}, two),
        ({"min_n": 4}, [*two, "two/1/B_1"]),
    ):
        assert list(TabRepoTasks(str(tiny), **options).members()) == names
    members = TabRepoTasks(str(tiny)).members()
    pickle.loads(pickle.dumps(members))
    member = component("problem", "two/0/B_1", members["two/0/B_1"])
    assert member == build_component("problem", "two/0/B_1", member.config)
    assert member.id == "two/0/B_1" and member.object.n_max == 4 and member.object.config == "B_1"


@pytest.mark.parametrize(
    "options, message",
    [
        (
            {"datasets": ("two", "four")},
            "datasets is 'four', which no task has; choose from amount, three, two",
        ),
        ({"folds": (7,)}, "folds is 7"),
        ({"families": ("A_1",)}, "families is 'A_1', which no task has; choose from A, B"),
        ({"min_n": 100}, "exclude all tasks"),
        ({"tasks": "nowhere.csv"}, "tasks is 'nowhere.csv'; there is no such file"),
    ],
)
def test_a_choice_of_nothing_is_refused(tiny, options, message):
    with pytest.raises(BadInputError, match=message):
        TabRepoTasks(str(tiny), **options).members()


def test_the_list_of_table_1_is_whole():
    """1,088 tasks on 51 binary and 17 other data sets, ids unique, sizes as in the paper's runs."""
    tasks = pd.read_csv(task_list("berta2026/table1_tasks.csv"))
    assert len(tasks) == 1088 and not tasks.duplicated(["dataset", "fold", "config"]).any()
    datasets = tasks.groupby("problem_type")["dataset"].nunique()
    assert datasets.to_dict() == {"binary": 51, "multiclass": 17}
    assert tasks["problem_type"].value_counts().to_dict() == {"binary": 787, "multiclass": 301}
    assert (tasks["n_samples"].min(), tasks["n_samples"].max()) == (450, 3376)
    assert tasks["n_classes"].max() == 10 and tasks["family"].nunique() == 7
    assert (tasks["config"].str.split("_").str[0] == tasks["family"]).all()
    assert (tasks["n_classes"].eq(2) == tasks["problem_type"].eq("binary")).all()


def family(root, *more):
    return [
        "problem=tabular_oof",
        f"problem.tabular_oof.repository={root}",
        "estimator=[binned15,brier]",
        "jobs=1",
        *more,
    ]


@pytest.mark.slow
def test_a_run_over_a_family_skips_absent_tasks_until_they_come(tiny, out, tmp_path):
    tasks = tmp_path / "tasks.csv"
    tasks.write_text(
        "dataset,fold,config,n_samples,n_classes\ntwo,0,A_1,4,2\nlater,0,A_1,3,2\namount,0,A_1,,\n"
    )
    run = family(tiny, f"problem.tabular_oof.tasks={tasks}", "reps=2", "estimator=[brier]")

    def counts(frame):
        return frame.drop_duplicates("key").groupby(["problem", "status"]).size().to_dict()

    first = harness.run(run)
    expected = {
        ("two/0/A_1", "ok"): 2,
        ("later/0/A_1", "skipped"): 2,
        ("amount/0/A_1", "skipped"): 2,
    }
    assert counts(first) == expected
    reasons = first.loc[first["problem"] == "later/0/A_1", "reason"]
    assert reasons.str.contains("lacks metadata.json").all()
    # nothing is computed or recorded twice
    assert harness.run(run)["written"].tolist() == first["written"].tolist()
    write_task(tiny, "later", 0, ["A_1"], np.array([[0.5, 0.25, 1.0]], dtype=np.float32), [1, 0, 1])
    write_index(tiny, two="binary", later="binary", amount="regression")
    after = harness.run(run)
    expected[("later/0/A_1", "ok")] = expected.pop(("later/0/A_1", "skipped"))
    assert counts(after) == expected
    old, new = (frame.loc[frame["problem"] == "two/0/A_1", "written"] for frame in (first, after))
    assert old.tolist() == new.tolist()


def test_replications_of_a_task_share_rows_and_have_no_standard_error(cli, tiny, out):
    """Neither on all rows, where they are equal, nor on subsets, nor in CSV and picture."""
    run = family(tiny, "+problem.tabular_oof.datasets=[two]", "reps=4", "estimator=[brier]")
    for n, spread in (("4", False), ("2", True)):
        code, text, err = cli(*run, f"n={n}", "notion=binary")
        assert code == 0 and "±" not in text and "standard error" not in text, err
        assert ("spread" in text) == spread
    tables = [pd.read_csv(path) for path in (out / "variations").glob("*/*.csv")]
    assert len(tables) == 2 and all(table["se"].isna().all() for table in tables)
    pages = [path.read_text() for path in (out / "variations").glob("*/*.html")]
    assert all("there are no standard errors" in page for page in pages)


@pytest.mark.slow
def test_a_skip_of_the_same_cell_counts_only_while_its_reason_holds(out, module, monkeypatch):
    """An estimator that becomes available keeps its key: its recorded skips are run."""
    module(
        "sometimes_there",
        "from dataclasses import dataclass\nimport os\n\n@dataclass(frozen=True)\nclass Mine:\n"
        "    notions = ('binary',)\n    estimands = ('l1',)\n\n"
        "    @property\n    def unavailable(self):\n        return "
        "os.environ.get('MISSING_PACKAGE')\n\n"
        "    def __call__(self, p, y, rng):\n        return 0.25\n",
    )
    asked = [
        "problem=beta_shifted",
        "estimator=[]",
        "+estimator.mine._target_=sometimes_there.Mine",
        "n=20",
        "reps=3",
        "jobs=1",
    ]
    monkeypatch.setenv("MISSING_PACKAGE", "the package is not installed")
    first = harness.run(asked)
    assert set(first["status"]) == {"skipped"} and set(first["reason"]) == {
        "the package is not installed"
    }
    monkeypatch.delenv("MISSING_PACKAGE")
    from harness.workflow.experiment import Experiment

    assert (
        len(Experiment.of(asked).records.read()) == 0
        and Experiment.of(asked).records.missing(Experiment.of(asked).records.read()) == 3
    )
    second = harness.run(asked)
    assert (
        set(second["status"]) == {"ok"}
        and set(second["value"]) == {0.25}
        and set(second["key"]) == set(first["key"])
    )
    monkeypatch.setenv("MISSING_PACKAGE", "the package is not installed")
    assert set(harness.run(asked)["status"]) == {"ok"}  # a number that is there stays


@pytest.mark.slow
@needs_fixture
def test_workers_rebuild_members_from_their_configuration(out):
    asked = family(
        MINI / "repo_ragged",
        "problem.tabular_oof.datasets=[iris]",
        "problem.tabular_oof.folds=[1]",
        "reps=3",
    )
    serial = harness.run([*asked, f"out={out}/serial"])
    parallel = harness.run([*asked, "jobs=2", "notion=canonical", f"out={out}/parallel"])
    assert serial["problem"].nunique() == 4 and set(
        parallel[parallel["estimator"] == "brier"]["status"]
    ) == {"ok"}
    merged = serial.merge(parallel, on=["key", "estimand"], suffixes=("_one", "_two"))
    assert len(merged) == len(serial) and np.array_equal(
        merged["value_one"], merged["value_two"], equal_nan=True
    )


def test_two_problems_of_one_id_are_refused(tiny):
    settings = compose(family(tiny))
    settings.problem["other"] = dict(settings.problem["tabular_oof"])
    with pytest.raises(
        BadInputError,
        match="'amount/0/A_1'",
    ):
        plan(settings)


def test_without_the_repository_all_but_planning_works(cli, tmp_path, monkeypatch):
    monkeypatch.delenv("CALHARNESS_DATA", raising=False)
    monkeypatch.setattr(tabrepo, "CACHE", tmp_path / "cache")
    monkeypatch.chdir(tmp_path)
    assert "tabrepo_table1" in cli("list", "problems")[1] and compose(["problem=tabrepo_table1"])
    for name, command in (
        ("tabrepo_table1", "calharness data fetch tabrepo"),
        ("tabular_oof", "calharness data make tabular_oof"),
    ):
        code, text, _ = cli("info", name)
        assert code == 0 and "Family" in text and command in text
    code, out, _ = cli(
        "plan", "problem=tabrepo_table1", "estimator=binned15", "reps=1"
    )  # a list says what it should hold
    assert (
        code == 0
        and "0 to do" in out
        and "tabrepo is not at hand; `calharness data fetch tabrepo` gets it" in out
    )
    code, _, err = cli("plan", "problem=tabular_oof")
    assert (
        code == 2
        and "`calharness data make tabular_oof` gets it" in err
        and str(tmp_path / "cache") in err
    )
    assert cli("data", "list")[1].count("absent") >= 2


# Download


class Server(Silent):
    """Serve a folder, with faults `spoil` = {end of a path: fault}.

    /hub/ redirects and states checksums.
    """

    root: Path
    spoil: dict
    asked: list

    def do_GET(self):
        self.asked.append((self.path, self.headers.get("Range")))
        if self.path.startswith("/hub/"):
            return self._redirect(self.path.removeprefix("/hub"))
        wrong = next((what for end, what in self.spoil.items() if self.path.endswith(end)), None)
        path = self.root / self.path.lstrip("/")
        if wrong in (404, 503) or not path.is_file():
            return self.send_error(wrong or 404)
        body = path.read_bytes()
        if wrong == "longer":
            body += b"x"
        if wrong == "other":
            body = bytes(reversed(body))
        start = int((self.headers.get("Range") or "bytes=0-").removeprefix("bytes=").rstrip("-"))
        if start >= len(body):
            return self.send_error(416)
        self.send_response(206 if self.headers.get("Range") else 200)
        self.send_header("Content-Length", str(len(body) - start))
        self.end_headers()
        self.wfile.write(
            body[start : start + 10] if wrong == "breaks" and not start else body[start:]
        )

    def _redirect(self, path):
        self.send_response(302)
        self.send_header("Location", path)
        self.send_header(
            "X-Linked-ETag",
            f'"{hashlib.sha256((self.root / path.lstrip("/")).read_bytes()).hexdigest()}"',
        )
        self.send_header("Content-Length", "0")
        self.end_headers()


@pytest.fixture
def server(tiny, monkeypatch):
    """The tiny repository on a server, with its address, faults and requests."""
    monkeypatch.setattr(tabrepo_fetch, "WAIT_SECONDS", 0.0)
    handler = type("Handler", (Server,), {"root": tiny, "spoil": {}, "asked": []})
    with serving(handler) as place:
        handler.url = f"http://{place}"
        yield handler


@pytest.fixture
def get(server, tmp_path, cli):
    """Fetch the tiny repository's data set two, folds 0 and 1, into `there`."""
    there = tmp_path / "there"
    call = partial(
        cli, "data", "fetch", "tabrepo", "--datasets", "two", "--folds", "0,1", "--out", str(there)
    )

    def fetch(path="", *more):
        return call("--from", server.url + path, *more)

    fetch.there = there
    return fetch


def test_a_download_is_read_as_the_original(get, server, tiny):
    code, text, err = get()
    assert code == 0 and "2 tasks, complete" in text and "11 files of 2 tasks" in err
    downloaded = Repository(get.there)
    assert downloaded.datasets() == ["two"] and downloaded.predict_val(
        "two", 0, "B_1"
    ).tolist() == [
        0.25,
        0.5,
        0.75,
        0.0,
    ]
    sums = tabrepo_fetch.read_sums(get.there)
    assert len(sums) == 11 and all(
        digest == hashlib.sha256((tiny / name).read_bytes()).hexdigest()
        for name, digest in sums.items()
    )
    server.asked.clear()
    assert get()[0] == 0 and not server.asked  # all is there and as it came


def test_a_partial_file_is_gone_on_with(get, server, tiny):
    name = "model_predictions/two/0/pred-val.dat"
    part = get.there / f"{name}.part"
    part.parent.mkdir(parents=True)
    part.write_bytes((tiny / name).read_bytes()[:20])
    assert get()[0] == 0 and (f"/{name}", "bytes=20-") in server.asked
    assert (get.there / name).read_bytes() == (tiny / name).read_bytes() and not part.exists()


def test_a_partial_file_that_is_too_long_is_begun_again(get, tiny):
    name = "model_predictions/two/0/pred-val.dat"
    part = get.there / f"{name}.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(bytes(100))
    assert get()[0] == 0 and (get.there / name).read_bytes() == (tiny / name).read_bytes()


def test_a_broken_connection_is_taken_up_again(get, server, tiny):
    server.spoil["0/pred-val.dat"] = "breaks"
    assert get()[0] == 0
    assert [start for path, start in server.asked if path.endswith("two/0/pred-val.dat")] == [
        None,
        "bytes=10-",
    ]


@pytest.mark.parametrize(
    "what, named",
    [
        (404, "HTTP Error 404: Not Found"),
        (503, "HTTP Error 503: Service Unavailable"),
        ("longer", "33 bytes, but shape [2, 4] in float32 needs 32"),
    ],
)
def test_one_bad_file_is_told_and_the_rest_fetched(get, server, what, named):
    server.spoil["two/0/pred-val.dat"] = what
    code, text, err = get()
    lines = [line for line in err.splitlines() if "two/0/pred-val.dat could not be fetched" in line]
    assert code == 1 and len(lines) == 1 and named in lines[0] and "1 problems" in text
    assert (
        not list(get.there.rglob("two/0/pred-val.dat*"))
        and len(tabrepo_fetch.read_sums(get.there)) == 10
    )
    server.spoil.clear()
    server.asked.clear()
    assert get()[0] == 0 and [path for path, _ in server.asked] == [
        "/model_predictions/two/0/pred-val.dat"
    ]


def test_a_task_without_its_description_is_left_and_the_others_fetched(get, server):
    server.spoil["two/0/metadata.json"] = 404
    code, _, err = get()
    assert code == 1 and err.count("could not be fetched") == 1
    assert sorted(tabrepo_fetch.read_sums(get.there))[1].startswith("model_predictions/two/1/")


def test_the_publishers_checksum_is_compared_where_one_is_named(get, server):
    """Bytes of the right number, so that only the checksum tells."""
    assert get("/hub")[0] == 0
    shutil.rmtree(get.there)
    server.spoil["two/0/pred-val.dat"] = "other"
    code, _, err = get("/hub")
    assert (
        code == 1
        and "the publisher states" in err
        and not list(get.there.rglob("two/0/pred-val.dat*"))
    )
    assert get()[0] == 0  # without a named checksum such bytes pass: only their number is known


def test_a_changed_file_is_noticed_and_left(get, cli):
    get()
    path = get.there / "model_predictions/two/0/pred-val.dat"
    path.write_bytes(bytes(reversed(path.read_bytes())))
    code, _, err = get()
    assert code == 1 and "but it was" in err and "Move the file away" in err and path.is_file()
    code, text, _ = cli("data", "verify", "tabrepo", "--out", str(get.there))
    assert code == 1 and "pred-val.dat has changed" in text and "1 problems" in text
    path.unlink()
    assert get()[0] == 0
    code, text, _ = cli("data", "verify", "tabrepo", "--out", str(get.there))
    assert code == 0 and "11 files, 11 of them with a checksum" in text


def test_a_file_fetched_again_must_be_what_it_was(get, server):
    get()
    (get.there / "model_predictions/two/0/pred-val.dat").unlink()
    server.spoil["two/0/pred-val.dat"] = "other"
    code, _, err = get()
    assert code == 1 and "SHA256SUMS" in err


def test_a_dead_server_is_given_up_soon(cli, tmp_path, monkeypatch):
    monkeypatch.setattr(tabrepo_fetch, "WAIT_SECONDS", 0.0)
    code, _, err = cli(
        "data", "fetch", "tabrepo", "--from", "http://127.0.0.1:9/", "--out", str(tmp_path / "x")
    )
    assert code == 1 and "no server answers any more" in err and len(err.splitlines()) <= 5


def test_verifying_names_missing_files(tiny, cli):
    (tiny / "model_predictions/two/1/label-test.csv.zip").unlink()
    code, text, _ = cli("data", "verify", "tabrepo", "--out", str(tiny))
    assert (
        code == 1
        and "two/1/label-test.csv.zip is missing" in text
        and "0 of them with a checksum" in text
    )


def test_what_table_1_needs():
    """Table 1 needs 190 (data set, fold) pairs, among which --datasets and --folds choose."""
    pairs = tabrepo_fetch.choose_tasks(False, [], [])
    assert len(pairs) == len(set(pairs)) == 190 and len({d for d, _ in pairs}) == 68
    assert tabrepo_fetch.choose_tasks(False, ["x", "y"], [1]) == [("x", 1), ("y", 1)]
    assert set(tabrepo_fetch.choose_tasks(True, ["Australian"], [])) == {
        p for p in pairs if p[0] == "Australian"
    }
    assert set(tabrepo_fetch.choose_tasks(False, [], [2])) == {p for p in pairs if p[1] == 2}
    with pytest.raises(BadInputError, match="--datasets"):
        tabrepo_fetch.choose_tasks(True, ["x"], [])
