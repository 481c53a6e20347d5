"""A page of every problem: how its scores are spread, what is wrong where, its truths by two methods, and who fails on it."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from harness.common.wording import (
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
from harness.figures.style import COLOURS, pyplot
from harness.math import estimands
from harness.math.notions import one_hot, reduce
from harness.pages import arena_data, docstrings, failures, layout, problem_cards
from harness.pages.arena_data import ArenaResults
from harness.pages.estimator_cards import api, users
from harness.pages.sources import Asset, Page, Sources
from harness.plan import components
from harness.plan.parts import parts_of
from harness.problems.base import ProblemSpec, members_of, truth_of
from harness.records import stored

VERSION = 1  # of the pictures and facts: raised where they are drawn or computed otherwise
PARTS = 120
SIZE, DPI = (3.6, 3.3), 150  # inches: as wide as a phone's screen
AT = 1000  # the n at which the estimators of a problem are shown
SHOWN = 5


@dataclass(frozen=True, eq=False)
class Drawn:
    """Rows drawn from a problem with a known posterior: p, labels, posteriors; of each the score, the posterior of its event; and
    what the score is called."""

    p: Any
    y: Any
    c: Any
    score: Any
    right: Any
    axis: str
    notions: tuple[str, ...]

    @classmethod
    def of(cls, problem: Any) -> Drawn:
        """20,000 rows of a problem."""
        spec = ProblemSpec.of(problem)
        p, y = problem_cards.sample(problem, spec)
        c = problem.posterior(p)
        score, right, axis = problem_cards.scores(p, c)
        return cls(p, y, c, score, right, axis, spec.notions)


@dataclass(frozen=True)
class Problem:
    """What is known of a problem.

    Parameters
    ----------
    name, about, family, key : str
        Its key is empty where it cannot be made here.
    made : object or None
        None where it cannot be made here, for the reason `absent`.
    absent : str
        Why it cannot be drawn from here; empty where it can.
    truths : dict
        {"notion|estimand": (value, error, method)}.
    facts : dict
        As of `facts_of`: what 20,000 drawn rows say; empty where they cannot be drawn, or no posterior is known.
    drawn : Drawn or None
        The rows, where they were drawn for this build.
    """

    name: str
    about: str
    family: str
    key: str
    made: Any
    absent: str
    truths: dict[str, Any]
    facts: dict[str, Any]
    drawn: Drawn | None = None

    @property
    def picture(self) -> str:
        """The path of its picture below the site's root."""
        return f"problems/pictures/{self.name}.png"

    @property
    def told(self) -> str:
        """The path of its facts below the site's root."""
        return f"problems/pictures/{self.name}.json"


def pages(root: Sources) -> Iterator[Page]:
    """problems/<id>.html, and problems/index.html."""
    found, used = arena_data.read(), users("problem")
    held = problems(root)
    yield "problems/index.html", _index(held)
    for one in held:
        path = f"problems/{one.name}.html"
        yield (
            path,
            layout.page(
                one.name,
                _body(one, root, path, found, used.get(one.name, [])),
                path,
                description=one.about,
            ),
        )


def assets(root: Sources) -> Iterator[Asset]:
    """The pictures, those of an earlier build where the problem is the same; and the facts beside them, as JSON."""
    for one in problems(root):
        if one.facts:
            yield one.told, json.dumps(one.facts).encode()
            yield (
                one.picture,
                failures.kept(root.out / one.picture, picture_key(one)) or picture(one),
            )
        elif (card := _card(root, one)) is not None:
            yield one.picture, card.read_bytes()


def picture_key(one: Problem) -> str:
    """Identifies what a picture shows."""
    return f"{one.key}-{VERSION}"


def _card(root: Sources, one: Problem) -> Path | None:
    """The arena's stored card of a problem whose data are not here."""
    path = root.root / "arena" / "cards" / f"{one.name}.png"
    return path if path.is_file() else None


_HELD: dict[tuple[Path, Path], list[Problem]] = {}


def problems(root: Sources) -> list[Problem]:
    """All problems, each with what is known of it; made once for pages and pictures."""
    if (root.root, root.out) not in _HELD:
        found = arena_data.read()
        of = arena.family_of(found.families) if found else {}
        truths = _stored_truths(root.root)
        _HELD[root.root, root.out] = [
            _problem(name, of.get(name, ""), found, truths, root.out) for name in root.problems
        ]
    return _HELD[root.root, root.out]


def _stored_truths(folder: Path) -> dict[str, dict[str, Any]]:
    """{problem key: truths} of all stored records."""
    found: dict[str, dict[str, Any]] = {}
    for path in sorted(folder.glob("records_of/*.parquet")):
        found |= stored.metadata(path)["truths"]
    return found


def _problem(
    name: str, family: str, found: ArenaResults | None, stored_truths: dict[str, Any], out: Path
) -> Problem:
    about = problem_about(name)
    known = found.truths.get(name, {}) if found else {}
    key = found.keys.get(name, "") if found else ""
    try:
        made = components.configured("problem", name, catalogue.config("problem", name))
        spec = ProblemSpec.of(made.object)
        if members_of(made.object) is not None:
            return Problem(
                name,
                about,
                family,
                key,
                None,
                "a family of problems: its members are made as it is run",
                known,
                {},
            )
        absent = spec.unavailable or (
            ""
            if spec.posterior
            else "the posterior E[Y given p] is not known: these are predictions of a model"
        )
    except BadInputError as error:
        return Problem(name, about, family, key, None, str(error), known, {})
    if spec.unavailable or spec.posterior is None:
        return Problem(name, about, family, key or made.key, made.object, absent, known, {})
    facts, drawn = _kept_facts(out / "problems" / "pictures" / f"{name}.json", made.key), None
    if not facts:
        drawn = Drawn.of(made.object)
        facts = facts_of(drawn, made.key)
    truths = known or {what: said for what, said in stored_truths.get(made.key, {}).items() if said}
    if not truths:  # none are stored: computed once, and kept with the facts
        truths = facts.setdefault("truths", {}) or _truths(made.object, spec)
        facts["truths"] = truths
    return Problem(name, about, family, made.key, made.object, "", truths, facts, drawn)


def problem_about(name: str) -> str:
    """What a problem is, in a sentence without a formula: what its YAML says, else its class and parameters."""
    if said := catalogue.first_sentence(option("problem", name).about):
        return said
    node = catalogue.config("problem", name)
    return f"{catalogue.first_sentence(catalogue.docstring(node['_target_']))}: {catalogue.short(node)}"


def _truths(problem: Any, spec: ProblemSpec) -> dict[str, Any]:
    """The truths of a problem of which none are stored."""
    found = {}
    for notion in spec.notions:
        for name in estimands.names(notion):
            truth = truth_of(problem, name, notion)
            if truth is not None:
                found[f"{notion}|{name}"] = (truth.value, truth.error, truth.method)
    return found


def _kept_facts(path: Path, key: str) -> dict[str, Any]:
    """The facts of an earlier build, if they are of this problem."""
    try:
        held: dict[str, Any] = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return held if held.get("key") == f"{key}-{VERSION}" else {}


def facts_of(rows: Drawn, key: str = "") -> dict[str, Any]:
    """What 20,000 drawn rows of a problem with a known posterior say.

    Returns
    -------
    dict
        key; rows; axis ("score", "confidence"); quantiles: of the score, at 10, 50 and 90 %; distinct: how many values it has;
        gap: mean of posterior - score; apart: mean of its absolute value over 120 parts of equally many rows; second:
        {"notion|estimand": [value, standard error]}, the mean over the rows of d(p, posterior), where the notion sees all of p,
        else the sum over the 120 parts, which is no larger in the limit (standard error None).
    """
    score, right = rows.score, rows.right
    order = np.argsort(score, kind="stable")
    gaps = [abs(float((right[part] - score[part]).mean())) for part in np.array_split(order, PARTS)]
    second: dict[str, Any] = {}
    for notion in rows.notions:
        for name, (value, error) in _second(rows, notion).items():
            second[f"{notion}|{name}"] = [value, error]
    if "top_label" in rows.notions and "top_label|l1" not in second:
        second["top_label|l1"] = [float(np.mean(gaps)), None]
        second["top_label|l2_squared"] = [float(np.mean(np.square(gaps))), None]
    return {
        "key": f"{key}-{VERSION}", "rows": len(score), "axis": rows.axis, "distinct": len(np.unique(score)),
        "quantiles": [float(q) for q in np.quantile(score, [0.1, 0.5, 0.9])], "gap": float((right - score).mean()),
        "apart": float(np.mean(gaps)), "second": second,
    }  # fmt: skip


def _second(rows: Drawn, notion: str) -> dict[str, tuple[float, float]]:
    """{estimand: (mean over drawn rows, its standard error)} where what the notion sees tells the posterior; E[Y given p] is then
    the target, and labels only that of expected scores."""
    scalar = rows.p.ndim == 1
    if (
        notion == "top_label"
        and not scalar
        or notion == "classwise"
        and not scalar
        and rows.p.shape[1] > 2
    ):
        return {}
    f, outcome = reduce(rows.p, rows.y, notion)
    if notion == "binary":
        c = rows.c if scalar else rows.c[:, 1]
    else:
        c = np.column_stack([1.0 - rows.c, rows.c]) if scalar and notion != "top_label" else rows.c
    if notion == "canonical":
        outcome = one_hot(outcome, f.shape[1])
    seen = {
        name: check_problems.seen_of(name, f, outcome, c, notion)
        for name in estimands.names(notion)
    }
    return {name: found for name, found in seen.items() if found is not None and name != "linf"}


def picture(one: Problem) -> bytes:
    """The map and the density of a problem as a PNG as wide as a phone's screen."""
    rows = one.drawn or Drawn.of(one.made)
    figure, axes = pyplot().subplots(2, 1, figsize=SIZE, height_ratios=[3, 1], layout="constrained")
    problem_cards.draw(axes[0], axes[1], rows.score, rows.right, rows.axis, COLOURS[5])
    return failures.png(figure, picture_key(one), DPI)


def alt(one: Problem) -> str:
    """What the picture shows, in words."""
    f = one.facts
    low, middle, high = (format_number(q, 2) for q in f["quantiles"])
    side = "above" if f["gap"] > 0 else "below"
    said = (
        f"{f['distinct']:,} distinct values"
        if f["distinct"] <= problem_cards.FEW
        else f"10, 50 and 90 % at {low}, {middle} and {high}"
    )
    if f["apart"] < 1e-9:
        return (
            f"Every point lies on the diagonal: calibrated. The density of the {f['axis']}: {said}."
        )
    return (
        f"The chance of being right given the {f['axis']}, beside the diagonal: on average "
        f"{format_number(abs(f['gap']), 2)} {side} it, "
        f"and {format_number(f['apart'], 2)} away from it on either side. The density of the {f['axis']}: {said}."
    )


def truth_rows(one: Problem) -> list[tuple[str, str, str, str, str]]:
    """(notion and estimand, truth with its error, method, second value with its error, how far apart) of every truth."""
    order = list(ESTIMANDS)
    keys = sorted(
        one.truths,
        key=lambda key: (
            key.split("|")[0],
            order.index(e) if (e := key.split("|")[1]) in order else 99,
            key,
        ),
    )
    rows = []
    for key in keys:
        notion, name = key.split("|")
        value, error, method = one.truths[key]
        other = one.facts.get("second", {}).get(key)
        rows.append(
            (
                f"{notion_name(notion).capitalize()}, {estimand_name(name)}",
                format_amount(value, error),
                method,
                *agreement(value, error, other),
            )
        )
    return rows


def agreement(value: float, error: float, other: list[Any] | None) -> tuple[str, str]:
    """What drawn rows give in a truth's place, and how far that is from it in standard errors.

    Examples
    --------
    >>> agreement(0.10, 0.0, [0.11, 0.02])
    ('0.11 ± 0.020', '0.5 standard errors apart')
    >>> agreement(0.10, 0.0, [0.09, None])
    ('0.09, by parts', '−10 %')
    """
    if other is None:
        return "–", ""
    seen, spread = other
    if spread is None:
        relative = f"{format_signed(100 * (seen / value - 1.0))} %" if abs(value) > 1e-12 else ""
        return f"{format_number(seen, 4)}, by parts", relative
    both = math.hypot(spread, error or 0.0)
    apart = (
        "equal"
        if abs(seen - value) < 1e-9
        else f"{abs(seen - value) / both:.1f} standard errors apart"
        if both > 0
        else ""
    )
    return format_amount(seen, spread, 4), apart


def _index(held: list[Problem]) -> str:
    path = "problems/index.html"
    rows = [
        {
            "name": one.name, "about": one.about, "family": one.family.replace("_", " ") or "–", "here": not one.absent,
            "classes": _classes(one), "truths": [_truth(one, notion) for notion in ("binary", "top_label", "canonical")],
        }
        for one in held
    ]  # fmt: skip
    body = layout.render(
        "problems_index.html.j2",
        path,
        rows=rows,
        counts=catalogue.counts("problem"),
        arena=sum(bool(one.family) for one in held),
    )
    said = f"{len(held)} problems on which estimators of calibration error are judged, with their truths."
    return layout.page("Problems", body, path, description=said, tables=True)


def _classes(one: Problem) -> int | None:
    try:
        return (
            ProblemSpec.of(one.made).classes
            if one.made is not None and not (one.absent and not one.truths)
            else None
        )
    except BadInputError:
        return None


def _truth(one: Problem, notion: str) -> tuple[str, float]:
    found = one.truths.get(f"{notion}|l1")
    return (format_number(found[0], 3), found[0]) if found else ("–", -1.0)


def _body(
    one: Problem, root: Sources, path: str, found: ArenaResults | None, used: list[str]
) -> str:
    parts = parts_of("problem", one.name) if one.made is not None else []
    doc = docstrings.sections(parts[0].doc) if parts else {}
    return layout.render(
        "problem.html.j2", path, one=one, summary=docstrings.html(doc.get("", "")), notes=docstrings.html(doc.get("Notes", "")),
        references=docstrings.html(doc.get("References", "")), rows=parts[0].rows if parts else [], truths=truth_rows(one),
        alt=alt(one) if one.facts else f"The arena's card of {one.name}: map and density of its scores, and truths in words.",
        drawn=bool(one.facts), card=not one.facts and _card(root, one) is not None, used=used,
        size=(int(SIZE[0] * 96), int(SIZE[1] * 96)),
        who=list(who(one.name, found)) if found else [], api=api(root, "problems", one.name), classes=_classes(one), at=AT,
        target=catalogue.config("problem", one.name)["_target_"],
    )  # fmt: skip


def who(name: str, found: ArenaResults) -> Iterator[dict[str, Any]]:
    """Of every notion, who is nearest to the true l1 of a problem at n = 1,000, and who is furthest from it."""
    part = found.settings[
        found.settings["problem"].eq(name)
        & found.settings["n"].eq(AT)
        & found.settings["estimand"].eq("l1")
    ]
    part = part[part["regret"].notna()]
    for notion, rows in part.groupby("notion", sort=False):
        rows = rows[~rows["estimator"].map(arena.is_anchor)].sort_values("rmse")
        told = [
            (r["estimator"], format_number(r["rmse"], 2), format_signed(r["bias"]))
            for r in rows.to_dict("records")
        ]
        yield {
            "notion": notion_name(notion).capitalize(),
            "id": notion,
            "best": told[:SHOWN],
            "worst": told[: -SHOWN - 1 : -1],
            "count": len(told),
        }
