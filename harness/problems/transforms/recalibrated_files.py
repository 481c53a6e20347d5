"""Many files with validation and test predictions as a family: each network as it is and after post-hoc recalibration."""

from __future__ import annotations

from dataclasses import dataclass

from harness.errors import BadInputError


@dataclass(frozen=True)
class RecalibratedFiles:
    """The test predictions of every file of `folder` that matches `pattern`, id <name>/<file>, and the same after each of
    `calibrators` ({method: calibrator}) was fitted on the file's validation part, id <name>/<file>/<method>.

    Files hold the arrays val_logits, val_labels, test_logits and test_labels (see PredictionFiles). Without files the family is
    one member, whose cells are skipped with the reason."""

    folder: str = ""
    pattern: str = "*.npz"
    name: str | None = None
    source: str | None = None
    calibrators: dict | None = None

    def __post_init__(self):
        for method, one in (self.calibrators or {}).items():
            if not (hasattr(one, "fit") or isinstance(one, dict) and "_target_" in one):
                raise BadInputError(f"calibrators.{method} is {one!r}; a calibrator is needed.")

    def members(self) -> dict[str, dict]:
        from harness.problems.files_family import PredictionFiles

        def of(part):
            return PredictionFiles(self.folder, self.pattern, part, name=self.name, source=self.source).members()

        tests, found = of("test"), {}
        for (name, test), validation in zip(tests.items(), of("val").values()):
            stem = name.removesuffix("/test")
            found[stem] = test
            if test["_target_"] != "harness.problems.Predictions":
                continue
            for method, calibrator in (self.calibrators or {}).items():
                found[f"{stem}/{method}"] = {
                    "_target_": "harness.problems.Recalibrated", "validation": validation, "test": test, "calibrator": calibrator,
                }  # fmt: skip
        return found
