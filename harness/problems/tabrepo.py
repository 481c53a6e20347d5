"""Stored out-of-fold predictions of tabular models as problems without known truth: one task, and families of tasks."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from harness.common.paths import EXPERIMENTS
from harness.errors import BadInputError
from harness.sources import tabrepo

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class TabRepoTask:
    """The validation predictions of one config on one (dataset, fold) of a repository in TabRepo's layout
    (`harness.sources.tabrepo`).

    A rep is a random order of the rows and n its first n, without replacement. The stored bytes of this config's predictions and
    the labels identify the problem, not where they lie.

    Parameters
    ----------
    repository : str
        A folder, looked for in the working folder, below CALHARNESS_DATA and in the project's cache folder.
    dataset, fold, config : str, int, str
        The task and the model.
    n_samples, n_classes : int, optional
        What a list of tasks says of them; without it the files are asked.
    max_n : int
        The default sample size is all rows, but at most this many.

    Examples
    --------
    >>> task = TabRepoTask("tabrepo", "adult", fold=0, config="CatBoost_c1", n_samples=30000, n_classes=2)
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

    @cached_property
    def _held(self) -> tabrepo.Repository:
        return tabrepo.find(self.repository)

    @property
    def classes(self) -> int:
        return self.n_classes or self._held.shape(self.dataset, self.fold)[1]

    @property
    def notions(self) -> tuple[str, ...]:
        return (
            ("binary", "canonical", "classwise")
            if self.classes <= 2
            else ("top_label", "classwise", "canonical")
        )

    @property
    def default_notions(self) -> tuple[str, ...]:
        return ("binary",) if self.classes <= 2 else ("canonical",)

    @property
    def n_max(self) -> int:
        return self.n_samples or self._held.shape(self.dataset, self.fold)[0]

    @property
    def default_n(self) -> int:
        return min(self.n_max, self.max_n)

    @property
    def unavailable(self) -> str | None:
        """Why the task cannot be run from this repository, or None."""
        if not tabrepo.is_there(self.repository):
            return tabrepo.absent(self.repository)
        held = self._held
        absent = held.missing(self.dataset, self.fold)
        if absent:
            return f"the repository lacks {', '.join(absent)} of {self.dataset}, fold {self.fold}"
        if held.problem_type(self.dataset) == "regression":
            return f"{self.dataset} is a regression data set; it has no class probabilities"
        if self.config not in held.metadata(self.dataset, self.fold).models:
            return f"the repository has no predictions of {self.config} for {self.dataset}, fold {self.fold}"
        rows, classes = held.shape(self.dataset, self.fold)
        if (self.n_samples or rows, self.n_classes or classes) != (rows, classes):
            return (
                f"the list of tasks says {self.n_samples} rows and {self.n_classes} classes, "
                f"the repository {rows} and {classes}, for {self.dataset}, fold {self.fold}"
            )
        return None

    @property
    def fingerprint(self) -> dict[str, Any]:
        found = None
        if self.unavailable is None:
            held = self._held
            content = hashlib.sha256(held.stored_bytes(self.dataset, self.fold, self.config))
            content.update(held.labels_val(self.dataset, self.fold).tobytes())
            found = content.hexdigest()
        return {"dataset": self.dataset, "fold": self.fold, "config": self.config, "sha256": found}

    def sample(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        held = self._held
        y = held.labels_val(self.dataset, self.fold)
        p = held.predict_val(self.dataset, self.fold, self.config)
        if n > len(y):
            raise BadInputError(
                f"n is {n}, but {self.dataset}, fold {self.fold} holds {len(y)} rows; n can be at most that."
            )
        rows = rng.permutation(len(y))[:n]
        return p[rows], y[rows]

    def truth(self, estimand: str, notion: str | None = None) -> None:
        return None


Task: TypeAlias = tuple[
    str, int, str, int | None, int | None
]  # dataset, fold, config, rows, classes


@dataclass(frozen=True)
class TabRepoTasks:
    """A family of problems, one TabRepoTask per (dataset, fold, config), with ids dataset/fold/config.

    Tasks of the list that the repository lacks (a partial download) are skipped with the reason, as are regression data sets; all
    are where the repository is not there.

    Parameters
    ----------
    repository : str
        A folder, looked for in the working folder, below CALHARNESS_DATA and in the project's cache folder.
    tasks : str, optional
        A csv with columns dataset, fold, config and, where known, n_samples, n_classes: a path, or one below experiments/; None
        takes everything that the repository holds.
    configs, folds, datasets, families : list, optional
        They choose among the tasks; a family is the part of a config's name before the first '_'.
    min_n, max_classes : int, optional
        Tasks with fewer rows or more classes are left out.
    max_n : int
        Default sample size at most.

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
        """{id: TabRepoTask}. Raises BadInputError if nothing is chosen, or the repository is absent and no list says what it
        holds."""
        listed = self._listed(self.tasks) if self.tasks else None
        known = listed is not None and all(None not in task for task in listed)
        held = (
            None
            if known and not tabrepo.is_there(self.repository)
            else tabrepo.find(self.repository)
        )
        if listed is None:
            listed = [] if held is None else self._all_of(held)
        chosen = self._chosen(listed)
        place = str(held.root) if held else self.repository
        return {
            f"{dataset}/{fold}/{config}": TabRepoTask(
                place, dataset, fold, config, n, k, self.max_n
            )
            for dataset, fold, config, n, k in chosen
        }

    def _listed(self, tasks: str) -> list[Task]:
        """[(dataset, fold, config, n, classes)] of the csv, in its order."""
        import pandas as pd  # slow to import

        path = task_list(tasks)
        frame = pd.read_csv(path)
        absent = [name for name in ("dataset", "fold", "config") if name not in frame]
        if absent:
            raise BadInputError(
                f"{path} has no column {', '.join(absent)}; a list of tasks needs dataset, fold and config."
            )
        twice = frame[frame.duplicated(["dataset", "fold", "config"])]
        if len(twice):
            raise BadInputError(
                f"{path} lists {'/'.join(str(twice.iloc[0][c]) for c in ('dataset', 'fold', 'config'))} twice."
            )
        sizes = [
            _known(frame[c]) if c in frame else [None] * len(frame)
            for c in ("n_samples", "n_classes")
        ]
        return list(
            zip(frame["dataset"].astype(str), frame["fold"].tolist(), frame["config"], *sizes)
        )

    def _all_of(self, held: tabrepo.Repository) -> list[Task]:
        return [
            (dataset, fold, config, *held.shape(dataset, fold))
            for dataset in held.datasets()
            for fold in held.folds(dataset)
            for config in held.configs(dataset, fold)
        ]

    def _chosen(self, listed: list[Task]) -> list[Task]:
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
            of: Callable[[Any], Any] = _family if name == "families" else (lambda value: value)
            have = {of(task[column]) for task in listed}
            unknown = [value for value in values if value not in have]
            if unknown:
                shown = ", ".join(map(str, sorted(have)[:10])) + (", ..." if len(have) > 10 else "")
                raise BadInputError(
                    f"{name} is {unknown[0]!r}, which no task has; there are {shown}."
                )
            listed = [task for task in listed if of(task[column]) in values]
        listed = [task for task in listed if task[3] is None or task[3] >= self.min_n]
        if self.max_classes is not None:
            listed = [task for task in listed if task[4] is None or task[4] <= self.max_classes]
        if not listed:
            raise BadInputError(
                "datasets, folds, configs, families, min_n and max_classes together leave no task."
            )
        return listed


def task_list(name: str) -> Path:
    """A list of tasks: the path as given, else below experiments/."""
    for path in (Path(name).expanduser(), EXPERIMENTS / name):
        if path.is_file():
            return path
    raise BadInputError(f"tasks is {name!r}; there is no such file here or in {EXPERIMENTS}.")


def _known(column: pd.Series) -> list[int | None]:
    """The integers of a column, None where it is empty."""
    return [int(value) if value == value else None for value in column]


def _family(config: str) -> str:
    return config.split("_")[0]
