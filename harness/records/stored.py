"""Write and read stored records: compact files for version control, one per experiment.

All tables and figures can be drawn from these files again, without computing a cell.

<folder>/<experiment>.parquet    one row per estimate, or per cell without one, in the plan's order

How the content is stored:

* A cell is stored as its position in the plan. A digest of all keys shows whether the configuration
  still has the same plan; if not, the file is refused.
* Estimates keep all bits. A `value` that equals its bound is stored once.
* Seconds are rounded to three significant digits. In files of more than 20,000 rows, the numbers in
  diagnostics are rounded to six.
* `peak_mb` and the time of writing are left out.
* Truths and provenance are in the file's metadata, as compressed JSON.

The plan of some experiments depends on data files, because a family of problems has one problem
for each data file. For such an experiment, the metadata of the stored file describe the plan
(harness.records.stored_plan). Results can then be drawn where the data files are absent or
different.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from harness.common import buckets
from harness.common.escaping import escape
from harness.common.reading import refuse_special
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
    cell_table,
    concatenate,
    decode,
    rounded,
    split_diagnostics,
    tables,
)
from harness.records.stored_plan import describe, restore_plan
from harness.records.truths import read_truths, write_truths

FOLDER = "records_of"
BATCH = 2**16  # rows of a file that are decoded at once to choose among them
EXACT = 20_000  # number of rows up to which numbers in diagnostics keep all digits
# Columns that are read before rows are chosen, and the type of a function that chooses rows.
CHOSEN_BY = ("problem", "problem_key", "notion", "n", "rep", "estimator", "estimand", "status")
Choice = Callable[[pd.DataFrame], pd.Series]
Truths: TypeAlias = dict[tuple[str, ...], tuple[float, float]]
TRUTH_OF = ["problem_key", "notion", "estimand"]
COLUMNS = (*schema.COLUMNS, *schema.TRUTHS)
RUN_FIELDS = ("state", "seconds", "git", "processor", "versions")  # entries kept of a run's file


def plan_digest(plan: Plan) -> str:
    """Return a digest of the keys of a plan's cells, in the plan's order."""
    return digest("|".join(cell.key for cell in plan.cells))


def file_path(folder: Path, name: str) -> Path:
    """Return the path of the stored records of the experiment `name`."""
    return Path(folder) / f"{name}.parquet"


# Write


def store(frame: pd.DataFrame, plan: Plan, out: Path, path: Path) -> Path:
    """Write the records of a plan's cells to a file, and return its path.

    Parameters
    ----------
    frame : DataFrame
        Records of the cells, as `load_records` returns them.
    plan : Plan
        Plan with the cells.
    out : path
        Folder of results, from which truths and provenance are taken.
    path : path
        File to write.
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
    """Return those entries of runs/<run id>.json that a stored file keeps."""
    run = provenance.read(out, run_id)
    kept = {name: run[name] for name in RUN_FIELDS if name in run}
    return {**kept, "config": {"name": run.get("config", {}).get("name")}}


# Read


def metadata(path: Path) -> dict[str, Any]:
    """Return the metadata of a stored file.

    The entries are experiment, plan (a digest), cells (their number), version, truths and runs. If
    the plan depends on data files, the entry `made_of` describes it.

    Raises
    ------
    BadInputError
        If the file does not contain stored records.
    """
    refuse_special(path)
    try:
        packed = pq.read_metadata(path).metadata[b"calharness"]
        content: dict[str, Any] = json.loads(zlib.decompress(base64.b85decode(packed)))
    except (OSError, ValueError, KeyError, TypeError, zlib.error) as error:
        raise BadInputError(
            f"{path} contains no stored records ({type(error).__name__}); restore an earlier "
            "version of the file."
        ) from error
    return content


def load_plan(path: Path, settings: Settings, make_plan: Callable[[], Plan]) -> Plan:
    """Return the plan whose cells a stored file contains.

    If the file describes its plan, return the described plan, in which the same cells are skipped
    as when the file was written. Otherwise return the result of `make_plan`.

    Raises
    ------
    BadInputError
        If the file describes a plan, but the configuration or a component without data files has
        changed since.
    """
    content = metadata(path) if path.is_file() else {}
    description = content.get("made_of")
    if description is None:
        return make_plan()
    here: Plan | None
    try:
        here = make_plan()
    except BadInputError:  # without the data files, the problems of a family are unknown
        here = None
    plan = restore_plan(description, settings, here)
    if plan is None or plan_digest(plan) != content["plan"]:
        raise BadInputError(_refused(path, content, here))
    filters = [("status", "=", "skipped")]
    # Without read_dictionary, the texts of all rows would be in memory at once.
    texts = ["status", "reason"]
    skips = pq.read_table(path, columns=["cell", "reason"], filters=filters, read_dictionary=texts)
    reasons = dict(zip(skips["cell"].to_pylist(), skips["reason"].to_pylist()))
    kinds = {
        cell.kind: reasons[number] for number, cell in enumerate(plan.cells) if number in reasons
    }
    return replace(plan, reasons=kinds)


def check_plan(path: Path, plan: Plan) -> None:
    """Raise BadInputError if the cells in a stored file are not those of the plan."""
    content = metadata(path)
    if content["plan"] != plan_digest(plan):
        raise BadInputError(_refused(path, content, plan))


def _refused(path: Path, content: dict[str, Any], plan: Plan | None) -> str:
    experiment = content["experiment"]
    here = f"the cells of {experiment}"
    if plan:
        here = f"the {len(plan.cells):,} cells of {experiment}"
    return (
        f"{path.name} contains records of {content['cells']:,} cells, which are not {here} as it "
        "is configured now: its configuration or its data files have changed."
    )


def unpack(path: Path, plan: Plan, out: Path) -> int:
    """Copy stored records into the results folder `out`, with their truths and provenance.

    Returns
    -------
    int
        Number of rows.

    Raises
    ------
    BadInputError
        If the cells in the stored file are not those of the plan.
    """
    content = metadata(path)
    check_plan(path, plan)
    (table,) = tables(path, schema.COLUMNS)
    frame = decode(table, plan, [*schema.COLUMNS], cell_table(plan))
    for name in TEXTS:
        texts = {text: escape(text) for text in frame[name].dropna().unique()}
        frame[name] = frame[name].map(texts)
    frame = frame.assign(written=1e-3)  # older than any record that is computed on this machine
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
            raise BadInputError(
                f"{path} contains the run id {run_id!r}, which cannot become a file name; restore "
                "an earlier version of the file."
            )
        run = {"run_id": run_id, "cells": {"todo": 0}, **run}
        buckets.write_json(out, f"runs/{run_id}.json", run)
    return len(frame)


def load_frame(
    path: Path, plan: Plan, columns: Iterable[str] = COLUMNS, choose: Choice | None = None
) -> pd.DataFrame:
    """Return the records in a stored file with truths, in the form of `load_records`.

    Texts become pandas categories, except for the key.

    Parameters
    ----------
    path : path
        The stored file.
    plan : Plan
        Plan whose cells the file contains (see `check_plan`).
    columns : iterable of str
        Wanted columns, in this order. Columns that are not stored are empty.
    choose : callable, optional
        Function that takes a frame with the columns CHOSEN_BY of this module, `truth` and
        `truth_error`. It returns the mask of the wanted rows.
    """
    wanted = [*columns]
    cells, truths = cell_table(plan), _truths(path)
    needed = {*wanted, *TRUTH_OF}
    if choose is None:
        (table,) = tables(path, needed)
        return _with_truths(decode(table, plan, needed, cells), truths).reindex(columns=wanted)
    # A baseline has millions of rows, of which a comparison needs few: read some at a time.
    frames: list[pd.DataFrame] = []
    for table in tables(path, {*needed, *CHOSEN_BY}, BATCH):
        rows = choose(_with_truths(decode(table, plan, CHOSEN_BY, cells), truths))
        if rows.any() or not frames:
            frame = decode(table.filter(pa.array(rows)), plan, needed, cells)
            frames.append(_with_truths(frame, truths).reindex(columns=wanted))
    pa.default_memory_pool().release_unused()
    return concatenate(frames)


def _truths(path: Path) -> Truths:
    """Return {(problem key, notion, estimand): (truth, error)} of the known truths in a file."""
    return {
        (key, *pair.split("|")): (float(truth[0]), stated_error(float(truth[1])))
        for key, pairs in metadata(path)["truths"].items()
        for pair, truth in pairs.items()
        if truth
    }


def _with_truths(frame: pd.DataFrame, truths: Truths) -> pd.DataFrame:
    """Return stored records with the columns `truth` and `truth_error` added."""
    # Look up each combination once, because there are many rows but few combinations.
    numbers = frame.groupby(TRUTH_OF, observed=True, sort=False, dropna=False).ngroup()
    combinations = frame.loc[~numbers.duplicated(), TRUTH_OF].itertuples(index=False, name=None)
    known = np.array([truths.get(row, (np.nan, np.nan)) for row in combinations]).reshape(-1, 2)
    columns = dict(zip(schema.TRUTHS, known[numbers.to_numpy()].T))
    return frame.assign(**columns)
