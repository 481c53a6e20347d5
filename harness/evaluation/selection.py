"""Which estimates are shown, in which order, and under which names: what figures and tables have in common."""

from __future__ import annotations

from harness.configure.settings import as_list
from harness.records.schema import has_number

OWN_RANDOMNESS = (
    "spread over the estimator's own randomness"  # over runs on the same rows, which are no samples
)


def label(settings, group: str, name: str) -> str:
    """The paper's label of a problem or estimator, else its id."""
    return settings.labels.of(group).get(name, name)


def shown_estimands(records, settings) -> list[str]:
    """The estimands of the wide table: those of the configuration's `estimand` that were estimated; where it is null that of the
    figure."""
    have = set(records.loc[has_number(records), "estimand"].unique())
    chosen = list(dict.fromkeys(str(name) for name in as_list(settings.estimand)))
    return [name for name in chosen if name in have] or chosen[:1] or _of_figure(records, settings)


def figure_estimands(records, settings) -> list[str]:
    """The estimands of the figure: those of `figure.estimand` that were estimated, where it is null those of the wide table."""
    wanted = as_list(settings.figure.estimand)
    chosen = [str(name) for name in as_list(settings.estimand)]
    if not wanted or (chosen and not set(wanted) & set(chosen)):
        return shown_estimands(records, settings)
    return _of_figure(records, settings)


def _of_figure(records, settings):
    have = records.loc[has_number(records), "estimand"]
    wanted = [str(name) for name in as_list(settings.figure.estimand)] or ["l1"]
    return [name for name in wanted if (have == name).any()] or (
        wanted[:1] if len(have) == 0 else [have.value_counts().index[0]]
    )


def estimators(records, settings) -> list[str]:
    """The estimators of a table in their order: those configured, and those of the records that bear another name."""
    seen = list(records["estimator"].unique())
    strange = [
        e for e in seen if e not in settings.estimator
    ]  # those of a sweep are named with their values
    return [e for e in settings.estimator if e in seen or not strange] + strange


def has_bounds(table, settings):
    """Which points have bounds to draw: a lower bound of 0 says nothing. A paper's figure has no such bars."""
    return (
        table["kind"].eq("point")
        & (table["low"].gt(0) | table["high"].notna())
        & (not settings.item)
    )
