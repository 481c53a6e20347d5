"""Table 2 on all networks at hand that resemble the paper's (NOTES.md has the rule).

The experiment computes the networks that fit by data, loss, architecture and accuracy. Of these,
the pages keep the networks that are as miscalibrated as the paper's. Their CE_KL without
recalibration is at least the smallest of Table 2.
"""

import pandas as pd

from harness.evaluation import items

from . import curves, networks, table2

summary = curves.summary


def least_printed(settings):
    """Return {data set: smallest CE_KL x 100 of Table 2 without recalibration}."""
    paper = networks.printed(settings, "table2")
    paper = paper[paper["column"].eq("CE_KL") & paper["method"].eq("none")]
    return paper.groupby(paper["network"].str.split(", ").str[0])["value"].min().to_dict()


def fitting(records, settings):
    """Return the records of the networks that are as miscalibrated as the paper's."""
    fine = networks.recalibrated(
        items.values(
            records[records["estimator"].eq(table2.PUBLISHED)], settings, ["kl"], "classwise"
        ),
        settings,
    )
    before = fine[fine["method"].eq("none")]
    least = before["network"].str.split(", ").str[0].map(least_printed(settings))
    fits = set(before.loc[100 * before["value"].astype(float) >= least, "network"])
    if not len(records):
        return records
    named = networks.recalibrated(records[["problem"]].drop_duplicates(), settings)
    chosen = named.loc[named["network"].isin(fits), "problem"]
    return records[records["problem"].isin(chosen)]


def render(records, settings):
    """Draw the networks that fit, with a mark per method; open marks are the printed numbers."""
    return table2.render(fitting(records, settings), settings)


def table(records, settings):
    """Return the table of the networks that fit, and the printed numbers."""
    return table2.table(fitting(records, settings), settings)


def differences(records, settings, estimand, worse, good):
    """Return the error after `worse` minus that after `good`, a row per network.

    `worse` and `good` are methods of recalibration, as published. The difference is in % of the
    error before recalibration, in the authors' unit. The columns are network, difference and keys.
    """
    fine = curves.in_two_columns(items.with_number(fitting(records, settings), estimand))
    fine = networks.recalibrated(fine[fine["estimator"].eq(table2.PUBLISHED)], settings)
    fine = fine[fine["variant"].ne(networks.OURS)]
    wide = fine.pivot_table(index="network", columns="method", values="value")
    wide = wide.reindex(columns=["none", worse, good]).astype(float)
    difference = 100.0 * (wide[worse] - wide[good]) / wide["none"]
    keys = fine.groupby("network")["key"].agg(tuple)
    return pd.DataFrame({"difference": difference, "keys": keys}).reset_index()
