"""Pages of the arena: which estimator to use at each n, and a leaderboard for every notion.

k is the number of classes. The table and the chart of a leaderboard share their filters. All
numbers are aggregated in advance, with a row per estimator for every combination of filters, so
that the browser averages nothing. The browser formats the numbers in the same way as
`arena_tables.leaderboard_row`. If it received formatted rows, the page would be three times as
large and exceed 3 MB.
"""

from __future__ import annotations

import json
import math
from typing import Any

import pandas as pd

from harness.common.names import ESTIMANDS, estimand_name, notion_name
from harness.common.wording import format_interval, format_seconds
from harness.configure.arena import Arena
from harness.evaluation import arena
from harness.evaluation.arena_trends import trends
from harness.figures import arena_plot, estimator_kinds
from harness.figures.figure_files import to_png
from harness.figures.style import COLOURS
from harness.pages import arena_answers, arena_bounds, arena_data, arena_tables
from harness.pages.arena_answers import ABOUT
from harness.pages.arena_data import ALL, FILTERS, ArenaResults, filtered_by
from harness.pages.sources import Files, Sources
from harness.pages.templating import page

FIELDS = (  # entries of a row, in the order that the page's script expects
    "estimator", "rank", "rank_low", "rank_high", "regret", "low", "high", "rmse",
    "rmse_calibrated", "bias", "over", "cpu_seconds", "settings", "share", "coverage", "worst",
    "worst_at", "frontier", "undefined", "failed", "skipped",
)  # fmt: skip
CHART_FIELDS = ("rank", "regret", "low", "high", "cpu_seconds", "bias", "settings", "frontier")
DPI = 150  # of the pictures
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross")


def pages(sources: Sources) -> Files:
    """Yield arena/index.html with its pictures, and arena/<notion>.html for each notion."""
    results = arena_data.read()
    yield "arena/index.html", _overview(results)
    if results is None:
        return
    curves = trends(results.main, arena.read_development(Arena("arena")))
    for notion in _answered(results):
        figure = arena_plot.errors(curves, results.recommendations, notion)
        yield f"arena/{_picture(notion)['uri']}", to_png(figure, DPI)
    for notion in results.notions:
        yield f"arena/{notion}.html", _leaderboard(results, notion)


def _answered(results: ArenaResults) -> list[str]:
    """Return the notions that have recommendations, in the order of the pages."""
    notions = set(results.recommendations["notion"])
    return [notion for notion in arena_data.NOTIONS if notion in notions]


def _picture(notion: str) -> dict[str, str]:
    title = f"Typical error by n: {notion_name(notion)}"
    caption = (
        "Left: where the true error is above 0. Right: calibrated problems. Bars: 95 % intervals "
        "over families. The best published estimator of each n has its name in the left panel."
    )
    return {"title": title, "uri": f"pictures/errors_{notion}.png", "caption": caption}


def _count_replications(settings: pd.DataFrame) -> str:
    """Return the range of the numbers of replications as a text, such as "5 to 20"."""
    counts = settings[["reps", "undefined", "failed", "skipped"]].sum(axis=1)
    low, high = int(counts.min()), int(counts.max())
    return f"{low}" if low == high else f"{low} to {high}"


def _overview(results: ArenaResults | None) -> str:
    values: dict[str, Any] = {"results": results}
    if results:
        values |= {
            "about": ABOUT, "rule": arena.RULE,
            "answers_by_notion": arena_answers.sections(results.recommendations),
            "pictures": {notion: _picture(notion) for notion in _answered(results)},
            "estimators": results.settings["estimator"].nunique(),
            "problems": results.settings["problem"].nunique(),
            "sizes": sorted(int(n) for n in results.settings["n"].unique()),
            "development": arena.read_development(Arena("arena")),
        }  # fmt: skip
    title = "The arena: which estimator should I trust?"
    description = "Which estimator of calibration error to use, by notion and number of samples."
    values |= {"description": description, "tables": True}
    return page("arena_overview.html.j2", "arena/index.html", title, **values)


def _leaderboard(results: ArenaResults, notion: str) -> str:
    boards = results.boards[results.boards["notion"].eq(notion)]
    first = with_frontier(filtered_by(boards[boards["estimand"].eq("l1")]))
    main = results.main[results.main["notion"].eq(notion)]
    bounds = arena_bounds.bound_sections(arena.bounds(main))
    name = notion_name(notion)
    return page(
        "leaderboard.html.j2", f"arena/{notion}.html", f"Leaderboard: {name} calibration",
        description=f"Estimators of {name} calibration error by regret, cost, bias and coverage, "
        "with filters.",
        tables=True, charts=True, notion=notion, notions=results.notions, about=ABOUT[notion],
        heads=arena_tables.HEADS, filters=filters(boards), rule=arena.RULE, alt=alt(first),
        rows=[arena_tables.leaderboard_row(row) for row in first.to_dict("records")],
        data=packed(boards), chart=chart(chart_rows(first)),
        bounds=[row for part in bounds for row in part["rows"]],
        bound_heads=arena_bounds.BOUND_HEADS,
        bound_meaning=arena_bounds.BOUND_MEANING, reps=_count_replications(main),
    )  # fmt: skip


def filters(boards: pd.DataFrame) -> dict[str, list[tuple[str, str]]]:
    """Return {filter: [(value, name on the page)]}, with "all" first where the page offers it."""
    order = list(ESTIMANDS)
    estimands = sorted(
        boards["estimand"].unique(), key=lambda e: (order.index(e) if e in order else len(order), e)
    )
    families = sorted(set(boards["family"]) - {ALL})
    choices = {
        "estimand": [(name, estimand_name(name)) for name in estimands],
        "family": [(ALL, ALL), *((name, name.replace("_", " ")) for name in families)],
    }
    for name in ("n", "k"):
        numbers = sorted(int(value) for value in set(boards[name]) - {ALL})
        choices[name] = [(ALL, ALL), *((str(value), f"{value:,}") for value in numbers)]
    return choices


def packed(boards: pd.DataFrame) -> dict[str, Any]:
    """Pack the leaderboard rows of one notion for the script of its page.

    Returns
    -------
    dict
        fields
            Names of the entries of a row.
        estimators, at
            Lists of texts. The entries `estimator` and `worst_at` of a row are positions in them.
        kinds
            Kind of each estimator.
        rows
            {"estimand|family|n|k": rows}. Numbers have three significant digits; None means that
            there is no number.
    """
    estimators, places = (sorted(boards[name].unique()) for name in ("estimator", "worst_at"))
    codes = {
        "estimator": {name: i for i, name in enumerate(estimators)},
        "worst_at": {name: i for i, name in enumerate(places)},
    }
    rows: dict[str, list[list[Any]]] = {}
    for key, part in boards.groupby(["estimand", *FILTERS], sort=False):
        part = with_frontier(part).assign(**{n: part[n].map(code) for n, code in codes.items()})
        fields = part[list(FIELDS)].itertuples(index=False)
        rows["|".join(key)] = [[round_number(value) for value in row] for row in fields]
    kinds = [estimator_kinds.kind(name)[0] for name in estimators]
    return {
        "fields": FIELDS, "estimators": estimators, "kinds": kinds, "at": places, "rows": rows
    }  # fmt: skip


def with_frontier(board: pd.DataFrame) -> pd.DataFrame:
    """Add the column `frontier`: 1 if no ranked estimator is both cheaper and better, else 0."""
    ranked = board["rank"].notna()
    cost, regret = (board[name].where(ranked, math.inf) for name in ("cpu_seconds", "regret"))
    on_frontier = set(arena.frontier(list(cost), list(regret)))
    return board.assign(frontier=[int(i in on_frontier) for i in range(len(board))])


def round_number(value: float) -> float | None:
    """Round a number to three significant digits, or return None for NaN and infinity.

    Examples
    --------
    >>> round_number(0.012345), round_number(3.0), round_number(float("nan"))
    (0.0123, 3, None)
    """
    if not math.isfinite(value):
        return None
    rounded = value if isinstance(value, int) else float(f"{value:.3g}")
    return int(rounded) if rounded == int(rounded) else rounded


def alt(board: pd.DataFrame) -> str:
    """Describe the chart of a leaderboard in words, as it is before any filter is set."""
    frontier = board[board["frontier"].eq(1)].sort_values("cpu_seconds")
    if not len(frontier):
        return "No estimator is ranked."
    steps = "; ".join(
        f"{r['estimator']} {r['regret']:.2f} at {format_seconds(r['cpu_seconds'])}"
        for r in frontier.to_dict("records")
    )
    return (
        f"Mean regret against CPU time of {board['rank'].notna().sum()} ranked estimators, over "
        f"all families, n and k. On the frontier, the cheapest first: {steps}. The table below has "
        "the numbers."
    )


def chart_rows(board: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of the chart before any filter is set.

    The page's script makes the rows for other filters.
    """
    return [
        {
            **{name: round_number(row[name]) for name in CHART_FIELDS},
            "estimator": row["estimator"],
            "kind": estimator_kinds.kind(row["estimator"])[0],
            "cost": format_seconds(row["cpu_seconds"]),
            "interval": format_interval(row["regret"], row["low"], row["high"]),
            "worst_interval": arena_tables.worst_regret(row),
        }
        for row in board.to_dict("records")
    ]


def chart(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the Vega-Lite specification of the chart of regret against cost.

    The page's script replaces its data set `rows` when a filter is set.
    """
    import altair as alt  # of the extra `site`

    alt.data_transformers.disable_max_rows()
    kind = alt.selection_point(fields=["kind"], bind="legend", name="kind")
    picked = alt.selection_point(fields=["estimator"], name="picked", on="click", clear="dblclick")
    colours = {name: colour for name, (_, colour) in estimator_kinds.KINDS.items()}
    colours |= dict([estimator_kinds.OTHER])
    shades = ["#666666" if colour == COLOURS[6] else colour for colour in colours.values()]
    domain, legend = list(colours), alt.Legend(title=None, orient="top", columns=3)
    log: Any = {"type": "log", "nice": False}
    x = alt.X(
        "cpu_seconds:Q", title="CPU seconds of an estimate",
        scale=alt.Scale(**log, padding=45), axis=alt.Axis(format="~g", tickCount=5),
    )  # fmt: skip
    y = alt.Y(
        "regret:Q", title="mean regret (1 = the best published one)", scale=alt.Scale(**log),
        axis=alt.Axis(format="~g"),
    )  # fmt: skip
    base = alt.Chart(alt.NamedData(name="rows")).transform_filter("datum.rank !== null")
    frontier = base.transform_filter("datum.frontier === 1")
    points = base.mark_point(filled=True, size=70).encode(
        x=x, y=y, opacity=alt.condition(kind & picked, alt.value(1.0), alt.value(0.15)),
        color=alt.Color("kind:N", scale=alt.Scale(domain=domain, range=shades), legend=legend),
        shape=alt.Shape("kind:N", scale=alt.Scale(domain=domain, range=SHAPES), legend=legend),
        tooltip=[
            alt.Tooltip("estimator:N"), alt.Tooltip("rank:Q"),
            alt.Tooltip("interval:N", title="mean regret"),
            alt.Tooltip("worst_interval:N", title="worst regret"),
            alt.Tooltip("cost:N", title="CPU time"), alt.Tooltip("bias:Q", format="+.2g"),
            alt.Tooltip("settings:Q"),
        ],
    )  # fmt: skip
    layers = [
        frontier.mark_line(interpolate="step-after", strokeWidth=1.5, color="#888888").encode(
            x=x, y=y, order="cpu_seconds:Q"
        ),
        base.mark_rule(strokeWidth=1, opacity=0.35).encode(
            x=x, y=alt.Y("low:Q", title=""), y2="high:Q"
        ),
        points.add_params(kind, picked),
        frontier.mark_text(dy=15, fontSize=11).encode(x=x, y=y, text="estimator:N"),
    ]
    drawing = alt.layer(*layers).properties(width="container", height=400)
    specification: dict[str, Any] = json.loads(drawing.to_json())
    return specification | {"datasets": {"rows": rows}}
