"""Statuses of recorded cells, which tests compare before and after a fault."""

from pathlib import Path

from harness.records import reader


def cell_states(out: Path, run_id: str | None = None) -> dict[str, str]:
    """Return {key: status} of recorded cells. With `run_id`, only records of this run count."""
    where = reader.run_condition(run_id)
    return dict(reader.query(out, "select key, status from cells", where=where))
