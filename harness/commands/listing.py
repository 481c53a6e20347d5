"""`calharness list` prints ids with a line of description, all or those that have given words and properties, and `list papers`
the papers with their items and what came out."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from harness.configure import catalogue
from harness.configure.options import GROUPS
from harness.errors import BadInputError, guess

NAMES = {f"{group}s": group for group in (*GROUPS, "calibrator")}
PAPERS = "papers"
KEYS = {
    "problem": ("notion", "paper"),
    "estimator": ("notion", "estimand", "paper"),
    "experiment": ("paper", "problem", "estimator"),
    "calibrator": ("paper",),
}


def command(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAMES|WORD|KEY=VALUE",
            show_default=False,
            help=f"One of {', '.join(NAMES)}, {PAPERS}; then what narrows the list.",
            autocompletion=lambda incomplete: [*NAMES, PAPERS],
        ),
    ] = None,
    everything: Annotated[
        bool,
        typer.Option(
            "--all",
            help="Also variants of papers (their ids end in the paper's) and legacy streams.",
        ),
    ] = False,
) -> int:
    """Print ids, a line on each, or the papers with their items.

    \b
    calharness list                                      how many there are of each
    calharness list estimators kernel notion=canonical   with the word in id or description, and
                                                         with this notion
    calharness list experiments paper=berta2026 --all
    calharness list papers gruber2025 twin               how items were run, verdicts by source,
                                                         what is missing, their pages

    A line has all the words and all the properties that are given: notion= (problems, estimators),
    estimand= (estimators), problem= and estimator= (experiments that use it), paper=.
    """
    names = names or []
    if not names:
        return _counts()
    if names[0] == PAPERS:
        return _papers(names[1:])
    if names[0] not in NAMES:
        known = [*NAMES, PAPERS]
        close = guess(names[0], known)
        raise BadInputError(
            f"list what? `calharness list` takes one of {', '.join(known)}, found {names[0]}{close}."
        )
    group, filters = (
        NAMES[names[0]],
        sorted(names[1:], key=lambda text: "=" in text),
    )  # words are cheaper than properties
    found = [
        name
        for name in catalogue.every(group)
        if all(_matches(group, name, text) for text in filters)
    ]
    wanted = " ".join(filters)
    shown = [
        name
        for name in found
        if everything or not (variant := catalogue.variant(name)) or variant in wanted
    ]
    if not found:
        raise BadInputError(
            f"no {group} matches {wanted}; `calharness list {names[0]}` shows all, and `--all` paper variants too."
        )
    _print(group, shown)
    hidden = len(found) - len(shown)
    if hidden:
        print(
            f"{hidden} variants of papers and legacy streams are hidden; --all shows them",
            file=sys.stderr,
        )
    return 0


def _counts() -> int:
    for names, group in NAMES.items():
        listed, variants = catalogue.counts(group)
        hidden = (
            f" shows {listed}; {variants} variants of papers and legacy streams with --all"
            if variants
            else ""
        )
        print(f"{names:<12}{listed + variants:>4}   calharness list {names}{hidden}")
    print(f"{PAPERS:<12}{len(catalogue.papers()):>4}   calharness list {PAPERS}")
    print(
        "\nWords and properties narrow a list (`calharness list estimators kernel notion=canonical`), --all adds variants of\n"
        "papers, `calharness info ID` says what one is."
    )
    return 0


def _print(group: str, names: list[str]) -> None:
    """Print a line for each id, cut to the width of a terminal; where the output goes elsewhere, lines are whole."""
    width = max((len(name) for name in names), default=0) + 2
    room = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    for name in names:
        line = f"{name:<{width}}{catalogue.describe(group, name)}"
        print(line if room is None or len(line) <= room else f"{line[: room - 1]}…")


def _papers(words: list[str]) -> int:
    """Print every paper with its items: all, or those whose texts or paper's id have all the words."""
    from harness.configure.compose import out_folder
    from harness.evaluation import counted, papers

    folder = out_folder(None)
    wanted = [word.lower() for word in words]
    printed = 0
    for paper in papers.every():
        head = f"{paper.id} {paper.title} {paper.authors} {paper.citation}".lower()
        items = [item for item in paper.items.values() if _has(wanted, head, item)]
        if not items:
            continue
        found = counted.rows(folder, paper.id)
        parts = [paper.title, paper.citation, paper.address]
        print(("\n" if printed else "") + "\n".join(_wrapped(paper.id, parts, "  ")))
        for item in items:
            print(
                "\n".join(
                    _wrapped(f"  {item.name}", _said_of(paper, item, found, folder), "      ")
                )
            )
        printed += 1
    if not printed:
        of = f"has {' '.join(words)}" if words else "is described (experiments/<paper>/paper.yaml)"
        raise BadInputError(
            f"no paper or item {of}; `calharness list papers` shows all that are described."
        )
    return 0


def _has(wanted: list[str], head: str, item: Any) -> bool:
    text = " ".join(
        str(one)
        for one in (
            item.id,
            item.name,
            item.about,
            item.how,
            item.needs,
            item.command,
            *item.experiments,
        )
    )
    return all(word in f"{head} {text}".lower() for word in wanted)


def _said_of(paper: Any, item: Any, found: Any, folder: Path) -> Iterator[str]:
    """What is printed of an item: what it shows, how it was run, what came out, what is missing, and its page."""
    from harness.evaluation import counted, papers, reproduction

    yield item.about
    yield f"run: {item.how}"
    if found is not None:
        for source, counts in counted.by_source(counted.once(found, item.experiments)).items():
            yield f"{source}: {reproduction.said(counts)}"
    if item.needs:
        yield f"missing: {item.needs}"
    if item.command:
        yield f"command: {item.command}"
    page = papers.page(paper, item, folder)
    yield (
        f"page: {min(str(page), os.path.relpath(page), key=len)}" if page else "page: not drawn yet"
    )


def _wrapped(first: str, texts: Iterable[str], indent: str) -> Iterator[str]:
    """The first line and the others below it, as narrow as the terminal; where the output goes elsewhere, lines are whole."""
    room = max(shutil.get_terminal_size().columns, 30) if sys.stdout.isatty() else 10**6
    yield first
    for text in texts:
        yield from textwrap.wrap(
            text,
            room,
            initial_indent=indent,
            subsequent_indent=f"{indent}  ",
            break_on_hyphens=False,
        )


def _matches(group: str, name: str, text: str) -> bool:
    key, equals, value = text.partition("=")
    if not equals:
        return text.lower() in f"{name} {catalogue.describe(group, name)}".lower()
    if key not in KEYS[group]:
        allowed = ", ".join(KEYS[group])
        raise BadInputError(
            f"{group}s are not listed by {key!r}{guess(key, list(KEYS[group]))}; allowed are {allowed}."
        )
    return _PROPERTIES[key](group, name, value)


def _of_paper(group: str, name: str, paper: str) -> bool:
    """Whether an id is an item or a variant of the paper, or cites it in its docstring."""
    if paper not in catalogue.papers():
        raise BadInputError(
            f"paper is {paper!r}{guess(paper, catalogue.papers())}; allowed are {', '.join(catalogue.papers())}."
        )
    if group == "experiment":
        return catalogue.config(group, name).get("paper") == paper
    if group == "calibrator":
        return paper in catalogue.docstring(f"harness.calibrators.{name}")
    target = catalogue.config(group, name)["_target_"]
    return paper in name or paper in target or paper in catalogue.docstring(target)


def _uses(kind: str) -> Callable[[str, str, str], bool]:
    def uses(group: str, name: str, wanted: str) -> bool:
        """Whether an experiment has this problem or estimator by itself."""
        if wanted not in catalogue.every(kind):
            raise BadInputError(
                f"there is no {kind} {wanted!r}{guess(wanted, catalogue.every(kind))}."
            )
        defaults = catalogue.config(group, name).get("defaults", [])
        chosen: str | list[str] = next(
            (entry[f"override /{kind}"] for entry in defaults if f"override /{kind}" in entry), []
        )
        return wanted in ([chosen] if isinstance(chosen, str) else chosen or [])

    return uses


def _has_notion(group: str, name: str, notion: str) -> bool:
    from harness.estimators.base import EstimatorSpec
    from harness.math.notions import NOTIONS
    from harness.plan.components import load
    from harness.problems.base import ProblemSpec, members_of

    if notion not in NOTIONS:
        raise BadInputError(
            f"notion is {notion!r}{guess(notion, list(NOTIONS))}; allowed are {', '.join(NOTIONS)}."
        )
    made = load(group, name, {})
    try:
        members = members_of(made)
        if members:  # a family has the notions of its first problem
            made = next(iter(members.values()))
        return notion in (ProblemSpec if group == "problem" else EstimatorSpec).of(made).notions
    except BadInputError:  # a file that is not given yet
        return False


def _has_estimand(group: str, name: str, estimand: str) -> bool:
    from harness.estimators.base import EstimatorSpec
    from harness.math import estimands
    from harness.plan.components import load

    estimands.check_name(estimand)
    return estimand in (EstimatorSpec.of(load(group, name, {})).estimands or ())


_PROPERTIES = {
    "paper": _of_paper, "problem": _uses("problem"), "estimator": _uses("estimator"), "notion": _has_notion,
    "estimand": _has_estimand,
}  # fmt: skip
