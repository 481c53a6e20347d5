"""What a paper asks and concludes, and its items in plain words: experiments/<paper>/paper.yaml.

title: A Variational Estimator for Lp Calibration Errors
authors: Eugène Berta, Sacha Braun, ...           # or a list
year: 2026
venue: arXiv preprint
address: https://arxiv.org/abs/2602.24230
citation: one line
asks: one sentence, what the paper asks
claims: one sentence, what it concludes
here: one sentence, what came out here
findings:                                         # optional: what this paper's reproduction found, the strongest first
  - a sentence, or {rank: 1, text: a sentence} for one of the strongest of all papers
items:                                            # in the paper's order, `claims` last
  fig1: {name: Figure 1, about: what it shows, experiments: [ids, the first is the item's page], how: the paper's setting,
         needs: what is missing, in one sentence, or null, command: the one command that gets it or runs it}
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from harness.common.paths import EXPERIMENTS
from harness.configure import options
from harness.errors import BadInputError, guess

HOW = {
    "the paper's setting": "the paper's own data or distributions, protocol and sizes",
    "part of its data": "the paper's protocol on those of its data that are at hand; the rest is named with what gets it",
    "a twin": "the paper's protocol on other data or networks: its numbers stand beside ours and are not judged",
    "data absent": "nothing can be computed before the files that the item needs are there",
}
_SENTENCES = ("title", "venue", "address", "citation", "asks", "claims", "here")
_OF_ITEM = ("name", "about", "experiments", "how", "needs", "command")


@dataclass(frozen=True)
class Item:
    """A figure or table of a paper. `experiments` are the ids that reproduce it, the first of which has the item's page; `how` is
    one of HOW; `needs` says what is missing and `command` gets or runs it, both None where there is nothing to say."""

    id: str
    name: str
    about: str
    experiments: tuple[str, ...]
    how: str
    needs: str | None = None
    command: str | None = None

    def stems(self, paper: str) -> list[str]:
        """The file names, without their ending, of the results of the experiments, in their order."""
        return [name.removeprefix(f"{paper}_") for name in self.experiments]


@dataclass(frozen=True)
class Paper:
    """A paper in plain words, with its items by id. `findings` are pairs (rank or None, sentence)."""

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
    findings: tuple[tuple[int | None, str], ...] = ()

    def item_of(self, experiment: str) -> Item | None:
        """The item that the experiment belongs to: of several the one whose page it is."""
        found = [item for item in self.items.values() if experiment in item.experiments]
        return next(
            (item for item in found if item.experiments[0] == experiment),
            found[0] if found else None,
        )


def described() -> list[str]:
    """Ids of the papers that have a paper.yaml."""
    return sorted(path.parent.name for path in EXPERIMENTS.glob("*/paper.yaml"))


def every() -> list[Paper]:
    """All papers that have a paper.yaml."""
    return [read(name) for name in described()]


def find(name: str | None) -> Paper | None:
    """The paper of this id, None where there is none or it has no paper.yaml."""
    return read(name) if name and (EXPERIMENTS / name / "paper.yaml").is_file() else None


def read(name: str) -> Paper:
    """The paper of this id. Raises BadInputError, one sentence with the place, on what its paper.yaml lacks or has wrong."""
    path = EXPERIMENTS / name / "paper.yaml"
    where = f"experiments/{name}/paper.yaml"
    try:
        held = options.read(path)
    except FileNotFoundError:
        raise BadInputError(
            f"{where} is not there; harness/evaluation/papers.py says what it holds."
        ) from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f" (line {mark.line + 1})" if mark else ""
        raise BadInputError(
            f"{where} is no YAML{line}: {getattr(error, 'problem', None) or error}."
        ) from None
    _known(held, (*_SENTENCES, "authors", "year", "items"), ("findings",), where)
    authors = held["authors"]
    if isinstance(authors, list) and authors and all(isinstance(one, str) for one in authors):
        held["authors"] = authors = ", ".join(authors)
    for key in (*_SENTENCES, "authors"):
        _text(held[key], f"{where}: {key}")
    if not isinstance(held["year"], int):
        raise BadInputError(f"{where}: year is {held['year']!r}; a number such as 2026 is needed.")
    if not isinstance(held["items"], dict) or not held["items"]:
        raise BadInputError(
            f"{where}: items is {held['items']!r}; a mapping from the id of each figure and table is needed."
        )
    items = {
        str(one): _item(str(one), given, f"{where}: items.{one}")
        for one, given in held["items"].items()
    }
    texts = {key: " ".join(held[key].split()) for key in (*_SENTENCES, "authors")}
    return Paper(
        id=name,
        year=held["year"],
        items=items,
        findings=_findings(held.get("findings"), where),
        **texts,
    )


def _item(name: str, given: Any, where: str) -> Item:
    _known(given, _OF_ITEM[:4], _OF_ITEM[4:], where)
    for key in ("name", "about"):
        _text(given[key], f"{where}.{key}")
    for key in ("needs", "command"):
        if given.get(key) is not None:
            _text(given[key], f"{where}.{key}")
    if given["how"] not in HOW:
        raise BadInputError(
            f"{where}.how is {given['how']!r}{guess(str(given['how']), list(HOW))}; it is one of {', '.join(HOW)}."
        )
    own = given["experiments"]
    if not isinstance(own, list) or not own or not all(isinstance(one, str) for one in own):
        raise BadInputError(
            f"{where}.experiments is {own!r}; a list of experiments, the item's page first, is needed."
        )
    said = {
        key: " ".join(given[key].split()) if given.get(key) else None
        for key in ("needs", "command")
    }
    return Item(
        name,
        given["name"],
        " ".join(given["about"].split()),
        tuple(own),
        given["how"],
        said["needs"],
        said["command"],
    )


def _findings(given: Any, where: str) -> tuple[tuple[int | None, str], ...]:
    if given is None:
        return ()
    if not isinstance(given, list):
        raise BadInputError(f"{where}: findings is {given!r}; a list of sentences is needed.")
    found = []
    for i, one in enumerate(given):
        place = f"{where}: findings[{i}]"
        rank, text = (one.get("rank"), one.get("text")) if isinstance(one, dict) else (None, one)
        _text(text, place)
        if rank is not None and not isinstance(rank, int):
            raise BadInputError(
                f"{place}.rank is {rank!r}; a number, 1 for the strongest finding of all papers, is needed."
            )
        found.append((rank, " ".join(text.split())))
    return tuple(found)


def _known(held: Any, needed: tuple[str, ...], more: tuple[str, ...], where: str) -> None:
    """Raises BadInputError unless a mapping has all of `needed` and nothing but these and `more`."""
    if not isinstance(held, dict):
        raise BadInputError(f"{where} is {held!r}; a mapping with {', '.join(needed)} is needed.")
    strange = [str(key) for key in held if key not in (*needed, *more)]
    if strange:  # first, as a key that is lacking is often one that is misspelt
        raise BadInputError(
            f"{where} has {strange[0]!r}{guess(strange[0], [*needed, *more])}; it takes {', '.join((*needed, *more))}."
        )
    absent = [key for key in needed if key not in held]
    if absent:
        raise BadInputError(f"{where} lacks {', '.join(absent)}.")


def _text(value: Any, where: str) -> None:
    if not isinstance(value, str) or not value.strip():
        raise BadInputError(f"{where} is {value!r}; a text is needed.")


def examine(name: str) -> None:
    """Raises BadInputError on a mistake in a paper.yaml, in what it says of experiments as well."""
    check(read(name))


def check(paper: Paper) -> None:
    """Raises BadInputError where an item names an experiment that there is not, or one of another paper. Reading a paper.yaml
    does not ask for that: a page of one experiment does not depend on the others."""
    known = options.ids("experiment")
    for item in paper.items.values():
        for name in item.experiments:
            where = f"experiments/{paper.id}/paper.yaml: items.{item.id}.experiments has {name!r}"
            if name not in known:
                raise BadInputError(f"{where}{guess(name, known)}; there is no such experiment.")
            if (of := options.option("experiment", name).config.get("paper")) != paper.id:
                raise BadInputError(f"{where}, which is of {of or 'no paper'}.")


def page(paper: Paper, item: Item, folder: Path) -> Path | None:
    """The item's page in a folder of results: that of its first experiment, or of the first that has one; None without any."""
    pages = [folder / paper.id / f"{stem}.html" for stem in item.stems(paper.id)]
    return next((path for path in pages if path.is_file()), None)
