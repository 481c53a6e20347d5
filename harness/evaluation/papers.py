"""Questions, conclusions and items of a paper in plain words: experiments/<paper>/paper.yaml.

title: A Variational Estimator for Lp Calibration Errors
authors: Eugène Berta, Sacha Braun, ...           # or a list
year: 2026
venue: arXiv preprint
address: https://arxiv.org/abs/2602.24230
citation: one line
asks: one sentence, the question of the paper
claims: one sentence, its conclusion
here: one sentence, our result
findings:                                         # optional: of our reproduction, strongest first
  - a sentence, or {rank: 1, text: a sentence} for one of the strongest of all papers
items:                                            # in the paper's order, `claims` last
  fig1: {name: Figure 1, about: its content, experiments: [ids, the first is the item's page],
         how: the paper's setting, needs: the missing files, in one sentence, or null,
         command: the one command that gets the files or runs the item}
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import yaml
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from harness.common.paths import EXPERIMENTS
from harness.configure import options
from harness.errors import BadInputError, guess

HOW = {
    "the paper's setting": "the paper's own data or distributions, protocol and sizes",
    "part of its data": (
        "the paper's protocol on those of its data that are at hand; the rest is named with what "
        "gets it"
    ),
    "a twin": (
        "the paper's protocol on other data or networks: its numbers stand beside ours and are not "
        "judged"
    ),
    "networks trained again": (
        "the paper's protocol on networks trained here: judged within the spread of seeds, never "
        "digit by digit"
    ),
    "data absent": "nothing can be computed before the files that the item needs are there",
}


@dataclass
class Item:
    """A figure or table of a paper.

    `experiments` are the ids that reproduce it; the first has the item's page. `how` is a key of
    HOW. `needs` names what is missing, and `command` gets or runs it; both may be None.
    """

    id: str
    name: str
    about: str
    experiments: list[str]
    how: str
    needs: str | None = None
    command: str | None = None

    def stems(self, paper: str) -> list[str]:
        """Return the file names, without ending, of the results of the experiments."""
        return [name.removeprefix(f"{paper}_") for name in self.experiments]


@dataclass
class Finding:
    """A finding of a reproduction; rank 1 is the strongest of all papers, None has no rank."""

    text: str
    rank: int | None = None


@dataclass
class Paper:
    """A paper in plain words, with its items by id."""

    id: str
    title: str
    authors: str
    year: int
    venue: str
    address: str
    citation: str
    asks: str
    claims: str
    here: str
    items: dict[str, Item]
    findings: list[Finding] = field(default_factory=list)

    def item_of(self, experiment: str) -> Item | None:
        """Return the item of an experiment; of several the one with its page there."""
        items = [item for item in self.items.values() if experiment in item.experiments]
        return min(items, key=lambda item: item.experiments[0] != experiment, default=None)


def described() -> list[str]:
    """Return the ids of the papers that have a paper.yaml."""
    return sorted(path.parent.name for path in EXPERIMENTS.glob("*/paper.yaml"))


def every() -> list[Paper]:
    """Return all papers that have a paper.yaml."""
    return [read(name) for name in described()]


def find(name: str | None) -> Paper | None:
    """Return the paper of this id, None without one or without its paper.yaml."""
    return read(name) if name in described() else None


def read(name: str) -> Paper:
    """Read the paper of this id.

    Raises
    ------
    BadInputError
        If its paper.yaml is missing, is no YAML, or lacks or mistypes an entry; names the place.
    """
    where = f"experiments/{name}/paper.yaml"
    try:
        entries = _normalised(options.read(EXPERIMENTS / name / "paper.yaml"))
        entries["id"] = name
        config = OmegaConf.merge(OmegaConf.structured(Paper), entries)
        missing = sorted(OmegaConf.missing_keys(config))
    except FileNotFoundError:
        raise BadInputError(
            f"{where} is not there; harness/evaluation/papers.py describes its entries."
        ) from None
    except yaml.YAMLError as error:
        raise BadInputError(f"{where} is no YAML: {' '.join(str(error).split())}.") from None
    except OmegaConfBaseException as error:
        reason = str(error).splitlines()[0]
        raise BadInputError(f"{where}: {error.full_key}: {reason}.") from None
    if missing:
        raise BadInputError(f"{where} lacks {', '.join(missing)}.")
    paper = cast(Paper, OmegaConf.to_object(config))
    for item in paper.items.values():
        if item.how not in HOW:
            raise BadInputError(
                f"{where}: items.{item.id}.how is {item.how!r}{guess(item.how, list(HOW))}; "
                f"it is one of {', '.join(HOW)}."
            )
    return paper


def _normalised(value: Any) -> dict[str, Any]:
    """Return entries with one space between words, authors joined, ids of items, full findings."""
    entries: dict[str, Any] = _single_spaced(value) if isinstance(value, dict) else {}
    if isinstance(entries.get("authors"), list):
        entries["authors"] = ", ".join(map(str, entries["authors"]))
    if isinstance(entries.get("items"), dict):
        for name, item in entries["items"].items():
            if isinstance(item, dict):
                item["id"] = str(name)
    if isinstance(entries.get("findings"), list):
        entries["findings"] = [
            {"text": text} if isinstance(text, str) else text for text in entries["findings"]
        ]
    return entries


def _single_spaced(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _single_spaced(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [_single_spaced(entry) for entry in value]
    return " ".join(value.split()) if isinstance(value, str) else value


def examine(name: str) -> None:
    """Raise BadInputError on a mistake in a paper.yaml, also in its names of experiments."""
    check(read(name))


def check(paper: Paper) -> None:
    """Raise BadInputError if an item names an experiment that is unknown or of another paper.

    `read` does not check this: the page of one experiment does not depend on the others.
    """
    known = options.ids("experiment")
    for item in paper.items.values():
        for name in item.experiments:
            where = f"experiments/{paper.id}/paper.yaml: items.{item.id}.experiments has {name!r}"
            if name not in known:
                raise BadInputError(f"{where}{guess(name, known)}; there is no such experiment.")
            owner = options.option("experiment", name).config.get("paper")
            if owner != paper.id:
                raise BadInputError(f"{where}, which is of {owner or 'no paper'}.")


def page(paper: Paper, item: Item, folder: Path) -> Path | None:
    """Return the page of an item in a folder of results, None without one.

    It is the page of its first experiment, or of the first that has one.
    """
    pages = [folder / paper.id / f"{stem}.html" for stem in item.stems(paper.id)]
    return next((path for path in pages if path.is_file()), None)
