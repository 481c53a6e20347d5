"""Sums of Dirichlet kernels at several bandwidths: some share their exponentials, and the small ones see few pairs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy.special import gammaln, xlogy

NEGLIGIBLE = (
    30.0  # beside the logarithm of n: all that is left out is below exp(-30) of the largest kernel
)
FEW = 0.12  # share of the pairs from which on they are summed one by one
WORTH_IT = 0.85  # share of the centres of a block from which on the others are dropped
BLOCK_ENTRIES = 1 << 17  # pairs held at a time: they stay in the cache
SMALL = 800_000  # kernels, below which sharing and dropping costs more than it saves
PAIRS = 1 << 17  # near pairs that are summed at a time
SAFE_RANGE = 600.0  # weights exp(g) whose logarithms are no further apart underflow nowhere
LOG_NEGLIGIBLE = -700.0  # smaller exponentials are denormal numbers, which take ten times as long
LONG_RUN = 128  # centres of a class from which on each class is a product with a vector
LONGEST = 4  # bandwidths in a chain: each squaring doubles the error of rounding


def log_normaliser(centres: np.ndarray, b: float) -> np.ndarray:
    """log Gamma(sum_j (t_j / b + 1)) - sum_j log Gamma(t_j / b + 1), shape (n,), for centres (n, k)."""
    a = centres / b + 1.0
    return gammaln(a.sum(axis=1)) - gammaln(a).sum(axis=1)


def labels(hits: np.ndarray) -> np.ndarray | None:
    """The class of every row of hits (n, c), None where it is not one."""
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
    """As `kernels.dirichlet_sums`, by all_pairs for a single bandwidth, few points and where constants are too far apart.

        log k_b(z; t) = -D(t, z) / b + g_b(t),   D(t, z) = sum_j t_j log(t_j / z_j),   g_b(t) = sum_j t_j log t_j / b + normaliser

    exp(g_b) goes into the weights, and exp(-2 D / b) is a square: bandwidths that are halves of each other share an exponential.
    With s the nearest centre of z, log k_b(z; t) is more than x below log k_b(z; s) wherever

        D(t, z) > D(s, z) + b (x + max g_b - g_b(s)).

    Radii that do not grow as b falls make the pairs of a bandwidth a part of those of every larger one. Blocks of points that are
    close to each other drop the centres that are far from all of them, and go on with single pairs when few are left: O(pairs)
    beside the first look, which is O(m n k)."""
    n = len(centres)
    constants = [log_normaliser(centres, b) for b in bandwidths] if constants is None else constants
    if len(bandwidths) < 2 or len(points) * n * len(bandwidths) < SMALL:
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
        centres, entropy, lack, label = (
            centres[by_class],
            entropy[by_class],
            lack[:, by_class],
            label[by_class],
        )
        leave_out = None if leave_out is None else np.argsort(by_class)[leave_out]
        hits = hits[:, :0]
    share = np.exp(-lack)
    weights = (
        share
        if label is not None
        else [one[:, None] * np.column_stack([np.ones(n), hits]) for one in share]
    )
    chains = _chains(bandwidths, order)
    b, rank = (
        np.array([bandwidths[i] for i in order])[:, None],
        {i: at for at, i in enumerate(order)},
    )
    lack = lack[order]
    augmented = np.column_stack([centres, entropy]).T.copy()
    step = max(1, min(BLOCK_ENTRIES // n, m))
    found_sums = np.zeros((len(bandwidths), m, c if label is not None else c + 1))
    offset, mass = np.empty(m), centres.sum(axis=1).max()
    buffers = [np.empty(step * n) for _ in range(3)]
    waiting: list[list[tuple[np.ndarray, ...]]] = [[] for _ in chains]
    held = [0] * len(chains)

    def pairs(at: int) -> None:
        """The bandwidths of the chains from `at` on, of the pairs that wait for that."""
        rows = np.concatenate([one[0] for one in waiting[at]])
        start = np.cumsum([0, *(len(one[0]) for one in waiting[at])])
        radius = np.concatenate([one[1] for one in waiting[at]], axis=1)
        row = np.concatenate([one[2] + s for one, s in zip(waiting[at], start)])
        column = np.concatenate([one[3] for one in waiting[at]])
        d = np.concatenate([one[4] for one in waiting[at]])
        waiting[at], held[at] = [], 0
        for i in sorted((i for chain in chains[at:] for i in chain), key=rank.__getitem__):
            keep = np.flatnonzero(d <= radius[rank[i]][row])
            if len(keep) < len(d):
                row, column, d = row[keep], column[keep], d[keep]
            kernel = np.exp(d * (-1.0 / bandwidths[i]))
            kernel *= share[i][column]
            if label is None:
                columns = [kernel, *(kernel * one[column] for one in hits.T)]
                found = np.column_stack([np.bincount(row, one, len(rows)) for one in columns])
            else:
                found = np.bincount(row * c + label[column], kernel, len(rows) * c).reshape(-1, c)
            found_sums[i, rows] = found

    neighbours = _neighbours(np.sqrt(points), step)
    for begin in range(0, m, step):
        rows = neighbours[begin : begin + step]
        own = np.arange(len(rows))
        log = -np.log(points[rows])
        d = np.matmul(
            np.column_stack([log, np.ones(len(rows))]),
            augmented,
            out=buffers[0][: len(rows) * n].reshape(-1, n),
        )
        if leave_out is not None:
            d[own, leave_out[rows]] = np.inf
        nearest = d.argmin(axis=1)
        offset[rows] = least = d[own, nearest]
        d -= least[:, None]
        most = log.max() * mass + entropy.max() - least.min()  # of all d but the infinite
        closest, column = d.min(axis=0), np.arange(n)
        radius = b * (NEGLIGIBLE + np.log(n) + lack[:, nearest])
        radius = np.maximum.accumulate(radius[::-1])[::-1]
        for at, chain in enumerate(chains):
            r = radius[rank[chain[0]]]
            if r.min() < most:
                keep = np.flatnonzero(closest <= r.max())
                if len(keep) < WORTH_IT * len(column):
                    size = len(rows) * len(keep)
                    d = np.take(
                        d, keep, axis=1, out=buffers[1][:size].reshape(len(rows), -1), mode="clip"
                    )
                    buffers[:2] = buffers[1::-1]
                    closest, column = closest[keep], column[keep]
                if np.count_nonzero(d[::4] <= r[::4, None]) <= FEW * d[::4].size:
                    flat = np.flatnonzero(d <= r[:, None])
                    row, where = np.divmod(flat, len(column))
                    waiting[at].append((rows, radius, row, column[where], d.ravel()[flat]))
                    held[at] += len(flat)
                    if held[at] > PAIRS:
                        pairs(at)
                    break
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
                    found_sums[i, rows] = kernel @ w
                elif len(column) > LONG_RUN * len(runs):
                    for one, start, stop in runs:
                        found_sums[i, rows, one] = kernel[:, start:stop] @ w[start:stop]
                else:
                    there, starts, _ = np.array(runs).T
                    found_sums[i, rows[:, None], there] = np.add.reduceat(
                        np.multiply(kernel, w, out=spare), starts, axis=1
                    )
    for at in range(len(chains)):
        if waiting[at]:
            pairs(at)
    for i in order:
        of_hits = found_sums[i]
        total = of_hits.sum(axis=1) if label is not None else of_hits[:, 0]
        of_hits = of_hits if label is not None else of_hits[:, 1:]
        of_hits[of_hits <= n * np.exp(LOG_NEGLIGIBLE)] = 0.0
        density[i] = (
            np.log(total)
            + g[i].max()
            - offset / bandwidths[i]
            - np.log(n - (leave_out is not None))
        )
        ratios[i] = of_hits / total[:, None]
    return ratios, density


def _runs(label: np.ndarray, c: int) -> list[tuple[int, int, int]]:
    """(class, first, last + 1) of every run of sorted labels below c."""
    starts = np.searchsorted(label, np.arange(c + 1)).tolist()
    return [
        (i, start, stop)
        for i, (start, stop) in enumerate(zip(starts[:-1], starts[1:]))
        if stop > start
    ]


def _chains(bandwidths: Sequence[float], order: Sequence[int]) -> list[list[int]]:
    """Their numbers, the larger first, in runs in which each is half of the one before."""
    left, chains = list(order), []
    while left:
        chain = [left.pop(0)]
        while len(chain) < LONGEST:
            half = next((i for i in left if 2.0 * bandwidths[i] == bandwidths[chain[-1]]), None)
            if half is None:
                break
            left.remove(half)
            chain.append(half)
        chains.append(chain)
    return chains


def _neighbours(x: np.ndarray, size: int) -> np.ndarray:
    """An order of the rows of x in which runs of `size` are close to each other: halved where they are spread most."""
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
