"""Bounds of statistical tests, from the Monte Carlo error of what they compare."""

import math

import numpy as np


def standard_error(values):
    """Return the standard error of the mean of independent values."""
    return np.std(values, ddof=1) / math.sqrt(len(values))


def near(values, truth, bias=0.0, errors=4.0):
    """Return True if the mean is within `bias` of the truth, plus so many standard errors."""
    return abs(np.mean(values) - truth) <= bias + errors * standard_error(values)


def least_share(level, count, errors=3.0):
    """Return the smallest share of `count` hits that agrees with `level`: so many errors below."""
    return level - errors * math.sqrt(level * (1.0 - level) / count)


def covers(hits, level, errors=3.0):
    """Return True if the share of hits is at least `level`, less so many standard errors."""
    return np.mean(hits) >= least_share(level, len(hits), errors)
