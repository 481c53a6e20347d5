"""Table 2's protocol on networks that were trained again on CIFAR-10.

`calharness data make cifar10_networks` trains them. A number is judged within the spread of the
seeds, and only if at least two networks were trained for as many epochs as the paper's. It is never
judged by its digits alone, because the networks are not the paper's.
"""

import re

import numpy as np

from harness.evaluation import items

from . import curves, networks, table2

summary, render, table = curves.summary, table2.render, table2.table
PAPER_EPOCHS = 250
EPOCHS = re.compile(r"_epochs(\d+)_seed")


def reproduced(records, settings):
    """Return the means over seeds, and why they are not judged, if there is a reason."""
    frame = table2.measured(records, settings)
    frame = frame[frame["estimator"].eq(table2.PUBLISHED) & frame["method"].ne("relabelled")]
    ours = items.together(
        items.numbers(frame, "{network}, {method}", "{metric}"),
        items.numbers(
            frame.dropna(subset="change"),
            "{network}, {method}",
            "{metric} change",
            "change",
            np.nan,
        ),
    )
    ours["why"] = unjudged(records["problem"])
    missing = "it was not trained here"
    return items.answers(ours, settings, items.first_reason(records) or missing)


def unjudged(problems):
    """Return why the numbers of networks are not judged, None if they are.

    Examples
    --------
    >>> unjudged(["trained/preresnet20_epochs250_seed5", "trained/preresnet20_epochs250_seed10"])
    >>> unjudged(["trained/preresnet20_epochs250_seed5"])
    'one network was trained, so the spread of the seeds is not known'
    """
    base = {networks.RECALIBRATED.fullmatch(name).group(0).split("/")[1] for name in problems}
    epochs = {int(match.group(1)) for name in base if (match := EPOCHS.search(name))}
    if len(base) < 2:
        reason = "one network was trained, so the spread of the seeds is not known"
        if epochs - {PAPER_EPOCHS}:
            reason += f", for {min(epochs)} epochs instead of {PAPER_EPOCHS}"
        return reason
    if epochs != {PAPER_EPOCHS}:
        return f"the networks were trained for {min(epochs)} epochs instead of {PAPER_EPOCHS}"
    return None
