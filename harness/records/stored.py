"""Stored records: compact files for version control, from which all results are drawn again.

<folder>/<experiment>.parquet    one row per estimate, or per cell without one, in the plan's order

A cell is stored by its position in the plan, and the keys of a plan are a pure function of the
configuration. A digest of all keys shows if the plan is still the same; otherwise the file is
refused. Estimates are stored bit for bit; a `value` that equals its bound is stored once. Seconds
are rounded to three digits, and in files of more than EXACT rows the numbers in diagnostics to six.
peak_mb and the time of writing are left out. Truths and provenance are in the file's metadata, as
compressed JSON.

If a plan depends on data (a family has as many problems as there are files), the metadata also
describe the plan (harness.records.stored_plan). So results can be drawn where the data are absent
or others.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from harness.common import buckets
from harness.common.escaping import escape
from harness.common.seeds import digest
from harness.common.version import VERSION
from harness.common.writing import stated_error, whole_file
from harness.configure.settings import Settings
from harness.errors import BadInputError
from harness.plan.plan import Plan
from harness.records import provenance, schema
from harness.records.parts import KEY, write_table
from harness.records.stored_columns import (
    NUMBERS,
    TEXTS,
    TIMES,
    decoded,
    rounded,
    split_diagnostics,
)
from harness.records.stored_plan import describe, described_plan
from harness.records.truths import read_truths, write_truths

FOLDER = "records_of"
EXACT = 20_000  # rows up to which diagnostics are stored to the last digit
CHOSEN_BY = ("problem", "problem_key", "notion", "n", "rep", "estimator", "estimand")
Choice = Callable[[pd.DataFrame], pd.Series]
TRUTH_OF = ["problem_key", "notion", "estimand"]
COLUMNS = (*schema.COLUMNS, *schema.TRUTHS)
RUN_FIELDS = ("state", "seconds", "git", "processor", "versions")  # of runs/<run id>.json


def plan_digest(plan: Plan) -> str:
    """Return a digest of the cells of a plan and their order."""
    return digest("|".join(cell.key for cell in plan.cells))


def path_of(folder: Path, name: str) -> Path:
    """Return the path of the stored records of an experiment."""
    return Path(folder) / f"{name}.parquet"


# Write


def store(frame: pd.DataFrame, plan: Plan, out: Path, path: Path) -> Path:
    """Write records of a plan's cells to a file, with the truths and runs of a results folder.

    Parameters
    ----------
    frame : DataFrame
        Records, as `load_records` returns them.
    plan : Plan
    out : path
        The results folder.
    path : path
        The file to write.
    """
    position = {cell.key: number for number, cell in enumerate(plan.cells)}
    frame = frame.assign(cell=frame["key"].map(position)).sort_values(
        ["cell", "estimand"], kind="stable", ignore_index=True
    )
    exact = len(frame) <= EXACT
    value, low, high, level = (frame[name].to_numpy(dtype=float) for name in NUMBERS)
    bound = np.where(np.isnan(high), low, high)
    columns: dict[str, Any] = {"cell": pa.array(frame["cell"].to_numpy(dtype=np.uint32))}
    for name in TEXTS:
        texts = pa.array(frame[name].tolist(), pa.string(), from_pandas=True)
        columns[name] = texts.dictionary_encode()
    columns["value"] = pa.array(value, mask=value == bound)
    for name, numbers in (("low", low), ("high", high), ("level", level)):
        columns[name] = pa.array(numbers, mask=np.isnan(numbers))
    for name in TIMES:
        seconds = rounded(frame[name].to_numpy(dtype=float), 3)
        columns[name] = pa.array(seconds, pa.float32(), from_pandas=True)
    templates, numbers = split_diagnostics(frame["diagnostics"])
    columns["template"] = pa.array(templates, pa.string()).dictionary_encode()
    columns["numbers"] = pa.array(numbers, pa.list_(pa.float64() if exact else pa.float32()))
    table = pa.table(columns)
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as temporary:
        with pq.ParquetWriter(
            temporary,
            table.schema,
            compression="zstd",
            compression_level=19,
            use_dictionary=[*TEXTS, *TIMES, "level", "template"],
            use_byte_stream_split=[*NUMBERS[:3], *([] if exact else ["numbers.list.element"])],
            column_encoding={"cell": "DELTA_BINARY_PACKED"},
            write_statistics=False,
            store_schema=False,
        ) as writer:
            writer.write_table(table)
            writer.add_key_value_metadata({"calharness": _packed_metadata(frame, plan, out, path)})
    return path


def _packed_metadata(frame: pd.DataFrame, plan: Plan, out: Path, path: Path) -> bytes:
    truths = {problem.key: read_truths(out, problem.key) for problem in plan.problems.values()}
    content = {
        "experiment": path.stem,
        "plan": plan_digest(plan),
        "cells": len(plan.cells),
        "version": VERSION,
        "truths": {key: stored for key, stored in truths.items() if stored},
        "runs": {id: _stored_run(out, id) for id in sorted(frame["run_id"].dropna().unique())},
    }
    if description := describe(plan):
        content["made_of"] = description
    return base64.b85encode(zlib.compress(json.dumps(content, sort_keys=True).encode(), 9))


def _stored_run(out: Path, run_id: str) -> dict[str, Any]:
    """Return the provenance of a run that a stored file keeps."""
    run = provenance.read(out, run_id)
    kept = {name: run[name] for name in RUN_FIELDS if name in run}
    return {**kept, "config": {"name": run.get("config", {}).get("name")}}


# Read


def metadata(path: Path) -> dict[str, Any]:
    """Return the metadata of a stored file: experiment, plan, cells, version, truths, runs.

    For a plan that depends on data, `made_of` describes it.

    Raises
    ------
    BadInputError
        If the file holds no stored records.
    """
    try:
        packed = pq.read_metadata(path).metadata[b"calharness"]
        content: dict[str, Any] = json.loads(zlib.decompress(base64.b85decode(packed)))
    except (OSError, ValueError, KeyError, TypeError, zlib.error) as error:
        raise BadInputError(
            f"{path} holds no stored records ({type(error).__name__}); put back an earlier one."
        ) from error
    return content


def plan_of(path: Path, settings: Settings, make_plan: Callable[[], Plan]) -> Plan:
    """Return the plan of a stored file.

    This is the plan of `make_plan`, unless the file describes its plan. Then it is the described
    one, with the cells that were skipped then.

    Raises
    ------
    BadInputError
        If the configuration has changed, or a component that needs no data.
    """
    content = metadata(path) if path.is_file() else {}
    description = content.get("made_of")
    if description is None:
        return make_plan()
    here: Plan | None
    try:
        here = make_plan()
    except BadInputError:  # without its data not even the problems are known
        here = None
    plan = described_plan(description, settings, here)
    if plan is None or plan_digest(plan) != content["plan"]:
        raise BadInputError(_refused(path, content, here))
    filters = [("status", "=", "skipped")]
    skips = pq.read_table(path, columns=["cell", "reason"], filters=filters)
    reasons = dict(zip(skips["cell"].to_pylist(), skips["reason"].to_pylist()))
    kinds = {
        cell.kind: reasons[number] for number, cell in enumerate(plan.cells) if number in reasons
    }
    return replace(plan, reasons=kinds)


def check_plan(path: Path, plan: Plan) -> None:
    """Raise BadInputError if the stored cells are not those of the plan."""
    content = metadata(path)
    if content["plan"] != plan_digest(plan):
        raise BadInputError(_refused(path, content, plan))


def _refused(path: Path, content: dict[str, Any], plan: Plan | None) -> str:
    experiment = content["experiment"]
    here = f"those of {experiment} here"
    if plan:
        here = f"the {len(plan.cells):,} cells that {experiment} has here"
    return (
        f"{path.name} holds records of {content['cells']:,} cells, which are not {here}: "
        "its configuration or its data have changed."
    )


def unpack(path: Path, plan: Plan, out: Path) -> int:
    """Write the stored records of a plan into a results folder, with truths and runs.

    Returns
    -------
    int
        The number of rows.

    Raises
    ------
    BadInputError
        If the stored cells are not those of the plan.
    """
    content = metadata(path)
    check_plan(path, plan)
    frame = decoded(path, plan, [*schema.COLUMNS])
    for name in TEXTS:
        texts = {text: escape(text) for text in frame[name].dropna().unique()}
        frame[name] = frame[name].map(texts)
    frame = frame.assign(written=1e-3)  # anything computed here is later
    frame = frame.reindex(columns=list(schema.COLUMNS))
    columns = [
        pa.array(frame[field.name].tolist(), field.type, from_pandas=True)
        for field in schema.schema()
    ]
    write_table(out, pa.table(columns, schema=schema.schema()))
    for key, truths in content["truths"].items():
        write_truths(out, key, {**read_truths(out, key), **truths})
    for run_id, run in content["runs"].items():
        if not KEY.fullmatch(run_id):
            raise BadInputError(f"{path} names a run {run_id!r}; letters and digits are needed.")
        run = {"run_id": run_id, "cells": {"todo": 0}, **run}
        buckets.write_json(out, f"runs/{run_id}.json", run)
    return len(frame)


def frame_of(
    path: Path, plan: Plan, columns: Iterable[str] = COLUMNS, choose: Choice | None = None
) -> pd.DataFrame:
    """Return stored records of a plan with truths, as `load_records` does. Texts are categories.

    Parameters
    ----------
    path : path
        The stored file.
    plan : Plan
        Its plan (`check_plan`).
    columns : iterable of str
        The wanted columns, in this order. Columns that are not stored are empty.
    choose : callable, optional
        Returns the mask of the wanted rows, given their columns CHOSEN_BY.
    """
    wanted = [*columns]
    rows = None
    if choose is not None:
        rows = choose(_with_truths(path, decoded(path, plan, CHOSEN_BY)))
    frame = _with_truths(path, decoded(path, plan, {*wanted, *TRUTH_OF}, rows))
    return frame.reindex(columns=wanted)


def _with_truths(path: Path, frame: pd.DataFrame) -> pd.DataFrame:
    """Return stored records with the columns of truths."""
    truths = {
        (key, *pair.split("|")): (float(truth[0]), stated_error(float(truth[1])))
        for key, pairs in metadata(path)["truths"].items()
        for pair, truth in pairs.items()
        if truth
    }
    # look up each combination once: rows are many, combinations few
    numbers = frame.groupby(TRUTH_OF, observed=True, sort=False, dropna=False).ngroup()
    combinations = frame.loc[~numbers.duplicated(), TRUTH_OF].itertuples(index=False, name=None)
    known = np.array([truths.get(row, (np.nan, np.nan)) for row in combinations]).reshape(-1, 2)
    columns = dict(zip(schema.TRUTHS, known[numbers.to_numpy()].T))
    return frame.assign(**columns)
