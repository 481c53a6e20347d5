"""Compute sums of Dirichlet kernels for several bandwidths with few exponentials.

Bandwidths that are halves of each other share their exponentials. Small bandwidths use only pairs
of a point and a centre that are near each other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy.special import gammaln, xlogy

# Terms below exp(-30) / n of the largest are left out, n being the number of centres. All of them
# together are smaller than exp(-30) times the largest term.
NEGLIGIBLE = 30.0
MAX_PAIR_SHARE = 0.12  # near pairs are summed one by one if their share is at most this
MAX_CENTRE_SHARE = (
    0.85  # far centres of a block are dropped if the share of near ones is below this
)
BLOCK_ENTRIES = 1 << 17  # number of pairs in memory at a time: 1 MB fits into the cache
MIN_KERNELS = 800_000  # with fewer kernel evaluations, all pairs are faster
MAX_PENDING = 1 << 17  # number of near pairs that are summed at a time
SAFE_RANGE = 600.0  # log weights that differ by at most this much never underflow
LOG_NEGLIGIBLE = -700.0  # smaller exponentials are denormal, ten times slower to compute
LONG_RUN = 128  # from this many centres per class on, a product per class is faster than reduceat
MAX_CHAIN = 4  # most bandwidths in a chain: each squaring doubles the rounding error


def log_normaliser(centres: np.ndarray, b: float) -> np.ndarray:
    """Return the log normalising constants (n,) of Dirichlet kernels with centres (n, k).

    With bandwidth b, the constant of a centre t is

        log Gamma(sum_j (t_j / b + 1)) - sum_j log Gamma(t_j / b + 1)
    """
    a = centres / b + 1.0
    return gammaln(a.sum(axis=1)) - gammaln(a).sum(axis=1)


def labels(hits: np.ndarray) -> np.ndarray | None:
    """Return the column of the 1 in each row of `hits` (n, c), or None if a row is not one-hot."""
    if not (
        hits.shape[1] and ((hits == 0.0) | (hits == 1.0)).all() and (hits.sum(axis=1) == 1.0).all()
    ):
        return None
    return hits.argmax(axis=1)


def sums(
    points: np.ndarray,
    centres: np.ndarray,
    hits: np.ndarray,
    bandwidths: Sequence[float],
    leave_out: np.ndarray | None,
    all_pairs: Callable[..., tuple[np.ndarray, np.ndarray]],
    constants: Sequence[np.ndarray] | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return kernel regressions and log densities at all points, for several bandwidths.

    Arguments and results are those of `kernels.dirichlet_sums`. The argument `all_pairs` is a
    function that computes the same without leaving out pairs. It is called for a single bandwidth,
    for few points, and for bandwidths at which the weights g_b (see below) differ too much.

    Notes
    -----
    With centre t, point z and bandwidth b, the kernel splits into a distance D and a weight g_b:

        log k_b(z; t) = -D(t, z) / b + g_b(t),   D(t, z) = sum_j t_j log(t_j / z_j),
        g_b(t) = sum_j t_j log t_j / b + log_normaliser(t, b)

    exp(-D / (b / 2)) is the square of exp(-D / b), so bandwidths that are halves of each other
    share an exponential. Far pairs are left out. Let s be the nearest centre of z, and x > 0. Then
    log k_b(z; t) is more than x below log k_b(z; s) if

        D(t, z) > D(s, z) + b (x + max g_b - g_b(s)).

    The right-hand side is the radius of the point z for bandwidth b. Radii are adjusted so that a
    smaller bandwidth never has a larger radius. The near pairs of a bandwidth are then a subset of
    the near pairs of every larger bandwidth.

    Points are treated in blocks of neighbours. A centre that is far from all points of a block is
    dropped. When few near pairs remain in a block, they are summed one by one.

    Cost: O(m n k) for the distances of m points and n centres, then O(near pairs).
    """
    n = len(centres)
    constants = [log_normaliser(centres, b) for b in bandwidths] if constants is None else constants
    if len(bandwidths) < 2 or len(points) * n * len(bandwidths) < MIN_KERNELS:
        return all_pairs(points, centres, hits, bandwidths, leave_out, constants=constants)
    entropy = xlogy(centres, centres).sum(axis=1)
    g = np.array([entropy / b + c for b, c in zip(bandwidths, constants)])
    lack = g.max(axis=1, keepdims=True) - g
    safe = lack.max(axis=1) <= SAFE_RANGE
    order = [i for i in sorted(range(len(bandwidths)), key=lambda i: -bandwidths[i]) if safe[i]]
    if not order:
        return all_pairs(points, centres, hits, bandwidths, leave_out, constants=constants)
    m, c = len(points), hits.shape[1]
    ratios, density = np.empty((len(bandwidths), m, c)), np.empty((len(bandwidths), m))
    others = np.flatnonzero(~safe).tolist()
    if others:
        some = [bandwidths[i] for i in others]
        ratios[others], density[others] = all_pairs(
            points, centres, hits, some, leave_out, constants=[constants[i] for i in others]
        )
    label = labels(hits)
    if label is not None:
        by_class = np.argsort(label, kind="stable")
        centres, entropy = centres[by_class], entropy[by_class]
        lack, label = lack[:, by_class], label[by_class]
        leave_out = None if leave_out is None else np.argsort(by_class)[leave_out]
        hits = hits[:, :0]
    share = np.exp(-lack)
    weights = list(share)
    if label is None:
        weights = [row[:, None] * np.column_stack([np.ones(n), hits]) for row in share]
    chains = _chains(bandwidths, order)
    b = np.array([bandwidths[i] for i in order])[:, None]
    rank = {i: position for position, i in enumerate(order)}
    lack = lack[order]
    augmented = np.column_stack([centres, entropy]).T.copy()
    step = max(1, min(BLOCK_ENTRIES // n, m))
    kernel_sums = np.zeros((len(bandwidths), m, c if label is not None else c + 1))
    offset, mass = np.empty(m), centres.sum(axis=1).max()
    buffers = [np.empty(step * n) for _ in range(3)]
    # Near pairs (rows, radius, row, column, D) that wait to be summed. Entry i holds the pairs of
    # chain i and all later chains.
    waiting: list[list[tuple[np.ndarray, ...]]] = [[] for _ in chains]
    pending = [0] * len(chains)

    def sum_pairs(first: int) -> None:
        """Sum the near pairs in waiting[first], for each bandwidth of chains[first:]."""
        parts = waiting[first]
        rows = np.concatenate([part[0] for part in parts])
        start = np.cumsum([0, *(len(part[0]) for part in parts)])
        radius = np.concatenate([part[1] for part in parts], axis=1)
        row = np.concatenate([part[2] + s for part, s in zip(parts, start)])
        column = np.concatenate([part[3] for part in parts])
        d = np.concatenate([part[4] for part in parts])
        waiting[first], pending[first] = [], 0
        for i in sorted((i for chain in chains[first:] for i in chain), key=rank.__getitem__):
            keep = np.flatnonzero(d <= radius[rank[i]][row])
            if len(keep) < len(d):
                row, column, d = row[keep], column[keep], d[keep]
            kernel = np.exp(d * (-1.0 / bandwidths[i]))
            kernel *= share[i][column]
            if label is None:
                terms = [kernel, *(kernel * hit[column] for hit in hits.T)]
                totals = np.column_stack([np.bincount(row, term, len(rows)) for term in terms])
            else:
                totals = np.bincount(row * c + label[column], kernel, len(rows) * c).reshape(-1, c)
            kernel_sums[i, rows] = totals

    neighbours = _neighbours(np.sqrt(points), step)
    for begin in range(0, m, step):
        rows = neighbours[begin : begin + step]
        position = np.arange(len(rows))
        log = -np.log(points[rows])
        d = np.matmul(
            np.column_stack([log, np.ones(len(rows))]),
            augmented,
            out=buffers[0][: len(rows) * n].reshape(-1, n),
        )
        if leave_out is not None:
            d[position, leave_out[rows]] = np.inf
        nearest = d.argmin(axis=1)
        offset[rows] = least = d[position, nearest]
        d -= least[:, None]
        most = log.max() * mass + entropy.max() - least.min()  # exceeds every finite d
        closest, column = d.min(axis=0), np.arange(n)
        radius = b * (NEGLIGIBLE + np.log(n) + lack[:, nearest])
        radius = np.maximum.accumulate(radius[::-1])[::-1]
        for number, chain in enumerate(chains):
            r = radius[rank[chain[0]]]
            # Drop the centres beyond the radius. If few pairs remain, sum them one by one.
            if r.min() < most:
                keep = np.flatnonzero(closest <= r.max())
                if len(keep) < MAX_CENTRE_SHARE * len(column):
                    size = len(rows) * len(keep)
                    d = np.take(
                        d, keep, axis=1, out=buffers[1][:size].reshape(len(rows), -1), mode="clip"
                    )
                    buffers[:2] = buffers[1::-1]
                    closest, column = closest[keep], column[keep]
                if np.count_nonzero(d[::4] <= r[::4, None]) <= MAX_PAIR_SHARE * d[::4].size:
                    flat = np.flatnonzero(d <= r[:, None])
                    row, where = np.divmod(flat, len(column))
                    waiting[number].append((rows, radius, row, column[where], d.ravel()[flat]))
                    pending[number] += len(flat)
                    if pending[number] > MAX_PENDING:
                        sum_pairs(number)
                    break
            # Compute the exponentials of the first bandwidth of the chain, then square them.
            kernel, spare = (buffer[: d.size].reshape(d.shape) for buffer in buffers[1:])
            runs = None if label is None else _runs(label[column], c)
            for place, i in enumerate(chain):
                if place and most / bandwidths[i] <= -LOG_NEGLIGIBLE:
                    kernel *= kernel
                else:
                    np.multiply(d, -1.0 / bandwidths[i], out=kernel)
                    if most / bandwidths[i] > -LOG_NEGLIGIBLE:
                        np.maximum(kernel, LOG_NEGLIGIBLE, out=kernel)
                    np.exp(kernel, out=kernel)
                w = weights[i] if len(column) == n else weights[i][column]
                if runs is None:
                    kernel_sums[i, rows] = kernel @ w
                elif len(column) > LONG_RUN * len(runs):
                    for cls, start, stop in runs:
                        kernel_sums[i, rows, cls] = kernel[:, start:stop] @ w[start:stop]
                else:
                    present, starts, _ = np.array(runs).T
                    kernel_sums[i, rows[:, None], present] = np.add.reduceat(
                        np.multiply(kernel, w, out=spare), starts, axis=1
                    )
    for number in range(len(chains)):
        if waiting[number]:
            sum_pairs(number)
    for i in order:
        hit_sums = kernel_sums[i]
        total = hit_sums.sum(axis=1) if label is not None else hit_sums[:, 0]
        hit_sums = hit_sums if label is not None else hit_sums[:, 1:]
        hit_sums[hit_sums <= n * np.exp(LOG_NEGLIGIBLE)] = 0.0
        density[i] = (
            np.log(total)
            + g[i].max()
            - offset / bandwidths[i]
            - np.log(n - (leave_out is not None))
        )
        ratios[i] = hit_sums / total[:, None]
    return ratios, density


def _runs(label: np.ndarray, c: int) -> list[tuple[int, int, int]]:
    """Return (class, start, stop) for each run of equal values in a sorted label array.

    Labels are integers from 0 to c - 1; `stop` is exclusive.
    """
    starts = np.searchsorted(label, np.arange(c + 1)).tolist()
    return [
        (i, start, stop)
        for i, (start, stop) in enumerate(zip(starts[:-1], starts[1:]))
        if stop > start
    ]


def _chains(bandwidths: Sequence[float], order: Sequence[int]) -> list[list[int]]:
    """Group bandwidths into chains in which each bandwidth is half of the previous one.

    Bandwidths are given and returned by their index. `order` lists the indices by decreasing
    bandwidth. A chain has at most MAX_CHAIN members.
    """
    remaining, chains = list(order), []
    while remaining:
        chain = [remaining.pop(0)]
        while len(chain) < MAX_CHAIN:
            half = next(
                (i for i in remaining if 2.0 * bandwidths[i] == bandwidths[chain[-1]]), None
            )
            if half is None:
                break
            remaining.remove(half)
            chain.append(half)
        chains.append(chain)
    return chains


def _neighbours(x: np.ndarray, size: int) -> np.ndarray:
    """Return an order of the rows of x in which each run of `size` rows is close together.

    Rows are split in halves along the column with the largest variance, until a part has at most
    `size` rows.
    """
    parts, done = [np.arange(len(x))], []
    while parts:
        rows = parts.pop()
        if len(rows) <= size:
            done.append(rows)
            continue
        values = x[rows]
        values = values[:, values.var(axis=0).argmax()]
        cut = (len(rows) // size + 1) // 2 * size
        half = np.argpartition(values, cut)
        parts += [rows[half[cut:]], rows[half[:cut]]]
    return np.concatenate(done)
