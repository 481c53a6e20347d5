"""Selection, order and labels of the estimates that figures and tables show."""

from __future__ import annotations

import pandas as pd

from harness.configure.settings import Settings, as_list
from harness.records.schema import has_number

# Heading for repeated runs on the same rows of a file, which are not independent samples.
OWN_RANDOMNESS = "spread over the estimator's own randomness"


def label(settings: Settings, group: str, name: str) -> str:
    """Return the label of a problem or estimator in the settings, or its id if it has no label."""
    return str(settings.labels.texts(group).get(name, name))


def shown_estimands(records: pd.DataFrame, settings: Settings) -> list[str]:
    """Return the estimands that the wide table shows.

    These are the estimands of `settings.estimand` that have a number. If `settings.estimand` is
    null, they are the estimands of the figure.
    """
    estimated = set(records.loc[has_number(records), "estimand"].unique())
    chosen = list(dict.fromkeys(map(str, as_list(settings.estimand))))
    shown = [name for name in chosen if name in estimated]
    return shown or chosen[:1] or _estimands_of_figure(records, settings)


def figure_estimands(records: pd.DataFrame, settings: Settings) -> list[str]:
    """Return the estimands that the figure shows.

    These are the estimands of `settings.figure.estimand` that have a number. If this setting is
    null, they are the estimands of the wide table.
    """
    wanted, chosen = as_list(settings.figure.estimand), list(map(str, as_list(settings.estimand)))
    if not wanted or (chosen and not set(wanted) & set(chosen)):
        return shown_estimands(records, settings)
    return _estimands_of_figure(records, settings)


def _estimands_of_figure(records: pd.DataFrame, settings: Settings) -> list[str]:
    estimated = records.loc[has_number(records), "estimand"]
    wanted = list(map(str, as_list(settings.figure.estimand))) or ["l1"]
    present = [name for name in wanted if estimated.eq(name).any()]
    most_frequent = list(estimated.value_counts().index[:1])
    return present or most_frequent or wanted[:1]


def estimators(records: pd.DataFrame, settings: Settings) -> list[str]:
    """Return the ids of a table's estimators: configured ones first, then others of the records.

    In a sweep the records name estimators with their parameter values. Configured ids that do not
    occur in the records are then left out.
    """
    seen = list(records["estimator"].unique())
    others = [name for name in seen if name not in settings.estimator]
    return [name for name in settings.estimator if name in seen or not others] + others


def has_bounds(table: pd.DataFrame, settings: Settings) -> pd.Series:
    """Return the mask of the point estimates in `table` whose bounds are drawn as bars.

    A lower bound of 0 carries no information and is not drawn. If the run reproduces a figure of a
    paper, no bounds are drawn and the mask is False everywhere.
    """
    bounded = table["low"].gt(0) | table["high"].notna()
    return table["kind"].eq("point") & bounded & (not settings.item)


def has_interval(table: pd.DataFrame, settings: Settings) -> pd.Series:
    """Return the mask of the rows of `has_bounds` with two ends: confidence intervals.

    The other rows of `has_bounds` have one end, a lower or an upper bound.
    """
    return has_bounds(table, settings) & table["low"].notna() & table["high"].notna()
