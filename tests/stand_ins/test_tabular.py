"""The offline stand-in for TabRepo: tables, out-of-fold bagging, and the store."""

import os
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from harness.tools.stand_ins import command, tabular
from harness.tools.stand_ins import tables as sources
from slow_params import slow

import harness
from harness import BadInputError
from harness.sources import tabrepo_fetch
from harness.sources.tabrepo import Repository

DATA = os.environ.get("CALHARNESS_DATA")
LINEAR = "LinearModel_c1_BAG_L1"


def blobs(n=160, k=2, name="blobs"):
    """Return k classes around the corners of a square, with distinct rows."""
    rng = np.random.default_rng(0)
    y = np.arange(n) % k
    return sources.Table(
        name, np.column_stack([y + rng.normal(0, 0.4, n), y % 2 + rng.normal(0, 0.4, n)]), y
    )


class Memory:
    """A model that knows the labels of its training rows, and predicts 1/2 for all others."""

    def fit(self, x, y):
        self.known, self.classes_ = (
            {row.tobytes(): label for row, label in zip(x, y)},
            np.array([0, 1]),
        )

    def predict_proba(self, x):
        probabilities = np.array([float(self.known.get(row.tobytes(), 0.5)) for row in x])
        return np.column_stack([1 - probabilities, probabilities])


# out-of-fold


def test_no_row_is_predicted_by_a_model_that_has_seen_it(tmp_path, monkeypatch):
    monkeypatch.setattr(tabular, "make_model", lambda family, y, k: Memory())
    assert tabular.make([blobs()], [0, 3], ("LinearModel",), tmp_path) == 0
    repository = Repository(tmp_path)
    for fold in (0, 3):
        assert (repository.predict_val("blobs", fold, LINEAR) == 0.5).all() and (
            repository.predict_test("blobs", fold, LINEAR) == 0.5
        ).all()
        assert (
            len(repository.labels_val("blobs", fold)) == 144
            and len(repository.labels_test("blobs", fold)) == 16
        )


def test_test_predictions_are_the_mean_of_the_eight_models(tmp_path, monkeypatch):
    class Count:
        made = 0
        classes_ = (0, 1)

        def __init__(self):
            self.mine, Count.made = Count.made / 8, Count.made + 1

        def fit(self, x, y):
            pass

        def predict_proba(self, x):
            return np.tile([1 - self.mine, self.mine], (len(x), 1))

    monkeypatch.setattr(tabular, "make_model", lambda family, y, k: Count())
    tabular.make([blobs()], [0], ("LinearModel",), tmp_path)
    repository = Repository(tmp_path)
    assert (
        repository.predict_test("blobs", 0, LINEAR) == np.float32(np.mean(np.arange(8) / 8))
    ).all()
    values, counts = np.unique(repository.predict_val("blobs", 0, LINEAR), return_counts=True)
    assert values.tolist() == [i / 8 for i in range(8)] and counts.tolist() == [18] * 8


def test_a_class_that_a_model_has_not_seen_gets_zero():
    class Two:
        classes_ = np.array([0, 2])

        def predict_proba(self, x):
            return np.array([[0.25, 0.75]])

    assert tabular._probabilities(Two(), np.zeros((1, 1)), 4).tolist() == [[0.25, 0.0, 0.75, 0.0]]


@pytest.mark.parametrize(
    "family", [*(f for f in tabular.FAMILIES if f != "RandomForest"), *slow("RandomForest")]
)
def test_every_model_learns_and_repeats_itself(family):
    for k in (2, 3):
        table = blobs(120, k)
        fetched = []
        for _ in range(2):
            model = tabular.make_model(family, table.y, k)
            model.fit(table.x, table.y)
            fetched.append(tabular._probabilities(model, table.x, k))
        assert (fetched[0] == fetched[1]).all() and np.allclose(fetched[0].sum(axis=1), 1)
        least = 1.2 / k if family == "NeuralNet" else 0.8
        assert (fetched[0].argmax(axis=1) == table.y).mean() > least


def test_the_network_copes_with_rare_classes():
    """A class with one training row forbids an inner split for early stopping."""
    y = np.array([0] * 40 + [1] * 40 + [2])
    model = tabular.make_model("NeuralNet", y, 3)
    model.fit(np.random.default_rng(0).normal(size=(81, 2)), y)
    assert tabular._probabilities(model, np.zeros((1, 2)), 3).shape == (1, 3)


# the store


@pytest.fixture
def make(cli, tmp_path, monkeypatch):
    """Call the command with the linear model, into `out`."""
    monkeypatch.delenv("CALHARNESS_DATA", raising=False)
    fixed = (
        "data",
        "make",
        "tabular_oof",
        "--models",
        "LinearModel",
        "--jobs",
        "1",
        "--out",
        str(tmp_path / "store"),
    )
    call = partial(cli, *fixed)
    call.__dict__["out"] = tmp_path / "store"
    return call


def test_the_store_is_read_back(make, cli):
    from sklearn.datasets import load_iris

    code, text, err = make("--tables", "iris,wine", "--folds", "0,1")
    assert code == 0 and "4 tasks stored, 0 failed" in text and "left" in err
    repository = Repository(make.out)
    assert (
        repository.datasets() == ["iris", "wine"]
        and repository.folds("iris") == [0, 1]
        and repository.configs("wine", 1) == [LINEAR]
    )
    p, y = repository.predict_val("iris", 0, LINEAR), repository.labels_val("iris", 0)
    assert p.shape == (135, 3) and (p.argmax(axis=1) == y).mean() > 0.9
    rows = pd.read_csv(repository.folder("iris", 0) / "label-val.csv.zip", index_col=0)
    assert (
        load_iris().target[rows.index] == y
    ).all()  # the index says which rows of the table they are
    index = pd.read_parquet(make.out / "configs.parquet").set_index(["dataset", "fold"])
    from sklearn.metrics import log_loss

    assert index.loc[("iris", 0), "metric_error_val"] == pytest.approx(log_loss(y, p), rel=1e-5)
    assert cli("data", "verify", "tabular_oof", "--out", str(make.out))[0] == 0
    frame = harness.run(
        [
            "problem=tabular_oof",
            f"problem.tabular_oof.repository={make.out}",
            "estimator=[brier]",
            "reps=1",
            "jobs=1",
        ]
    )
    assert sorted(frame["problem"].unique()) == [
        f"{d}/{f}/{LINEAR}" for d in ("iris", "wine") for f in (0, 1)
    ]
    assert set(frame["status"]) == {"ok"}


def test_an_interrupted_make_goes_on(tmp_path, monkeypatch):
    """Stopped in the second of three tasks: one is stored as a whole, two are left."""
    real, calls = tabular.make_model, []

    def stops(family, y, k):
        calls.append(k)
        if len(calls) == 12:
            raise KeyboardInterrupt
        return real(family, y, k)

    tables = [blobs(name=name) for name in ("a", "b", "c")]
    monkeypatch.setattr(tabular, "make_model", stops)
    with pytest.raises(KeyboardInterrupt):
        tabular.make(tables, [0], ("LinearModel",), tmp_path)
    assert [len(Repository(tmp_path).folds(name)) for name in Repository(tmp_path).datasets()][
        0
    ] == 1
    assert tabular.make(tables, [0], ("LinearModel",), tmp_path) == 0 and len(calls) == 12 + 16
    assert (
        Repository(tmp_path).datasets() == ["a", "b", "c"]
        and tabrepo_fetch.verify(Repository(tmp_path))[2] == []
    )
    assert not list(tmp_path.rglob("model_predictions/*/.*"))


@pytest.mark.slow
def test_other_rows_or_more_models_are_trained_anew(tmp_path, capsys):
    table = blobs()
    tabular.make([table], [0], ("LinearModel",), tmp_path)
    before = Repository(tmp_path).stored_bytes("blobs", 0, LINEAR)
    moved = table._replace(y=1 - table.y)
    tabular.make([moved], [0], ("LinearModel",), tmp_path)
    assert Repository(tmp_path).stored_bytes("blobs", 0, LINEAR) != before
    tabular.make([moved], [0], ("LinearModel", "ExtraTrees"), tmp_path)
    assert Repository(tmp_path).configs("blobs", 0) == [LINEAR, "ExtraTrees_c1_BAG_L1"]
    capsys.readouterr()
    tabular.make([moved], [0], ("ExtraTrees",), tmp_path)
    assert "1 of them stored before" in capsys.readouterr().err
    index = pd.read_parquet(tmp_path / "configs.parquet")
    assert index["framework"].tolist() == [LINEAR, "ExtraTrees_c1_BAG_L1"]


def test_a_task_that_fails_is_told_and_the_others_stored(tmp_path, monkeypatch, capsys):
    real = tabular.make_model

    def breaks(family, y, k):
        if k == 3:
            raise RuntimeError("three is too many")
        return real(family, y, k)

    monkeypatch.setattr(tabular, "make_model", breaks)
    assert tabular.make([blobs(), blobs(150, 3, "three")], [0], ("LinearModel",), tmp_path) == 1
    assert "three, fold 0: failed" in capsys.readouterr().err
    assert Repository(tmp_path).datasets() == ["blobs"]


@pytest.mark.slow
def test_workers_store_what_one_process_does(tmp_path):
    for jobs in (1, 2):
        tabular.make(
            [blobs(), blobs(150, 3, "three")],
            [0],
            ("LinearModel", "LightGBM"),
            tmp_path / str(jobs),
            jobs,
        )
    serial, parallel = (Repository(tmp_path / str(jobs)) for jobs in (1, 2))
    for name in ("blobs", "three"):
        for config in serial.configs(name, 0):
            assert serial.stored_bytes(name, 0, config) == parallel.stored_bytes(name, 0, config)


# tables


def frame(**columns):
    return pd.DataFrame(
        {name: list(values) * (120 // len(values)) for name, values in columns.items()}
    )


def test_columns_become_numbers_and_labels_0_to_k_minus_1():
    """Text in sorted order with -1 for gaps, the median for missing numbers, no constants."""
    x = frame(
        text=["b", "a", None, "b"],
        number=[1.0, np.nan, 5.0, 3.0],
        flag=[True, False, True, True],
        constant=[7, 7, 7, 7],
    )
    table = sources.prepare("t", x, ["no", "yes", "perhaps", "no"] * 30, 5000)
    assert table.x[:4].tolist() == [[1, 1, 1], [0, 3, 0], [-1, 5, 1], [1, 3, 1]]
    assert table.y[:4].tolist() == [0, 2, 1, 0] and table.classes == 3
    for labels in (
        [5, 9, 9, 5],
        [5.0, 9.0, 9.0, 5.0],
        [False, True, True, False],
        pd.Categorical(["u", "v", "v", "u"]),
    ):
        assert sources.prepare("t", x, list(labels) * 30, 5000).y[:4].tolist() == [0, 1, 1, 0]


def test_long_tables_are_cut_to_a_random_part_which_is_always_the_same():
    x = pd.DataFrame({"row": np.arange(1000.0)})
    first, again = (sources.prepare("t", x, np.arange(1000) % 2, 200) for _ in range(2))
    assert (
        len(first.y) == 200 and (first.x == again.x).all() and (first.x[:, 0] % 2 == first.y).all()
    )
    assert first.x[-1, 0] > 900 and len(np.unique(first.x)) == 200


@pytest.mark.parametrize(
    "labels, named",
    [
        ([0.5, 1.25, 3.0, 2.0], "fractions"),
        ([1, 1, 1, 1], "120 rows and 1 classes"),
        ([0, None, 1, 0], "30 of its labels are missing"),
        (range(120), "120 classes"),
        ([0] * 59 + [1] * 60 + [2], "class 2 has a single row"),
    ],
)
def test_what_is_no_classification_table_is_refused(labels, named):
    with pytest.raises(BadInputError, match=named):
        sources.prepare("t", frame(x=[1.0, 2.0]), list(labels) * (120 // len(labels)), 5000)


def test_a_folder_of_files_is_gone_through_with_reasons(tmp_path, capsys):
    good = frame(a=[1, 2, 3], target=["x", "y", "y"], b=[0, 1, 0])
    good.to_csv(tmp_path / "first.one.csv", index=False)
    good.rename(columns={"target": "c"})[["a", "b", "c"]].to_csv(
        tmp_path / "second.csv", index=False
    )
    good.to_csv(tmp_path / "wine.csv", index=False)
    good.to_csv(tmp_path / "index.csv", index=False)
    good.to_csv(tmp_path / "sanity_check.csv", index=False)
    (tmp_path / "broken.csv").write_bytes(b"\xff\xfe\x00a,b\n1")
    (tmp_path / "short.csv").write_text("a,b\n1,0\n2,1\n")
    tables = sources.gather([tmp_path], [], 5000, None)
    assert [t.name for t in tables] == [*sources.BUNDLED, "first_one", "second"]
    assert tables[-2].x.shape == (120, 2) and (tables[-2].y == tables[-1].y).all()
    errors = capsys.readouterr().err
    for name in ("wine", "index", "sanity_check", "broken", "short"):
        assert errors.count(f"{name}.csv is not taken: ") == 1
    with pytest.raises(BadInputError, match="--tables has nothing"):
        sources.gather([tmp_path], [], 5000, ["second", "nothing"])


def test_openml_by_id(monkeypatch, capsys):
    """Stand-ins for the return value and the error of scikit-learn."""
    from types import SimpleNamespace

    def fetched(data_id, as_frame, parser):
        if data_id == 2:
            raise OSError("no network")
        data = frame(colour=["red", "blue", "red"], size=[1.0, 2.0, 3.0]).astype(
            {"colour": "category"}
        )
        return SimpleNamespace(
            data=data,
            target=pd.Series(["n", "y", "y"] * 40, dtype="category"),
            details={"name": "shop.v1"},
        )

    monkeypatch.setattr("sklearn.datasets.fetch_openml", fetched)
    tables = sources.gather([], [1, 2], 5000, None)
    assert tables[-1].name == "shop_v1" and tables[-1].x[:3].tolist() == [[1, 1], [0, 2], [1, 3]]
    assert tables[-1].y[:3].tolist() == [0, 1, 1] and len(tables) == 5
    assert (
        "OpenML 2 is not taken: it cannot be fetched (OSError: no network)"
        in capsys.readouterr().err
    )


@pytest.mark.skipif(
    not DATA or not (Path(DATA or "") / "uci_csv").is_dir(), reason="CALHARNESS_DATA has no uci_csv"
)
def test_the_tables_at_hand(monkeypatch, capsys):
    """All tables of the folder's listing are taken."""
    monkeypatch.setenv("CALHARNESS_DATA", DATA)
    folder = command._table_folders(None)[0]
    tables = {t.name: t for t in sources.gather([folder], [], 300, None)}
    listed = pd.read_csv(folder / "index.csv")
    assert set(listed["name"]) <= set(tables) and len(tables) == len(listed) + 4
    assert capsys.readouterr().err.count("is not taken") == 2
