"""Family of test predictions from files, before and after recalibration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from harness.errors import BadInputError
from harness.problems.files_family import AbsentFiles, PredictionFiles
from harness.problems.transforms.recalibrated import Recalibrated


@dataclass(frozen=True)
class RecalibratedFiles:
    """Family of the test predictions of every file in a folder, before and after recalibration.

    Ids are `<name>/<file>` and `<name>/<file>/<method>`. Each file holds the arrays val_logits,
    val_labels, test_logits and test_labels (see PredictionFiles). If there are no files, the family
    has a single member, which runs skip.

    Parameters
    ----------
    folder, pattern, name, source
        As in PredictionFiles.
    calibrators : dict
        {method: calibrator}. Each calibrator is fitted on the validation part of every file.

    Examples
    --------
    >>> from harness.calibrators import Temperature
    >>> calibrators = {"temperature": Temperature()}
    >>> list(RecalibratedFiles("no/such/folder", name="nets", calibrators=calibrators).members())
    ['nets/absent']
    """

    folder: str = ""
    pattern: str = "*.npz"
    name: str | None = None
    source: str | None = None
    calibrators: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        for method, calibrator in (self.calibrators or {}).items():
            if not hasattr(calibrator, "fit"):
                raise BadInputError(
                    f"calibrators.{method} is {calibrator!r}; a calibrator is needed."
                )

    def members(self) -> dict[str, Any]:
        """Return {id: problem}, or a single absent problem if there are no files."""
        tests, validations = (
            PredictionFiles(
                self.folder, self.pattern, part, name=self.name, source=self.source
            ).members()
            for part in ("test", "val")
        )
        problems = {}
        for (name, test), validation in zip(tests.items(), validations.values()):
            stem = name.removesuffix("/test")
            problems[stem] = test
            if isinstance(test, AbsentFiles):
                continue
            for method, calibrator in (self.calibrators or {}).items():
                problems[f"{stem}/{method}"] = Recalibrated(validation, test, calibrator)
        return problems
