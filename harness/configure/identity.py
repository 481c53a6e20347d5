"""Names of a run, its differences from the file of its experiment, and where its results go."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.common.seeds import digest
from harness.configure import sweeps, variations
from harness.configure.settings import OPERATIONAL, Settings


@dataclass(frozen=True)
class Identity:
    """Names of a run, its differences from the file of its experiment, and where its results go.

    Parameters
    ----------
    settings : Settings
        Settings of the run.
    out : Path
        Folder of records and results.
    differs : dict
        Settings in which the run differs from the file of its experiment, as
        {path: (value in the file, value in the run)}.
    points : list of dict
        Points of the run's sweep, each {path: value}. Without a sweep, it is empty.
    configured_points : list of dict
        Points of the sweep in the file of the experiment. Without a sweep there, it is empty.
    """

    settings: Settings
    out: Path
    differs: variations.Differences = field(default_factory=dict)
    points: list[dict[str, Any]] = field(default_factory=list)
    configured_points: list[dict[str, Any]] = field(default_factory=list)

    @property
    def is_sweep(self) -> bool:
        """True if the run is a sweep over values of parameters."""
        return any(self.points)

    @property
    def is_variation(self) -> bool:
        """True unless the run is an experiment exactly as its file in conf/experiment/ says.

        A sweep always counts as a variation.
        """
        return self.is_sweep or not self.settings.experiment or bool(self.differs)

    @property
    def is_paper_item(self) -> bool:
        """True if the run is an experiment of a paper, without any change."""
        return bool(self.settings.paper) and not self.is_variation

    @property
    def sentence(self) -> str:
        """Description of the run, such as 'a sweep over bins of a variation of smoke (n)'."""
        experiment = self.settings.experiment
        base = str(experiment)
        if self.differs or not experiment:
            base = variations.sentence(self.settings, self.differs)
        if not self.is_sweep:
            return base
        sweep = f"a sweep over {', '.join(self._swept_words)}"
        return f"{sweep} of {base}" if experiment else sweep

    @property
    def title(self) -> str:
        """Title of the page of results. For a variation or sweep, the title names the changes."""
        experiment = self.settings.experiment
        if not self.is_variation or not experiment:
            return self.settings.title or self.settings.run_name
        differs = {p: pair for p, pair in self.differs.items() if p not in ("title", "name")}
        changes = variations.changes(self.settings, differs)
        title = experiment
        if self.is_sweep:
            title += f" swept over {', '.join(self._swept_words)}"
        if changes or not self.is_sweep:
            title = f"A variation of {title}"
        if changes:
            title += f": {changes}"
        return f"{self.settings.title}. {title}" if "title" in self.differs else title

    @property
    def stem(self) -> str:
        """Name of the result files without ending: the experiment's id without the paper's id.

        For a variation, it is the name of the variation.
        """
        if self.is_variation:
            return self._variation_name
        prefix = "arena" if self.settings.arena else self.settings.paper
        name = self.settings.run_name
        return name.removeprefix(f"{prefix}_") if prefix else name

    @property
    def folder(self) -> Path:
        """Folder of the results.

        For an experiment without changes it is <out>/<paper>, <out>/arena or <out>/<name>. For a
        variation it is <out>/variations/<stem>, and for a sweep <out>/sweeps/<stem>.
        """
        if self.is_variation:
            return self.out / ("sweeps" if self.is_sweep else "variations") / self.stem
        of_arena = "arena" if self.settings.arena else None
        return self.out / (self.settings.paper or of_arena or self.settings.run_name)

    @property
    def page(self) -> Path:
        """Path of the HTML page of the results. The other files differ in the ending alone."""
        return self.folder / f"{self.stem}.html"

    @property
    def _variation_name(self) -> str:
        """Name of a variation or sweep.

        It is the name that the user has given. Without one, it consists of the experiment's id, the
        swept parameters and the digest.
        """
        as_configured = self.is_sweep and not self.differs and self.points == self.configured_points
        is_given = not self.settings.experiment or "name" in self.differs or as_configured
        if self.settings.name and is_given:
            return str(self.settings.name)
        words = "".join(f"-{word.replace('.', '_')}" for word in self._swept_words)
        return f"{self.settings.experiment or 'adhoc'}{words}-{self.digest}"

    @property
    def digest(self) -> str:
        """Eight hexadecimal digits that identify the run's settings and sweep, without its name."""
        identity = variations.identity(self.settings)
        if not self.is_sweep:
            return identity
        return digest(json.dumps([identity, self.points], sort_keys=True, default=str))[:8]

    @property
    def _swept_words(self) -> list[str]:
        """Short names of the swept paths."""
        return list(sweeps.short_names(path for point in self.points for path in point).values())

    def swept(self) -> dict[str, list[str]]:
        """Return {path: texts of its values} of a sweep."""
        texts: dict[str, dict[str, None]] = {}
        for point in self.points:
            for path, value in point.items():
                texts.setdefault(path, {})[sweeps.value_text(value)] = None
        return {path: list(values) for path, values in texts.items()}

    def configuration(self) -> dict[str, Any]:
        """Return {setting: value} of the settings on which the results depend.

        Settings with the role OPERATION, such as folders and processes, are left out. So is `arena`
        if it is None.
        """
        hidden = set(OPERATIONAL) - {"experiment"}
        if self.settings.arena is None:
            hidden.add("arena")
        return {k: v for k, v in self.settings.to_dict().items() if k not in hidden}
