"""A file of predictions and labels, a user's own or a published one, as a problem without known truth."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from harness.errors import BadInput


@dataclass(frozen=True)
class Predictions:
    """Rows of a file (npz, csv, parquet, or logits as their authors published them; see `sources.files`). A rep is a random
    order of the rows and n its first n rows, without replacement: n = all rows makes every rep the same sample. The file's
    sha256 identifies the problem, not its path. `top_label: true` says that a single column holds confidences and the labels
    say whether each was right.

    `split` is the part of a file that has two (test, validation). `order: file` takes the rows as the file has them, the first n,
    in every rep. `float32: true` computes the softmax in 32 bits, as published pipelines did (confidences near 1 become 1).
    A path of data/packs.yaml whose file is absent, or has another checksum, makes the problem `unavailable`: its cells are
    skipped with the reason, and its size is what the listing says.
    """

    path: str = ""
    probabilities: str | None = None
    logits: str | None = None
    labels: str | None = None
    top_label: bool = False
    split: str = "test"
    order: str = "random"
    float32: bool = False

    version = 1
    default_reps = 1

    def __post_init__(self):
        for name, value, allowed in (("split", self.split, ("test", "validation")), ("order", self.order, ("random", "file"))):
            if value not in allowed:
                raise BadInput(f"{name} is {value!r}; allowed are {', '.join(allowed)}.")
        for name in ("top_label", "float32"):
            if not isinstance(getattr(self, name), bool):
                raise BadInput(f"{name} is {getattr(self, name)!r}; allowed are true, false.")

    @property
    def _packs(self):
        from harness.sources import packs

        return packs.of(self.path)

    @property
    def unavailable(self) -> str | None:
        """Why the published file cannot be used, and how to get it; None if it can, and for a file of the user's own."""
        from harness.sources import files

        published = self._packs
        if not published:
            return None
        try:
            path = files.find(self.path)
        except BadInput as absent:
            return f"{str(absent).rstrip('.')}; {published[0].how}"
        for pack, file in zip(published, files.members(path)):
            if pack.sha256 and _sha256(str(file), *files.stamp(file)) != pack.sha256:
                return f"{file} is not the published file, whose sha256 is {pack.sha256}; move it away, then {pack.how}"
        return None

    def _load(self):
        from harness.sources import files

        if not self.path:
            raise BadInput(
                "problem.predictions.path is missing; give the npz, csv or parquet file with probabilities and labels."
            )
        if self.unavailable:
            raise BadInput(f"{self.unavailable}.")
        path = files.find(self.path)
        names = (self.probabilities, self.logits, self.labels)
        return _read(str(path), *names, self.top_label, self.split, self.float32, files.stamp(path))

    @property
    def _columns(self):
        """Columns of p, 0 if it is a vector: as loaded, else as listed."""
        if self.unavailable:
            return 0 if self.top_label else self._packs[0].classes
        p = self._load()[0]
        return 0 if p.ndim == 1 else p.shape[1]

    @property
    def classes(self):
        return self._columns or 2

    @property
    def notions(self):
        k = self._columns
        if k == 0:
            return ("top_label",) if self.top_label else ("binary", "canonical", "classwise")
        return (*(("binary",) if k == 2 else ()), "top_label", "classwise", "canonical")

    @property
    def default_notions(self):
        return ("binary",) if "binary" in self.notions else self.notions

    @property
    def n_max(self):
        if self.unavailable:
            return self._packs[0].validation_rows if self.split == "validation" else self._packs[0].rows
        return len(self._load()[1])

    default_n = n_max

    @property
    def fingerprint(self):
        """The file and the options that change numbers; newer ones only where not at their default: older records stay valid."""
        sha256 = self._packs[0].sha256 if self.unavailable else self._load()[2]
        changed = {"split": self.split} if self.split != "test" else {}
        changed |= {"order": self.order} if self.order != "random" else {}
        changed |= {"float32": True} if self.float32 else {}
        return {"sha256": sha256, "arrays": [self.probabilities, self.logits, self.labels, self.top_label], **changed}

    def sample(self, n, rng):
        p, y, _ = self._load()
        if n > len(y):
            raise BadInput(f"n is {n}, but {self.path} holds {len(y)} rows; n can be at most that.")
        rows = (np.arange(len(y)) if self.order == "file" else rng.permutation(len(y)))[:n]
        return p[rows], y[rows]

    def truth(self, estimand, notion=None):
        return None


@lru_cache(maxsize=8)
def _read(path, probabilities, logits, labels, top_label, split, float32, stamp):
    from harness.notions import checked
    from harness.sources import files

    found = files.read_predictions(path, probabilities, logits, labels, top_label=top_label, split=split, float32=float32)
    return *checked(*found), files.sha256(path)


@lru_cache(maxsize=256)
def _sha256(path, *stamp):
    from harness.sources import files

    return files.sha256(path)
