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
    notion_name,
)
from harness.configure import catalogue
from harness.contract import problems as contract
from harness.errors import BadInputError
from harness.evaluation import arena
from harness.figures.figure_files import to_png
from harness.math import estimands
from harness.math.notions import one_hot, reduce
from harness.pages import arena_data, docstrings, problem_pictures
from harness.pages.arena_data import ArenaResults
from harness.pages.estimator_cards import reference_link, users
from harness.pages.sources import Content, Files, Sources, describe_problem
from harness.pages.templating import page
from harness.plan import components
from harness.plan.parts import parts_of
from harness.problems.base import ProblemSpec, find_truth
from harness.records import baseline, stored
from harness.records.truths import add_truths, read_truths

N = 1000  # at which the estimators of a problem are shown
SHOWN = 5
DPI = 150
Amount = tuple[float, float]  # value and standard error


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
        Mean of posterior - score, and mean of its absolute value over parts of equally many rows.
    second : dict
        {"notion|estimand": (value, standard error)}: truths by a second method, see
        `average_over_rows`.
    """

    rows: int
    distinct: int
    axis: str
    quantiles: tuple[float, ...]
    gap: float
    apart: float
    second: dict[str, Amount]


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
        Map and density; the picture that the arena's own run drew if the data are not here.
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
    facts: Facts | None = None
    picture: Content | None = None
    classes: int | None = None
    try:
        component = components.configured("problem", name, catalogue.config("problem", name))
        key, spec = key or component.key, ProblemSpec.of(component.object)
        absent = problem_pictures.why_not_drawn(component.object, spec)
    except BadInputError as error:
        component, absent = None, str(error)
    truths = {pair: truth for pair, truth in stored_truths.get(key, {}).items() if truth}
    if component and not absent:
        p, y = problem_pictures.sample(component.object, spec)
        c = component.object.posterior(p)
        facts = read_facts(p, y, c, spec.notions)
        picture = to_png(problem_pictures.draw(p, c), DPI)
        truths = truths or _computed_truths(sources.root, key, component.object, spec)
    elif (card := sources.root / "arena" / "cards" / f"{name}.png").is_file():
        picture = card
    if component and (truths or not absent):
        with contextlib.suppress(BadInputError):  # the number is in a file that is not here
            classes = spec.classes
    return Problem(name, describe_problem(name), family, absent, classes, truths, facts, picture)


def _computed_truths(out: Path, key: str, problem: Any, spec: ProblemSpec) -> dict[str, Any]:
    """Return the truths of the results folder, after adding those that it lacks."""
    known = read_truths(out, key)
    new = {}
    for notion in spec.notions:
        for name in estimands.names(notion):
            if f"{notion}|{name}" not in known:
                truth = find_truth(problem, name, notion)
                new[f"{notion}|{name}"] = truth and [truth.value, truth.error, truth.method]
    add_truths(out, key, new)
    return {pair: truth for pair, truth in (known | new).items() if truth}


def read_facts(p: Any, y: Any, c: Any, notions: tuple[str, ...]) -> Facts:
    """Compute the facts of drawn rows p with labels y and posteriors c."""
    score, right, axis = problem_pictures.scores(p, c)
    gaps = (right - score)[np.argsort(score, kind="stable")]
    parts = np.array_split(gaps, problem_pictures.PARTS)
    second = {
        f"{notion}|{name}": value
        for notion in notions
        for name, value in average_over_rows(p, y, c, notion).items()
    }
    return Facts(
        len(score), len(np.unique(score)), axis,
        tuple(float(q) for q in np.quantile(score, [0.1, 0.5, 0.9])),
        float(gaps.mean()), float(np.mean([abs(part.mean()) for part in parts])), second,
    )  # fmt: skip


def average_over_rows(p: Any, y: Any, c: Any, notion: str) -> dict[str, Amount]:
    """Return {estimand: (mean of d(p, posterior) over the rows, standard error)}.

    Empty if the scores that the notion sees do not determine the posterior. Expected scores are
    means over the labels.
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
        name: contract.seen_of(name, f, outcome, c, notion)
        for name in estimands.names(notion)
        if name != "linf"
    }
    return {name: value for name, value in values.items() if value is not None}


def alt(facts: Facts) -> str:
    """Describe the picture in words."""
    density = f"{facts.distinct:,} distinct values"
    if facts.distinct > problem_pictures.FEW:
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


def agreement(value: float, error: float, other: Amount | None) -> tuple[str, str]:
    """Format the truth by the second method, and its distance in standard errors.

    Examples
    --------
    >>> agreement(0.10, 0.0, (0.11, 0.02))
    ('0.11 ± 0.020', '0.5 standard errors apart')
    """
    if other is None:
        return DASH, ""
    average, spread = other
    distance, both = abs(average - value), math.hypot(spread, error or 0.0)
    apart = "equal"
    if distance >= 1e-9:
        apart = f"{distance / both:.1f} standard errors apart" if both > 0 else ""
    return format_amount(average, spread, 4), apart


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
        alt=alt(problem.facts) if problem.facts else "",
        size=[int(inches * 96) for inches in problem_pictures.SIZE],
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
