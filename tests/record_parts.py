"""Parts of records that tests write by hand."""

from harness.records import parts


def row(key, status, value=None, estimand=None, **more):
    """Return the arguments of `Part.add` for a cell with one row; `diagnostics` is of the row."""
    common = {
        "key": key, "problem": "p", "problem_key": "00", "problem_parameters": "{}",
        "notion": "binary", "n": 10, "rep": 0, "estimator": "e", "estimator_key": "11",
        "estimator_parameters": "{}", "seed": 0, "run_id": "r",
    }  # fmt: skip
    estimate = {"status": status, "value": value, "estimand": estimand}
    estimate |= {name: more.pop(name) for name in ("diagnostics",) if name in more}
    return {**common, **more}, [estimate]


def write(out, *rows):
    """Write rows as one part, and return its path."""
    before = set(parts.part_files(out))
    part = parts.Part(out)
    for common, estimates in rows:
        part.add(common, estimates)
    part.write()
    return (set(parts.part_files(out)) - before).pop()


def write_cells(out, *numbers, **more):
    """Write finished cells with these numbers as keys."""
    return write(out, *(row(f"{number:016x}", "ok", 0.5, "l1", **more) for number in numbers))
