"""Descriptions of papers in plain words, read from experiments/<paper>/paper.yaml.

The entries of that file:

title: A Variational Estimator for Lp Calibration Errors
authors: Eugène Berta, Sacha Braun, ...           # or a list
year: 2026
venue: arXiv preprint
address: https://arxiv.org/abs/2602.24230
citation: the reference in one line
asks: the question of the paper in one sentence
claims: the paper's conclusion in one sentence
here: the result of our reproduction in one sentence
findings:                                         # optional, the strongest finding first
  - a sentence, or {rank: 1, text: a sentence} for one of the strongest findings of all papers
items:                                            # in the paper's order, `claims` last
  fig1:
    name: Figure 1
    about: the content of the figure
    experiments: the ids of the experiments; the first one has the page of the figure
    how: a key of HOW, such as "the paper's setting"
    needs: the missing files in one sentence, or null
    fetch: the command that gets the missing files, or null
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from harness.common.paths import EXPERIMENTS
from harness.configure import options
from harness.errors import BadInputError, guess

HOW = {
    "the paper's setting": "the paper's own data or distributions, protocol and sizes",
    "part of its data": (
        "the paper's protocol on the part of its data that is available here; missing files are "
        "listed with the command that gets them"
    ),
    "from the authors' runs": (
        "averages of rows that the authors publish; the estimates themselves are not computed here"
    ),
    "a twin": (
        "the paper's protocol on other data or networks: the paper's numbers are shown next to "
        "ours, without a verdict"
    ),
    "networks trained again": (
        "the paper's protocol on networks trained here: our numbers may differ from the paper's by "
        "the spread between random seeds"
    ),
    "data absent": "nothing can be computed until the required files are available",
}


@dataclass
class Item:
    """A figure or table of a paper.

    `experiments` are the ids of the experiments that reproduce the item; the first one has its
    page. `how` is a key of HOW: the data and the protocol of the reproduction. `needs` names the
    missing files, and `fetch` is the command line that gets them. Each may be None.
    """

    id: str
    name: str
    about: str
    experiments: list[str]
    how: str
    needs: str | None = None
    fetch: str | None = None

    @property
    def command(self) -> str:
        """Command line that runs the first experiment."""
        return f"calharness experiment={self.experiments[0]}"

    def stems(self, paper: str) -> list[str]:
        """Return the names, without ending, of the result files of the item's experiments."""
        return [name.removeprefix(f"{paper}_") for name in self.experiments]


@dataclass
class Finding:
    """A finding of a reproduction.

    `rank` orders the strongest findings of all papers, 1 first. It is None for other findings.
    """

    text: str
    rank: int | None = None


@dataclass
class Paper:
    """The description of a paper and its reproduction, as read from paper.yaml.

    `asks` is the question of the paper, `claims` its conclusion and `here` the result of our
    reproduction, one sentence each. `items` maps the id of each figure or table to its `Item`.
    """

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

    def find_item(self, experiment: str) -> Item | None:
        """Return the figure or table that an experiment reproduces, or None.

        If several items name the experiment, the item with the experiment in first place is
        returned.
        """
        items = [item for item in self.items.values() if experiment in item.experiments]
        return min(items, key=lambda item: item.experiments[0] != experiment, default=None)


def described() -> list[str]:
    """Return the ids of the papers that have a paper.yaml."""
    return sorted(path.parent.name for path in EXPERIMENTS.glob("*/paper.yaml"))


def every() -> list[Paper]:
    """Read the descriptions of all papers that have a paper.yaml."""
    return [read(name) for name in described()]


def find(name: str | None) -> Paper | None:
    """Return the description of the paper with this id, or None if there is no paper.yaml."""
    return read(name) if name in described() else None


def read(name: str) -> Paper:
    """Read and check the paper.yaml of the paper with this id.

    Raises
    ------
    BadInputError
        If paper.yaml is missing or is not valid YAML, or if an entry is missing or has the wrong
        type. The message names the file and the entry.
    """
    where = f"experiments/{name}/paper.yaml"
    try:
        entries = _normalised(options.read(EXPERIMENTS / name / "paper.yaml"))
        entries["id"] = name
        config = OmegaConf.merge(OmegaConf.structured(Paper), entries)
        missing = sorted(OmegaConf.missing_keys(config))
    except FileNotFoundError:
        raise BadInputError(
            f"{where} does not exist; write it with the entries listed in "
            "harness/evaluation/papers.py."
        ) from None
    except OmegaConfBaseException as error:
        reason = str(error).splitlines()[0]
        raise BadInputError(f"{where}: {error.full_key}: {reason}; correct this entry.") from None
    if missing:
        raise BadInputError(f"{where} lacks {', '.join(missing)}; add the missing entries.")
    paper = cast(Paper, OmegaConf.to_object(config))
    for item in paper.items.values():
        if item.how not in HOW:
            raise BadInputError(
                f"{where}: items.{item.id}.how is {item.how!r}{guess(item.how, list(HOW))}; "
                f"allowed are {', '.join(HOW)}."
            )
    return paper


def _normalised(value: Any) -> dict[str, Any]:
    """Bring the entries of a paper.yaml into the form that `Paper` takes.

    Runs of white space become one space. A list of authors becomes one text. Each item gets its
    id, and each finding becomes a mapping with the key `text`.
    """
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
    """Raise BadInputError if a paper.yaml has a mistake or names an unknown experiment."""
    check(read(name))


def check(paper: Paper) -> None:
    """Raise BadInputError if an item names an experiment that is unknown or of another paper.

    `read` does not make this check, so that a mistake about one experiment does not break the
    pages of the others.
    """
    known = options.ids("experiment")
    for item in paper.items.values():
        for name in item.experiments:
            where = f"experiments/{paper.id}/paper.yaml: items.{item.id}.experiments has {name!r}"
            if name not in known:
                raise BadInputError(
                    f"{where}, which is no experiment{guess(name, known)}; "
                    "choose one that `calharness list experiments` shows."
                )
            owner = options.option("experiment", name).config.get("paper")
            if owner != paper.id:
                raise BadInputError(
                    f"{where}, an experiment of {owner or 'no paper'}; "
                    f"name experiments of {paper.id}."
                )


def page(paper: Paper, item: Item, folder: Path) -> Path | None:
    """Return the path of the HTML page of a figure or table in a folder of results, or None.

    It is the page of the first experiment of the item that has a page.
    """
    pages = [folder / paper.id / f"{stem}.html" for stem in item.stems(paper.id)]
    return next((path for path in pages if path.is_file()), None)
