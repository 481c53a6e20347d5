"""Execute the notebooks of docs/, store what they print and draw, and show them as pages.

`python tools/docs/notebooks.py` executes all of them, and with a file as argument only this one. No
Jupyter is needed: a cell is Python without magics. mkdocs calls the hooks at the end of this file,
which turn each notebook into a page.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import html
import io
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parents[2] / "docs"
Output = dict[str, Any]


def read(path: Path) -> dict[str, Any]:
    """Return the content of a notebook file (format 4)."""
    notebook: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return notebook


def execute(notebook: dict[str, Any]) -> list[list[Output]]:
    """Execute the code cells in one namespace, and return the outputs of each.

    The outputs of a cell are, in this order: the text that it prints, the value of its last line
    (unless that ends in a semicolon), and the figures that it opens. An error of a cell is raised
    with a note that contains the cell.
    """
    import matplotlib

    matplotlib.use("agg")
    space: dict[str, Any] = {"__name__": "__main__"}
    outputs = []
    for number, cell in enumerate(_code_cells(notebook), 1):
        source = "".join(cell["source"])
        try:
            outputs.append(_run(source, number, space))
        except Exception as error:
            error.add_note(f"in this cell:\n{source}")
            raise
    return outputs


def _code_cells(notebook: dict[str, Any]) -> list[dict[str, Any]]:
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def _run(source: str, number: int, space: dict[str, Any]) -> list[Output]:
    from matplotlib import pyplot

    tree = ast.parse(source)
    last = tree.body[-1] if tree.body else None
    shown = None
    if isinstance(last, ast.Expr) and not source.rstrip().endswith(";"):
        shown = ast.Expression(last.value)
        tree.body.pop()
    printed = io.StringIO()
    value = None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, f"<cell {number}>", "exec"), space)
        if shown is not None:
            value = eval(compile(shown, f"<cell {number}>", "eval"), space)
    outputs: list[Output] = []
    if printed.getvalue():
        text = printed.getvalue().splitlines(True)
        outputs.append({"output_type": "stream", "name": "stdout", "text": text})
    if value is not None:
        result = {"data": {"text/plain": repr(value).splitlines(True)}, "metadata": {}}
        outputs.append({"output_type": "execute_result", "execution_count": number, **result})
    for figure in map(pyplot.figure, pyplot.get_fignums()):
        picture = io.BytesIO()
        figure.savefig(picture, format="png", dpi=100, metadata={"Software": None})
        data = {"image/png": base64.b64encode(picture.getvalue()).decode()}
        outputs.append({"output_type": "display_data", "data": data, "metadata": {}})
    pyplot.close("all")
    return outputs


def text(output: Output) -> str | None:
    """Return the text of an output, or None for a picture."""
    lines = output.get("text") or output.get("data", {}).get("text/plain")
    return None if lines is None else "".join(lines)


def store(path: Path) -> None:
    """Execute a notebook in an empty folder, and write its outputs into its file."""
    path = path.resolve()
    notebook = read(path)
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            outputs = execute(notebook)
        finally:
            os.chdir(before)
    for number, (cell, produced) in enumerate(zip(_code_cells(notebook), outputs), 1):
        cell["execution_count"], cell["outputs"] = number, produced
    content = json.dumps(notebook, indent=1, ensure_ascii=False)
    path.write_text(content + "\n", encoding="utf-8")


def markdown(notebook: dict[str, Any]) -> str:
    """Return a notebook as a Markdown page: texts, code, outputs and pictures.

    The alternative text of a picture is the entry `alt` of its cell's metadata.
    """
    parts = []
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        parts.append(f"```python\n{source}\n```")
        for output in cell["outputs"]:
            printed = text(output)
            if printed is not None:
                parts.append(f"```text\n{printed.rstrip()}\n```")
            else:
                alt = html.escape(cell["metadata"].get("alt", ""), quote=True)
                data = "".join(output["data"]["image/png"]).replace("\n", "")
                parts.append(f'<img alt="{alt}" src="data:image/png;base64,{data}">')
    return "\n\n".join(parts) + "\n"


def on_files(files: Any, config: Any) -> Any:
    """Make a page of each notebook. mkdocs calls this with all files of docs/."""
    from mkdocs.structure.files import File

    class NotebookFile(File):
        """File that mkdocs takes for a page, although its name does not end in .md."""

        def is_documentation_page(self) -> bool:
            return True

    for file in list(files):
        if file.src_uri.endswith(".ipynb"):
            files.remove(file)
            folders = config["docs_dir"], config["site_dir"], config["use_directory_urls"]
            files.append(NotebookFile(file.src_uri, *folders))
    return files


def on_page_read_source(page: Any, config: Any) -> str | None:
    """Return the Markdown of a notebook. mkdocs calls this before it reads the file of a page."""
    if not page.file.src_uri.endswith(".ipynb"):
        return None
    return markdown(read(Path(page.file.abs_src_path)))


if __name__ == "__main__":
    for path in [Path(name) for name in sys.argv[1:]] or sorted(DOCS.rglob("*.ipynb")):
        store(path)
        print(f"executed {path}")
