"""What the items share: one value per estimator, shares of trials, and why a reported number has none of ours beside it.

CKCE, JKCE (the unbiased SKCE of the same kernel) and ECE (three intervals per class, L1) have an estimand each, so that an
estimator stands for its value.
"""

from harness.report import items, rankings
from harness.report.shown import label

Z95 = 1.959963984540054
BESIDES = ("bins", "population")  # estimators of what is drawn beside the metrics


def values(records, config, *parameters):
    """The records that hold a number, one estimand per estimator, with the labels `model` and `column`, and with these parameters
    of the problems."""
    fine = items.with_number(records)
    found = rankings.one_estimand(fine[~fine["estimator"].isin(BESIDES)], config)
    found = found.join(items.parameters(found, "problem", *parameters)) if parameters else found
    return items.in_order(items.labelled(found, config), config)


def population(records, **named):
    """The population values, one row per problem and column, with the problem's parameters {name here: name there}."""
    held = items.with_number(records[records["estimator"].eq("population")])
    held = held[held["n"].eq(held["n"].max())].drop_duplicates("problem")
    found = items.parameters(held, "problem", *named.values()).set_axis(list(named), axis=1).assign(key=held["key"])
    known = found.join(items.diagnostics(held)).melt([*named, "key"], var_name="column")
    return known.sort_values(next(iter(named)), kind="stable", ignore_index=True)


def shares(scored, records, config):
    """rankings.score with `column`, the `keys` of the trials' cells, and `error`: the half width of the Wilson interval in
    standard errors, never 0."""
    cells = records.drop_duplicates("key").groupby(["notion", "n", "estimator"])["key"].agg(tuple)
    keys = [cells[r.notion, r.n, r.estimator] for r in scored.itertuples()]
    columns = [label(config, "estimator", name) for name in scored["estimator"]]
    return scored.assign(column=columns, keys=keys, error=(scored["high"] - scored["low"]) / (2.0 * Z95))


def answers(frames, records, config, whys=None):
    """Our numbers for `compare`; config["reasons"]["data"] says why they are of something else. Reported numbers that the frames
    lack are answered by whys[row], else by the reason of a cell without a number."""
    default = items.first_reason(records)
    ours = items.together(*frames).assign(why=config["reasons"].get("data"))
    return items.answers(ours, config, lambda row, column: (whys or {}).get(row, default))


def line(ax, frame, column, x, value="value", **how):
    """The frame's rows of one column as a line over its column `x`."""
    mine = frame[frame["column"].eq(column)]
    ax.plot(mine[x], mine[value], **how)
