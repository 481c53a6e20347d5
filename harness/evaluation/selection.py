"""Selection, order and names of the estimates that figures and tables show."""

from __future__ import annotations

import pandas as pd

from harness.configure.settings import Settings, as_list
from harness.records.schema import has_number

OWN_RANDOMNESS = "spread over the estimator's own randomness"  # runs on the same rows: no samples


def label(settings: Settings, group: str, name: str) -> str:
    """Return the paper's label of a problem or estimator, else its id."""
    return str(settings.labels.texts(group).get(name, name))


def shown_estimands(records: pd.DataFrame, settings: Settings) -> list[str]:
    """Return the estimands of the wide table.

    They are those of the configuration's `estimand` that were estimated, or that of the figure if
    it is null.
    """
    estimated = set(records.loc[has_number(records), "estimand"].unique())
    chosen = list(dict.fromkeys(map(str, as_list(settings.estimand))))
    shown = [name for name in chosen if name in estimated]
    return shown or chosen[:1] or _estimands_of_figure(records, settings)


def figure_estimands(records: pd.DataFrame, settings: Settings) -> list[str]:
    """Return the estimands of the figure.

    They are those of `figure.estimand` that were estimated, or those of the wide table if it is
    null.
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
    """Return the estimators of a table: the configured ones, then others of the records.

    A sweep names its estimators with their values. Then the configured names are left out.
    """
    seen = list(records["estimator"].unique())
    others = [name for name in seen if name not in settings.estimator]
    return [name for name in settings.estimator if name in seen or not others] + others


def has_bounds(table: pd.DataFrame, settings: Settings) -> pd.Series:
    """Return the mask of the points with bounds to draw; a lower bound of 0 says nothing.

    A paper's figure has no such bars.
    """
    bounded = table["low"].gt(0) | table["high"].notna()
    return table["kind"].eq("point") & bounded & (not settings.item)
