"""A user's own file of predictions and labels as a problem without known truth."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from harness.errors import BadInput


@dataclass(frozen=True)
class Predictions:
    """Rows of a file (npz, csv, parquet; see `sources.files`). A rep is a random order of the rows and n its first n rows,
    without replacement: n = all rows makes every rep the same sample. The file's sha256 identifies the problem, not its
    path. `top_label: true` says that a single column holds confidences and the labels say whether each was right."""

    path: str = ""
    probabilities: str | None = None
    logits: str | None = None
    labels: str | None = None
    top_label: bool = False

    version = 1
    default_reps = 1

    def _load(self):
        from harness.sources import files

        if not self.path:
            raise BadInput(
                "problem.predictions.path is missing; give the npz, csv or parquet file with probabilities and labels."
            )
        path = files.find(self.path)
        stamp = path.stat()
        return _read(str(path), self.probabilities, self.logits, self.labels, stamp.st_mtime_ns, stamp.st_size)

    @property
    def classes(self):
        p = self._load()[0]
        return 2 if p.ndim == 1 else p.shape[1]

    @property
    def notions(self):
        p = self._load()[0]
        if p.ndim == 1:
            return ("top_label",) if self.top_label else ("binary", "canonical", "classwise")
        return (*(("binary",) if p.shape[1] == 2 else ()), "top_label", "classwise", "canonical")

    @property
    def default_notions(self):
        return ("binary",) if "binary" in self.notions else self.notions

    @property
    def n_max(self):
        return len(self._load()[1])

    default_n = n_max

    @property
    def fingerprint(self):
        return {"sha256": self._load()[2], "arrays": [self.probabilities, self.logits, self.labels, self.top_label]}

    def sample(self, n, rng):
        p, y, _ = self._load()
        if n > len(y):
            raise BadInput(f"n is {n}, but {self.path} holds {len(y)} rows; n can be at most that.")
        rows = rng.permutation(len(y))[:n]
        return p[rows], y[rows]

    def truth(self, estimand, notion=None):
        return None


@lru_cache(maxsize=8)
def _read(path, probabilities, logits, labels, modified, size):
    from harness.notions import checked
    from harness.sources import files

    p, y = checked(*files.read_predictions(path, probabilities, logits, labels))
    return p, y, files.sha256(path)
