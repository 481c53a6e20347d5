"""How far the verdicts on `best` depend on the choice of its rivals and on the correction."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
import pandas as pd

from harness.evaluation.arena.better_or_worse import holm, log_ratios, statement, verdicts
from harness.evaluation.arena.recommendations import BOARD, rivals

BY_CLASS = "classwise"  # a notion that `best` was not trained for, counted apart
AS_SHOWN, ON_TEST, ONE_CORRECTION = "as shown", "rivals of the test families", "one correction"
COLUMNS = ["notions", "rule", "lines", "better", "worse", "smallest", "largest"]


def compared_lines(
    settings: pd.DataFrame, development: Collection[str], own: str, chosen_on: Collection[str]
) -> pd.DataFrame:
    """Compare `own` on the test families with rivals that are chosen on the families `chosen_on`.

    Returns
    -------
    DataFrame
        One row per notion, estimand and n, with the columns rival, ratio and p_value of
        `arena.recommendations`. Lines without a rival are left out.
    """
    chosen = rivals(settings, chosen_on).set_index(BOARD)["estimator"].to_dict()
    test = settings[~settings["family"].isin(development)]
    rows: list[dict[str, Any]] = []
    for key, part in test.groupby(BOARD, sort=True):
        if key not in chosen:
            continue
        logs = log_ratios(part, own, chosen[key])
        if len(logs):
            result = statement(logs, own, chosen[key])
            rows.append({
                **dict(zip(BOARD, key)), "rival": chosen[key], "ratio": result.ratio,
                "p_value": result.p_value,
            })  # fmt: skip
    return pd.DataFrame(rows, columns=[*BOARD, "rival", "ratio", "p_value"])


def sensitivity(
    settings: pd.DataFrame, development: Collection[str], own: str = "best"
) -> pd.DataFrame:
    """Count in how many lines `own` is better or worse than its rivals, under three rules.

    A line is a notion, an estimand and an n. The rules are:

    as shown
        That of `arena.recommendations`: rivals are chosen on the development families, and Holm's
        correction is for the lines of one notion and estimand.
    rivals of the test families
        Rivals are chosen on the families on which they are compared. The rival with the smallest
        mean regret there is partly lucky, so this rule is too hard on `own`.
    one correction
        Holm's correction is for all lines together.

    Parameters
    ----------
    settings : DataFrame
        Rows of `arena.settings` for the main estimands.
    development : collection of str
        Names of the development families.
    own : str
        Id of our estimator.

    Returns
    -------
    DataFrame
        One row per group of notions ("classwise" is one, all others together are the other) and
        rule:

        notions
            Ids of the notions of the group, with spaces.
        lines, better, worse
            Number of lines, and of those with an established difference.
        smallest, largest
            Over notions and estimands: the smallest and the largest geometric mean over n of the
            ratio of the RMSEs.
    """
    test = set(settings["family"]) - set(development)
    by_class = settings["notion"].eq(BY_CLASS)
    rows = []
    for part in (settings[~by_class], settings[by_class]):
        shown = compared_lines(part, development, own, development)
        on_test = compared_lines(part, development, own, test)
        corrected = {
            AS_SHOWN: (shown, _holm_by_board(shown)),
            ON_TEST: (on_test, _holm_by_board(on_test)),
            ONE_CORRECTION: (shown, holm(shown["p_value"])),
        }
        for rule, (lines, p_values) in corrected.items():
            if len(lines):
                notions = " ".join(sorted(lines["notion"].unique()))
                rows.append({"notions": notions, "rule": rule, **_summary(lines, p_values)})
    return pd.DataFrame(rows, columns=COLUMNS)


def _holm_by_board(lines: pd.DataFrame) -> Any:
    return lines.groupby(BOARD[:2])["p_value"].transform(holm)


def _summary(lines: pd.DataFrame, p_values: Any) -> dict[str, Any]:
    found = verdicts(lines["ratio"], p_values)
    logs = np.log(lines["ratio"]).groupby([lines[name] for name in BOARD[:2]]).mean()
    return {
        "lines": len(lines), "better": found.count("better"), "worse": found.count("worse"),
        "smallest": float(np.exp(logs.min())), "largest": float(np.exp(logs.max())),
    }  # fmt: skip
