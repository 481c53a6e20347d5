"""The protocols of Tables 2 to 4 on networks that were trained again on CIFAR-10.

`calharness data make cifar10_networks` trains them. A number is judged within the spread of the
seeds, and only if at least two networks were trained for as many epochs as the paper's. It is never
judged by its digits alone, because the networks are not the paper's. If a folder has networks of
several schedules, only those of the longest are shown.
"""

import re

from harness.evaluation import items

from . import networks, table2, table4

PAPER_EPOCHS = 250
EPOCHS = re.compile(r"_epochs(\d+)_seed")


def _protocol(settings):
    return table2 if "table2" in settings.compare else table4


def summary(records, settings):
    """Return the numbers of the networks of the longest schedule, in the authors' unit."""
    return table2.summary(longest(records), settings)


def render(records, settings):
    """Draw the picture of the table with the networks of the longest schedule."""
    return _protocol(settings).render(longest(records), settings)


def table(records, settings):
    """Return the table of texts with the networks of the longest schedule."""
    return _protocol(settings).table(longest(records), settings)


def reproduced(records, settings):
    """Return the means over seeds, and why they are not judged, if there is a reason."""
    records = longest(records)
    ours = _protocol(settings).numbers(records, settings)
    ours["why"] = unjudged(records["problem"])
    missing = "it was not trained here"
    return items.answers(ours, settings, items.first_reason(records) or missing)


def longest(records):
    """Return the records of the networks that were trained for the most epochs."""
    epochs = records["problem"].str.extract(EPOCHS, expand=False).astype(float)
    return records[epochs.isna() | epochs.eq(epochs.max())]


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
