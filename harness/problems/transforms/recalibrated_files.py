"""Many files with validation and test predictions as a family: each network as it is and after post-hoc recalibration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from harness.errors import BadInputError
from harness.problems.files_family import AbsentFiles, PredictionFiles
from harness.problems.transforms.recalibrated import Recalibrated


@dataclass(frozen=True)
class RecalibratedFiles:
    """A family of problems: the test predictions of every file of a folder as they are, and after post-hoc recalibration.

    Ids are `<name>/<file>` and `<name>/<file>/<method>`. Files hold the arrays val_logits, val_labels, test_logits and
    test_labels (see PredictionFiles). Without files the family is one member, whose cells are skipped with the reason.

    Parameters
    ----------
    folder, pattern, name, source
        As in PredictionFiles.
    calibrators : dict
        {method: calibrator}; each is fitted on the validation part of every file.

    Examples
    --------
    >>> from harness.calibrators import Temperature
    >>> list(RecalibratedFiles("no/such/folder", name="nets", calibrators={"temperature": Temperature()}).members())
    ['nets/absent']
    """

    folder: str = ""
    pattern: str = "*.npz"
    name: str | None = None
    source: str | None = None
    calibrators: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        for method, one in (self.calibrators or {}).items():
            if not hasattr(one, "fit"):
                raise BadInputError(f"calibrators.{method} is {one!r}; a calibrator is needed.")

    def members(self) -> dict[str, Any]:
        """{id: Predictions, or Recalibrated}, or the one absent problem."""

        def of(part: str) -> dict[str, Any]:
            return PredictionFiles(
                self.folder, self.pattern, part, name=self.name, source=self.source
            ).members()

        tests, found = of("test"), {}
        for (name, test), validation in zip(tests.items(), of("val").values()):
            stem = name.removesuffix("/test")
            found[stem] = test
            if isinstance(test, AbsentFiles):
                continue
            for method, calibrator in (self.calibrators or {}).items():
                found[f"{stem}/{method}"] = Recalibrated(validation, test, calibrator)
        return found
