"""A reliability diagram of predictions, in one call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from harness.figures import reliability_plot
from harness.figures.style import usual_style
from harness.judging.data import from_arrays
from harness.judging.where import overall_panel

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def reliability_diagram(
    p: ArrayLike,
    y: ArrayLike,
    ax: Axes | None = None,
    *,
    classes: Sequence[Any] | None = None,
    confidences: bool = False,
) -> Axes:
    """Draw the reliability diagram of predictions: the CORP curve with its 95 % consistency band.

    Parameters
    ----------
    p : array_like, (n,) or (n, k)
        Probabilities of class 1, or of k classes, of which the top label is shown.
    y : array_like, (n,)
        Labels 0..k-1, or names in `classes`.
    ax : matplotlib Axes, optional
        The axes to draw into. Without it, a new figure also has the histogram of the scores.
    classes : sequence, optional
        Names of the classes, as for `harness.estimate`.
    confidences : bool
        True if p (n,) holds confidences, and y tells which predictions were right.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    BadInputError
        If p or y cannot be used.

    References
    ----------
    Dimitriadis, Gneiting and Jordan (2021), PNAS 118 (8).

    Examples
    --------
    >>> reliability_diagram([0.1, 0.4, 0.35, 0.8], [0, 0, 1, 1]).get_xlabel()
    ''
    >>> from matplotlib.figure import Figure
    >>> ax = Figure().subplots()
    >>> reliability_diagram([0.1, 0.4, 0.35, 0.8], [0, 0, 1, 1], ax=ax).get_xlabel()
    'predicted P(Y = 1)'
    """
    panel = overall_panel(from_arrays(p, y, classes=classes, confidences=confidences))
    with usual_style():
        if ax is None:
            axes: Axes = reliability_plot.figure([panel]).axes[0]
            return axes
        reliability_plot.draw_diagram(ax, panel)
        ax.set(xlabel=panel.score, ylabel=panel.event)
    return ax
