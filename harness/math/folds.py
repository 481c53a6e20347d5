"""Which fold each sample is held out in."""

from __future__ import annotations

import numpy as np

from harness.errors import BadInputError, UndefinedError


def fold_of(y, folds: int, stratified: bool, rng):
    """Fold index of every sample, sizes differing by at most one; `stratified` spreads every class evenly. rng a Generator, or
    an integer: then exactly the folds of scikit-learn's KFold or StratifiedKFold(folds, shuffle=True, random_state=rng), with
    which the authors of papers cross-validate. Raises UndefinedError with fewer samples than folds."""
    n = len(y)
    if n < folds:
        raise UndefinedError(f"{n} samples cannot be split into {folds} folds")
    fold = np.zeros(n, dtype=np.int64)
    if folds == 1:
        return fold
    if rng is None:
        raise BadInputError("rng is missing; give a numpy Generator, which decides the folds.")
    if isinstance(rng, (int, np.integer)):
        return _of_scikit_learn(y, folds, stratified, int(rng))
    order = rng.permutation(n)
    if stratified:
        order = order[np.argsort(y[order], kind="stable")]
        fold[order] = np.arange(n) % folds
    else:
        fold[order] = _blocks(n, folds)
    return fold


def _of_scikit_learn(y, folds, stratified, seed):
    """KFold shuffles all samples; StratifiedKFold deals the sorted labels round the folds, which says how many of each class a
    fold gets, and shuffles that allotment class by class, classes in order of appearance."""
    n = len(y)
    stream = np.random.RandomState(seed)
    fold = np.empty(n, dtype=np.int64)
    if not stratified:
        order = np.arange(n)
        stream.shuffle(order)
        fold[order] = _blocks(n, folds)
        return fold
    _, first, label = np.unique(y, return_index=True, return_inverse=True)
    label = np.argsort(np.argsort(first))[label]
    dealt = np.sort(label)
    for c in range(len(first)):
        share = np.repeat(np.arange(folds), [int((dealt[j::folds] == c).sum()) for j in range(folds)])
        stream.shuffle(share)
        fold[label == c] = share
    return fold


def _blocks(n, folds):
    return np.repeat(np.arange(folds), [len(part) for part in np.array_split(np.arange(n), folds)])
