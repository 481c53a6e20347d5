"""Tutorials and how-to pages work as printed, and the documentation has no broken link."""

import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec

import pytest
from printed import ROOT, blocks, first_missing, run

PAGES = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md"))
HOURS = ("docs/how-to/reproduce-the-papers.md",)
RUN = [
    page for page in PAGES if any(block.runs for block in blocks(page))
]  # seconds each: the slow tests


@pytest.mark.parametrize(
    "page",
    [pytest.param(p, marks=pytest.mark.hours if p in HOURS else pytest.mark.slow) for p in RUN],
)
def test_a_page_works_as_printed(page, tmp_path):
    run(blocks(page), tmp_path)


def test_the_tutorials_are_run():
    assert {page for page in PAGES if "/tutorials/" in page} <= set(RUN) and set(HOURS) <= set(RUN)


def test_what_is_said_to_be_printed_is_compared():
    assert first_missing("a  b\nc ... d\n", "x\na b\nc 1.3 d\n") is None
    assert (
        first_missing("a b\nc\n", "c\na b\n") == "c"
        and first_missing("...\na\n...\n", "aa\n") == "a"
    )


@pytest.mark.parametrize(
    ("page", "name"),
    [("an-estimator", "estimator"), ("a-calibrator", "calibrator"), ("a-problem", "problem")],
)
def test_a_page_shows_the_template(page, name):
    (shown,) = (block for block in blocks(f"docs/how-to/add-{page}.md") if block.title)
    assert (
        shown.title == f"{name}.py"
        and shown.text == (ROOT / "templates" / f"{name}.py").read_text()
    )


def test_a_page_has_one_title():
    for page in PAGES:
        outside = re.sub(r"^```.*?^```$", "", (ROOT / page).read_text(), flags=re.M | re.S)
        assert len(re.findall(r"^# ", outside, flags=re.M)) == 1, page


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    if find_spec("mkdocs") is None:
        pytest.skip("the extra docs is not installed")
    folder = tmp_path_factory.mktemp("docs") / "site"
    command = [
        sys.executable,
        "-m",
        "mkdocs",
        "build",
        "--strict",
        "--quiet",
        "--site-dir",
        str(folder),
    ]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.mark.slow
@pytest.mark.xdist_group("built documentation")
def test_the_built_pages_ask_no_other_host(site):
    """Scripts, style sheets, pictures and frames are local. Links may lead to other hosts."""
    for page in site.rglob("*.html"):
        text = page.read_text()
        asked = re.findall(r"<(?:script|img|iframe|source)\b[^>]*\bsrc=\"?(https?:|//)[^>]*>", text)
        styles = [
            link
            for link in re.findall(r"<link\b[^>]*>", text)
            if re.search(r"href=\"?(https?:|//)", link)
        ]
        assert not asked and not styles, page


@pytest.mark.slow
@pytest.mark.xdist_group("built documentation")
def test_a_notebook_is_a_page_with_its_pictures(site):
    page = (site / "tutorials" / "sweep-in-python.html").read_text()
    assert page.count('src="data:image/png;base64,') == 1
    assert 'href="tutorials/sweep-in-python.html"' in (site / "index.html").read_text()


@pytest.mark.slow
@pytest.mark.xdist_group("built documentation")
def test_search_works_from_a_file(site):
    """Opened as file://, where a page may not start a worker."""
    chromium = (
        shutil.which("chromium")
        or shutil.which("chromium-browser")
        or shutil.which("google-chrome")
    )
    if chromium is None:
        pytest.skip("no chromium here")
    command = [
        chromium, "--headless", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files",
        "--virtual-time-budget=8000",
        "--host-resolver-rules=MAP * 0.0.0.0", "--dump-dom", f"file://{site}/index.html?q=isotonic",
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert re.search(r'class="md-search-result__link"', done.stdout), done.stderr[-2000:]
