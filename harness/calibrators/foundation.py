"""Calibrators that use tabular foundation models: TabPFN and TabICL (optional extra `foundation`).

Both models are transformers that were trained once, on other tables. "Fitting" passes (p, y) as
context and leaves the weights of the transformer unchanged. The features are the probabilities: one
column for scalars, all k columns for vectors. Vectors of two classes are reduced to a single
column.

The user must provide the files of weights (`calharness data list` names them). Nothing is
downloaded, and no browser or log-in is opened. If a model cannot run, its cells are skipped with
the reason in `unavailable`. The checksum of the weights is part of the cell keys, so records of
different weights never mix.
"""

from __future__ import annotations

import contextlib
import logging
import os
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from harness.calibrators.base import CalibrationMap, refuse_masked_sample
from harness.calibrators.logits import in_columns, on_columns
from harness.common import data_files
from harness.common.seeds import as_seed
from harness.errors import BadInputError, UndefinedError

# Largest number of samples of a cell. On one CPU core, a binary cell of 2,000 samples takes 40 s.
LARGEST_N = {"cpu": 2_000, "cuda": 10_000}
OFFLINE = {
    "HF_HUB_OFFLINE": "1", "HF_HUB_DISABLE_TELEMETRY": "1", "TABPFN_NO_BROWSER": "1",
    "TABPFN_DISABLE_TELEMETRY": "1", "DO_NOT_TRACK": "1",
}  # fmt: skip


@dataclass(frozen=True)
class _FoundationModel:
    """Base of TabPFN and TabICL.

    A subclass defines `package`, `pack` (the name in data/packs.yaml) and `model(path, seed)`.
    """

    weights: str
    sha256: str | None = None
    device: str = "cpu"
    seed: int | None = None
    max_n: int | None = None

    determinism = "statistical"
    package: ClassVar[str]
    pack: ClassVar[str]

    def __post_init__(self) -> None:
        if self.device not in LARGEST_N:
            raise BadInputError(f"device is {self.device!r}; allowed are {', '.join(LARGEST_N)}.")
        if self.max_n is None:
            object.__setattr__(self, "max_n", LARGEST_N[self.device])
        for name, least in (("seed", 0), ("max_n", 1)):
            value = getattr(self, name)
            if value is not None and (
                not isinstance(value, int) or isinstance(value, bool) or value < least
            ):
                raise BadInputError(
                    f"{name} is {value!r}; an integer of at least {least}, or null, is needed."
                )
        if self.sha256 is not None and not (
            isinstance(self.sha256, str) and len(self.sha256) == 64
        ):
            raise BadInputError(
                f"sha256 is {self.sha256!r}; 64 hexadecimal digits, or null for any, are needed."
            )

    @property
    def unavailable(self) -> str | None:
        """Reason why the model cannot run here, or None.

        torch is imported only if `device` is cuda, in order to look for a GPU.
        """
        for package in ("torch", self.package):
            if find_spec(package) is None:
                return f"the package {package} is not installed; install calharness[foundation]"
        try:
            path = data_files.find(self.weights)
        except BadInputError as absent:
            return (
                f"{str(absent).rstrip('.')}; `calharness data fetch {self.pack}` says how to get it"
            )
        checksum = _checksum(path)
        if self.sha256 is not None and checksum != self.sha256.lower():
            return f"{path} has sha256 {checksum}, but the option sha256 requires {self.sha256}"
        if self.device == "cuda" and not _has_gpu():
            return "device is cuda, but torch finds no GPU here"
        return None

    @cached_property
    def checksum(self) -> str | None:
        """sha256 of the weights at the first access; None if the file is absent."""
        try:
            return _checksum(data_files.find(self.weights))
        except BadInputError:
            return None

    @property
    def fingerprint(self) -> dict[str, Any]:
        """The settings that influence the results: checksum of the weights, device and seed.

        The device influences them because a GPU uses half precision.
        """
        return {"weights": self.checksum, "device": self.device, "seed": self.seed}

    def fit(self, p: np.ndarray, y: np.ndarray, rng: np.random.Generator | int) -> CalibrationMap:
        """Fit a map q that estimates E[Y given p].

        If y has a single class, q predicts that class. The seed of the model is `seed`, or is drawn
        from `rng`. BadInputError if the model is unavailable, and UndefinedError if it predicts a
        value that is not finite.
        """
        refuse_masked_sample(p, y)
        if p.ndim == 2 and p.shape[1] == 2:
            return on_columns(self, p, y, rng)
        reason = self.unavailable
        if reason is not None:
            raise BadInputError(f"{type(self).__name__} cannot run: {reason}.")
        path = data_files.find(self.weights)
        if _checksum(path) != self.checksum:
            raise BadInputError(
                f"{path} changed after this calibrator was created; create it again."
            )
        k = 2 if p.ndim == 1 else p.shape[1]
        seed = as_seed(rng) if self.seed is None else self.seed
        share = np.bincount(y, minlength=k) / len(y)
        if share.max() == 1.0 or not self.accepts(p):
            return lambda x: (
                np.full(len(x), share[1]) if x.ndim == 1 else np.tile(share, (len(x), 1))
            )
        with _isolated():
            model = self.model(str(path), seed)
            model.fit(in_columns(p), y)

        def q(x: np.ndarray) -> np.ndarray:
            with _isolated():
                scores = np.asarray(model.predict_proba(in_columns(x)), dtype=np.float64)
            infinite = int((~np.isfinite(scores)).sum())
            if infinite:
                raise UndefinedError(
                    f"{type(self).__name__} predicted {infinite} values that are not finite"
                )
            classes = np.asarray(model.classes_, dtype=np.int64)
            probabilities = np.zeros((len(x), k))
            probabilities[:, classes] = scores / scores.sum(axis=1, keepdims=True)
            return probabilities[:, 1] if x.ndim == 1 else probabilities

        return q

    def model(self, path: str, seed: int) -> Any:
        """Return the classifier with the weights in the file `path`."""
        raise NotImplementedError

    def accepts(self, p: np.ndarray) -> bool:
        """Return True if the model accepts the predictions p; otherwise q is the class shares."""
        return True


@dataclass(frozen=True)
class TabPFN(_FoundationModel):
    """RealTabPFN-2.5, a tabular foundation model that learns in context.

        q(x) = the model's P(Y = j given x; context (p_i, y_i), i = 1..n)

    Settings are the defaults of the package tabpfn, without its limit on the number of samples.

    Parameters
    ----------
    weights : str
        File of weights, looked up as given, then below CALHARNESS_DATA. tabpfn reads the version of
        the model from the file name.
    sha256 : str or None
        Checksum that the weights must have; None accepts any weights.
    device : {"cpu", "cuda"}
        Where the model runs; "cpu" uses one thread.
    seed : int or None
        random_state of the model; None draws it from the random stream of the estimator.
    max_n : int or None
        Largest number of samples of a cell. None means 2,000 on cpu and 10,000 on cuda.

    Notes
    -----
    At most 10 classes. tabpfn refuses predictions that are all equal; q is then the class shares.
    Determinism: statistical. Cost: O(n^2) per fit and prediction. A binary cell of n = 2,000 takes
    about 40 s on one core.

    References
    ----------
    Grinsztajn et al. (2025), TabPFN-2.5. berta2026, Table 1.

    Examples
    --------
    Without the packages or the weights, `unavailable` gives the reason.

    >>> model = TabPFN(weights="no_such_file.ckpt", seed=0)
    >>> model.max_n, model.unavailable is None
    (2000, False)
    """

    weights: str = "foundation/tabpfn-v2.5-classifier-v2.5_default.ckpt"

    max_classes = 10
    package = "tabpfn"
    pack = "real_tabpfn_2_5"

    def model(self, path: str, seed: int) -> Any:
        """Return the TabPFN classifier with the weights in the file `path`."""
        from tabpfn import TabPFNClassifier

        return TabPFNClassifier(
            model_path=path, device=self.device, ignore_pretraining_limits=True, random_state=seed
        )

    def accepts(self, p: np.ndarray) -> bool:
        """Return True unless all predictions are equal."""
        columns = in_columns(p)
        return bool((columns != columns[0]).any())


@dataclass(frozen=True)
class TabICL(_FoundationModel):
    """TabICLv2, a tabular foundation model that learns in context.

        q(x) = softmax(mean of the model's logits for x over 8 views of the table / 0.9)

    Settings are the defaults of the package tabicl.

    Parameters
    ----------
    weights, sha256, device, seed, max_n
        As in `TabPFN`.

    Notes
    -----
    Any number of classes. Determinism: statistical. Cost: O(n^2) per prediction.

    References
    ----------
    Qu et al. (2026), TabICLv2. berta2026, Table 1.

    Examples
    --------
    Without the packages or the weights, `unavailable` gives the reason.

    >>> model = TabICL(weights="no_such_file.ckpt", device="cuda")
    >>> model.max_n, model.unavailable is None
    (10000, False)
    """

    weights: str = "foundation/tabicl-classifier-v2-20260212.ckpt"

    package = "tabicl"
    pack = "tabicl_2"

    def model(self, path: str, seed: int) -> Any:
        """Return the TabICL classifier with the weights in the file `path`."""
        from tabicl import TabICLClassifier

        return TabICLClassifier(
            model_path=path, allow_auto_download=False, device=self.device, random_state=seed
        )


def _checksum(path: Path) -> str:
    """Return the sha256 of a file; a cached value is used until the file changes."""
    stamp = path.stat()
    return _sha256(str(path), stamp.st_mtime_ns, stamp.st_size)


@lru_cache(maxsize=8)
def _sha256(path: str, modified: int, size: int) -> str:
    """Return the sha256 of a file. Time of change and size are part of the cache key."""
    return data_files.sha256(path)


@lru_cache(maxsize=1)
def _has_gpu() -> bool:
    """Return True if torch finds a GPU."""
    import torch

    return torch.cuda.is_available()


@contextlib.contextmanager
def _isolated() -> Iterator[None]:
    """Run the code inside the `with` block offline, on one thread and without output.

    Afterwards the environment, the number of threads and torch's random generator are restored.
    """
    import torch

    # Import before the environment changes, because the package reads it only at import.
    from huggingface_hub import constants

    environment = {name: os.environ.get(name) for name in OFFLINE}
    threads, offline, silent = (
        torch.get_num_threads(),
        constants.HF_HUB_OFFLINE,
        logging.root.manager.disable,
    )
    os.environ.update(OFFLINE)
    constants.HF_HUB_OFFLINE = True
    torch.set_num_threads(1)
    logging.disable(logging.CRITICAL)
    try:
        with torch.random.fork_rng(devices=[]), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(silent)
        torch.set_num_threads(threads)
        constants.HF_HUB_OFFLINE = offline
        for name, value in environment.items():
            os.environ.pop(name, None) if value is None else os.environ.update({name: value})
