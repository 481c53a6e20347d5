"""Writing of figures in the formats, size, resolution and font size of the settings.

The same figure gives the same bytes in every run.
"""

from __future__ import annotations

import io
import logging
import os
import warnings
from pathlib import Path

from matplotlib.figure import Figure
from matplotlib.text import Text

from harness.common.writing import whole_file
from harness.configure.settings import Settings, as_list
from harness.errors import BadInputError
from harness.figures.options import figure_settings, font_scale
from harness.figures.style import STYLE, pyplot

METADATA: dict[str, dict[str, str | None]] = {  # without dates and versions
    "png": {"Software": None}, "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    "eps": {"Creator": "calharness"}, "ps": {"Creator": "calharness"},
}  # fmt: skip


def save(figure: Figure, stem: Path, settings: Settings | None = None) -> list[Path]:
    """Write a figure to <stem>.png, <stem>.svg and the other formats of figure.format; close it.

    Without settings, a PDF is written as well. Returns the paths, PNG first and SVG last.

    Raises
    ------
    BadInputError
        If the panels do not fit into figure.size.
    """
    options = figure_settings(settings)
    others = [kind for kind in as_list(options.format) or ["pdf"] if kind not in ("png", "svg")]
    # Silence warnings about dates in fonts and about transparency in EPS.
    for name in ("fontTools", "matplotlib.backends.backend_ps"):
        logging.getLogger(name).setLevel(logging.ERROR)
    os.environ.setdefault("SOURCE_DATE_EPOCH", "0")  # becomes the date in an EPS file
    scale = font_scale(settings)
    fonts = {name for name in STYLE if name.endswith("size") and "marker" not in name}
    style = {name: v * scale if name in fonts else v for name, v in STYLE.items()}
    paths = []
    with pyplot().rc_context(style), warnings.catch_warnings():
        if scale != 1.0:
            for text in figure.findobj(Text):
                text.set_fontsize(float(text.get_fontsize()) * scale)
        if options.size:
            figure.set_size_inches(options.size[0], options.size[1])
            warnings.filterwarnings("error", "constrained_layout not applied")
        try:
            figure.draw_without_rendering()  # lay out once, not per format
        except UserWarning as warning:
            pyplot().close(figure)
            width, height = options.size or (0.0, 0.0)
            raise BadInputError(
                f"figure.size is {width:g} x {height:g} inches, which is too small for the panels, "
                "texts and legend; set figure.size=null to use the size that is needed."
            ) from warning
        figure.set_layout_engine("none")
        for kind in dict.fromkeys(["png", *others, "svg"]):
            # Write to memory first: an EPS file would contain the path, and matplotlib crashes if
            # the disk is full in the middle of a PDF.
            content = io.BytesIO()
            dpi = options.dpi or 200
            figure.savefig(content, format=kind, dpi=dpi, metadata=METADATA.get(kind))
            path = stem.with_name(f"{stem.name}.{kind}")
            with whole_file(path) as temporary:
                temporary.write_bytes(content.getvalue())
            paths.append(path)
    pyplot().close(figure)
    return paths


def to_png(figure: Figure, dpi: int, **metadata: str) -> bytes:
    """Return a figure as the bytes of a PNG file, and close it."""
    content = io.BytesIO()
    figure.savefig(content, format="png", dpi=dpi, metadata={"Software": None, **metadata})
    pyplot().close(figure)
    return content.getvalue()
