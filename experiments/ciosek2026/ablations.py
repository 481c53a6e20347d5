"""What the coverage tests can tell: every bound again from its terms with one left out, on problems made to break it.

A bound adds worst cases, so most terms can be left out on most problems without a miss. A term counts as detected where the bound
without it covers less than 1 - delta - 3 standard errors."""

from harness.evaluation import items, text_tables
from harness.figures import panels

from . import bounds, coverage_plot
from .terms import VARIANTS


def render(records, settings):
    """A coverage_plot.variants_panel per problem, at the largest n."""
    found = coverage_plot.without_terms(records)
    found = found[found["n"].eq(found["n"].max())]
    names = {
        estimator: bounds.name(estimator, settings) for estimator in items.chosen(settings, found)
    }
    variants = [variant for variant in VARIANTS if variant in set(found["variant"])]

    def draw(ax, problem):
        coverage_plot.variants_panel(ax, found[found["problem"].eq(problem)], names, variants)
        ax.set_title(bounds.function(problem, settings))

    shape = {
        "height": 0.75 + 0.25 * len(names),
        "per_row": 2,
        "xlabel": None,
        "sharex": True,
        "sharey": True,
    }
    return panels.each(items.chosen(settings, found, "problem"), draw, **shape)


def table(records, settings):
    """By problem, bound, n and level: coverage with all terms and without each, and the terms that are detected; last, the lowest
    coverage over all problems, by bound."""
    found, rows = bounds.named(coverage_plot.without_terms(records), settings), {}
    for (function, bound, n, level), part in found.groupby(
        ["function", "bound", "n", "level"], sort=False
    ):
        rows[function, bound, f"{n:,}", f"{level:g}"] = coverage_plot.variants_entries(part, part)
    for (bound, level), part in found.groupby(["bound", "level"], sort=False):
        lowest = part.loc[part.groupby("variant", sort=False)["coverage"].idxmin()]
        rows["lowest of all", bound, "–", f"{level:g}"] = coverage_plot.variants_entries(
            lowest, part
        )
    heading = "share of samples whose bound holds the true value, terms left out"
    return text_tables.wide(
        rows,
        ["problem", "bound", "n", "level"],
        heading,
        (*VARIANTS, "smallest that passes", "detected"),
    )


def reproduced(records, settings):
    """Rows '<problem id>, n = <n>, level <level>', columns '<estimator id>, <variant>': coverage. The transfer alone also at
    level 0.5."""
    of_it = (
        ["problem", "estimator", "variant"],
        "{problem}, n = {n}, level {level:g}",
        "{estimator}, {variant}",
    )
    shares = coverage_plot.shares(
        coverage_plot.without_terms(records), *of_it, settings.reasons.get("prototype")
    )
    half = coverage_plot.shares(coverage_plot.without_terms(records, 0.5), *of_it)
    return items.answers(items.together(shares, half), settings)
