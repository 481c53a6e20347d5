"""Cells of a plan are those of a list, without the list."""

from harness.configure.compose import compose
from harness.plan.cells import Cells, Draws
from harness.plan.plan import plan


def test_cells_are_those_of_a_list():
    run = ["problem=[beta_wavy,beta_mixed]", "estimator=[binned15,simplex_ece]", "n=[20,30]"]
    made = plan(compose([*run, "reps=3"]))
    cells = list(made.cells)
    assert (
        isinstance(made.cells, Cells)
        and len(cells) == len(made.cells) == 24
        and len({cell.key for cell in cells}) == 24
    )
    assert made.cells == cells and cells[3] in made.cells
    # the key of a cell is a pure function of its identity (more keys: tests/golden/test_frozen.py)
    assert (cells[0].key, cells[-1].key) == ("fe31a6899cf675ac", "77bd4e8b1b556f8e")
    assert {cell.estimator for cell in cells if made.skip(cell)} == {"simplex_ece"}
    assert (
        dict(made.skips) == {cell.key: made.skip(cell) for cell in cells if made.skip(cell)}
        and len(made.skips) == 12
    )
    draws = Draws([4, 2], (10, 20), [(0, 99)])
    assert list(draws) == [(4, 10), (4, 20), (2, 10), (2, 20), (0, 99)]
