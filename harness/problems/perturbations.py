"""Perturbed predictions as families of problems: the same predictions under several widths of the perturbation."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from math import inf, nan
from numbers import Real
from typing import Any

from harness.errors import BadInputError
from harness.math.sech_noise import WIDTHS, width_name, width_of
from harness.problems.base import ProblemSpec, members_of
from harness.problems.files_family import AbsentFiles, PredictionFiles
from harness.problems.transforms.perturbed import Perturbed


@dataclass(frozen=True)
class Perturbations:
    """A family of problems: one problem under several widths of the sech perturbation (harness.problems.Perturbed).

    Parameters
    ----------
    problem : Problem or Family
        A problem gives the members `<name>/h2^-6` and so on. A family gives every member `<id>` as it is and perturbed,
        `<id>/h2^-6`; a member that cannot be run here only as it is; a family whose files are absent one problem `<name>`,
        whose cells are skipped.
    widths : sequence of float
        The widths h, positive and different.
    notion : str
        The notion under which scores are perturbed: binary or top_label.
    name : str
        What ids begin with.

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
        """{id: the problem as it is, or Perturbed}."""
        try:
            members = members_of(self.problem)
        except BadInputError as absent:  # its files are not there; the reason, which the key is made of, is one on all machines
            return {
                self.name: AbsentFiles(
                    re.sub(", looked for at [^;]*;", ";", str(absent)).rstrip(".")
                )
            }
        if members is None:
            return {
                f"{self.name}/{width_name(h)}": Perturbed(self.problem, h, self.notion)
                for h in self.widths
            }
        found = {}
        for name, one in members.items():
            found[name] = one
            if not ProblemSpec.of(one).unavailable:
                found |= {
                    f"{name}/{width_name(h)}": Perturbed(one, h, self.notion) for h in self.widths
                }
        return found


@dataclass(frozen=True)
class PerturbedNetworks:
    """A family of problems: networks that were trained with and without the perturbation (`calharness data make
    perturbed_networks`). Of every file: `<name>/<file>`, the plain network's scores as they are; `<name>/<file>/h2^-6`, those
    perturbed with that width; `<name>/<file>/aware_h2^-6`, the network trained with that width, perturbed with it. The folder is
    looked for as PredictionFiles does; without files the family is one problem whose cells are skipped.

    Parameters
    ----------
    folder : str
        Where the files lie, as PredictionFiles looks for it.
    pattern : str
        Which of its files are taken.
    widths : tuple of float
        Widths h of the perturbation.
    name : str
        What the ids of the members begin with.
    source : str, optional
        How the files can be had, said where they are absent.

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
        """{id: Predictions, or Perturbed}, or the one absent problem."""
        found = {}
        how = {"labels": "labels", "name": self.name, "source": self.source}
        plain = PredictionFiles(self.folder, self.pattern, probabilities="plain", **how).members()
        for name, one in plain.items():
            found[name] = one
            if isinstance(one, AbsentFiles):
                continue
            found |= {f"{name}/{width_name(h)}": Perturbed(one, h) for h in self.widths}
            for h in self.widths:
                aware = f"aware_{width_name(h)}"
                found[f"{name}/{aware}"] = Perturbed(replace(one, probabilities=aware), h)
        return found


def _check(widths: tuple[float, ...]) -> None:
    if (
        not widths
        or not all(isinstance(h, Real) and 0.0 < h < inf for h in widths)
        or len(set(map(width_name, widths))) < len(widths)
    ):
        raise BadInputError(f"widths is {tuple(widths)}; different positive numbers are needed.")


def parts_of_id(name: str) -> tuple[str, bool, float]:
    """What the id of a member says: the id of the predictions as they are, whether they were trained with the perturbation, and
    its width h, NaN for none.

    >>> parts_of_id("net/aware_h2^-6"), parts_of_id("net")
    (('net', True, 0.015625), ('net', False, nan))
    """
    found = re.fullmatch(r"(.+?)(?:/(aware_)?(h(?:2\^-?\d+|[\d.e-]+)))?", name)
    base, aware, width = found.groups() if found else (name, None, None)
    return base, aware is not None, width_of(width) if width else nan
