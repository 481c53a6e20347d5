"""A page of every problem: scores, miscalibration, truths by two methods, and who fails on it."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from harness.common.wording import (
    DASH,
    ESTIMANDS,
    estimand_name,
    format_amount,
    format_number,
    format_signed,
    notion_name,
)
from harness.configure import catalogue
from harness.configure.options import option
from harness.contract import problems as check_problems
from harness.errors import BadInputError
from harness.evaluation import arena
from harness.figures.style import pyplot
from harness.math import estimands
from harness.math.notions import one_hot, reduce
from harness.pages import arena_data, docstrings, failures, problem_cards
from harness.pages.arena_data import ArenaResults
from harness.pages.estimator_cards import reference_link, users
from harness.pages.sources import Content, Files, Sources
from harness.pages.templating import page
from harness.plan import components
from harness.plan.parts import parts_of
from harness.problems.base import ProblemSpec, members_of, truth_of
from harness.records import baseline, stored
from harness.records.truths import add_truths, read_truths

PARTS = 120
SIZE = (3.6, 3.3)  # inches: as wide as a phone's screen
CARD_SIZE = (506, 255)  # pixels
N = 1000  # at which the estimators of a problem are shown
SHOWN = 5
Second = dict[str, tuple[float, float | None]]  # {"notion|estimand": (value, error)}


@dataclass(frozen=True)
class Facts:
    """Facts about a problem with a known posterior, from rows that were drawn from it.

    Parameters
    ----------
    rows, distinct : int
        Number of rows and of distinct scores.
    axis : str
        Name of the score.
    quantiles : tuple
        Of the score, at 10, 50 and 90 %.
    gap, apart : float
        Mean of posterior - score, and mean of its absolute value over 120 parts of equally many
        rows.
    second : dict
        {"notion|estimand": (value, standard error)}: truths by a second method, see `second`.
    """

    rows: int
    distinct: int
    axis: str
    quantiles: tuple[float, ...]
    gap: float
    apart: float
    second: Second


@dataclass(frozen=True)
class Problem:
    """Everything that the site knows of a problem.

    Parameters
    ----------
    name, about, family : str
        The family is "" outside of the arena.
    absent : str
        Why no rows with a posterior can be drawn here; "" if they can.
    classes : int or None
    truths : mapping
        {"notion|estimand": (value, error, method)}.
    facts : Facts or None
    picture : bytes, Path or None
        Map and density; the card of the arena if the data are not here.
    """

    name: str
    about: str
    family: str
    absent: str
    classes: int | None = None
    truths: Mapping[str, Any] = field(default_factory=dict)
    facts: Facts | None = None
    picture: Content | None = None


def pages(sources: Sources) -> Files:
    """Yield problems/index.html, and a page and a picture for every problem."""
    results, used = arena_data.read(), users("problem")
    stored_truths = _stored_truths(sources.root)
    problems = [read_problem(name, results, stored_truths, sources) for name in sources.problems]
    path = "problems/index.html"
    yield path, page(
        "problems_index.html.j2", path, "Problems", tables=True, problems=problems,
        description=f"{len(problems)} problems on which estimators of calibration error are "
        "judged, with their truths.",
        counts=catalogue.counts("problem"), notions=("binary", "top_label", "canonical"),
    )  # fmt: skip
    for problem in problems:
        path = f"problems/{problem.name}.html"
        yield path, _page(problem, sources, path, results, used.get(problem.name, []))
        if problem.picture is not None:
            yield f"problems/pictures/{problem.name}.png", problem.picture


def _stored_truths(folder: Path) -> dict[str, dict[str, Any]]:
    """Return {problem key: truths} of all stored records."""
    truths: dict[str, dict[str, Any]] = {}
    for place in (folder / stored.FOLDER, baseline.folder_of()):
        for path in sorted(place.glob("*.parquet")):
            truths |= stored.metadata(path)["truths"]
    return truths


def read_problem(
    name: str,
    results: ArenaResults | None,
    stored_truths: Mapping[str, Mapping[str, Any]],
    sources: Sources,
) -> Problem:
    """Collect everything on a problem. Truths that are not stored are computed, and stored."""
    key = results.keys.get(name, "") if results else ""
    family = arena.family_of(results.families).get(name, "") if results else ""
    instance: Any = None
    facts: Facts | None = None
    picture: Content | None = None
    classes: int | None = None
    try:
        component = components.configured("problem", name, catalogue.config("problem", name))
        key, instance = key or component.key, component.object
        spec = ProblemSpec.of(instance)
        absent = spec.unavailable or ""
        if members_of(instance) is not None:
            absent = "a family of problems: its members are made as it is run"
        elif not absent and spec.posterior is None:
            absent = "the posterior E[Y given p] is not known: these are predictions of a model"
    except BadInputError as error:
        absent = str(error)
    truths = {pair: truth for pair, truth in stored_truths.get(key, {}).items() if truth}
    if not absent:
        p, y = problem_cards.sample(instance, spec)
        c = instance.posterior(p)
        facts, picture = read_facts(p, y, c, spec.notions), _draw(p, c)
        truths = truths or _computed_truths(sources.root, key, instance, spec)
    elif (card := sources.root / "arena" / "cards" / f"{name}.png").is_file():
        picture = card
    if instance is not None and (truths or not absent):
        with contextlib.suppress(BadInputError):  # the number is in a file that is not here
            classes = ProblemSpec.of(instance).classes
    return Problem(name, describe(name), family, absent, classes, truths, facts, picture)


def describe(name: str) -> str:
    """Describe a problem in a sentence: by its YAML, else by its class and parameters."""
    text = catalogue.first_sentence(option("problem", name).about)
    if not text:
        node = catalogue.config("problem", name)
        kind = catalogue.first_sentence(catalogue.docstring(node["_target_"]))
        text = f"{kind}: {catalogue.short(node)}"
    return text


def _computed_truths(out: Path, key: str, problem: Any, spec: ProblemSpec) -> dict[str, Any]:
    """Return the truths of the results folder, after adding those that it lacks."""
    known = read_truths(out, key)
    new = {}
    for notion in spec.notions:
        for name in estimands.names(notion):
            if f"{notion}|{name}" not in known:
                truth = truth_of(problem, name, notion)
                new[f"{notion}|{name}"] = truth and [truth.value, truth.error, truth.method]
    add_truths(out, key, new)
    return {pair: truth for pair, truth in (known | new).items() if truth}


def read_facts(p: Any, y: Any, c: Any, notions: tuple[str, ...]) -> Facts:
    """Compute the facts of drawn rows p with labels y and posteriors c."""
    score, right, axis = problem_cards.scores(p, c)
    order = np.argsort(score, kind="stable")
    gaps = [abs(float((right[part] - score[part]).mean())) for part in np.array_split(order, PARTS)]
    values: Second = {
        f"{notion}|{name}": value
        for notion in notions
        for name, value in second(p, y, c, notion).items()
    }
    if "top_label" in notions and "top_label|l1" not in values:
        values["top_label|l1"] = (float(np.mean(gaps)), None)
        values["top_label|l2_squared"] = (float(np.mean(np.square(gaps))), None)
    quantiles = tuple(float(q) for q in np.quantile(score, [0.1, 0.5, 0.9]))
    gap, apart = float((right - score).mean()), float(np.mean(gaps))
    return Facts(len(score), len(np.unique(score)), axis, quantiles, gap, apart, values)


def second(p: Any, y: Any, c: Any, notion: str) -> dict[str, tuple[float, float]]:
    """Return {estimand: (mean of d(p, posterior) over the rows, standard error)}.

    Empty if the scores that the notion sees do not determine the posterior. For top-label `Facts`
    then has the sum over 120 parts, which is no larger in the limit, without an error. Expected
    scores are means over the labels.
    """
    scalar = p.ndim == 1
    if not scalar and (notion == "top_label" or (notion == "classwise" and p.shape[1] > 2)):
        return {}
    f, outcome = reduce(p, y, notion)
    if notion == "binary":
        c = c if scalar else c[:, 1]
    elif scalar and notion != "top_label":
        c = np.column_stack([1.0 - c, c])
    if notion == "canonical":
        outcome = one_hot(outcome, f.shape[1])
    values = {
        name: check_problems.seen_of(name, f, outcome, c, notion)
        for name in estimands.names(notion)
        if name != "linf"
    }
    return {name: value for name, value in values.items() if value is not None}


def _draw(p: Any, c: Any) -> bytes:
    """Draw map and density."""
    figure, (above, below) = pyplot().subplots(
        2, 1, figsize=SIZE, height_ratios=[3, 1], layout="constrained"
    )
    problem_cards.draw(above, below, *problem_cards.scores(p, c))
    return failures.png(figure)


def alt(facts: Facts) -> str:
    """Describe the picture in words."""
    density = f"{facts.distinct:,} distinct values"
    if facts.distinct > problem_cards.FEW:
        low, middle, high = (format_number(q, 2) for q in facts.quantiles)
        density = f"10, 50 and 90 % at {low}, {middle} and {high}"
    density = f"The density of the {facts.axis}: {density}."
    if facts.apart < 1e-9:
        return f"Every point lies on the diagonal: calibrated. {density}"
    side = "above" if facts.gap > 0 else "below"
    return (
        f"The chance of being right given the {facts.axis}, beside the diagonal: on average "
        f"{format_number(abs(facts.gap), 2)} {side} it, and {format_number(facts.apart, 2)} away "
        f"from it on either side. {density}"
    )


def truth_rows(problem: Problem) -> Iterator[tuple[str, str, str, str, str]]:
    """Yield (name, truth, method, second value, distance of the two) of every truth."""
    order = list(ESTIMANDS)
    pairs = [(*pair.split("|"), truth) for pair, truth in problem.truths.items()]
    pairs.sort(key=lambda t: (t[0], order.index(t[1]) if t[1] in order else len(order), t[1]))
    for notion, name, (value, error, method) in pairs:
        other = problem.facts.second.get(f"{notion}|{name}") if problem.facts else None
        title = f"{notion_name(notion).capitalize()}, {estimand_name(name)}"
        yield title, format_amount(value, error), method, *agreement(value, error, other)


def agreement(
    value: float, error: float, other: tuple[float, float | None] | None
) -> tuple[str, str]:
    """Format the truth by the second method, and its distance in standard errors.

    Examples
    --------
    >>> agreement(0.10, 0.0, (0.11, 0.02))
    ('0.11 ± 0.020', '0.5 standard errors apart')
    >>> agreement(0.10, 0.0, (0.09, None))
    ('0.09, by parts', '−10 %')
    """
    if other is None:
        return DASH, ""
    seen, spread = other
    if spread is None:
        relative = f"{format_signed(100 * (seen / value - 1.0))} %" if abs(value) > 1e-12 else ""
        return f"{format_number(seen, 4)}, by parts", relative
    both, apart = math.hypot(spread, error or 0.0), ""
    if abs(seen - value) < 1e-9:
        apart = "equal"
    elif both > 0:
        apart = f"{abs(seen - value) / both:.1f} standard errors apart"
    return format_amount(seen, spread, 4), apart


def _page(
    problem: Problem, sources: Sources, path: str, results: ArenaResults | None, used: list[str]
) -> str:
    parts = []
    with contextlib.suppress(BadInputError):  # its files are not here
        parts = parts_of("problem", problem.name)
    return page(
        "problem.html.j2", path, problem.name, description=problem.about, problem=problem,
        doc=docstrings.sections(parts[0].doc) if parts else {}, used=used, n=N,
        rows=parts[0].rows if parts else [], truths=list(truth_rows(problem)),
        alt=alt(problem.facts) if problem.facts else "", card_size=CARD_SIZE,
        size=[int(inches * 96) for inches in SIZE],
        nearest=list(nearest(problem.name, results)) if results else [],
        api=reference_link(sources, "problems", problem.name),
        target=catalogue.config("problem", problem.name)["_target_"],
    )  # fmt: skip


def nearest(name: str, results: ArenaResults) -> Iterator[dict[str, Any]]:
    """Yield, for every notion, the estimators nearest to the true l1 at n = 1,000, and furthest."""
    part = results.settings.dropna(subset=["regret"])
    part = part[part["problem"].eq(name) & part["n"].eq(N) & part["estimand"].eq("l1")]
    part = part[~part["estimator"].map(arena.is_anchor).astype(bool)]
    for notion, group in part.groupby("notion", sort=False):
        rows = group.sort_values("rmse")[["estimator", "rmse", "bias"]].to_dict("records")
        pairs = list(zip(rows[:SHOWN], rows[: -SHOWN - 1 : -1]))
        yield {"notion": notion, "pairs": pairs, "count": len(rows)}
