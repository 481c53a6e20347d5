"""The section of the arena's page on pairs of models."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from harness.common.wording import NOTIONS, estimand_name, format_number, format_whole_percent
from harness.evaluation import arena, arena_pairs


def section(models: pd.DataFrame | None, cards: Mapping[str, Path]) -> dict[str, Any] | None:
    """What the section shows; None where no pair was run.

    Parameters
    ----------
    models : DataFrame or None
        Of `arena_pairs.trials`.
    cards : mapping
        {problem: path of its card}.

    Returns
    -------
    dict
        orders: per estimand whose truths order, columns, rows (estimator, cells), margins and error, the median half width of
        the intervals; pairs: every pair with its difference and links to both cards; reps: the number of replications.
    """
    if models is None or not len(models):
        return None
    found = arena_pairs.shares(models)
    orders = [
        _order(found[found["by"].eq(by)], by) for by in arena.MAIN if found["by"].eq(by).any()
    ]
    listed = models[models["by"].eq(arena.MAIN[0])].drop_duplicates(
        ["notion", "k", "better", "worse"]
    )
    pairs = [
        {
            "notion": NOTIONS[row.notion],
            "k": row.k,
            "margin": format_number(row.margin, 2),
            "half": row.half,
            "models": [(name, _link(cards.get(name))) for name in (row.better, row.worse)],
        }
        for row in listed.sort_values(["notion", "k", "margin"]).itertuples()
    ]
    reps = max(int((~np.isnan(of_rep)).sum()) for of_rep in models["of_rep"])
    return {"orders": orders, "pairs": pairs, "reps": reps}


def _order(part: pd.DataFrame, by: str) -> dict[str, Any]:
    table = arena_pairs.wide(part, by)
    margins = []
    for (notion, k, half), of in part.groupby(["notion", "k", "half"], sort=False):
        one = of.iloc[0]
        between = (
            f"{format_number(one['least_margin'], 2)} to {format_number(one['largest_margin'], 2)}"
        )
        margins.append(f"{NOTIONS[notion]}, k = {k}, {half}: {between} ({one['pairs']} pairs)")
    return {
        "estimand": estimand_name(by),
        "columns": [
            f"{NOTIONS[notion]}, k = {k}, n = {n:,}, {half}" for notion, k, n, half in table.columns
        ],
        "rows": [
            {"estimator": name, "cells": [format_whole_percent(share) for share in shares]}
            for name, shares in zip(table.index, table.to_numpy())
        ],
        "margins": margins,
        "error": format_whole_percent((part["high"] - part["low"]).median() / 2.0),
    }


def _link(path: Path | None) -> str | None:
    return f"{path.parent.name}/{path.name}" if path else None
