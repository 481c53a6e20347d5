"""What the items share: one value per estimator, and why a reported number has none of ours beside it.

CKCE, JKCE (the unbiased SKCE of the same kernel) and ECE (three intervals per class, L1) have an estimand each, so that an
estimator stands for its value.
"""

from harness.evaluation import items, rankings

BESIDES = ("bins", "population")  # estimators of what is drawn beside the metrics


def values(records, settings, *parameters):
    """The records that hold a number, one estimand per estimator, with the labels `model` and `column`, and with these parameters
    of the problems."""
    fine = items.with_number(records)
    found = rankings.one_estimand(fine[~fine["estimator"].isin(BESIDES)], settings)
    found = found.join(items.parameters(found, "problem", *parameters)) if parameters else found
    return items.in_order(items.labelled(found, settings), settings)


def answers(frames, records, settings, whys=None):
    """Our numbers for `compare`; settings.reasons["data"] says why they are of something else. Reported numbers that the frames
    lack are answered by whys[row], else by the reason of a cell without a number."""
    default = items.first_reason(records)
    ours = items.together(*frames).assign(why=settings.reasons.get("data"))
    return items.answers(ours, settings, lambda row, column: (whys or {}).get(row, default))
