"""A template of a paper's item: experiments/<paper>/fig1.py.

It draws and compares. The numbers come from the records alone.
"""

from harness.evaluation import items
from harness.figures.plots import convergence


def render(records, settings):
    """The figure: estimates by the number of samples."""
    return convergence(records, settings)


def reproduced(records, settings):
    """Our numbers beside those of reported.csv: item, row, column, value, error, reps."""
    return items.convergence_numbers(records, settings, "l1")
