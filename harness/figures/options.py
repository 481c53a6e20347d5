"""Options figure.* of a run: size, font and file formats of its figures."""

from __future__ import annotations

from harness.configure.catalogue import defaults
from harness.configure.figure import Figure as FigureSettings
from harness.configure.settings import Settings
from harness.figures.style import STYLE, WIDTH


def figure_settings(settings: Settings | None) -> FigureSettings:
    """Return the options figure.*; without settings those of conf/config.yaml."""
    return settings.figure if settings else FigureSettings(**defaults()["figure"])


def font_scale(settings: Settings | None) -> float:
    """Return the configured font size divided by the default font size."""
    usual: float = STYLE["font.size"]
    return (figure_settings(settings).font or usual) / usual


def figure_size(settings: Settings, height: float) -> tuple[float, ...]:
    """Return the width and height of a figure in inches: figure.size if set, else the default.

    The default has the width of two columns of a paper and the given height, which grows with the
    font size.
    """
    size = settings.figure.size
    return tuple(size) if size else (WIDTH, height * max(1.0, font_scale(settings)))
