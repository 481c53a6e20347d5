"""Problems without known truth from stored predictions of tabular models."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from harness.common.paths import EXPERIMENTS
from harness.errors import BadInputError
from harness.sources import tabrepo


@dataclass(frozen=True)
class TabRepoTask:
    """Validation predictions of one model on one data set and outer fold of a repository.

    The repository has TabRepo's layout (`harness.sources.tabrepo`). A replication is a random order
    of the rows, and a sample of size n is its first n rows, without replacement. Replications
    share rows, so that their mean has no standard error. The stored bytes of predictions and labels
    identify the problem; the path does not.

    Parameters
    ----------
    repository : str
        Folder, searched in the working folder, below CALHARNESS_DATA and in the project's cache.
    dataset : str
        Name of the data set.
    fold : int
        Number of the outer fold.
    config : str
        Name of the model.
    n_samples, n_classes : int, optional
        Numbers of rows and classes according to a list of tasks. By default they are read from the
        files.
    max_n : int
        Largest default sample size. The default is all rows if there are fewer.

    Examples
    --------
    >>> task = TabRepoTask("tabrepo", "adult", 0, "CatBoost_c1", n_samples=30000, n_classes=2)
    >>> task.classes, task.default_n
    (2, 5000)
    """

    repository: str
    dataset: str
    fold: int
    config: str
    n_samples: int | None = None
    n_classes: int | None = None
    max_n: int = 5000

    version = 1
    default_reps = 10
    shares_rows = True

    @cached_property
    def _stored(self) -> tabrepo.Repository:
        """The repository, opened at the first access."""
        return tabrepo.find(self.repository)

    @property
    def classes(self) -> int:
        return self.n_classes or self._stored.shape(self.dataset, self.fold)[1]

    @property
    def notions(self) -> tuple[str, ...]:
        if self.classes <= 2:
            return ("binary", "canonical", "classwise")
        return ("top_label", "classwise", "canonical")

    @property
    def default_notions(self) -> tuple[str, ...]:
        return ("binary",) if self.classes <= 2 else ("canonical",)

    @property
    def n_max(self) -> int:
        return self.n_samples or self._stored.shape(self.dataset, self.fold)[0]

    @property
    def default_n(self) -> int:
        return min(self.n_max, self.max_n)

    @property
    def unavailable(self) -> str | None:
        """Reason why the repository cannot give this task, or None."""
        if not tabrepo.is_there(self.repository):
            return tabrepo.absent(self.repository)
        stored, task = self._stored, f"{self.dataset}, fold {self.fold}"
        missing = stored.missing(self.dataset, self.fold)
        if missing:
            return f"the repository lacks {', '.join(missing)} of {task}"
        if stored.problem_type(self.dataset) == "regression":
            return f"{self.dataset} is a regression data set; it has no class probabilities"
        if self.config not in stored.metadata(self.dataset, self.fold).models:
            return f"the repository has no predictions of {self.config} for {task}"
        rows, classes = stored.shape(self.dataset, self.fold)
        if (self.n_samples or rows, self.n_classes or classes) != (rows, classes):
            return (
                f"the list of tasks says {self.n_samples} rows and {self.n_classes} classes, but "
                f"the repository has {rows} and {classes}, for {task}"
            )
        return None

    @property
    def fingerprint(self) -> dict[str, Any]:
        sha256 = None
        if self.unavailable is None:
            content = hashlib.sha256(
                self._stored.stored_bytes(self.dataset, self.fold, self.config)
            )
            content.update(self._stored.labels_val(self.dataset, self.fold).tobytes())
            sha256 = content.hexdigest()
        return {"dataset": self.dataset, "fold": self.fold, "config": self.config, "sha256": sha256}

    def sample(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        y = self._stored.labels_val(self.dataset, self.fold)
        p = self._stored.predict_val(self.dataset, self.fold, self.config)
        if n > len(y):
            raise BadInputError(
                f"n is {n}, but {self.dataset}, fold {self.fold} has only {len(y)} rows."
            )
        rows = rng.permutation(len(y))[:n]
        return p[rows], y[rows]

    def truth(self, estimand: str, notion: str | None = None) -> None:
        return None


# (data set, fold, config, number of rows, number of classes)
Task: TypeAlias = tuple[str, int, str, int | None, int | None]


@dataclass(frozen=True)
class TabRepoTasks:
    """Family with one TabRepoTask per data set, fold and config, with ids dataset/fold/config.

    Tasks that the repository lacks (after a partial download) and regression data sets are skipped
    with the reason. Without a repository, all listed tasks are skipped.

    Parameters
    ----------
    repository : str
        Folder, searched in the working folder, below CALHARNESS_DATA and in the project's cache.
    tasks : str, optional
        Path of a csv, possibly below experiments/. It has the columns dataset, fold, config and, if
        known, n_samples and n_classes. None selects all tasks of the repository.
    configs, folds, datasets, families : list, optional
        Keep only tasks with these values. A family is the part of a config's name before the first
        '_'.
    min_n, max_classes : int, optional
        Exclude tasks with fewer rows or more classes.
    max_n : int
        Largest default sample size.

    Examples
    --------
    >>> TabRepoTasks("no/such/folder").members()
    Traceback (most recent call last):
    harness.errors.BadInputError: there is no repository no/such/folder, looked for at ...
    """

    repository: str = "tabrepo"
    tasks: str | None = None
    configs: tuple[str, ...] | None = None
    folds: tuple[int, ...] | None = None
    datasets: tuple[str, ...] | None = None
    families: tuple[str, ...] | None = None
    min_n: int = 0
    max_classes: int | None = None
    max_n: int = 5000

    def members(self) -> dict[str, TabRepoTask]:
        """Return {id: TabRepoTask problem}.

        BadInputError if no task is left, or if the repository is absent and no list gives the sizes
        of its tasks.
        """
        tasks = self._read_list(self.tasks) if self.tasks else []
        repository = None
        sizes_known = bool(self.tasks) and all(None not in task for task in tasks)
        if not sizes_known or tabrepo.is_there(self.repository):
            repository = tabrepo.find(self.repository)
        if repository is not None and not self.tasks:
            tasks = self._all_tasks(repository)
        root = str(repository.root) if repository else self.repository
        return {
            "/".join(map(str, task[:3])): TabRepoTask(root, *task, self.max_n)
            for task in self._select(tasks)
        }

    def _read_list(self, tasks: str) -> list[Task]:
        """Return the tasks of a csv, in its order."""
        path = task_list(tasks)
        frame = pd.read_csv(path)
        columns = ["dataset", "fold", "config"]
        missing = [name for name in columns if name not in frame]
        if missing:
            raise BadInputError(
                f"{path} has no column {', '.join(missing)}; "
                "a list of tasks needs the columns dataset, fold and config."
            )
        duplicates = frame.loc[frame.duplicated(columns), columns]
        if len(duplicates):
            task = "/".join(map(str, duplicates.iloc[0]))
            raise BadInputError(f"{path} lists {task} twice; remove one of the lines.")
        sizes = [
            _integers(frame[c]) if c in frame else [None] * len(frame)
            for c in ("n_samples", "n_classes")
        ]
        return list(
            zip(frame["dataset"].astype(str), frame["fold"].tolist(), frame["config"], *sizes)
        )

    def _all_tasks(self, repository: tabrepo.Repository) -> list[Task]:
        """Return all tasks of a repository."""
        return [
            (dataset, fold, config, *repository.shape(dataset, fold))
            for dataset in repository.datasets()
            for fold in repository.folds(dataset)
            for config in repository.configs(dataset, fold)
        ]

    def _select(self, tasks: list[Task]) -> list[Task]:
        """Return the tasks that pass all filters; BadInputError if none is left."""
        parts: tuple[tuple[str, tuple[Any, ...] | None, int], ...] = (
            ("datasets", self.datasets, 0),
            ("folds", self.folds, 1),
            ("configs", self.configs, 2),
            ("families", self.families, 2),
        )
        for name, wanted, column in parts:
            if wanted is None:
                continue
            values = [wanted] if isinstance(wanted, (str, int)) else list(wanted)
            feature: Callable[[Any], Any] = _family if name == "families" else (lambda value: value)
            present = {feature(task[column]) for task in tasks}
            unknown = [value for value in values if value not in present]
            if unknown:
                first = ", ".join(map(str, sorted(present)[:10]))
                more = ", ..." if len(present) > 10 else ""
                raise BadInputError(
                    f"{name} is {unknown[0]!r}, which no task has; choose from {first}{more}."
                )
            tasks = [task for task in tasks if feature(task[column]) in values]
        tasks = [task for task in tasks if task[3] is None or task[3] >= self.min_n]
        if self.max_classes is not None:
            tasks = [task for task in tasks if task[4] is None or task[4] <= self.max_classes]
        if not tasks:
            raise BadInputError(
                "datasets, folds, configs, families, min_n and max_classes together exclude all "
                "tasks; remove one of them."
            )
        return tasks


def task_list(name: str) -> Path:
    """Return the path of a list of tasks, which is `name` itself or lies below experiments/."""
    for path in (Path(name).expanduser(), EXPERIMENTS / name):
        if path.is_file():
            return path
    raise BadInputError(f"tasks is {name!r}; there is no such file here or in {EXPERIMENTS}.")


def _integers(column: pd.Series) -> list[int | None]:
    """Return the integers of a column; None for empty entries."""
    return [None if math.isnan(value) else int(value) for value in column]


def _family(config: str) -> str:
    """Return the family of a config: the part of its name before the first '_'."""
    return config.split("_")[0]
