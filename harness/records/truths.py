"""Read and write stored truths: one JSON file for each problem, with a digest of its content."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa

from harness.common import buckets
from harness.common.writing import stated_error
from harness.errors import BadInputError
from harness.math.estimands import has_truth
from harness.plan.components import Component
from harness.records.parts import KEY
from harness.records.schema import TRUTHS

DIGEST = "digest"  # name of the entry with the digest; all other entries are truths
TABLE = pa.schema(
    [(name, pa.string()) for name in ("problem_key", "notion", "estimand")]
    + [(name, pa.float64()) for name in TRUTHS]
)
Truths = dict[str, Any]  # {"notion|estimand": [value, error, method], or None where unknown}


def read_truths(out: Path, problem_key: str) -> Truths:
    """Return the stored truths of a problem, or {} if there are none.

    Raises
    ------
    BadInputError
        If the file is broken, or was changed after it was written.
    """
    name = _name(problem_key)
    try:
        stored = json.loads(buckets.read(out, name))
        reason = _wrong_reason(stored)
    except FileNotFoundError:
        return {}
    except (ValueError, RecursionError) as error:
        if isinstance(error, BadInputError):
            raise
        reason = f"is not valid JSON ({error})"
    if reason:
        place = f"{buckets.location(out)}/{name}"
        raise BadInputError(f"{place} {reason}; delete it, and the truths are computed again.")
    return {pair: truth for pair, truth in stored.items() if pair != DIGEST}


def read_table(out: Path, problem_keys: Iterable[str]) -> pa.Table:
    """Return the known truths of problems as a table, with a row per notion and estimand."""
    rows = []
    for problem in problem_keys:
        for pair, truth in read_truths(out, problem).items():
            notion, _, estimand = pair.partition("|")
            if truth is not None:
                numbers = (float(truth[0]), stated_error(float(truth[1])))
                rows.append(dict(zip(TABLE.names, (problem, notion, estimand, *numbers))))
    return pa.Table.from_pylist(rows, TABLE)


def write_truths(out: Path, problem_key: str, truths: Truths) -> None:
    """Write the truths of a problem, replacing all stored ones."""
    plain = json.loads(json.dumps(truths))
    buckets.write_json(out, _name(problem_key), {**plain, DIGEST: _digest(plain)})


def add_truths(out: Path, problem_key: str, new: Truths) -> None:
    """Add truths to the stored truths of a problem."""
    stored = read_truths(out, problem_key)
    if {**stored, **new} != stored:
        write_truths(out, problem_key, {**stored, **new})


def missing_truths(
    out: Path, problem: Component, wanted: list[tuple[str, str]]
) -> list[tuple[str, str]]:
    """Return the pairs (notion, estimand) among `wanted` whose truths are not stored yet.

    Pairs for which no problem can know the truth are left out.
    """
    if not hasattr(problem.object, "truth"):
        return []
    stored = read_truths(out, problem.key)
    return [
        (notion, name)
        for notion, name in dict.fromkeys(wanted)
        if f"{notion}|{name}" not in stored and has_truth(name)
    ]


def unknown_truths(
    out: Path, problem: Component, wanted: list[tuple[str, str]]
) -> list[tuple[str, str]]:
    """Return the pairs (notion, estimand) among `wanted` for which the problem must be asked.

    These are pairs that are not stored yet, and pairs that are stored as unknown, because a later
    version of the problem may know them.
    """
    stored = read_truths(out, problem.key)
    unknown = [tuple(pair.split("|")) for pair, truth in stored.items() if truth is None]
    return [*missing_truths(out, problem, wanted), *(pair for pair in wanted if pair in unknown)]


def _name(problem_key: str) -> str:
    """Return the name of the file for a problem's truths.

    Raise BadInputError for a key that would lead to another folder.
    """
    if not KEY.fullmatch(problem_key):
        raise BadInputError(
            f"a record has the problem_key {problem_key!r}, which cannot become a file name; "
            "`calharness doctor` lists damaged files."
        )
    return f"truths/{problem_key}.json"


def _wrong_reason(stored: Any) -> str | None:
    """Return the reason why the content of a file of truths is wrong, or None."""
    if not isinstance(stored, dict):
        kind = "nothing" if stored is None else f"a {type(stored).__name__}"
        return f"contains {kind} instead of a mapping of truths"
    truths = {pair: truth for pair, truth in stored.items() if pair != DIGEST}
    for pair, truth in truths.items():
        if truth is not None and not _is_truth(truth):
            return f"has the entry {truth!r} for {pair}, which is not [value, error, method]"
    if DIGEST not in stored:
        return "has no digest of its content"
    return None if stored[DIGEST] == _digest(truths) else "was changed after it was written"


def _is_truth(truth: Any) -> bool:
    numbers = isinstance(truth, list) and len(truth) == 3
    return numbers and all(type(number) in (int, float) for number in truth[:2])


def _digest(truths: Truths) -> str:
    content = json.dumps(truths, sort_keys=True).encode()
    return hashlib.blake2b(content, digest_size=8).hexdigest()
