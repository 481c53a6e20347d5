"""Families of problems: the same predictions, perturbed with several widths."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from math import inf, nan
from numbers import Real
from typing import Any

from harness.errors import BadInputError
from harness.math.sech_noise import WIDTHS, parse_width, width_name
from harness.problems.base import ProblemSpec, list_members
from harness.problems.files_family import AbsentFiles, PredictionFiles
from harness.problems.transforms.perturbed import Perturbed


@dataclass(frozen=True)
class Perturbations:
    """Family of a problem under several widths of the sech perturbation (see Perturbed).

    Parameters
    ----------
    problem : Problem or Family
        The problem to perturb. For a single problem, the ids of the members are `<name>/h2^-6` and
        so on. For a family, they are the family's ids for the unchanged members, and `<id>/h2^-6`
        for the perturbed ones. Members that cannot run here are not perturbed. If the files of the
        family are absent, there is a single member `<name>`, which runs skip.
    widths : sequence of float
        Widths h of the perturbation, positive and distinct.
    notion : {"binary", "top_label"}
        Notion to which predictions are reduced before scores are perturbed.
    name : str
        First part of the ids.

    Examples
    --------
    >>> from harness.problems import Beta
    >>> list(Perturbations(Beta(), widths=(0.25, 0.02), name="beta").members())
    ['beta/h2^-2', 'beta/h0.02']
    """

    problem: Any
    widths: tuple[float, ...] = WIDTHS
    notion: str = "binary"
    name: str = "each"

    def __post_init__(self) -> None:
        _check(self.widths)

    def members(self) -> dict[str, Any]:
        """Return {id: problem}, with unchanged and perturbed problems."""
        try:
            members = list_members(self.problem)
        except BadInputError as error:
            # The files are absent. Remove the paths from the reason, so that the key of the problem
            # is the same on every machine.
            reason = re.sub(", looked for at [^;]*;", ";", str(error)).rstrip(".")
            return {self.name: AbsentFiles(reason)}
        if members is None:
            return self._perturb(self.name, self.problem)
        problems = {}
        for name, member in members.items():
            problems[name] = member
            if not ProblemSpec.of(member).unavailable:
                problems |= self._perturb(name, member)
        return problems

    def _perturb(self, name: str, problem: Any) -> dict[str, Perturbed]:
        return {f"{name}/{width_name(h)}": Perturbed(problem, h, self.notion) for h in self.widths}


@dataclass(frozen=True)
class PerturbedNetworks:
    """Family of networks that were trained with or without the perturbation.

    `calharness data make perturbed_networks` trains them. Each file gives three kinds of members:

    * `<name>/<file>`: scores of the network that was trained without perturbation.
    * `<name>/<file>/h2^-6`: these scores, perturbed with width 2^-6.
    * `<name>/<file>/aware_h2^-6`: scores of a network that was trained with this width, perturbed
      with the same width.

    If there are no files, the family is a single problem, which runs skip.

    Parameters
    ----------
    folder, pattern, name, source
        As in PredictionFiles.
    widths : tuple of float
        Widths h of the perturbation.

    Examples
    --------
    >>> list(PerturbedNetworks("no/such/folder").members())
    ['perturbed_networks/absent']

    References
    ----------
    ciosek2026.
    """

    folder: str = "perturbed_networks"
    pattern: str = "*.npz"
    widths: tuple[float, ...] = WIDTHS
    name: str = "perturbed_networks"
    source: str | None = None

    def __post_init__(self) -> None:
        _check(self.widths)

    def members(self) -> dict[str, Any]:
        """Return {id: problem}, or a single absent problem if there are no files."""
        problems = {}
        options = {"labels": "labels", "name": self.name, "source": self.source}
        files = PredictionFiles(self.folder, self.pattern, probabilities="plain", **options)
        for name, plain in files.members().items():
            problems[name] = plain
            if isinstance(plain, AbsentFiles):
                continue
            problems |= {f"{name}/{width_name(h)}": Perturbed(plain, h) for h in self.widths}
            for h in self.widths:
                aware = f"aware_{width_name(h)}"
                problems[f"{name}/{aware}"] = Perturbed(replace(plain, probabilities=aware), h)
        return problems


def _check(widths: tuple[float, ...]) -> None:
    """Raise BadInputError unless the widths are positive, finite and distinct by name."""
    if (
        not widths
        or not all(isinstance(h, Real) and 0.0 < h < inf for h in widths)
        or len(set(map(width_name, widths))) < len(widths)
    ):
        raise BadInputError(f"widths is {tuple(widths)}; distinct positive numbers are needed.")


def parts_of_id(name: str) -> tuple[str, bool, float]:
    """Return the parts of a member's id: the id of the predictions, `aware`, and the width h.

    `aware` is True if the network was trained with the perturbation. h is NaN without perturbation.

    Examples
    --------
    >>> parts_of_id("net/aware_h2^-6"), parts_of_id("net")
    (('net', True, 0.015625), ('net', False, nan))
    """
    match = re.fullmatch(r"(.+?)(?:/(aware_)?(h(?:2\^-?\d+|[\d.e-]+)))?", name)
    base, aware, width = match.groups() if match else (name, None, None)
    return base, aware is not None, parse_width(width) if width else nan
