"""A figure as files: in the formats, size, resolution and letters that the configuration asks for; the same bytes in
every run."""

from __future__ import annotations

import io
import logging
import os
import warnings
from pathlib import Path

from matplotlib.text import Text

from harness.common.writing import whole_file
from harness.errors import BadInputError
from harness.figures.style import STYLE, figure_settings, font_scale, pyplot

ALWAYS_WRITTEN = ("png", "svg")  # what the terminal names and what the page shows


def _say_less() -> None:
    for name in (
        "fontTools",
        "matplotlib.backends.backend_ps",
    ):  # font timestamps; EPS knows no transparency
        logging.getLogger(name).setLevel(logging.ERROR)


def save(figure, stem: Path, settings=None) -> list[Path]:
    """<stem>.png and .svg and the other formats of settings.figure (pdf where there is no settings), in its size, dpi and font;
    the same bytes in every run."""
    plt = pyplot()
    _say_less()
    asked = figure_settings(settings)
    formats = asked.format or ["pdf"]
    formats = [
        "png",
        *[
            f
            for f in ([formats] if isinstance(formats, str) else formats)
            if f not in ALWAYS_WRITTEN
        ],
        "svg",
    ]
    scale = font_scale(settings)
    os.environ.setdefault("SOURCE_DATE_EPOCH", "0")  # EPS has its date from there
    metadata = {
        "png": {"Software": None},
        "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    }
    metadata |= {
        "svg": {"Date": None, "Creator": None},
        "eps": {"Creator": "calharness"},
        "ps": {"Creator": "calharness"},
    }
    paths = []
    with (
        plt.rc_context(
            STYLE
            | {
                name: size * scale
                for name, size in STYLE.items()
                if name.endswith("size") and "marker" not in name
            }
        ),
        warnings.catch_warnings(record=True) as caught,
    ):
        warnings.simplefilter("always")
        if scale != 1.0:
            for text in figure.findobj(Text):
                text.set_fontsize(text.get_fontsize() * scale)
        if asked.size:
            figure.set_size_inches(asked.size)
        figure.draw_without_rendering()  # lays out once; each format would do it again
        too_small = [w for w in caught if "constrained_layout not applied" in str(w.message)]
        if asked.size and too_small:
            plt.close(figure)
            width, height = asked.size
            raise BadInputError(
                f"figure.size is {width:g} x {height:g} inches, in which the panels, their texts and the legend have no room; "
                f"give more, a smaller figure.font (4 to 30 points), fewer figure.estimators, or null for what is needed."
            )
        figure.set_layout_engine("none")

        def drawn(kind) -> bytes:
            held = io.BytesIO()  # of a path EPS would keep the name; a full disk in the middle of a PDF confuses matplotlib
            figure.savefig(held, format=kind, dpi=asked.dpi or 200, metadata=metadata.get(kind))
            return held.getvalue()

        contents = {kind: drawn(kind) for kind in dict.fromkeys(formats)}
        for kind, content in contents.items():
            path = stem.with_name(f"{stem.name}.{kind}")
            with whole_file(path) as temporary:
                temporary.write_bytes(content)
            paths.append(path)
    plt.close(figure)
    for warning in caught:
        if warning not in too_small:
            warnings.warn_explicit(
                warning.message, warning.category, warning.filename, warning.lineno
            )
    return paths
