"""Write and read stored records: one plain Parquet table for each experiment.

All tables and figures can be drawn from these files again, without computing a cell.

<folder>/<experiment>.parquet    one row per estimate, or per cell without one

`pandas.read_parquet` opens a file without this project. A row has the columns of a record, with its
truth, except for these:

* The key of a cell is left out, because it is a digest of other columns (`cells.cell_key`).
* `peak_mb` and the time of writing are left out.
* Seconds are rounded to three significant digits. In files of more than 20,000 rows, the numbers in
  diagnostics are rounded to six.
* The column `arrays` is left out if no estimate has arrays. `dict(value)` makes {name: array} of a
  value that pandas reads.

The columns `origin`, `rows_of_a_file` and `all_rows` say how a plan that depends on data files can
be made without these files (`harness.records.table_plan`). The metadata of a file is JSON, with the
provenance of the runs, and with a digest of the plan. A file is refused if the configuration of its
experiment has another plan by now.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from harness.common import buckets
from harness.common.reading import refuse_special
from harness.common.seeds import digest
from harness.common.version import VERSION
from harness.common.writing import whole_file
from harness.configure.settings import Settings
from harness.errors import BadInputError
from harness.math.estimands import has_truth
from harness.plan.cells import cell_key
from harness.plan.plan import Plan
from harness.problems.base import ProblemSpec
from harness.records import provenance, schema, table_plan
from harness.records.parts import KEY, write_table
from harness.records.truths import read_truths, write_truths

FOLDER = "records_of"
EXACT = 20_000  # number of rows up to which numbers in diagnostics keep all digits
CELL = ("problem_key", "seed", "notion", "n", "rep", "estimator_key")  # what a key is made of
TRUTH_OF = ["problem_key", "notion", "estimand"]
TIMES = ("seconds", "cpu_seconds")
COLUMNS = (
    "problem", "notion", "n", "rep", "estimator", "estimand", "value", "low", "high", "level",
    "kind", "status", "reason", "truth", "truth_error", "truth_method", *TIMES, "diagnostics",
    "arrays", "problem_parameters", "estimator_parameters", "problem_key", "estimator_key", "seed",
    "run_id",
)  # fmt: skip
ABOUT_PROBLEMS = ("origin", "rows_of_a_file", "all_rows")
NUMBERS = ("value", "low", "high")  # they hardly repeat, so a dictionary would not help
FLOATS = (*NUMBERS, "level", *TIMES, *schema.TRUTHS)
CONTENTS = ("diagnostics", "arrays")  # what an estimate consists of beyond numbers
KEYS = pd.ArrowDtype(pa.string())  # type of keys; strings of Python take five times the memory
RUN_FIELDS = ("state", "seconds", "git", "processor", "versions")  # entries kept of a run's file
_FLOAT = re.compile(r"-?\d+\.\d+(?:e[-+]?\d+)?|-?\d+e[-+]?\d+")


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
    # Rows of one estimator are adjacent, because their diagnostics have the same names.
    rank = {part.key: number for number, part in enumerate(plan.estimators.values())}
    position = {cell.key: number for number, cell in enumerate(plan.cells)}
    order = pd.DataFrame({
        "estimator": frame["estimator_key"].map(rank).astype(int),
        "cell": frame["key"].map(position).astype(int),
        "estimand": frame["estimand"].astype(object).fillna(""),
    })  # fmt: skip
    frame = frame.loc[order.sort_values([*order], kind="stable").index].reset_index(drop=True)
    frame = add_methods(frame, out)
    for name in TIMES:
        frame[name] = rounded(frame[name].to_numpy(dtype=float), 3)
    if len(frame) > EXACT:
        frame["diagnostics"] = frame["diagnostics"].map(_shortened, na_action="ignore")

    problems = {problem.key: (name, problem) for name, problem in plan.problems.items()}
    origins = {key: problem.origin for key, (_, problem) in problems.items()}
    from_file = {
        key: ProblemSpec.of(problem.object).rows_of_a_file for key, (_, problem) in problems.items()
    }
    names = frame["problem_key"].map({key: name for key, (name, _) in problems.items()})
    frame["origin"] = frame["problem_key"].map(origins)
    frame["rows_of_a_file"] = frame["problem_key"].map(from_file).astype(bool)
    frame["all_rows"] = [pair in plan.all_rows for pair in zip(names, frame["n"])]
    is_whole = frame["key"].nunique() == len(plan.cells)
    content = {
        "experiment": path.stem,
        "plan": plan_digest(plan),
        "cells": len(plan.cells),
        "configuration": table_plan.configuration(plan) if is_whole else None,
        **run_descriptions(frame, out),
    }
    unused = set() if frame["arrays"].notna().any() else {"arrays"}
    columns = [name for name in (*COLUMNS, *ABOUT_PROBLEMS) if name not in unused]
    return write(frame, columns, content, path)


def add_methods(frame: pd.DataFrame, out: Path) -> pd.DataFrame:
    """Return records with the column `truth_method`, which says how a truth was computed."""
    methods = {
        (key, *pair.split("|")): truth[2]
        for key in frame["problem_key"].unique()
        for pair, truth in read_truths(out, key).items()
        if truth
    }
    rows = zip(*(frame[name] for name in TRUTH_OF))
    return frame.assign(truth_method=[methods.get(row) for row in rows])


def run_descriptions(frame: pd.DataFrame, out: Path) -> dict[str, Any]:
    """Return those entries of a file's metadata that tell the version and the runs of its rows."""
    runs = {}
    for run_id in sorted(frame["run_id"].dropna().unique()):
        run = provenance.read(out, run_id)
        kept = {name: run[name] for name in RUN_FIELDS if name in run}
        runs[run_id] = {**kept, "config": {"name": run.get("config", {}).get("name")}}
    return {"version": VERSION, "runs": runs}


def write(
    frame: pd.DataFrame,
    columns: Iterable[str],
    content: dict[str, Any],
    path: Path,
    estimates: pa.DataType = pa.float64(),
) -> Path:
    """Write rows as a Parquet file, and return its path.

    `content` becomes the metadata, and `estimates` is the type of value, low and high.
    """
    arrays: dict[str, pa.Array] = {}
    for name in columns:
        column = frame[name]
        if name in FLOATS:
            numbers = column.to_numpy(dtype=float)
            kind = estimates if name in NUMBERS else pa.float64()
            kind = pa.float32() if name in TIMES else kind
            arrays[name] = pa.array(numbers, mask=np.isnan(numbers)).cast(kind)
        elif name in ABOUT_PROBLEMS[1:]:
            arrays[name] = pa.array(column.to_numpy(dtype=bool))
        elif name == "arrays":
            arrays[name] = pa.array(column.tolist(), schema.ARRAYS)
        elif pd.api.types.is_integer_dtype(column.dtype):
            arrays[name] = pa.array(column.to_numpy(dtype=np.int64))
        else:
            texts = column.astype(object).where(column.notna(), None)
            arrays[name] = pa.array(texts.tolist(), pa.string())
    table = pa.table(arrays).replace_schema_metadata({"calharness": json.dumps(content)})
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as temporary:
        pq.write_table(
            table,
            temporary,
            compression="zstd",
            compression_level=19,
            use_dictionary=[name for name in arrays if name not in (*NUMBERS, *CONTENTS)],
            use_byte_stream_split=[*NUMBERS],
            write_statistics=False,
        )
    return path


def rounded(numbers: NDArray[np.float64], digits: int) -> NDArray[np.float64]:
    """Round numbers to `digits` significant digits.

    Each result is the double that is nearest to the decimal number.
    """
    distinct, codes = np.unique(numbers, return_inverse=True)
    return np.array([float(f"{number:.{digits}g}") for number in distinct], dtype=float)[codes]


def _shortened(diagnostics: str) -> str:
    """Return a text with its numbers rounded to six significant digits."""
    return _FLOAT.sub(lambda number: repr(float(f"{float(number[0]):.6g}")), diagnostics)


# Read


def metadata(path: Path) -> dict[str, Any]:
    """Return the metadata of a stored file.

    The entries are version and runs. The file of an experiment also has experiment, plan (a
    digest), cells (their number) and configuration (a digest, if the plan depends on data files).

    Raises
    ------
    BadInputError
        If the file does not contain stored records.
    """
    refuse_special(path)
    try:
        content: dict[str, Any] = json.loads(pq.read_schema(path).metadata[b"calharness"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadInputError(
            f"{path} contains no stored records ({type(error).__name__}); restore an earlier "
            "version of the file."
        ) from error
    return content


def read(path: Path, columns: Iterable[str] | None = None) -> pd.DataFrame:
    """Return the rows of a stored file; texts are categories in alphabetical order.

    `columns` are the wanted columns. By default, these are all columns. The column `key` may be
    wanted too. Seconds are the decimal numbers that were rounded.
    """
    wanted = None if columns is None else list(columns)
    stored = pq.read_schema(path)
    names, has_key = stored.names, wanted is None or "key" in wanted
    if wanted is not None:
        names = [name for name in names if name in wanted or (has_key and name in CELL)]
    is_text = {name: pa.types.is_string(stored.field(name).type) for name in names}
    texts = [name for name in names if is_text[name] and name != "diagnostics"]
    table = pq.read_table(path, columns=names, read_dictionary=texts)
    frame = table.replace_schema_metadata(None).to_pandas()
    for name in names:
        if isinstance(frame[name].dtype, pd.CategoricalDtype):
            used = frame[name].cat.remove_unused_categories()
            frame[name] = used.cat.reorder_categories(sorted(used.cat.categories))
        elif name in TIMES:
            frame[name] = rounded(frame[name].to_numpy(dtype=float), 3)
        elif name in NUMBERS:
            frame[name] = frame[name].to_numpy(dtype=float)
        elif name == "arrays":
            frame[name] = schema.array_mappings(frame[name])
    if has_key:
        frame["key"] = keys(frame)
    return frame if wanted is None else frame[[name for name in wanted if name in frame]]


def keys(frame: pd.DataFrame) -> pd.Series:
    """Return the key of each row's cell, made of the columns CELL."""
    codes = frame.groupby([*CELL], sort=False, observed=True).ngroup().to_numpy()
    first = frame.loc[~pd.Series(codes).duplicated().to_numpy(), [*CELL]]
    made = np.array([cell_key(*row) for row in first.itertuples(index=False)], dtype=object)
    return pd.Series(pd.array(made, dtype=KEYS).take(codes), frame.index)


def load_plan(path: Path, settings: Settings, make_plan: Callable[[], Plan]) -> Plan:
    """Return the plan whose cells a stored file contains.

    If the plan depends on data files, it is made from the rows of the file, so that the same cells
    are skipped as when the file was written. Otherwise return the result of `make_plan`.

    Raises
    ------
    BadInputError
        If the plan depends on data files, but the configuration or a component without data files
        has changed since.
    """
    content = metadata(path) if path.is_file() else {}
    if content.get("configuration") is None:
        return make_plan()
    plan = None
    if content["configuration"] == table_plan.configuration_digest(settings):
        columns = [*COLUMNS, *ABOUT_PROBLEMS, "key"]
        kept = [name for name in columns if name not in (*FLOATS, *CONTENTS, "truth_method")]
        plan = table_plan.restore_plan(read(path, kept), settings)
    if plan is None or plan_digest(plan) != content["plan"]:
        raise BadInputError(_refusal(path, content, plan))
    return plan


def check_plan(path: Path, plan: Plan) -> None:
    """Raise BadInputError if the cells in a stored file are not those of the plan."""
    content = metadata(path)
    if content["plan"] != plan_digest(plan):
        raise BadInputError(_refusal(path, content, plan))


def _refusal(path: Path, content: dict[str, Any], plan: Plan | None) -> str:
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
    check_plan(path, plan)
    return copy_rows(read(path), path, out)


def copy_rows(frame: pd.DataFrame, path: Path, out: Path) -> int:
    """Copy rows of the stored file `path` into the results folder `out`, as `unpack` does.

    Descriptions of runs that are there already stay.
    """
    if frame.empty:
        return 0
    write_truths_of(frame, out)
    frame = frame.assign(written=1e-3)  # older than any record that is computed on this machine
    frame = frame.reindex(columns=list(schema.COLUMNS))
    columns = [
        pa.array(frame[field.name].tolist(), field.type, from_pandas=True)
        for field in schema.schema()
    ]
    write_table(out, pa.table(columns, schema=schema.schema()))
    for run_id, run in metadata(path)["runs"].items():
        if not KEY.fullmatch(run_id):
            raise BadInputError(
                f"{path} contains the run id {run_id!r}, which cannot become a file name; restore "
                "an earlier version of the file."
            )
        if not provenance.read(out, run_id):
            run = {"run_id": run_id, "cells": {"todo": 0}, **run}
            buckets.write_json(out, f"runs/{run_id}.json", run)
    return len(frame)


def known_truths(frame: pd.DataFrame) -> dict[str, dict[str, Any]]:
    """Return {problem key: {"notion|estimand": [truth, error, method]}} of stored rows.

    The entry is None for an estimand that could have a truth, but has none.
    """
    columns = [*TRUTH_OF, *schema.TRUTHS, "truth_method"]
    rows = frame.loc[frame["estimand"].notna(), columns].drop_duplicates(TRUTH_OF)
    truths: dict[str, dict[str, Any]] = {}
    for key, notion, estimand, truth, error, method in rows.itertuples(index=False):
        if has_truth(estimand):
            entry = None if np.isnan(truth) else [truth, error, method]
            truths.setdefault(key, {})[f"{notion}|{estimand}"] = entry
    return truths


def write_truths_of(frame: pd.DataFrame, out: Path) -> None:
    """Write the truths of stored rows into a results folder, where they are not known yet."""
    for key, pairs in known_truths(frame).items():
        known = {pair: truth for pair, truth in pairs.items() if truth}
        write_truths(out, key, {**pairs, **read_truths(out, key), **known})
