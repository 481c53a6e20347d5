"""Page of every problem: distribution of scores, miscalibration, true values, and estimators."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from harness.common.names import ESTIMANDS, estimand_name, notion_name
from harness.common.wording import format_amount, format_number
from harness.configure import catalogue
from harness.errors import BadInputError
from harness.evaluation import arena
from harness.figures import problem_pictures
from harness.figures.figure_files import to_png
from harness.math import estimands
from harness.pages import docstrings
from harness.pages.arena import data as arena_data
from harness.pages.arena.data import ArenaResults
from harness.pages.estimator_cards import reference_link, users
from harness.pages.sources import Content, Files, Sources, describe_problem
from harness.pages.templating import page
from harness.plan import components
from harness.plan.documentation import document_id
from harness.problems import posterior_samples
from harness.problems.base import ProblemSpec, find_truth
from harness.records import baseline_description, schema, tables
from harness.records.truths import add_truths, read_truths

N = 1000  # sample size at which estimators are compared on the page of a problem
SHOWN = 5  # number of the most, and of the least accurate estimators on the page
DPI = 150


@dataclass(frozen=True)
class Problem:
    """Content of the page of a problem.

    Parameters
    ----------
    name, about : str
        Id, and description in one sentence.
    family : str
        Family of the problem in the arena, "" if it is not in the arena.
    absent : str
        Reason why no picture can be drawn here, "" if it can.
    classes : int or None
        Number of classes, None if unknown.
    truths : mapping
        {"notion|estimand": (value, error, method)}.
    scores : str
        Description of the picture in words, "" if no rows were drawn.
    picture : bytes, Path or None
        Picture of the problem. It is the picture that the arena's own run drew, if that shows this
        version of the problem, or if the data are not available.
    """

    name: str
    about: str
    family: str
    absent: str
    classes: int | None = None
    truths: Mapping[str, Any] = field(default_factory=dict)
    scores: str = ""
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
        "compared, with their true values.",
        counts=catalogue.counts("problem"), notions=("binary", "top_label", "canonical"),
    )  # fmt: skip
    for problem in problems:
        path = f"problems/{problem.name}.html"
        yield path, _page(problem, sources, path, results, used.get(problem.name, []))
        if problem.picture is not None:
            yield f"problems/pictures/{problem.name}.png", problem.picture


def _stored_truths(folder: Path) -> dict[str, dict[str, Any]]:
    """Return {key of a problem: its true values} from all files of stored records."""
    truths: dict[str, dict[str, Any]] = {}
    columns = [*tables.TRUTH_OF, *schema.TRUTHS, "truth_method"]
    for place in (folder / tables.FOLDER, baseline_description.find_folder()):
        for path in sorted(place.glob("*.parquet")):
            for key, pairs in tables.known_truths(tables.read(path, columns)).items():
                truths.setdefault(key, {}).update(pairs)
    return truths


def read_problem(
    name: str,
    results: ArenaResults | None,
    stored_truths: Mapping[str, Mapping[str, Any]],
    sources: Sources,
) -> Problem:
    """Collect the content of the page of a problem.

    True values that are not in the stored records are computed, and stored in the results folder.
    """
    key = results.keys.get(name, "") if results else ""
    family = arena.map_families(results.families).get(name, "") if results else ""
    scores = ""
    picture: Content | None = None
    classes: int | None = None
    try:
        component = components.build_component("problem", name, catalogue.config("problem", name))
        key, spec = key or component.key, ProblemSpec.of(component.object)
        absent = posterior_samples.why_not_sampled(component.object, spec)
    except BadInputError as error:
        component, absent = None, str(error)
    truths = {pair: truth for pair, truth in stored_truths.get(key, {}).items() if truth}
    card = sources.root / "arena" / "cards" / f"{name}.png"
    if component and not absent:
        p, c = posterior_samples.sample(component.object, spec)
        scores = describe_scores(p, c)
        is_current = problem_pictures.is_current(card, key)
        picture = card if is_current else to_png(problem_pictures.draw(p, c), DPI)
        truths = truths or _computed_truths(sources.root, key, component.object, spec)
    elif card.is_file():
        picture = card
    if component and (truths or not absent):
        with contextlib.suppress(BadInputError):  # the number of classes needs an absent file
            classes = spec.classes
    return Problem(name, describe_problem(name), family, absent, classes, truths, scores, picture)


def _computed_truths(out: Path, key: str, problem: Any, spec: ProblemSpec) -> dict[str, Any]:
    """Return the true values of a problem stored in the folder `out`, after adding missing ones."""
    known = read_truths(out, key)
    new = {}
    for notion in spec.notions:
        for name in estimands.names(notion):
            if f"{notion}|{name}" not in known:
                truth = find_truth(problem, name, notion)
                new[f"{notion}|{name}"] = truth and [truth.value, truth.error, truth.method]
    add_truths(out, key, new)
    return {pair: truth for pair, truth in (known | new).items() if truth}


def describe_scores(p: Any, c: Any) -> str:
    """Describe the picture of a problem in words.

    p holds predictions, c the posteriors E[Y | p] in the same shape.
    """
    score, right, axis = problem_pictures.scores(p, c)
    gaps = (right - score)[np.argsort(score, kind="stable")]
    parts = np.array_split(gaps, problem_pictures.PARTS)
    apart = float(np.mean([abs(part.mean()) for part in parts]))
    distinct = len(np.unique(score))
    density = f"{distinct:,} distinct values"
    if distinct > problem_pictures.FEW:
        low, middle, high = (format_number(q, 2) for q in np.quantile(score, [0.1, 0.5, 0.9]))
        density = f"the 10, 50 and 90 % quantiles are {low}, {middle} and {high}"
    density = f"Distribution of the {axis}: {density}."
    if apart < 1e-9:
        return f"The predictions are calibrated: every point lies on the diagonal. {density}"
    side = "above" if gaps.mean() > 0 else "below"
    return (
        f"The frequency of the event given the {axis} is on average "
        f"{format_number(abs(gaps.mean()), 2)} {side} the diagonal. Its mean absolute distance "
        f"from the diagonal is {format_number(apart, 2)}. {density}"
    )


def truth_rows(problem: Problem) -> Iterator[tuple[str, str, str]]:
    """Yield (notion and estimand, true value with its error, method) for every true value."""
    order = list(ESTIMANDS)
    pairs = [(*pair.split("|"), truth) for pair, truth in problem.truths.items()]
    pairs.sort(key=lambda t: (t[0], order.index(t[1]) if t[1] in order else len(order), t[1]))
    for notion, name, (value, error, method) in pairs:
        title = f"{notion_name(notion).capitalize()}, {estimand_name(name)}"
        yield title, format_amount(value, error), method


def _page(
    problem: Problem, sources: Sources, path: str, results: ArenaResults | None, used: list[str]
) -> str:
    parts = []
    with contextlib.suppress(BadInputError):  # the data files of the problem are absent
        parts = document_id("problem", problem.name)
    return page(
        "problem.html.j2", path, problem.name, description=problem.about, problem=problem,
        doc=docstrings.sections(parts[0].doc) if parts else {}, used=used, n=N,
        rows=parts[0].rows if parts else [], truths=list(truth_rows(problem)),
        size=[int(inches * 96) for inches in problem_pictures.SIZE],
        nearest=list(nearest(problem.name, results)) if results else [],
        api=reference_link(sources, "problems", problem.name),
        target=catalogue.config("problem", problem.name)["_target_"],
    )  # fmt: skip


def nearest(name: str, results: ArenaResults) -> Iterator[dict[str, Any]]:
    """Yield the estimators with the smallest and the largest RMSE on a problem, for every notion.

    The RMSE is that of the l1 error at n = 1,000. Bounds, and anchors such as oracles, are left
    out.
    """
    part = results.settings.dropna(subset=["rmse", "truth"])
    part = part[part["problem"].eq(name) & part["n"].eq(N) & part["estimand"].eq("l1")]
    part = arena_data.points(part)
    part = part[~part["estimator"].map(arena.is_anchor).astype(bool)]
    for notion, group in part.groupby("notion", sort=False):
        rows = group.sort_values("rmse")[["estimator", "rmse", "bias"]].to_dict("records")
        pairs = list(zip(rows[:SHOWN], rows[: -SHOWN - 1 : -1]))
        yield {"notion": notion, "pairs": pairs, "count": len(rows)}
