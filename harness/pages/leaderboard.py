"""The arena's pages: which estimator to use by n and k, and a leaderboard of every notion whose table and chart follow the same
filters. All numbers are aggregated beforehand, one row per estimator for every combination of filters; nothing is averaged in the
browser, and never over estimands or notions."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

import pandas as pd

from harness.common.paths import PACKAGE
from harness.common.wording import (
    ESTIMANDS,
    estimand_name,
    format_interval,
    format_number,
    format_seconds,
    format_whole_percent,
    notion_name,
)
from harness.configure.arena import Arena
from harness.evaluation import arena, arena_content
from harness.figures import arena_plot
from harness.figures.style import COLOURS
from harness.pages import arena_data, layout, leaderboard_rows
from harness.pages.arena_data import ALL, BY, ArenaResults
from harness.pages.sources import Asset, Page, Sources
from harness.pages.templating import script_json

ABOUT = {
    "top_label": "whether the confidence in the predicted class is right",
    "binary": "whether the probability of class 1 is right",
    "canonical": "whether the whole vector of probabilities is right",
}
# of a row, in the order in which the page's script has them; the last ones often have their usual value, and a row ends before
FIELDS = (
    "estimator", "rank", "rank_low", "rank_high", "regret", "low", "high", "rmse", "bias", "over", "cpu_seconds", "settings",
    "share", "coverage", "worst", "worst_low", "worst_high", "worst_at", "frontier", "undefined", "failed", "skipped",
)  # fmt: skip
USUAL = dict.fromkeys(FIELDS) | dict.fromkeys(("frontier", "undefined", "failed", "skipped"), 0)


def pages(root: Sources) -> Iterator[Page]:
    """arena/index.html, and arena/<notion>.html with the leaderboard of every notion."""
    found = arena_data.read()
    if found is None:
        said = "<p>This installation has no stored results of the arena: <code>results/baseline</code> of a checkout.</p>"
        yield (
            "arena/index.html",
            layout.page(
                "Arena", said, "arena/index.html", description="The arena has no results here."
            ),
        )
        return
    notions = list(arena_data.notions(found))
    yield "arena/index.html", _overview(found, notions)
    for notion in notions:
        yield f"arena/{notion}.html", _board(found, notion, notions)


def assets(root: Sources) -> Iterator[Asset]:
    """The script that hands the rows of the chosen filters to table and chart."""
    yield "assets/leaderboard.js", (PACKAGE / "pages" / "templates" / "leaderboard.js").read_bytes()


def _overview(found: ArenaResults, notions: list[str]) -> str:
    path = "arena/index.html"
    body = layout.render(
        "arena_overview.html.j2", path, notions=[(n, notion_name(n).capitalize(), ABOUT[n]) for n in notions],
        matrices=list(matrices(found)),
        estimators=found.settings["estimator"].nunique(), problems=found.settings["problem"].nunique(), cells=found.cells,
        families={family: len(members) for family, members in found.families.items()}, rule=arena.RULE, sizes=_sizes(found),
        development=arena.development_of(Arena("arena")),
    )  # fmt: skip
    said = "Which estimator of calibration error to use, by notion, number of samples and number of classes."
    return layout.page(
        "The arena: which estimator should I trust?", body, path, description=said, tables=True
    )


def _sizes(found: ArenaResults) -> list[int]:
    return sorted(int(n) for n in found.settings["n"].unique())


def matrices(found: ArenaResults) -> Iterator[dict[str, Any]]:
    """Of every notion and ranked estimand the estimator with the least mean regret by k (rows) and n (columns)."""
    coarse = found.settings[found.settings["estimand"].isin(arena.MAIN)]
    coarse = coarse.assign(k=arena_content.near(coarse["k"]))
    chosen = arena.choices(coarse, ("n", "k"), resamples=arena_data.RESAMPLES)
    for notion in arena_data.notions(found):
        for estimand in arena.MAIN:
            part = chosen[chosen["notion"].eq(notion) & chosen["estimand"].eq(estimand)]
            if len(part):
                sizes, classes = (sorted(part[name].unique()) for name in ("n", "k"))
                other = published(found, notion, estimand)
                cells = {
                    (r["k"], r["n"]): winner(r) | {"published": other.get((r["k"], r["n"]))}
                    for _, r in part.iterrows()
                }
                rows = [(k, [cells.get((k, n)) for n in sizes]) for k in classes]
                yield {"notion": notion, "estimand": estimand, "sizes": sizes, "rows": rows}


def published(found: ArenaResults, notion: str, estimand: str) -> dict[tuple[int, int], str]:
    """{(k, n): the published estimator with the least mean regret, and that regret}, where the first one is of this project."""
    board = found.by("n", "k")
    board = board[
        board["notion"].eq(notion) & board["estimand"].eq(estimand) & board["rank"].notna()
    ]
    told = {}
    for (k, n), part in board.groupby(["k", "n"]):
        rows = part.sort_values("rank").to_dict("records")
        best = next((row for row in rows if arena.is_published(row["estimator"])), None)
        if best is not None and best is not rows[0]:
            told[int(k), int(n)] = (
                f"{best['estimator']} {format_interval(best['regret'], best['low'], best['high'])}"
            )
    return told


def winner(row: pd.Series) -> dict[str, Any]:
    """What a cell of a matrix says: estimator, regret, how far off in the unit of the estimand, cost and what the paired test
    against the runner-up says."""
    said = {
        "better": "better than {} (95 %, all cells together)", "undecided": "not established to be better than {}",
        "worse": "on paired reps {} is better", "alone": "alone",
    }  # fmt: skip
    return {
        "estimator": row["estimator"], "regret": format_interval(row["regret"], row["low"], row["high"]),
        "off": format_number(row["rmse"], 2),
        "seconds": format_seconds(row["cpu_seconds"]), "said": said[row["verdict"]].format(row["runner_up"]),
        "sure": row["verdict"] == "better", "problems": int(row["problems"]), "k": int(row["k"]), "n": int(row["n"]),
    }  # fmt: skip


def _board(found: ArenaResults, notion: str, notions: list[str]) -> str:
    path = f"arena/{notion}.html"
    boards = found.boards[found.boards["notion"].eq(notion)]
    data = packed(boards)
    first = boards[
        boards["estimand"].eq("l1")
        & boards["family"].eq(ALL)
        & boards["n"].eq(ALL)
        & boards["k"].eq(ALL)
    ]
    held = arena_data.bounds(found.settings)
    drawn = chart_rows(first)
    body = layout.render(
        "leaderboard.html.j2", path, notion=notion, name=notion_name(notion).capitalize(), about=ABOUT[notion],
        heads=leaderboard_rows.HEADS, rows=[leaderboard_rows.cells(row) for row in _records(first)],
        notions=[(n, notion_name(n).capitalize()) for n in notions], filters=filters(boards),
        data=script_json(data), spec=script_json(chart(drawn)), rule=arena.RULE,
        alt=alt(first),
        bounds=bound_rows(held[held["notion"].eq(notion)]), resamples=arena_data.RESAMPLES, kinds=list(kinds()),
    )  # fmt: skip
    title = f"Leaderboard: {notion_name(notion)} calibration"
    said = f"Estimators of {notion_name(notion)} calibration error by regret, cost, bias and coverage, with filters."
    return layout.page(title, body, path, description=said, tables=True, charts=True)


def _records(board: pd.DataFrame) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = with_frontier(board).to_dict("records")
    return rows


def filters(boards: pd.DataFrame) -> dict[str, list[tuple[str, str]]]:
    """{filter: [(value, what the page calls it)]}, "all" first where there is such a choice."""
    found = {
        "estimand": [(name, estimand_name(name)) for name in _ordered(boards["estimand"].unique())]
    }
    for name in BY:
        values = [v for v in boards[name].unique() if v != ALL]
        values = sorted(values) if name == "family" else sorted(values, key=int)
        found[name] = [
            (ALL, "all"),
            *((v, v.replace("_", " ") if name == "family" else f"{int(v):,}") for v in values),
        ]
    return found


def _ordered(estimands: Any) -> list[str]:
    return sorted(
        estimands,
        key=lambda name: (
            list(ESTIMANDS).index(name) if name in ESTIMANDS else len(ESTIMANDS),
            name,
        ),
    )


def packed(boards: pd.DataFrame) -> dict[str, Any]:
    """The rows of a notion for the page's script.

    Returns
    -------
    dict
        fields: names of a row's entries; usual: what the entries are that a shorter row lacks at its end; estimators, at: what
        the numbers in the entries `estimator` and `worst_at` stand for; kinds: of every estimator;
        rows: {"estimand|family|n|k": rows}, numbers to three digits, None for none (and for the worst regret of a single
        (family, n, k), which is its mean).
    """
    estimators = sorted(boards["estimator"].unique())
    places = sorted(boards["worst_at"].unique())
    code = {
        "estimator": {name: i for i, name in enumerate(estimators)},
        "worst_at": {name: i for i, name in enumerate(places)},
    }
    rows: dict[str, list[list[Any]]] = {}
    for key, part in boards.groupby(["estimand", *BY], sort=False):
        held = with_frontier(part)
        columns = [
            held[name].map(code[name]).tolist()
            if name in code
            else [short(v) for v in held[name].tolist()]
            for name in FIELDS
        ]
        if (
            ALL not in key
        ):  # one (family, n, k): the worst of it is its mean, which the page's script repeats
            columns = [
                [None] * len(held) if name.startswith("worst") else c
                for name, c in zip(FIELDS, columns)
            ]
        rows["|".join(key)] = [_without_usual(list(row)) for row in zip(*columns)]
    named = [arena_plot.kind(name)[0] for name in estimators]
    usual = [USUAL[name] for name in FIELDS]
    return {
        "fields": list(FIELDS),
        "usual": usual,
        "estimators": estimators,
        "kinds": named,
        "at": places,
        "rows": rows,
    }


def _without_usual(row: list[Any]) -> list[Any]:
    """A row without the usual entries at its end: most have no worst regret and lost nothing, and the page is to stay small."""
    while row and row[-1] == USUAL[FIELDS[len(row) - 1]]:
        row.pop()
    return row


def with_frontier(board: pd.DataFrame) -> pd.DataFrame:
    """The rows of one combination of filters with `frontier`: whether nothing that is ranked is both cheaper and better."""
    ranked = board["rank"].notna().to_numpy()
    cost = [c if r else math.inf for c, r in zip(board["cpu_seconds"], ranked)]
    regret = [g if r else math.inf for g, r in zip(board["regret"], ranked)]
    on = set(arena.frontier(cost, regret))
    return board.assign(frontier=[int(i in on) for i in range(len(board))])


def short(value: Any) -> Any:
    """A number to three significant digits, whole ones as such; None for NaN and infinity.

    Examples
    --------
    >>> short(0.012345), short(3.0), short(float("nan"))
    (0.0123, 3, None)
    """
    if isinstance(value, (int, str)):
        return value
    if not math.isfinite(value):
        return None
    rounded = float(f"{value:.3g}")
    return int(rounded) if rounded == int(rounded) else rounded


def alt(board: pd.DataFrame) -> str:
    """What the chart shows without filters, in words."""
    ranked = board[board["rank"].notna()].sort_values("rank")
    on = with_frontier(ranked)
    on = on[on["frontier"].eq(1)].sort_values("cpu_seconds")
    if not len(on):
        return "No estimator is ranked."
    steps = "; ".join(
        f"{r['estimator']} {r['regret']:.2f} at {format_seconds(r['cpu_seconds'])}"
        for r in on.to_dict("records")
    )
    return (
        f"Mean regret against CPU time of {len(ranked)} ranked estimators, all families, n and k. On the frontier, from cheap to "
        f"dear: {steps}. The table below has the numbers."
    )


def bound_rows(held: pd.DataFrame) -> list[list[Any]]:
    """The table of bounds: never ranked among points."""
    return [
        [row["estimator"], row["kind"], estimand_name(row["estimand"]), format_whole_percent(row["coverage"]),
         format_whole_percent(row["worst"]), format_number(row["width"], 2), format_seconds(row["seconds"]),
         f"{row['settings']:,}"]
        for row in held.to_dict("records")
    ]  # fmt: skip


def kinds() -> Iterator[tuple[str, str]]:
    """(name, colour) of the kinds of estimators."""
    yield from ((name, colour) for name, (_, colour) in arena_plot.KINDS.items())
    yield arena_plot.OTHER


SHAPES = ("circle", "square", "triangle-up", "diamond", "cross")


def chart_rows(board: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows that the chart shows at first; the page's script makes those of other filters alike."""
    names = (
        "estimator",
        "rank",
        "regret",
        "low",
        "high",
        "cpu_seconds",
        "bias",
        "settings",
        "frontier",
    )
    return [
        {**{name: short(row[name]) for name in names}, "kind": arena_plot.kind(row["estimator"])[0],
         "cost": format_seconds(row["cpu_seconds"]), "said": format_interval(row["regret"], row["low"], row["high"]),
         "worst_said": leaderboard_rows.worst(row)}
        for row in _records(board)
    ]  # fmt: skip


def chart(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Regret against cost as a Vega-Lite specification of `chart_rows`; the page's script replaces its data set `rows`."""
    import altair as alt

    alt.data_transformers.disable_max_rows()
    of_kind = alt.selection_point(fields=["kind"], bind="legend", name="kind")
    picked = alt.selection_point(fields=["estimator"], name="picked", on="click", clear="dblclick")
    names = [name for name, _ in kinds()]
    colours = [colour if colour != COLOURS[6] else "#666666" for _, colour in kinds()]
    data = alt.NamedData(name="rows")
    x = alt.X(
        "cpu_seconds:Q",
        title="CPU seconds of an estimate",
        scale=alt.Scale(type="log", nice=False, padding=45),
        axis=alt.Axis(format="~g", tickCount=5),
    )
    y = alt.Y(
        "regret:Q",
        title="mean regret (1 = the best published one)",
        scale=alt.Scale(type="log", nice=False),
        axis=alt.Axis(format="~g"),
    )
    tooltip = [
        alt.Tooltip("estimator:N"), alt.Tooltip("rank:Q"), alt.Tooltip("said:N", title="mean regret"),
        alt.Tooltip("worst_said:N", title="worst regret"), alt.Tooltip("cost:N", title="CPU time"),
        alt.Tooltip("bias:Q", format="+.2g"), alt.Tooltip("settings:Q"),
    ]  # fmt: skip
    base = alt.Chart(data).transform_filter("datum.rank !== null")
    shown = alt.condition(of_kind & picked, alt.value(1.0), alt.value(0.15))
    bars = base.mark_rule(strokeWidth=1, opacity=0.35).encode(
        x=x, y=alt.Y("low:Q", title=""), y2="high:Q"
    )
    line = base.transform_filter("datum.frontier === 1").mark_line(
        interpolate="step-after", strokeWidth=1.5, color="#888888"
    )
    legend = alt.Legend(title=None, orient="top", columns=3)
    points = base.mark_point(filled=True, size=70).encode(
        x=x, y=y, tooltip=tooltip, opacity=shown,
        color=alt.Color("kind:N", scale=alt.Scale(domain=names, range=colours), legend=legend),
        shape=alt.Shape("kind:N", scale=alt.Scale(domain=names, range=list(SHAPES)), legend=legend),
    ).add_params(of_kind, picked)  # fmt: skip
    text = base.transform_filter("datum.frontier === 1").mark_text(dy=15, fontSize=11)
    layers = [
        line.encode(x=x, y=y, order="cpu_seconds:Q"),
        bars,
        points,
        text.encode(x=x, y=y, text="estimator:N"),
    ]
    drawn = alt.layer(*layers).properties(width="container", height=400)
    found: dict[str, Any] = json.loads(drawn.to_json())
    found["datasets"] = {"rows": rows}
    return found
