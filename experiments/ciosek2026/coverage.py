"""How often each certified bound or interval holds the true value. Nearly all cover always, as they add worst cases of several
terms: what this can and cannot tell is in `ablations`."""

from harness.evaluation import items, text_tables
from harness.records.schema import has_number

from . import bounds, coverage_plot, rates


def measured(records):
    """rates.coverage of the L1 error."""
    return rates.coverage(records[records["estimand"].eq("l1") | ~has_number(records)])


def render(records, settings):
    """coverage_plot.figure of every bound."""
    found = measured(records)
    names = {
        estimator: bounds.name(estimator, settings) for estimator in items.chosen(settings, found)
    }
    return coverage_plot.figure(found, names, items.chosen(settings, found, "problem"))


def table(records, settings):
    """coverage_plot.entries by problem, bound and level."""
    found = bounds.named(measured(records), settings)
    parts = found.groupby(["function", "bound", found["level"].map("{:g}".format)], sort=False)
    rows = {key: coverage_plot.entries(part) for key, part in parts}
    heading = "share of samples whose bound holds the true value"
    return text_tables.wide(rows, ["problem", "bound", "level"], heading, rates.size_columns(found))


def reproduced(records, settings):
    """Coverage (rows '<problem id>, n = <n>', columns '<estimator id>, coverage') and, in columns '<estimator id>', the mean
    bounds, of the level of this run."""
    of_it = (["problem", "estimator"], "{problem}, n = {n}", "{estimator}, coverage")
    others = settings.reasons.get("prototype")
    shares = coverage_plot.shares(measured(records), *of_it, others)
    return items.answers(
        items.together(shares, rates.numbers_by_id(records, settings, "l1")), settings, others
    )
