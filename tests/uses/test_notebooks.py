"""The notebooks of docs/ print what they show, and become pages of the documentation."""

import json
import os
import re
import subprocess
import sys

import pytest
from printed import ROOT

sys.path.insert(0, str(ROOT / "tools" / "docs"))
import notebooks

NOTEBOOKS = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.ipynb"))
RERUN = """if True:
    import json, pathlib, sys
    sys.path.insert(0, sys.argv[2])
    import notebooks
    outputs = notebooks.execute(notebooks.read(pathlib.Path(sys.argv[1])))
    print(json.dumps([[notebooks.text(output) for output in cell] for cell in outputs]))
"""


def words(text):
    return None if text is None else text.split()


def code_cell(*lines, **metadata):
    return {"cell_type": "code", "source": "\n".join(lines), "metadata": metadata, "outputs": []}


def notebook(*cells):
    return {"cells": list(cells), "nbformat": 4, "nbformat_minor": 5, "metadata": {}}


@pytest.mark.slow
@pytest.mark.parametrize("page", NOTEBOOKS)
def test_a_notebook_prints_what_it_shows(page, tmp_path):
    """Spaces count as one, because versions of pandas align differently."""
    command = [sys.executable, "-c", RERUN, str(ROOT / page), str(ROOT / "tools" / "docs")]
    paths = filter(None, [str(ROOT), os.environ.get("PYTHONPATH")])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    cells = [cell for cell in notebooks.read(ROOT / page)["cells"] if cell["cell_type"] == "code"]
    printed = json.loads(done.stdout)
    assert len(printed) == len(cells)
    for cell, texts in zip(cells, printed):
        shown = [notebooks.text(output) for output in cell["outputs"]]
        assert [words(text) for text in texts] == [words(text) for text in shown]
    assert list(tmp_path.iterdir()) == []


def test_the_documentation_has_a_notebook_with_outputs_and_a_described_picture():
    assert NOTEBOOKS
    for page in NOTEBOOKS:
        cells = [c for c in notebooks.read(ROOT / page)["cells"] if c["cell_type"] == "code"]
        outputs = [(cell, output) for cell in cells for output in cell["outputs"]]
        assert all(cell["outputs"] for cell in cells), page
        assert all(cell["metadata"].get("alt") for cell, o in outputs if notebooks.text(o) is None)


def test_outputs_are_the_printed_text_the_last_value_and_the_figures():
    first = code_cell("import matplotlib.pyplot as plt", "print('a')", "b = 2", "b + 1")
    second = code_cell("plt.plot([1, b])", "b;", alt="a < b")
    texts, pictures = notebooks.execute(notebook(first, second, code_cell("c = b")))[:2]
    assert [notebooks.text(output) for output in texts] == ["a\n", "3"]
    assert [list(output["data"]) for output in pictures] == [["image/png"]]
    second["outputs"], first["outputs"] = pictures, texts
    title = {"cell_type": "markdown", "source": ["# Title\n", "a"], "metadata": {}}
    page = notebooks.markdown(notebook(title, first, second))
    assert page.startswith("# Title\na\n\n```python\nimport matplotlib")
    assert "```text\na\n```\n\n```text\n3\n```" in page
    assert re.search(r'<img alt="a &lt; b" src="data:image/png;base64,[\w+/=]+">\n$', page)


def test_an_error_names_its_cell():
    with pytest.raises(ZeroDivisionError) as caught:
        notebooks.execute(notebook(code_cell("a = 0"), code_cell("1 / a")))
    assert caught.value.__notes__ == ["in this cell:\n1 / a"]


def test_outputs_are_stored_in_the_file(tmp_path):
    path = tmp_path / "a.ipynb"
    path.write_text(json.dumps(notebook(code_cell("print(1)"))))
    notebooks.store(path)
    (cell,) = notebooks.read(path)["cells"]
    assert cell["execution_count"] == 1
    assert cell["outputs"] == [{"output_type": "stream", "name": "stdout", "text": ["1\n"]}]
