"""Make an offline stand-in for TabRepo: out-of-fold predictions of models trained on local tables.

As in TabRepo, each fold of a stratified 10-fold split holds out a tenth of a table's rows ("test").
On the other rows ("val"), every model is bagged: it is trained on seven of eight stratified parts
and predicts the eighth. So no validation row is predicted by a model that has seen it. The test
predictions are the mean of the eight models.

Each kind of model has one fixed setting, runs on one thread, is seeded, and has TabRepo's name
(CatBoost_c1_BAG_L1, ...). No setting is tuned on the predicted rows, and no training is stopped by
them.

tables.py reads the tables: those bundled with scikit-learn, every CSV of the given folders and
OpenML data sets by their numbers.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
import uuid
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from catboost import CatBoostClassifier
from lightgbm import LGBMClassifier
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from harness.common.seeds import digest
from harness.common.writing import whole_file, write_json
from harness.sources import tabrepo_files

from .tables import SEED, Table
from .training import make_all

OUTER, INNER = 10, 8
# raise this number when models or preparation change; older tasks are then trained again
RECIPE = 1
FAMILIES = ("CatBoost", "LightGBM", "RandomForest", "ExtraTrees", "LinearModel", "NeuralNet")


@dataclass(frozen=True)
class Task:
    """A table, the fold that is held out, the models to train, and the folder `out` to write to."""

    table: Table
    fold: int
    models: tuple[str, ...]
    out: Path

    @property
    def content(self) -> str:
        """Return a digest of everything that determines the predictions: rows, labels, recipe."""
        rows = hashlib.sha256(
            np.ascontiguousarray(self.table.x).tobytes() + self.table.y.tobytes()
        ).hexdigest()
        return digest(f"{RECIPE}|{OUTER}|{INNER}|{SEED}|{rows}")

    @property
    def work(self) -> float:
        """Return a number roughly proportional to the training time of the task."""
        n, columns = self.table.x.shape
        return 1000 + n * (1 + self.table.classes / 15) * (1 + columns / 50)


def make(
    tables: list[Table], folds: list[int], models: tuple[str, ...], out: Path, jobs: int = 1
) -> int:
    """Train and store the tasks that `out` lacks. Return 1 if a task failed, else 0.

    After an interruption, only unfinished tasks are trained again.
    """
    tasks = [Task(table, fold, models, out) for table in tables for fold in folds]
    index = _read_index(out)
    todo = [task for task in tasks if not _is_stored(task, index)]

    def report(task: Task, rows: list[dict[str, Any]] | str) -> str:
        if isinstance(rows, str):
            message = rows  # the failure message
        else:
            _store_index(out, task, rows)
            message = f"{sum(row['time_train_s'] for row in rows):.1f} s of training"
        return f"{task.table.name}, fold {task.fold}: {message}"

    return make_all(tasks, todo, out, _train, report, jobs, lambda task: task.work, unit="tasks")


def _train(task: Task) -> list[dict[str, Any]]:
    """Train all models of a task, store them, and return the task's rows of configs.parquet."""
    with warnings.catch_warnings():
        # warnings on rare classes and iteration limits are expected, because settings are fixed
        warnings.simplefilter("ignore")
        return _train_models(task)


def _train_models(task: Task) -> list[dict[str, Any]]:
    x, y, k = task.table.x, task.table.y, task.table.classes
    outer = StratifiedKFold(OUTER, shuffle=True, random_state=SEED)
    train, test = list(outer.split(x, y))[task.fold]
    inner = list(StratifiedKFold(INNER, shuffle=True, random_state=SEED).split(x[train], y[train]))
    held_out = np.zeros((len(task.models), len(train), k))
    outside = np.zeros((len(task.models), len(test), k))
    rows = []
    for m, family in enumerate(task.models):
        started, spent = time.perf_counter(), 0.0
        for learned, predicted in inner:
            model = make_model(family, y[train][learned], k)
            model.fit(x[train][learned], y[train][learned])
            held_out[m, predicted] = _probabilities(model, x[train][predicted], k)
            before = time.perf_counter()
            outside[m] += _probabilities(model, x[test], k) / INNER
            spent += time.perf_counter() - before
        seconds = time.perf_counter() - started
        errors = _error(y[train], held_out[m]), _error(y[test], outside[m])
        rows.append(_index_row(task, family, *errors, seconds, spent))
    _store(task, train, test, held_out, outside)
    return rows


def make_model(family: str, y: np.ndarray, k: int) -> Any:
    """Return an untrained model with its fixed setting, for training labels y of k classes."""
    trees = 200 if k <= 10 else 100  # the number of boosted trees is per class
    if family == "CatBoost":
        return CatBoostClassifier(
            iterations=trees, depth=6 if k <= 10 else 4, border_count=64, boosting_type="Plain",
            random_seed=SEED, thread_count=1, allow_writing_files=False, logging_level="Silent",
        )  # fmt: skip
    if family == "LightGBM":
        return LGBMClassifier(
            n_estimators=trees, learning_rate=0.05 if k <= 10 else 0.1,
            num_leaves=31 if k <= 10 else 15, max_bin=63, random_state=SEED, n_jobs=1,
            deterministic=True, force_row_wise=True, verbosity=-1,
        )  # fmt: skip
    if family in ("RandomForest", "ExtraTrees"):
        kind = RandomForestClassifier if family == "RandomForest" else ExtraTreesClassifier
        return kind(n_estimators=200, n_jobs=1, random_state=SEED)
    if family == "LinearModel":
        return make_pipeline(StandardScaler(), LogisticRegression(max_iter=300))
    counts = np.bincount(y, minlength=k)
    # early stopping must be able to split the training rows
    stops = counts[counts > 0].min() >= 2 and 0.1 * len(y) >= k
    network = MLPClassifier((64, 32), early_stopping=bool(stops), max_iter=100, random_state=SEED)
    return make_pipeline(StandardScaler(), network)


def _probabilities(model: Any, x: np.ndarray, k: int) -> np.ndarray:
    """Return probabilities (n, k), with 0 for classes that the model has not seen."""
    full = np.zeros((len(x), k))
    full[:, np.asarray(model.classes_, dtype=np.int64)] = model.predict_proba(x)
    return full


def _error(y: np.ndarray, p: np.ndarray) -> float:
    """Return TabRepo's error: 1 - AUC for two classes, log-loss for more classes."""
    k = p.shape[1]
    if k > 2:
        return log_loss(y, p, labels=np.arange(k))
    return 1.0 - roc_auc_score(y, p[:, 1]) if len(np.unique(y)) == 2 else float("nan")


def _index_row(
    task: Task, family: str, error_val: float, error_test: float, seconds: float, spent: float
) -> dict[str, Any]:
    """Return one model's row of configs.parquet."""
    k = task.table.classes
    return {
        "dataset": task.table.name,
        "tid": _tid(task.table.name),
        "fold": task.fold,
        "framework": f"{family}_c1_BAG_L1",
        "metric": "roc_auc" if k == 2 else "log_loss",
        "metric_error": error_test,
        "metric_error_val": error_val,
        "problem_type": "binary" if k == 2 else "multiclass",
        "time_train_s": seconds - spent,
        "time_infer_s": spent,
        "task": f"{_tid(task.table.name)}_{task.fold}",
        "content": task.content,
    }


def _tid(name: str) -> int:
    """Return an invented task number for a table, larger than any number of OpenML."""
    return 10**9 + int(digest(name), 16) % 10**9


def _store(
    task: Task, train: np.ndarray, test: np.ndarray, held_out: np.ndarray, outside: np.ndarray
) -> None:
    """Write a task's folder under a hidden name, then rename it, so that it is never incomplete."""
    folder = task.out / "model_predictions" / task.table.name / str(task.fold)
    fresh = folder.with_name(f".{uuid.uuid4().hex}")
    fresh.mkdir(parents=True)
    try:
        about = {
            "models": [f"{family}_c1_BAG_L1" for family in task.models],
            "dataset": task.table.name,
            "fold": task.fold,
        }
        for part, rows, values in (("val", train, held_out), ("test", test, outside)):
            values = values[:, :, 1] if task.table.classes == 2 else values
            values.astype("<f4").tofile(fresh / f"pred-{part}.dat")
            about[f"pred_{part}_shape"] = list(values.shape)
            _write_labels(fresh / f"label-{part}.csv.zip", rows, task.table.y[rows])
        (fresh / "metadata.json").write_text(json.dumps({**about, "dtype": "float32"}))
        if folder.exists():
            shutil.rmtree(folder)
        os.replace(fresh, folder)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def _write_labels(path: Path, rows: np.ndarray, labels: np.ndarray) -> None:
    how = {"method": "zip", "archive_name": path.name.removesuffix(".zip")}
    pd.DataFrame({"target": labels}, index=rows).to_csv(path, compression=how)


def _read_index(out: Path) -> pd.DataFrame | None:
    """Return configs.parquet of a store, or None if there is none."""
    path = out / "configs.parquet"
    return pd.read_parquet(path) if path.is_file() else None


def _is_stored(task: Task, index: pd.DataFrame | None) -> bool:
    """Return True if the store has all wanted models of a task with the same rows and recipe."""
    folder = task.out / "model_predictions" / task.table.name / str(task.fold)
    if index is None or not (folder / "metadata.json").is_file():
        return False
    is_task = index["dataset"].eq(task.table.name) & index["fold"].eq(task.fold)
    mine = index[is_task & index["content"].eq(task.content)]
    return {f"{family}_c1_BAG_L1" for family in task.models} <= set(mine["framework"])


def _store_index(out: Path, task: Task, rows: list[dict[str, Any]]) -> None:
    """Add a finished task to the index of the store.

    configs.parquet is written last, so all tasks that it lists are complete.
    """
    name, (n, columns) = task.table.name, task.table.x.shape
    about = {
        "tid": _tid(name),
        "dataset": name,
        "name": name,
        "task_type": "Supervised Classification",
        "NumberOfInstances": n,
        "NumberOfFeatures": columns + 1,
        "NumberOfClasses": task.table.classes,
        "target_feature": "target",
    }
    path = out / "task_metadata.parquet"
    tables = pd.read_parquet(path) if path.is_file() else pd.DataFrame(columns=list(about))
    other_rows = tables[tables["dataset"].ne(name)].to_dict("records")
    _write(pd.DataFrame([*other_rows, about]).sort_values("dataset"), path)
    index, new = _read_index(out), pd.DataFrame(rows)
    if index is not None:
        is_task = index["dataset"].eq(name) & index["fold"].eq(task.fold)
        new = pd.concat([index[~is_task], new], ignore_index=True)
    everything = new.sort_values(["dataset", "fold"], kind="stable")
    _write_context(out, everything)
    _write(everything, out / "configs.parquet")


def _write_context(out: Path, index: pd.DataFrame) -> None:
    """Write context.json, the description of the store that TabRepo's reader needs."""
    tasks = index[["dataset", "fold"]].drop_duplicates()
    folders = [
        f"model_predictions/{dataset}/{fold}" for dataset, fold in tasks.itertuples(index=False)
    ]
    paths = {
        "configs": "configs.parquet", "baselines": None, "task_metadata": "task_metadata.parquet",
        "metadata_join_column": "dataset", "path_pred_proba": "model_predictions/",
        "datasets": sorted(set(tasks["dataset"])),
        "zs_pp": [f"{f}/{name}" for f in folders for name in tabrepo_files.FILES[:3]],
        "zs_gt": [f"{f}/{name}" for f in folders for name in tabrepo_files.FILES[3:]],
        "configs_hyperparameters": None, "relative_path": None,
    }  # fmt: skip
    folds = sorted(int(fold) for fold in tasks["fold"].unique())
    context = {
        "name": "tabular_oof",
        "date": None,
        "description": "calharness data make tabular_oof",
        "folds": folds,
    }
    write_json(
        out / "context.json",
        {**context, "s3_download_map": None, "config_fallback": None, "benchmark_paths": paths},
    )


def _write(frame: pd.DataFrame, path: Path) -> None:
    with whole_file(path) as temporary:
        frame.to_parquet(temporary, index=False)
