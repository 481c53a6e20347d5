"""Page of every estimator: estimands, formula, bias, failures, cost, ranks and source.

The content of such a page is called a card.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import pandas as pd

from harness.common.names import ESTIMANDS, NOTIONS, estimand_name, notion_name
from harness.common.wording import (
    format_count,
    format_interval,
    format_rank,
    format_seconds,
    format_whole_percent,
)
from harness.configure import catalogue
from harness.configure.options import option
from harness.estimators.base import EstimatorSpec
from harness.evaluation import arena
from harness.evaluation.arena.rules import BOUND_KINDS
from harness.pages import docstrings
from harness.pages.arena import data as arena_data
from harness.pages.arena.leaderboard import worst_regret
from harness.pages.arena.overview import arena_page
from harness.pages.costs import Cost, costs, reason
from harness.pages.estimator_bias import bias_tables, is_main, over_share, setting_name, strips
from harness.pages.failures import SIZE, Failure, alt, failures, picture, words
from harness.pages.sources import Files, Sources
from harness.pages.templating import page
from harness.plan.documentation import ObjectDoc, build_object, document_id

LARGEST_N = 5000  # slow estimators of the arena were run up to 1,000


@dataclass(frozen=True)
class Card:
    """Content of the page of an estimator.

    Parameters
    ----------
    name, about, target : str
        Id, description in one sentence, and dotted path of the class.
    parts : list
        The estimator and the components that it consists of, as in `calharness info`.
    spec : EstimatorSpec
        Declared properties of the estimator.
    used : list of str
        Ids of the experiments that use it.
    rows, overall : DataFrame or None
        Its settings in the arena, and its rows of the leaderboards without a filter. None if it is
        not in the arena.
    failures : list
        Settings in which it fails.
    costs : list
        Its measured CPU times.
    """

    name: str
    about: str
    target: str
    parts: list[ObjectDoc]
    spec: EstimatorSpec
    used: list[str]
    rows: pd.DataFrame | None
    overall: pd.DataFrame | None
    failures: list[Failure]
    costs: list[Cost]

    @property
    def best(self) -> dict[str, Any] | None:
        """The estimator's best rank on a leaderboard without a filter, as a dictionary.

        The keys are `rank`, `ranked` (number of ranked estimators) and `place` (notion and
        estimand). None if the estimator has no rank.
        """
        if self.overall is None:
            return None
        rows = self.overall[self.overall["estimand"].isin(arena.MAIN)].dropna(subset=["rank"])
        if not len(rows):
            return None
        row = rows.sort_values("rank").iloc[0]
        place = f"{notion_name(row['notion'])}, {estimand_name(row['estimand'])}"
        return {"rank": row["rank"], "ranked": row["ranked"], "place": place}

    @property
    def over(self) -> float | None:
        """Share of the estimates of l1 and squared errors above the truth, as in `over_share`."""
        return None if self.rows is None else over_share(self.rows[is_main(self.rows)])

    @property
    def largest_n(self) -> int:
        """Largest n at which the arena ran the estimator; 0 if it did not."""
        rows = self.rows
        return 0 if rows is None else int(rows.loc[rows["reps"].gt(0), "n"].max())

    @property
    def cost(self) -> Cost | None:
        """The first of the measured costs that covers n = 1,000, or None."""
        return next((cost for cost in self.costs if cost.at(1000)), None)


def pages(sources: Sources) -> Files:
    """Yield estimators/index.html, a page for every estimator, and pictures of its failures."""
    every = cards(sources.estimators)
    path = "estimators/index.html"
    yield path, page(
        "estimators_index.html.j2", path, "Estimators", tables=True, cards=every,
        description=f"{len(every)} estimators of calibration error with their estimands, bias, "
        "cost and rank, and a page for each.",
        counts=catalogue.counts("estimator"),
    )  # fmt: skip
    for card in every:
        path = f"estimators/{card.name}.html"
        yield path, _page(card, sources, path)
        for failure in card.failures:
            if any(failure.values.values()):
                yield failure.path, picture(failure)


def cards(estimators: tuple[str, ...]) -> list[Card]:
    """Collect the content of the pages of these estimators, with their results in the arena."""
    results = arena_data.read()
    rows = dict(list(results.settings.groupby("estimator"))) if results else {}
    boards = dict(list(results.board.groupby("estimator"))) if results else {}
    used = users("estimator")
    every = []
    for name in estimators:
        instance, node = build_object("estimator", name)
        parts = document_id("estimator", name)
        doc = parts[0].doc.split("\n\n")[0]
        about = catalogue.first_sentence(option("estimator", name).about or doc)
        every.append(Card(
            name, about, node["_target_"], parts, EstimatorSpec.of(instance), used.get(name, []),
            rows.get(name), boards.get(name), failures(name, rows) if name in rows else [],
            costs(name, rows.get(name)),
        ))  # fmt: skip
    return every


def users(group: str) -> dict[str, list[str]]:
    """Return {id of a problem or estimator: ids of the experiments that choose it}.

    `group` is "problem" or "estimator".
    """
    used: dict[str, list[str]] = {}
    for experiment in catalogue.all_ids("experiment"):
        for entry in catalogue.config("experiment", experiment).get("defaults", []):
            for key, chosen in entry.items():
                if key.removeprefix("override ").strip("/") == group:
                    for name in [chosen] if isinstance(chosen, str) else chosen or ():
                        used.setdefault(name, []).append(experiment)
    return used


def _page(card: Card, sources: Sources, path: str) -> str:
    return page(
        "estimator.html.j2", path, card.name, description=card.about, tables=True, card=card,
        docs=[docstrings.sections(part.doc) for part in card.parts],
        strips=list(strips(card.rows)),
        bias=list(bias_tables(card.rows)), ranks=rank_rows(card),
        growth=[growth(cost) for cost in card.costs],
        no_cost=reason(card.name), no_failure=why_no_failure(card), limits=limits(card),
        failures=[(f, words(f), alt(f)) for f in card.failures], fact=fact(card),
        api=reference_link(sources, "estimators", card.name),
        arena=arena_page(sources), size=[int(inches * 96) for inches in SIZE],
    )  # fmt: skip


def limits(card: Card) -> str:
    """Describe the inputs that an estimator refuses, and its largest n in the arena."""
    spec = card.spec
    texts = [
        (spec.max_n, f"n up to {spec.max_n or 0:,}"),
        (spec.max_classes, f"canonical: at most {spec.max_classes or 0:,} classes"),
        (spec.needs_posterior, "an oracle: needs the true posterior, so not for real predictions"),
        (spec.unavailable, f"not available here: {spec.unavailable}"),
        (0 < card.largest_n < LARGEST_N, f"the arena ran it only up to n = {card.largest_n:,}"),
    ]
    return "; ".join(text for applies, text in texts if applies) or "no limits are declared"


def reference_link(sources: Sources, group: str, name: str) -> str | None:
    """Return the link to an id in the API reference, or None if the documentation is not built.

    `group` is "estimators" or "problems".
    """
    path = f"docs/reference/{group}.html"
    return f"{path}#{name}" if (sources.out / path).is_file() else None


def fact(card: Card) -> str:
    """Summarise an estimator's measured ranks, bias and CPU time in one sentence."""
    if card.rows is None:
        return (
            "This estimator is not in the arena, so its error was not measured. Its cost was "
            "measured separately."
        )
    facts = []
    kinds = set(card.rows["kind"])
    names = {"interval": "an interval", "lower": "lower bounds", "upper": "upper bounds"}
    bounds = [names[kind] for kind in BOUND_KINDS if kind in kinds]
    if bounds:
        facts.append(f"gives {' and '.join(bounds)}, which have no rank")
    elif arena.is_bound(card.name):
        facts.append("gives lower bounds in expectation, which have no rank")
    if card.best:
        facts.append("ranks {rank:.0f} of {ranked} at best ({place})".format(**card.best))
    elif card.overall is not None and is_main(card.overall).any():
        share = format_whole_percent(card.overall.loc[is_main(card.overall), "share"].max())
        facts.append(f"has no rank over all settings, as it gave an answer in {share} of them")
    if card.over is not None:
        side = "neither mostly too large nor too small"
        if abs(card.over - 0.5) > 0.15:
            side = f"mostly too {'large' if card.over > 0.5 else 'small'}"
        share = format_whole_percent(card.over)
        facts.append(f"its estimates are {side} ({share} above the truth, where it is not 0)")
    if card.cost:
        seconds = format_seconds(card.cost.at(1000))
        notion = notion_name(card.cost.notion)
        facts.append(f"an estimate at n = 1,000 takes {seconds} of CPU time ({notion})")
    text = "; ".join(facts) or "in the arena it estimates a quantity that no other estimator does"
    return f"{text[0].upper()}{text[1:]}."


def rank_rows(card: Card) -> list[dict[str, Any]]:
    """Return the estimator's rows of the leaderboards without a filter, formatted for the page."""
    order, notions = list(ESTIMANDS), list(NOTIONS)
    rows = card.overall.to_dict("records") if card.overall is not None else []
    rows.sort(
        key=lambda row: (
            notions.index(row["notion"]),
            order.index(row["estimand"]) if row["estimand"] in order else len(order),
        )
    )
    return [
        {
            **row, "name": setting_name(row["notion"], row["estimand"]),
            "place": format_rank(row["rank"], row["rank_low"], row["rank_high"]),
            "interval": format_interval(row["regret"], row["low"], row["high"]),
            "worst_interval": worst_regret(row),
            "lost": int(row["undefined"] + row["failed"] + row["skipped"]),
        }
        for row in rows
    ]  # fmt: skip


def growth(cost: Cost) -> str:
    """Describe in words how a measured CPU time grew with n."""
    sentences = []
    power = cost.exponent
    if power is not None:
        problems = format_count(power.problems, "problem")
        interval, basis = "", f"{problems}, no interval"
        if math.isfinite(power.low):
            interval, basis = f" [{power.low:.2f}, {power.high:.2f}]", f"95 % over {problems}"
        sentences.append(
            f"CPU time grew like n^{power.value:.2f}{interval} from n = {power.sizes[0]:,} to "
            f"{power.sizes[-1]:,} ({basis})."
        )
    if not cost.at(LARGEST_N):
        sentences.append("It was not measured at n = 5,000, where the exponent may be larger.")
    return " ".join(sentences)


def why_no_failure(card: Card) -> str:
    """Explain why the page of an estimator shows no failure."""
    if card.rows is None:
        return (
            "This estimator is not in the arena, where estimates are compared with true values; "
            "its experiments show it on the problems of their papers."
        )
    if not card.rows["truth"].notna().any():
        return (
            "This estimator estimates a quantity whose true value is unknown on the arena's "
            "problems, so its error cannot be measured."
        )
    return (
        "In no family is its RMSE more than 25 % above that of the best published estimator (or, "
        "for a bound, its coverage below 90 %)."
    )
