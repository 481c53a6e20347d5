"""A card of every estimator: what it estimates, formula, bias, cost, where it fails, where it ranks, its source."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pandas as pd

from harness.common.wording import (
    DASH,
    ESTIMANDS,
    estimand_name,
    format_interval,
    format_rank,
    format_seconds,
    format_signed,
    format_whole_percent,
    is_known,
    notion_name,
)
from harness.configure import catalogue
from harness.configure.options import option
from harness.estimators.base import EstimatorSpec
from harness.evaluation import arena
from harness.pages import arena_data, costs, docstrings, failures, layout
from harness.pages.arena_data import ALL, ArenaResults
from harness.pages.sources import Asset, Page, Sources
from harness.plan.parts import Part, made_of, parts_of

LIMIT = 0.45  # opacity of the strongest colour of a strip: letters stay readable on it, on white and on black
OVER, UNDER = "213, 94, 0", "0, 114, 178"
TRUTH_IS_ZERO = 1e-9
LARGEST_N = 5000  # of the arena: what takes seconds there was run up to 1,000


@dataclass(frozen=True)
class Card:
    """What is known of an estimator. `parts` as of `calharness info`; `rows` its settings in the arena, `boards` its rows of all
    leaderboards (both None where it is not in the arena); `failures`, `costs`."""

    name: str
    about: str
    parts: list[Part]
    spec: EstimatorSpec
    target: str
    used: list[str]
    rows: pd.DataFrame | None
    boards: pd.DataFrame | None
    failures: list[failures.Failure]
    costs: list[costs.Cost]


def pages(root: Sources) -> Iterator[Page]:
    """estimators/<id>.html, and estimators/index.html."""
    held = cards(root.estimators)
    yield "estimators/index.html", _index(held)
    for card in held:
        path = f"estimators/{card.name}.html"
        yield (
            path,
            layout.page(
                card.name, _body(card, root, path), path, description=card.about, tables=True
            ),
        )


def assets(root: Sources) -> Iterator[Asset]:
    """The pictures of the failures; those of an earlier build where nothing has changed."""
    for card in cards(root.estimators):
        for one in card.failures:
            if one.drawn:
                yield one.path, failures.kept(root.out / one.path, one.key) or failures.picture(one)


@functools.cache
def cards(estimators: tuple[str, ...]) -> list[Card]:
    """The cards of these estimators, with what the arena knows of them."""
    found = arena_data.read()
    rows = dict(list(found.settings.groupby("estimator"))) if found else {}
    boards = dict(list(found.boards.groupby("estimator"))) if found else {}
    used = users("estimator")
    return [_card(name, rows, boards.get(name), used.get(name, []), found) for name in estimators]


def users(group: str) -> dict[str, list[str]]:
    """{id of a problem or estimator: the experiments that choose it}."""
    found: dict[str, list[str]] = {}
    for experiment in catalogue.every("experiment"):
        for entry in catalogue.config("experiment", experiment).get("defaults", []):
            for key, chosen in entry.items():
                if key.removeprefix("override ").strip("/") == group:
                    for name in [chosen] if isinstance(chosen, str) else chosen or ():
                        found.setdefault(name, []).append(experiment)
    return found


def _card(
    name: str, rows: dict[str, Any], boards: Any, used: list[str], found: ArenaResults | None
) -> Card:
    made, node = made_of("estimator", name)
    parts = parts_of("estimator", name)
    return Card(
        name, about(name, parts[0].doc), parts, EstimatorSpec.of(made),
        node["_target_"], used, rows.get(name), boards, failures.failures(name, rows) if name in rows else [],
        costs.costs(name, rows.get(name)),
    )  # fmt: skip


def about(name: str, doc: str) -> str:
    """What an estimator is, in a sentence: what its YAML says, or else its docstring, without a formula."""
    return catalogue.first_sentence(option("estimator", name).about or doc.split("\n\n")[0])


def _index(held: list[Card]) -> str:
    path = "estimators/index.html"
    body = layout.render(
        "estimators_index.html.j2",
        path,
        rows=[row_of(card) for card in held],
        counts=catalogue.counts("estimator"),
    )
    said = f"{len(held)} estimators of calibration error: what they estimate, bias, cost and rank, with a card each."
    return layout.page("Estimators", body, path, description=said, tables=True)


def row_of(card: Card) -> dict[str, Any]:
    """A row of the index."""
    best = best_rank(card.boards) if card.boards is not None else None
    cost = next((c.at(1000) for c in card.costs if c.at(1000)), None)
    return {
        "name": card.name, "about": card.about, "notions": ", ".join(n.replace("_", " ") for n in card.spec.notions),
        "estimands": ", ".join(card.spec.estimands or ("not declared",)), "over": over(card.rows),
        "seconds": format_seconds(cost) if cost else DASH, "seconds_by": cost or 1e9,
        "rank": f"{best['rank']:.0f} of {best['of']} ({best['said']})" if best else DASH,
        "rank_by": best["rank"] if best else 1e9,
    }  # fmt: skip


def best_rank(boards: pd.DataFrame) -> dict[str, Any] | None:
    """Of an estimator's rows the best rank without a filter, by notion and estimand; None if it has none."""
    part = boards[
        boards["rank"].notna()
        & boards["family"].eq(ALL)
        & boards["n"].eq(ALL)
        & boards["k"].eq(ALL)
    ]
    part = part[part["estimand"].isin(arena.MAIN)]
    if not len(part):
        return None
    row = part.sort_values("rank").iloc[0]
    said = f"{notion_name(row['notion'])}, {estimand_name(row['estimand'])}"
    return {"rank": row["rank"], "of": ranked(row["notion"], row["estimand"]), "said": said}


@functools.cache
def ranked(notion: str, estimand: str, family: str = ALL) -> int:
    """How many estimators have a rank there."""
    found = arena_data.read()
    if found is None:
        return 0
    of = found.boards
    same = (
        of["notion"].eq(notion)
        & of["estimand"].eq(estimand)
        & of["family"].eq(family)
        & of["n"].eq(ALL)
        & of["k"].eq(ALL)
    )
    return int(of.loc[same, "rank"].notna().sum())


def over(rows: pd.DataFrame | None) -> str:
    """'63 %', the share of its point estimates of l1 and l2_squared above the truth, where the truth is not 0 (there
    no estimate of at least 0 is too small); a dash for none."""
    if rows is None:
        return DASH
    share = over_share(rows[rows["estimand"].isin(arena.MAIN)])
    return DASH if share is None else format_whole_percent(share)


def over_share(rows: pd.DataFrame) -> float | None:
    """The share of point estimates above the truth in settings whose truth is not 0; None without any."""
    part = rows[
        rows["truth"].abs().gt(TRUTH_IS_ZERO)
        & rows["over"].notna()
        & ~rows["kind"].isin(failures.BOUNDS)
    ]
    return (
        float((part["over"] * part["reps"]).sum() / part["reps"].sum())
        if part["reps"].sum()
        else None
    )


def _body(card: Card, root: Sources, path: str) -> str:
    doc = docstrings.sections(card.parts[0].doc)
    summary, notes, references = (
        docstrings.html(doc.get(name, "")) for name in ("", "Notes", "References")
    )
    return layout.render(
        "estimator.html.j2", path, card=card, summary=summary, notes=notes, references=references, parts=card.parts,
        inner=_inner(card), bias_said=docstrings.on_bias(card.parts[0].doc), strips=list(strips(card.rows)),
        bias=[(said, bias_rows(card.rows, main)) for said, main in (("", True), ("Other estimands", False))],
        ranks=rank_rows(card), families=family_table(card),
        costs=[cost_of(one) for one in card.costs], why_no_cost=costs.reason(card.name) or "nobody has timed it",
        reason=costs.reason(card.name), failures=[(one, root_relative(one)) for one in card.failures],
        no_failure=why_no_failure(card), limits=limits(card.spec, card.rows), api=api(root, "estimators", card.name),
        fact=fact(card), size=(int(failures.SIZE[0] * 96), int(failures.SIZE[1] * 96)),
    )  # fmt: skip


def root_relative(one: failures.Failure) -> str:
    """The picture's path relative to the card."""
    return one.path.removeprefix("estimators/")


def _inner(card: Card) -> list[tuple[str, Any, Any, Any]]:
    """(title, summary, notes, references) of the objects that the estimator holds."""
    found = []
    for part in card.parts[1:]:
        doc = docstrings.sections(part.doc)
        summary, notes, references = (
            docstrings.html(doc.get(name, "")) for name in ("", "Notes", "References")
        )
        found.append((f"{part.path}{part.title}", summary, notes, references))
    return found


def limits(spec: EstimatorSpec, rows: pd.DataFrame | None = None) -> str:
    """What it does not take, in words, and up to which n the arena ran it, where that is not all the way."""
    said = [f"n up to {spec.max_n:,}"] if spec.max_n else []
    said += [f"canonical: at most {spec.max_classes:,} classes"] if spec.max_classes else []
    said += (
        ["reads the true posterior: an oracle, on no real predictions"]
        if spec.needs_posterior
        else []
    )
    said += [f"here not: {spec.unavailable}"] if spec.unavailable else []
    here = (
        f"the arena ran it up to n = {at_most(rows):,} only"
        if rows is not None and at_most(rows) < LARGEST_N
        else ""
    )
    return "; ".join([*(said or ["it declares none"]), *([here] if here else [])])


def at_most(rows: pd.DataFrame) -> int:
    """The largest n at which the arena ran an estimator."""
    return int(rows.loc[rows["reps"].gt(0), "n"].max())


def api(root: Sources, group: str, name: str) -> str | None:
    """The path of an id's place in the documentation's reference; None where the documentation is not built."""
    return (
        f"docs/reference/{group}.html#{name}"
        if (root.out / "docs" / "reference" / f"{group}.html").is_file()
        else None
    )


def fact(card: Card) -> str:
    """The card in one sentence, from the measured numbers."""
    if card.rows is None:
        return "Not in the arena: nothing here says how far off it is; what it costs was measured apart."
    said = []
    best = best_rank(card.boards) if card.boards is not None else None
    if best:
        said.append(f"ranks {best['rank']:.0f} of {best['of']} at best ({best['said']})")
    elif (share := applicable(card.boards)) is not None:
        where = (
            f"the arena ran it up to n = {most:,} only"
            if (most := at_most(card.rows)) < LARGEST_N
            else "it gave an answer"
        )
        said.append(
            f"has no rank over all settings: {where}, in {format_whole_percent(share)} of them"
        )
    share = over_share(card.rows[card.rows["estimand"].isin(arena.MAIN)])
    if share is not None:
        word = (
            "mostly too large"
            if share > 0.65
            else "mostly too small"
            if share < 0.35
            else "on either side"
        )
        said.append(
            f"its estimates are {word} ({format_whole_percent(share)} above the truth where that is not 0)"
        )
    cost = next((c for c in card.costs if c.at(1000)), None)
    if cost:
        found = format_seconds(cost.at(1000) or math.nan)
        said.append(
            f"an estimate at n = 1,000 takes {found} of CPU time ({cost.notion.replace('_', ' ')})"
        )
    bounds = [kind for kind in failures.BOUNDS if card.rows["kind"].eq(kind).any()]
    if bounds:
        said.insert(
            0,
            f"gives {' and '.join('an interval' if kind == 'interval' else f'{kind} bounds' for kind in bounds)}: no rank there",
        )
    text = "; ".join(said)
    return f"{text[0].upper()}{text[1:]}." if said else "In the arena, for a quantity of its own."


def applicable(boards: pd.DataFrame | None) -> float | None:
    """The largest share of the settings of a ranked estimand in which an estimator is applicable; None without any."""
    if boards is None:
        return None
    part = boards[
        boards["family"].eq(ALL)
        & boards["n"].eq(ALL)
        & boards["k"].eq(ALL)
        & boards["estimand"].isin(arena.MAIN)
    ]
    return float(part["share"].max()) if len(part) else None


def bias_rows(rows: pd.DataFrame | None, main: bool) -> list[list[str]]:
    """Of every notion and estimand with a truth (l1 and l2_squared, or the others): mean bias and share above the truth where it
    is not 0, mean bias where it is, coverage of its intervals, settings."""
    found: list[list[str]] = []
    if rows is None:
        return found
    known = rows[rows["truth"].notna() & rows["estimand"].isin(arena.MAIN).eq(main)]
    for (notion, estimand), part in known.groupby(["notion", "estimand"], sort=True):
        zero = part["truth"].abs().le(TRUTH_IS_ZERO)
        share = over_share(part)
        found.append([
            what(notion, estimand), format_signed(part.loc[~zero, "bias"].mean()), format_whole_percent(share),
            format_signed(part.loc[zero, "bias"].mean()), format_whole_percent(part["coverage"].mean()), f"{len(part):,}",
        ])  # fmt: skip
    return found


def strips(rows: pd.DataFrame | None) -> Iterator[dict[str, Any]]:
    """The signed bias by family (rows) and n (columns), one strip per notion, of the first of l1, l2_squared and others."""
    if rows is None:
        return
    for notion, part in rows[rows["truth"].notna() & rows["bias"].notna()].groupby(
        "notion", sort=False
    ):
        have = set(part["estimand"])
        estimand = next(e for e in (*arena.MAIN, *sorted(have)) if e in have)
        table = part[part["estimand"].eq(estimand)].pivot_table(
            index="family", columns="n", values="bias", aggfunc="mean"
        )
        most = float(table.abs().max().max()) or 1.0
        lines = [
            (str(f).replace("_", " "), [cell(table.loc[f, n], most) for n in table.columns])
            for f in table.index
        ]
        bound = (
            " Of a bound: bound − truth; of an interval: its middle − truth."
            if part["kind"].isin(failures.BOUNDS).any()
            else ""
        )
        order = table.abs().max(axis=1).sort_values(ascending=False)
        said = f"largest in {str(order.index[0]).replace('_', ' ')}" if len(order) else ""
        yield {
            "notion": notion_name(notion).capitalize(), "estimand": estimand_name(estimand),
            "sizes": [int(n) for n in table.columns], "rows": lines, "said": said, "bound": bound,
        }  # fmt: skip


def cell(value: float, most: float) -> tuple[str, str]:
    """(text, style) of a number of a strip: orange above the truth, blue below, the stronger the further off.

    Examples
    --------
    >>> cell(0.05, 0.1)
    ('+0.05', 'background: rgba(213, 94, 0, 0.23)')
    """
    if value != value:
        return DASH, ""
    return format_signed(
        value
    ), f"background: rgba({OVER if value > 0 else UNDER}, {LIMIT * abs(value) / most:.2g})"


def what(notion: str, estimand: str) -> str:
    """'Top label, L1 error'."""
    return f"{notion_name(notion).capitalize()}, {estimand_name(estimand)}"


def rank_rows(card: Card) -> list[dict[str, Any]]:
    """The rows of the leaderboards without a filter: what, rank, of how many, regret, worst, settings, link."""
    if card.boards is None:
        return []
    of = card.boards
    part = of[of["family"].eq(ALL) & of["n"].eq(ALL) & of["k"].eq(ALL)]
    order = {name: i for i, name in enumerate(ESTIMANDS)}
    rows = sorted(
        part.to_dict("records"),
        key=lambda row: (
            arena_data.NOTIONS.index(row["notion"]),
            order.get(row["estimand"], len(order)),
        ),
    )
    return [
        {
            "what": what(row["notion"], row["estimand"]),
            "rank": format_rank(row["rank"], row["rank_low"], row["rank_high"]),
            "of": ranked(row["notion"], row["estimand"]),
            "regret": format_interval(row["regret"], row["low"], row["high"]),
            "settings": f"{int(row['settings']):,} ({format_whole_percent(row['share'])})",
            "worst": f"{format_interval(row['worst'], row['worst_low'], row['worst_high'])} at {row['worst_at']}",
            "lost": int(row["undefined"] + row["failed"] + row["skipped"]),
            "link": f"arena/{row['notion']}.html#estimand={row['estimand']}",
        }
        for row in rows
    ]  # fmt: skip


def family_table(card: Card) -> dict[str, Any] | None:
    """Mean regret and rank by family (rows), for every notion and ranked estimand (columns)."""
    if card.boards is None:
        return None
    of = card.boards
    part = of[
        of["family"].ne(ALL) & of["n"].eq(ALL) & of["k"].eq(ALL) & of["estimand"].isin(arena.MAIN)
    ]
    if not len(part):
        return None
    keys = [
        (n, e)
        for n in arena_data.NOTIONS
        for e in arena.MAIN
        if (part["notion"].eq(n) & part["estimand"].eq(e)).any()
    ]
    held = {(row["family"], row["notion"], row["estimand"]): row for row in part.to_dict("records")}
    rows = []
    for family in sorted(part["family"].unique()):
        cells = [held.get((family, *key)) for key in keys]
        rows.append((family.replace("_", " "), [_family_cell(row) for row in cells]))
    return {
        "heads": [f"{notion_name(n).capitalize()}, {estimand_name(e)}" for n, e in keys],
        "rows": rows,
    }


def _family_cell(row: dict[str, Any] | None) -> tuple[str, str, str]:
    """(regret with interval, rank, style) of a family."""
    if row is None or row["regret"] != row["regret"]:
        return DASH, "", ""
    depth = LIMIT * min(max(math.log(row["regret"]) / math.log(10.0), 0.0), 1.0)
    ranked_here = ranked(row["notion"], row["estimand"], row["family"])
    place = "no rank"
    if is_known(row["rank"]):
        place = (
            f"rank {format_rank(row['rank'], row['rank_low'], row['rank_high'])} of {ranked_here}"
        )
    return (
        format_interval(row["regret"], row["low"], row["high"]),
        place,
        f"background: rgba({OVER}, {depth:.2g})",
    )


def cost_of(one: costs.Cost) -> dict[str, Any]:
    """What the card says of a cost: a row by k and a column by n, and the exponents in words."""
    table = one.seconds.pivot(index="k", columns="n", values="seconds")
    sizes = [int(n) for n in table.columns]
    rows = [
        (f"k = {k}", [format_seconds(table.loc[k, n]) for n in table.columns]) for k in table.index
    ]
    said = [exponent(one.in_n, "n")] if one.in_n else []
    said += [exponent(one.in_k, "k")] if one.in_k else []
    said += (
        []
        if one.at(5000)
        else ["At n = 5,000 it was not measured here, and the exponent may be larger there."]
    )
    return {
        "notion": one.notion.replace("_", " "),
        "source": one.source,
        "sizes": sizes,
        "rows": rows,
        "said": said,
    }


def exponent(one: costs.Exponent, letter: str) -> str:
    """'CPU time ~ n^1.14 [1.13, 1.15] between n = 200 and 1,000 (95 %, 20 problems).'"""
    known = one.low == one.low
    bracket = f" [{one.low:.2f}, {one.high:.2f}]" if known else ""
    tail = (
        f"95 % over {one.groups} problems"
        if known
        else f"{one.groups} problem{'s' if one.groups > 1 else ''}, no interval"
    )
    return f"CPU time grew like {letter}^{one.value:.2f}{bracket} from {letter} = {one.sizes[0]:,} to {one.sizes[-1]:,} ({tail})."


def why_no_failure(card: Card) -> str:
    """Why a card has no picture of a failure."""
    if card.rows is None:
        return "It is not in the arena, where estimates are stored beside truths; its experiments show it on their papers' problems."
    if not card.rows["truth"].notna().any():
        return "It estimates a quantity of its own, of which the problems have no truth: what it gives cannot be called wrong."
    return "In no family is it more than 25 % further off than the best published one (a bound: held less often than 90 %)."
