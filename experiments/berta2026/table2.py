"""Table 2: over- and underconfidence (L1 and its two parts) on three problems, n = 5,000."""

from collections.abc import Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from harness.configure.settings import Settings
from harness.evaluation import items, reproduction, text_tables
from harness.evaluation.selection import label
from harness.figures import panels

PAPER, N = "WS CatBoost", 5000  # column of the printed numbers in reported.csv, sample size
PARTS = {"l1_over": "over", "l1_under": "under", "l1": "total"}


def render(records: pd.DataFrame, settings: Settings) -> Figure:
    problems = list(settings.problem)
    figure, (axes,) = panels.grid(1, len(problems), 2.0, sharex=True, sharey=True)
    draw_parts(figure, axes, problems, records, settings)
    for ax, problem in zip(axes, problems):
        ax.set_title(label(settings, "problem", problem))
    return figure


def draw_parts(
    figure: Figure,
    axes: Sequence[Axes],
    problems: Sequence[str],
    records: pd.DataFrame,
    settings: Settings,
) -> None:
    """Draw a panel per problem with the over- and underconfident part and their total.

    Estimates ± standard error stand below each other. A vertical stroke is the truth. An open
    diamond is the paper's value with the standard error of its ten runs. The legend is above.
    """
    measured, theirs, parts = numbers(records, settings), printed(), list(PARTS.values())
    theirs = theirs.assign(part=theirs["row"].str.split(", ").str[-1])
    styles = {
        e: panels.look(j, label=e)
        for j, e in enumerate(items.labels(settings, "estimator", measured["column"]))
    }
    paper = panels.look(3, filled=False, label="paper") | {"color": "0.35"}
    for ax, problem in zip(axes, problems):
        mine = measured[measured["problem"].eq(problem)]
        shift = panels.dodged(ax, mine, "part", parts, "column", styles)
        printed_rows = theirs[theirs["row"].isin(mine["row"])]
        panels.named_marks(
            ax, printed_rows, "part", parts, "value", "plus_minus", shift=shift, **paper
        )
        true_values(ax, mine, "part", parts)
        panels.name_rows(ax, parts, 0.55, 0.55)
        ax.grid(axis="y", visible=True)
        ax.locator_params(axis="x", nbins=4)
        ax.set_xlabel("$L_1$ calibration error")
    panels.legend(figure, axes[0], first=["true value", "paper"])


def true_values(ax: Axes, frame: pd.DataFrame, by: str, names: Sequence[str]) -> None:
    """Draw the column `truth` as a vertical stroke, in the row of each name."""
    for i, name in enumerate(names):
        truth = frame.loc[frame[by].eq(name), "truth"].head(1)
        style = {"color": "0.2", "linewidth": 1.0, "zorder": 1, "label": "true value"}
        ax.vlines(truth, i - 0.45, i + 0.45, **style)


def numbers(records: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Return means of L1 and its two parts, with the name of the paper's row for each.

    Such a name is 'Over-confident, under'. It has n at the end if n is not the paper's. Problems
    are in the order of the experiment.
    """
    estimates = items.evaluated(records, settings, PARTS, "binary")
    estimates = estimates.assign(
        part=estimates["estimand"].map(PARTS), place=estimates["estimand"].map(list(PARTS).index)
    )
    estimates = items.in_order(
        estimates.sort_values(["n", "place"], kind="stable"), settings, "problem"
    )
    return estimates.assign(
        row=[
            f"{r.model}{'' if r.n == N else f' (n = {r.n})'}, {r.part}"
            for r in estimates.itertuples()
        ]
    )


def without(records: pd.DataFrame, settings: Settings) -> list[pd.DataFrame]:
    """Return the reasons of estimators that have no number on a problem."""
    lost = records[records["estimand"].isna()]
    return [
        items.without_number(lost, settings, f"{{model}}, {part}", "{column}")
        for part in PARTS.values()
    ]


def table(records: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Return a table with a row per problem and part: truth, the paper's value, and ours.

    The paper clips its values at 0. Each of our estimators has mean ± standard error, and its mean
    clipped at 0.
    """
    estimates, theirs, index = numbers(records, settings), printed(), ["{row}"]
    rows = text_tables.entries(estimates, index, "truth", "truth", None)
    text_tables.entries(estimates, index, "paper", text=lambda r: "–", into=rows)
    text_tables.entries(
        theirs[theirs["row"].isin(estimates["row"])], index, "paper", "value", None, 3, into=rows
    )
    text_tables.entries(estimates, index, "{column}", into=rows)
    text_tables.entries(
        estimates.assign(mean=estimates["mean"].clip(lower=0.0)),
        index,
        "{column}, clipped",
        error=None,
        digits=3,
        into=rows,
    )
    for r in items.together(*without(records, settings)).itertuples():
        if r.column not in rows.setdefault((r.row,), {}):
            rows[r.row,] |= {r.column: r.why.split(":")[0], f"{r.column}, clipped": "–"}
    names = [
        name + end for name in items.labels(settings, "estimator") for end in ("", ", clipped")
    ]
    rows = {tuple(row.rsplit(", ", 1)): entries for (row,), entries in rows.items()}
    heading = "l1: mean ± standard error; clipped: max(mean, 0), as the paper prints it"
    return text_tables.wide(rows, ["problem", "part"], heading, ["truth", "paper", *names])


def reproduced(records: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Return our numbers for the items of `compare`.

    The item `table2` has means that are clipped at 0, so ours are clipped too. The item
    `over_under` has the authors' means before clipping.
    """
    estimates = numbers(records, settings)
    exact = items.exact(estimates, "{row}", reproduction.TRUTH, "truth", "truth_error")
    ours = items.together(
        items.numbers(estimates, "{row}", "{column}"), exact, *without(records, settings)
    )
    clipped = ours.assign(value=ours["value"].clip(lower=0.0))
    return items.joined(
        [(clipped if item == "table2" else ours).assign(item=item) for item in settings.compare]
    )


def printed() -> pd.DataFrame:
    """Return the printed estimates, without the truths."""
    estimates = reproduction.reported("berta2026", ["table2"])
    return estimates[estimates["column"].eq(PAPER)]
