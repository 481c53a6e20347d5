"""What the coverage tests can tell: every bound again from its terms with one left out, on problems made to break it.

A bound adds worst cases, so most terms can be left out on most problems without a miss. A term counts as detected where the bound
without it covers less than 1 - delta - 3 standard errors."""

from experiments.ciosek2026 import bounds
from harness.estimators.certified.base import ALONE, EMPIRICAL, FULL, VARIANTS
from harness.report import coverage_plot, items, panels


def render(records, config):
    """A coverage_plot.variants_panel per problem, at the largest n."""
    found = coverage_plot.without_terms(records)
    found = found[found["n"].eq(found["n"].max())]
    names = {estimator: bounds.name(estimator, config) for estimator in items.chosen(config, found)}
    variants = [variant for variant in VARIANTS if variant in set(found["variant"])]

    def draw(ax, problem):
        coverage_plot.variants_panel(ax, found[found["problem"].eq(problem)], names, variants)
        ax.set_title(bounds.function(problem, config))

    shape = {"height": 0.55 + 0.25 * len(names), "per_row": 2, "xlabel": "coverage", "sharex": True, "sharey": True}
    return panels.each(items.chosen(config, found, "problem"), draw, **shape)


def table(records, config):
    """By problem, bound, n and level: coverage with all terms and without each, and the terms that are detected; last, the lowest
    coverage over all problems, by bound."""
    found, rows = bounds.named(coverage_plot.without_terms(records), config), {}
    for (function, bound, n, level), part in found.groupby(["function", "bound", "n", "level"], sort=False):
        rows[function, bound, f"{n:,}", f"{level:g}"] = _row(part, part)
    for (bound, level), part in found.groupby(["bound", "level"], sort=False):
        lowest = part.loc[part.groupby("variant", sort=False)["coverage"].idxmin()]
        rows["lowest of all", bound, "–", f"{level:g}"] = _row(lowest, part)
    heading = "share of samples whose bound holds the true value, terms left out"
    return items.wide(rows, ["problem", "bound", "n", "level"], heading, (*VARIANTS, "smallest that passes", "detected"))


def _row(part, judged):
    detected = judged.pivot(index=["problem", "n"], columns="variant", values="detected").reindex(columns=[*VARIANTS])
    seen = detected.eq(True).any()
    names = [v.removeprefix("without ") for v in VARIANTS if seen[v] and v.startswith("without ")]
    if (detected[EMPIRICAL].eq(True) & detected[ALONE].eq(False)).any():
        names.append("transfer (where alone)")
    row = {r.variant: f"{r.coverage:.4f}" for r in part.itertuples()} | {"smallest that passes": f"{part['least'].min():.4f}"}
    return row | {"detected": "the bound itself fails" if seen[FULL] else ", ".join(names) or "none"}


def reproduced(records, config):
    """Rows '<problem id>, n = <n>, level <level>', columns '<estimator id>, <variant>': coverage. The transfer alone also at
    level 0.5."""
    of_it = (["problem", "estimator", "variant"], "{problem}, n = {n}, level {level:g}", "{estimator}, {variant}")
    shares = bounds.shares(coverage_plot.without_terms(records), config, *of_it)
    half = bounds.shares(coverage_plot.without_terms(records, 0.5), {**config, "reasons": {}}, *of_it)
    return items.answers(items.together(shares, half), config)
