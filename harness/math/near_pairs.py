"""Sums of Dirichlet kernels at several bandwidths, of which the small ones see few pairs."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array
from scipy.special import gammaln, xlogy

NEGLIGIBLE = 40.0  # beside the logarithm of n: all that is left out is below exp(-40) of the largest kernel
FEW = 0.15  # share of the pairs from which on a product of matrices is the cheaper way to all of them
LOOKED_AT = 64  # points by which that share is judged
BLOCK_ENTRIES = 1 << 17  # pairs held at a time before the far ones are dropped


def log_normaliser(centres, b):
    """log Gamma(sum_j (t_j / b + 1)) - sum_j log Gamma(t_j / b + 1), shape (n,), for centres (n, k)."""
    a = centres / b + 1.0
    return gammaln(a.sum(axis=1)) - gammaln(a).sum(axis=1)


def sums(points, centres, hits, bandwidths, leave_out, all_pairs):
    """As `kernels.dirichlet_sums`, by all_pairs for bandwidths to which most pairs matter.

        log k_b(z; t) = -D(t, z) / b + g_b(t),   D(t, z) = sum_j t_j log(t_j / z_j),   g_b(t) = sum_j t_j log t_j / b + normaliser

    so that log k_b is below the largest of a point by more than x wherever D > min D + b (x + max g_b - min g_b). Radii that do
    not grow as b falls make the pairs of a bandwidth a part of those of every larger one: O(pairs) beside the first look, which
    is O(m n k)."""
    if len(bandwidths) < 2:  # one does not pay for the look
        return all_pairs(points, centres, hits, bandwidths, leave_out)
    order = sorted(range(len(bandwidths)), key=lambda i: -bandwidths[i])
    entropy = xlogy(centres, centres).sum(axis=1)
    constants = [log_normaliser(centres, b) for b in bandwidths]
    g = [entropy / b + c for b, c in zip(bandwidths, constants)]
    radius = np.array([bandwidths[i] * (NEGLIGIBLE + np.log(len(centres)) + np.ptp(g[i])) for i in order])
    radius = np.maximum.accumulate(radius[::-1])[::-1]
    some = np.linspace(0, len(points) - 1, min(LOOKED_AT, len(points))).astype(int)
    augmented = np.column_stack([centres, entropy]).T.copy()
    d = _divergences(points[some], augmented, None if leave_out is None else leave_out[some])
    d -= d.min(axis=1, keepdims=True)
    near = [bool((d <= r).mean() <= FEW) for r in radius]
    first = near.index(True) if any(near) else len(order)
    if len(order) - first < 2:
        return all_pairs(points, centres, hits, bandwidths, leave_out, constants=constants)
    ratios, density = np.empty((len(bandwidths), len(points), hits.shape[1])), np.empty((len(bandwidths), len(points)))
    if first:
        dense = order[:first]
        some = [bandwidths[i] for i in dense]
        found = all_pairs(points, centres, hits, some, leave_out, constants=[constants[i] for i in dense])
        ratios[dense], density[dense] = found
    others = np.log(len(centres) - (leave_out is not None))
    weights = np.column_stack([np.ones(len(centres)), hits])
    step = max(1, BLOCK_ENTRIES // len(centres))
    block = np.empty((step, len(centres)))
    for start in range(0, len(points), step):
        rows = slice(start, min(start + step, len(points)))
        d = _divergences(points[rows], augmented, None if leave_out is None else leave_out[rows], block[: rows.stop - start])
        least = d.min(axis=1)
        flat = np.flatnonzero(d <= (least + radius[first])[:, None])
        row, column = np.divmod(flat, len(centres))
        d = d.ravel()[flat]
        for i, r in zip(order[first:], radius[first:]):
            keep = np.flatnonzero(d <= (least + r)[row])
            if len(keep) < len(d):
                row, column, d = row[keep], column[keep], d[keep]
            exponent = g[i][column]
            exponent -= d * (1.0 / bandwidths[i])
            starts = np.searchsorted(row, np.arange(len(least) + 1))
            largest = np.maximum.reduceat(exponent, starts[:-1])
            exponent -= largest[row]
            found = csr_array((np.exp(exponent, out=exponent), column, starts), shape=(len(least), len(centres))) @ weights
            density[i, rows] = np.log(found[:, 0]) + largest - others
            ratios[i, rows] = found[:, 1:] / found[:, :1]
    return ratios, density


def _divergences(points, augmented, leave_out, out=None):
    """D (m, n); augmented: (k + 1, n), the centres and their sums t log t, transposed. Infinite where a centre is left out."""
    d = np.matmul(np.column_stack([-np.log(points), np.ones(len(points))]), augmented, out=out)
    if leave_out is not None:
        d[np.arange(len(d)), leave_out] = np.inf
    return d
