"""The arena's answer: `best` and the best published estimator for each notion, estimand and n."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from harness.common.names import NOTIONS, estimand_name, notion_name
from harness.common.wording import (
    DASH,
    format_interval,
    format_number,
    format_p_value,
    format_seconds,
    format_signed,
    format_whole_percent,
    join_numbers,
)
from harness.evaluation import arena
from harness.evaluation.arena.better_or_worse import LEAST_FAMILIES
from harness.evaluation.arena.simple_rule import ALL_N, TIE, is_recommended
from harness.pages.templating import NO_BREAK

Row = Mapping[str, Any]

ABOUT = {
    "top_label": "whether the confidence in the predicted class is right",
    "binary": "whether the probability of class 1 is right",
    "classwise": "whether the probability of each class is right, as a mean over classes",
    "canonical": "whether the whole vector of probabilities is right",
}
SHOWN_NAMES = 3  # of a set of estimators; the others are behind a click
TONES = {"better": "good", "worse": "bad", "undecided": "open"}
TARGET = 0.01  # the error to which `simulated_n` belongs
FIRST_SIZES = (200, 1000, 5000)  # n of the short table on the first page of the site
FIRST_ESTIMAND = "l1"
FIRST_COLUMNS = (
    "if you ask for", "best", "off by (RMSE)", "best published", "off by (RMSE)",
    "best against published",
)  # fmt: skip


def sections(
    recommendations: pd.DataFrame, simple: pd.DataFrame | None = None
) -> list[dict[str, Any]]:
    """Return the answers of the arena, formatted, with a section per notion.

    Parameters
    ----------
    recommendations : DataFrame
        The result of `arena.recommendations`.
    simple : DataFrame, optional
        The result of `simple_rules`.

    Returns
    -------
    list of dict
        Each section has `notion` (its id), `name` and `boards`. A board has `estimand` (its id),
        `name`, `needed` (a sentence on the n for an error of 0.01, or ""), `simple` (the result of
        `describe_simple`, or None), and `lines`, one per n.
    """
    parts = []
    for notion in NOTIONS:
        of_notion = recommendations[recommendations["notion"].eq(notion)]
        boards = [
            {
                "estimand": estimand, "name": estimand_name(estimand), "needed": _needed(part),
                "simple": describe_simple(simple, notion, estimand),
                "lines": [line(row) for row in part.sort_values("n").to_dict("records")],
            }
            for estimand in arena.MAIN
            if len(part := of_notion[of_notion["estimand"].eq(estimand)])
        ]  # fmt: skip
        if boards:
            parts.append({"notion": notion, "name": notion_name(notion), "boards": boards})
    return parts


def describe_simple(
    simple: pd.DataFrame | None, notion: str, estimand: str
) -> dict[str, Any] | None:
    """Describe the median of three published estimators for one notion and estimand.

    `simple` is the result of `simple_rules`. None if it has no such rows.

    Returns
    -------
    dict
        members
            Ids of the three estimators.
        recommended
            The n at which the rule is recommended before `best`, as text: "n = 200 and 1,000".
            "" if there are none.
        tie
            The largest ratio at such an n, as text.
        ratio, by_n
            Its error divided by that of `best`, with the interval, and the same at each n.
        code
            A line of Python that computes it from p and y.
    """
    if simple is None:
        return None
    rows = simple[simple["notion"].eq(notion) & simple["estimand"].eq(estimand)]
    if rows.empty:
        return None
    first, at_n = rows[rows["n"].eq(ALL_N)].iloc[0], rows[rows["n"].ne(ALL_N)].sort_values("n")
    members = list(first["members"])
    names = ", ".join(f'"{name}"' for name in members)
    sizes = [row.n for row in at_n.itertuples() if is_recommended(row.ratio)]
    return {
        "members": members, "tie": f"{TIE:g}",
        "recommended": f"n = {join_numbers(sizes)}" if sizes else "",
        "ratio": format_interval(first["ratio"], first["low"], first["high"]),
        "by_n": ", ".join(f"{row.ratio:.2f} at n = {row.n:,}" for row in at_n.itertuples()),
        "code": f'np.median([harness.estimate(e, p, y, "{notion}")["{estimand}"].value '
        f"for e in ({names})])",
    }  # fmt: skip


def line(row: Row) -> dict[str, Any]:
    """Format a row of `arena.recommendations` as texts for a line of the page."""
    names = row["confidence_set"]
    names = [] if not isinstance(names, Sequence) or isinstance(names, str) else list(names)
    return {
        "n": int(row["n"]), "own": _estimator(row, "own"), "rival": _estimator(row, "rival"),
        "ratio": format_interval(row["ratio"], row["low"], row["high"]),
        "verdict": describe_verdict(row), "tone": TONES[row["verdict"]], "p": _p_value(row),
        "families": int(row["families"]), "set": names[:SHOWN_NAMES], "more": names[SHOWN_NAMES:],
    }  # fmt: skip


def _estimator(row: Row, role: str) -> dict[str, str] | None:
    """Format the columns of `own` or `rival`; None if there is no such estimator."""
    name = row[role]
    if not isinstance(name, str) or math.isnan(row[f"{role}_rmse"]):
        return None
    relative = row[f"{role}_relative"]
    share = "" if math.isnan(relative) else f" ({format_whole_percent(relative)})".replace("-", "−")
    return {
        "name": name, "rmse": format_number(row[f"{role}_rmse"], 2),
        "zero": format_number(row[f"{role}_rmse_calibrated"], 2),
        "bias": format_signed(row[f"{role}_bias"]) + share,
        "cost": format_seconds(row[f"{role}_cpu"]),
    }  # fmt: skip


def describe_verdict(row: Row) -> str:
    r"""Describe the ratio of two typical errors in words.

    Examples
    --------
    >>> row = {"verdict": "better", "ratio": 0.8, "low": 0.7, "high": 0.9, "families": 18}
    >>> describe_verdict(row)
    'better: its error is 20\xa0% smaller'
    >>> describe_verdict(row | {"verdict": "undecided", "high": 1.1})
    'undecided: 30\xa0% smaller to 10\xa0% larger'
    >>> describe_verdict(row | {"verdict": "undecided", "high": 0.99})
    'undecided once corrected for all n: 30\xa0% smaller to 1\xa0% smaller'
    >>> describe_verdict(row | {"verdict": "undecided", "families": 3})
    'undecided: only 3 test families'
    """
    if math.isnan(row["ratio"]):
        return "not compared"
    if row["families"] < LEAST_FAMILIES:
        count = int(row["families"])
        return f"undecided: only {count} test {'family' if count == 1 else 'families'}"
    if row["verdict"] == "undecided":
        ends = (_describe_difference(row[name]) for name in ("low", "high"))
        # The interval is for one n, the verdict is corrected for all n of a table.
        excludes_1 = row["low"] > 1.0 or row["high"] < 1.0
        corrected = " once corrected for all n" if excludes_1 else ""
        return f"undecided{corrected}: {' to '.join(ends)}"
    return f"{row['verdict']}: its error is {_describe_difference(row['ratio'])}"


def _describe_difference(ratio: float) -> str:
    if math.isnan(ratio):
        return DASH
    if ratio >= 2.0:
        return f"{format_number(ratio, 2)} times as large"
    size = f"{100 * abs(ratio - 1.0):.0f}{NO_BREAK}%"
    return f"{size} {'smaller' if ratio < 1.0 else 'larger'}"


def _p_value(row: Row) -> str:
    if math.isnan(row["p_holm"]) or row["families"] < LEAST_FAMILIES:
        return ""
    return f"p {format_p_value(row['p_holm'])}"


def _needed(part: pd.DataFrame) -> str:
    """Say in a sentence how many samples an error of 0.01 needs, or return ""."""
    row = part.sort_values("n").iloc[-1]
    needed, largest = float(row["simulated_n"]), int(row["n"])
    if math.isnan(needed):
        return ""
    size = f"more than {largest:,}"
    if needed <= largest:
        size = f"about {float(f'{needed:.2g}'):,.0f}"
    return (
        f"To be off by {TARGET:g} where the true error is above 0, {row['own']} needs {size} "
        "samples."
    )


def table(recommendations: pd.DataFrame) -> pd.DataFrame:
    """Return the recommendations as a table for a CSV file, with sets of names as one text."""
    sets = recommendations["confidence_set"].map(
        lambda names: " ".join(names) if isinstance(names, Sequence) else ""
    )
    return recommendations.assign(confidence_set=sets)


def simple_table(simple: pd.DataFrame) -> pd.DataFrame:
    """Return the result of `simple_rules` for a CSV file, with the members as one text."""
    return simple.assign(members=simple["members"].map(" ".join))


def read_simple(path: Path) -> pd.DataFrame | None:
    """Read the file of `simple_table`, None if it does not exist."""
    if not path.is_file():
        return None
    table = pd.read_csv(path)
    return table.assign(members=table["members"].str.split())


def first_lines(recommendations: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the lines of the first page of the site: the L1 error at three n, for each notion.

    `recommendations` is the result of `table`, as it was read from its file.
    """
    part = recommendations.assign(confidence_set=None)
    part = part[part["estimand"].eq(FIRST_ESTIMAND) & part["n"].isin(FIRST_SIZES)]
    return [
        {**line(row), "notion": notion, "name": notion_name(notion)}
        for notion in NOTIONS
        for row in part[part["notion"].eq(notion)].sort_values("n").to_dict("records")
    ]
