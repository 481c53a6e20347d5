"""Tables of the bias of an estimator in the arena."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from harness.common.names import estimand_name, notion_name
from harness.common.wording import DASH, format_signed, format_whole_percent
from harness.evaluation import arena
from harness.evaluation.arena.rules import BOUND_KINDS

OPACITY = 0.45  # opacity of the strongest colour; text on it is readable on light and dark pages
OVER, UNDER = "213, 94, 0", "0, 114, 178"
TRUTH_IS_ZERO = 1e-9


def is_main(frame: pd.DataFrame) -> pd.Series:
    """Return the mask of the rows of the main estimands, l1 and l2_squared."""
    return frame["estimand"].isin(arena.MAIN)


def over_share(rows: pd.DataFrame) -> float | None:
    """Return the share of point estimates above the truth, or None without such estimates.

    Settings with the truth 0 are left out, because no estimate of a non-negative quantity can be
    below 0.
    """
    known = rows["truth"].abs().gt(TRUTH_IS_ZERO) & rows["over"].notna()
    part = rows[known & ~rows["kind"].isin(BOUND_KINDS) & rows["reps"].gt(0)]
    return float(np.average(part["over"], weights=part["reps"])) if len(part) else None


def bias_tables(rows: pd.DataFrame | None) -> Iterator[tuple[str, list[list[str]]]]:
    """Yield (title, rows) of the tables of measured bias: main estimands first, then the others.

    Each row is a list of texts: notion and estimand; mean bias and share of estimates above the
    truth where the truth is not 0; mean bias where the truth is 0; coverage of intervals; number
    of settings.
    """
    if rows is None:
        return
    known = rows[rows["truth"].notna()]
    for title, part in (("", known[is_main(known)]), ("Other estimands", known[~is_main(known)])):
        table = []
        for (notion, estimand), of_name in part.groupby(["notion", "estimand"]):
            zero = of_name["truth"].abs().le(TRUTH_IS_ZERO)
            table.append([
                setting_name(notion, estimand), format_signed(of_name.loc[~zero, "bias"].mean()),
                format_whole_percent(over_share(of_name)),
                format_signed(of_name.loc[zero, "bias"].mean()),
                format_whole_percent(of_name["coverage"].mean()), f"{len(of_name):,}",
            ])  # fmt: skip
        if table:
            yield title, table


def setting_name(notion: str, estimand: str) -> str:
    """Return the title of a notion and an estimand on the page of an estimator."""
    return f"{notion_name(notion).capitalize()}, {estimand_name(estimand)}"


def strips(rows: pd.DataFrame | None) -> Iterator[dict[str, Any]]:
    """Yield a table of the bias by family (rows) and n (columns) for each notion.

    The estimand is l1 if it was estimated, else l2_squared, else the first by name.
    """
    if rows is None:
        return
    known = rows[rows["truth"].notna() & rows["bias"].notna()]
    for notion, part in known.groupby("notion", sort=False):
        present = set(part["estimand"])
        estimand = next(e for e in (*arena.MAIN, *sorted(present)) if e in present)
        table = part[part["estimand"].eq(estimand)].pivot_table(
            index="family", columns="n", values="bias", aggfunc="mean"
        )
        largest = table.abs().max(axis=1)
        yield {
            "name": setting_name(notion, estimand), "sizes": list(table.columns),
            "rows": [(family, [_shaded(value, largest.max() or 1.0) for value in row])
                     for family, row in zip(table.index, table.to_numpy())],
            "largest": largest.idxmax(), "has_bounds": part["kind"].isin(BOUND_KINDS).any(),
        }  # fmt: skip


def _shaded(value: float, largest: float) -> tuple[str, str]:
    """Return the text and the CSS style of a bias.

    The background is orange for a positive bias and blue for a negative one. It is stronger for a
    larger bias.
    """
    if math.isnan(value):
        return DASH, ""
    colour = OVER if value > 0 else UNDER
    return format_signed(value), f"background: rgba({colour}, {OPACITY * abs(value) / largest:.2g})"
