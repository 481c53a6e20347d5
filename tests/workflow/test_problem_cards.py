"""Pictures of problems for the page of the arena."""

import pytest

from harness.configure.catalogue import config
from harness.figures.problem_pictures import is_current
from harness.plan.components import build_component
from harness.workflow import problem_cards


@pytest.mark.slow
def test_a_picture_is_drawn_once_for_each_version_of_a_problem(monkeypatch, tmp_path):
    monkeypatch.setenv("CALHARNESS_DATA", str(tmp_path))
    ids = ("sparse_k3", "fitted_images_k10_lenet5", "tabular_oof")
    problems = {name: build_component("problem", name, config("problem", name)) for name in ids}
    path = tmp_path / "sparse_k3.png"
    assert problem_cards.save(tmp_path, problems) == {"sparse_k3": path}
    path.touch()
    written = path.stat().st_mtime_ns
    problem_cards.save(tmp_path, problems)
    assert path.stat().st_mtime_ns == written
    key = problems["sparse_k3"].key
    assert is_current(path, key) and not is_current(path, f"{key}0")
    path.write_bytes(b"no picture")
    assert not is_current(path, key) and not is_current(tmp_path / "absent.png", key)
