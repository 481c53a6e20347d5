"""The arena's page from synthetic records: eight families, three n, and smaller records."""

import re

import pytest
from arena_records import OWN, SCALES, records

from harness.evaluation.arena import content as arena_content
from harness.figures import arena_plot
from harness.pages.arena import page as arena_page
from harness.workflow.experiment import Experiment

FAMILIES = {
    "power": ["beta_overconfident", "beta_calibrated"], "wavy": ["wavy_k2"], "mixed": ["mixed_k2"],
    "stepped": ["stepped_k2"], "local": ["local_k2"], "nonmonotone": ["nonmonotone_k2"],
    "sparse": ["sparse_k2"], "ties": ["ties_k2"],
}  # fmt: skip
DEVELOPMENT = ["power", "wavy", "mixed"]
CLASSES = {problem: 2 for problems in FAMILIES.values() for problem in problems}


def content_of(frame, development=DEVELOPMENT):
    return arena_content.content(frame, FAMILIES, CLASSES, development)


@pytest.fixture(scope="module")
def content():
    return content_of(records(FAMILIES, ("binary", "top_label")))


def page_of(frame, folder, *, families=FAMILIES, development=DEVELOPMENT):
    """Return the files and the text of the page of these records."""
    names = ",".join(f"{family}:[{','.join(ids)}]" for family, ids in families.items())
    problems = ",".join(problem for ids in families.values() for problem in ids)
    experiment = Experiment.of([
        "experiment=arena", f"problem=[{problems}]", f"estimator=[{','.join(SCALES)}]",
        f"arena.development=[{','.join(development)}]", "~arena.families",
        f"+arena.families={{{names}}}", "figure.dpi=50", f"out={folder}",
    ])  # fmt: skip
    identity, settings = experiment.identity, experiment.settings
    files = arena_page.save(identity, settings, experiment.records.plans, frame, {})
    return files, files[-1].read_text()


def test_the_picture_and_the_table_have_the_same_typical_errors(content):
    best = content.trends[content.trends["estimator"].eq(OWN)]
    place = ["notion", "estimand", "n"]
    for calibrated, column in ((False, "own_rmse"), (True, "own_rmse_calibrated")):
        errors = best[best["calibrated"].eq(calibrated)].set_index(place)["rmse"]
        table = content.recommendations.set_index(place)[column]
        assert errors.to_dict() == pytest.approx(table.to_dict())


def test_the_content_has_a_line_per_board_and_n(content):
    lines = content.recommendations[["notion", "estimand", "n"]]
    assert len(lines) == 2 * 2 * 3 and not lines.duplicated().any()
    assert set(content.bounds["estimator"]) == {"best_lower"}
    assert set(content.intervals["estimator"]) == {OWN}
    assert "best_lower" not in set(content.board["estimator"])


def test_a_picture_has_truths_above_0_on_the_left_and_0_on_the_right(content):
    figure = arena_plot.errors(content.trends, content.recommendations, "binary")
    titles = [ax.get_title() for ax in figure.axes]
    assert len(titles) == 4 and "above 0" in titles[0] and "error 0" in titles[1]
    legend = {text.get_text() for text in figure.legends[0].get_texts()}
    assert {arena_plot.OWN, arena_plot.RIVAL, "binned15"} <= legend
    rivals = content.recommendations.query("notion == 'binary' and estimand == 'l1'")["rival"]
    assert [text.get_text() for text in figure.axes[0].texts] == [*map(arena_plot.short, rivals)]
    figure = arena_plot.errors(content.trends.query("not calibrated"), content.recommendations,
                               "binary")  # fmt: skip
    assert len(figure.axes) == 2  # without calibrated problems there is no right side
    assert "is 0:" not in figure.get_label() and "along the lower edge" in figure.get_label()


def test_lines_of_a_picture_have_different_colours_and_the_caption_names_only_what_is_drawn():
    scales = {**SCALES, "sweep_mass": 1.2, "mine": 1.5}
    content = content_of(records(FAMILIES, scales=scales, estimands=("l1",)))
    figure = arena_plot.errors(content.trends, content.recommendations, "binary", "mine")
    colours = [handle.get_color() for handle in figure.legends[0].get_lines()]
    assert len(colours) == 6 and len(set(colours)) == 6
    assert "name is written in the left panel" in figure.get_label()
    without = content.recommendations.assign(rival=None)
    figure = arena_plot.errors(content.trends.query("calibrated"), without, "binary", "mine")
    assert "published" not in figure.get_label() and "above 0" not in figure.get_label()


def test_the_page_has_every_part_and_no_missing_number(tmp_path):
    frame = records(FAMILIES, ("binary", "top_label"), reps=6)
    files, text = page_of(frame, tmp_path)
    ends = [path.name.removeprefix(files[-1].stem) for path in files]
    assert {".csv", "_recommendations.csv", "_bounds.csv", "_interval_table.csv",
            "_errors_binary.svg", "_errors_top_label.svg", ".html"} <= set(ends)  # fmt: skip
    for part in ("answer-binary", "answer-top_label", "read", "bounds", "intervals", "own",
                 "board", "problems"):  # fmt: skip
        assert f'id="{part}"' in text, part
    assert text.count("<details name=") == 2 and "canonical" not in text.split("How to read")[0]
    assert not re.search(r"(src|href)=\"(https?:)?//", text)
    tables = "".join(re.findall(r"<td.*?</td>|<th.*?</th>", text, flags=re.S))
    assert not re.search(r">\s*(nan|none|inf)\b", tables, flags=re.I)


@pytest.mark.parametrize(
    ("chosen", "words"),
    [
        ({"sizes": (200,)}, "only 2 test families"),
        ({"scales": {"binned15": 2.0, "kmeans15": 1.0}}, "do not answer this question"),
        ({"scales": {"best": 1.0}}, "do not answer this question"),
        ({"estimands": ("l1",), "notions": ("classwise",)}, "Class-wise"),
    ],
)
def test_the_page_holds_with_fewer_records(tmp_path, chosen, words):
    """One n, no `best`, no published estimator, a notion alone."""
    few = {name: FAMILIES[name] for name in ("power", "wavy", "sparse")}
    frame = records(few, **{"sizes": (50, 200), "reps": 4, **chosen})
    _, text = page_of(frame, tmp_path, families=few, development=["power"])
    assert words in text


def test_without_development_families_nothing_is_compared(tmp_path):
    few = {name: FAMILIES[name] for name in ("power", "sparse")}
    _, text = page_of(records(few, sizes=(50,), reps=4), tmp_path, families=few, development=[])
    assert "none to compare with" in text and "not compared" in text
