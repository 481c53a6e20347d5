"""Effect of each convention of the published code, on problems with a known truth.

The conventions are removed one after the other. The paper prints none of these numbers.
"""

from harness.evaluation import items, tables
from harness.figures import panels

__all__ = ["render", "summary", "table"]
BASES = ("kde", "kkr", "ukkr")
STEPS = {  # {end of the estimator's id: which conventions are removed}
    "_aligned_gruber2025": "labels aligned (kkr, ukkr)",
    "_split_gruber2025": "and clipped (kde), γ = 1/2 (kkr, ukkr)",
    "_gruber2025": "as published",
    "": "and a random split: Algorithm 1",
}
ORDER = [STEPS[end] for end in ("_gruber2025", "_aligned_gruber2025", "_split_gruber2025", "")]
summary, table = tables.summary, tables.wide


def base_and_step(estimator):
    """Return base and step of an id.

    'tuned_kkr_aligned_gruber2025' -> ('kkr', 'labels aligned (kkr, ukkr)'). The step says which
    conventions are removed so far.
    """
    end = next(end for end in STEPS if estimator.endswith(end))
    return estimator.removesuffix(end).removeprefix("tuned_"), STEPS[end]


def render(records, settings):
    """Draw a panel per problem and notion, with a row per estimator.

    Colours show the conventions removed so far. Pale dots are single samples.
    """
    rows = items.values(records, settings, ["rms"])
    both = [base_and_step(name) for name in rows["estimator"]]
    rows = rows.assign(base=[base for base, _ in both], step=[step for _, step in both])
    bases = [base for base in BASES if rows["base"].eq(base).any()]
    means = items.means(rows, ["problem", "model", "notion", "base", "step"])
    places = [
        (model, notion) for model in items.labels(settings, "problem") for notion in settings.notion
    ]
    styles = {step: panels.look(i, markersize=4, label=step) for i, step in enumerate(ORDER)}
    dots = {
        step: {**panels.look(i), "marker": ".", "markersize": 3.5, "alpha": 0.35}
        for i, step in enumerate(ORDER)
    }
    figure, axes = panels.panels(len(places), 2, 1.55, None, sharey=True)
    for ax, (model, notion) in zip(axes, places):
        mine, my_means = (
            frame[frame["model"].eq(model) & frame["notion"].eq(notion)] for frame in (rows, means)
        )
        panels.dodged(ax, mine.assign(se=0.0, mean=mine["value"]), "base", bases, "step", dots)
        panels.dodged(ax, my_means, "base", bases, "step", styles)
        panels.truth_line(ax, mine, upright=True)
        ax.set_title(f"{model}, {notion.replace('_', '-')}")
        panels.name_rows(ax, bases)
    figure.supxlabel("root mean squared calibration error", fontsize=8)
    panels.legend(figure, axes, 3, first=ORDER)
    return figure
