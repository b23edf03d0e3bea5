"""Reports in a browser: Chromium opens them; errors, messages on the console and requests fail a test."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

playwright = pytest.importorskip("playwright.sync_api")
CHROMIUM = next(filter(None, map(shutil.which, ["chromium", "chromium-browser", "google-chrome"])), None)
if CHROMIUM is None:
    pytest.skip("no Chromium (Debian: apt-get install chromium)", allow_module_level=True)

ROOT = Path(__file__).parents[2]
LIBRARY = ROOT / "scenarios" / "library"
SUPERDENSE = os.environ.get("SUPERDENSE", str(ROOT / "target" / "release" / "superdense"))
Open = Callable[..., playwright.Page]


def superdense(folder: Path, *words: str | Path, code: int = 0) -> str:
    done = subprocess.run([SUPERDENSE, *map(str, words)], cwd=folder, capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def chromium() -> Iterator[playwright.Browser]:
    with playwright.sync_playwright() as p:
        # Root, as in containers, has no sandbox.
        browser = p.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def show(chromium: playwright.Browser) -> Iterator[Open]:
    """Opens a file; at the end, nothing but the file was asked for and nothing was complained of."""
    complaints: list[str] = []

    def show(file: Path, width: int = 1280, scheme: str = "light") -> playwright.Page:
        page = chromium.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme).new_page()
        page.on("console", lambda m: complaints.append(m.text))
        page.on("pageerror", lambda e: complaints.append(str(e)))
        page.on("dialog", lambda d: complaints.append(d.message))
        page.on("request", lambda r: complaints.append(r.url) if r.url != file.as_uri() else None)
        page.goto(file.as_uri())
        page.wait_for_selector("html[data-ready=true]")
        return page

    yield show
    assert complaints == []


def painted(page: playwright.Page) -> list[int]:
    """How many points of each canvas have some colour."""
    return page.eval_on_selector_all(
        "canvas",
        """all => all.map(c => {
            const d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data;
            let n = 0;
            for (let i = 3; i < d.length; i += 4) n += d[i] > 0;
            return n;
        })""",
    )


def drawn(page: playwright.Page) -> list[str]:
    return page.eval_on_selector_all("canvas", "all => all.map(c => c.toDataURL())")


def cursors(page: playwright.Page) -> list[str]:
    return page.eval_on_selector_all(".u-cursor-x", "all => all.map(c => c.style.transform)")


def fits(page: playwright.Page) -> bool:
    """Nothing makes the whole page scroll sideways."""
    return page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """s1c with delays of 1 and 50 ms."""
    folder = tmp_path_factory.mktemp("runs")
    scenario = LIBRARY / "grid" / "s1c.toml"
    superdense(folder, "run", scenario, "--out", "fast", "--plot", "none")
    superdense(folder, "run", scenario, "--out", "slow", "--plot", "none", "--set", "network.delay='50 ms'")
    return folder


def test_a_run_is_painted_zoomed_and_read(folder: Path, show: Open) -> None:
    superdense(folder, "report", "fast")
    file = folder / "fast.report.html"
    assert file.stat().st_size <= 900_000
    page = show(file)
    assert page.locator("h2", has_text="Results").is_visible() and "59.4607978" in page.inner_text("main")
    before = drawn(page)
    assert len(before) == 3 and min(painted(page)) > 1000
    # The cursor of one plot is that of all plots over time.
    box = page.locator(".u-over").first.bounding_box()
    assert box is not None
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] / 3, middle)
    places = cursors(page)
    assert len(set(places)) <= 2 and all(p.startswith("translate") for p in places), places
    # So is the part of the time that a mouse chooses.
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2, middle, steps=4)
    page.mouse.up()
    page.wait_for_timeout(100)
    zoomed = drawn(page)
    assert all(a != b for a, b in zip(before, zoomed, strict=True))
    # A filter, and a click on an event.
    page.get_by_label("Filter events").fill("below 59.5 Hz")
    assert page.locator("section tbody button.plain").count() == 8
    page.locator("button.plain").first.click()
    page.wait_for_timeout(100)
    assert drawn(page) != zoomed


def test_the_keyboard_does_everything(folder: Path, show: Open) -> None:
    superdense(folder, "report", "fast", "--force")
    page = show(folder / "fast.report.html")
    focused = "document.activeElement.getAttribute('aria-label') || document.activeElement.tagName"
    seen = []
    for _ in range(200):
        page.keyboard.press("Tab")
        seen.append(page.evaluate(focused))
        if str(seen[-1]).startswith("Zoom in"):
            break
    before = drawn(page)
    page.keyboard.press("Enter")
    page.wait_for_timeout(100)
    nearer = drawn(page)
    assert nearer != before, seen
    # Every control can be reached: buttons, boxes of curves, tables, the filter, times of events.
    for _ in range(200):
        page.keyboard.press("Tab")
        name = page.evaluate(focused)
        seen.append(name)
        if name == "Filter events":
            break
    controls = page.locator("button:not(.plain), input, summary").count()
    assert len(set(seen)) > 3 and seen.count("INPUT") + seen.count("SUMMARY") > 10 and controls >= len(seen) - 5
    page.keyboard.type("sensor")
    assert "of" in page.inner_text("[role=status]")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    # A box takes its curve away, the summary opens a table.
    box = page.locator(".legend input").first
    box.focus()
    before = drawn(page)
    page.keyboard.press("Space")
    page.wait_for_timeout(100)
    assert drawn(page) != before
    page.locator("details summary").first.focus()
    page.keyboard.press("Enter")
    page.locator("details[open] table").first.wait_for()


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (400, "dark")])
def test_pages_fit_their_window(folder: Path, show: Open, width: int, scheme: str) -> None:
    superdense(folder, "report", "fast", "--force")
    superdense(folder, "compare", "fast", "slow", "--html", "both.html", "--force", code=1)
    for name in ["fast.report.html", "both.html"]:
        page = show(folder / name, width, scheme)
        assert fits(page) and min(painted(page)) > 500
        paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert paper == ("rgb(255, 255, 255)" if scheme == "light" else "rgb(22, 24, 28)")


def test_texts_stay_texts(tmp_path: Path, show: Open) -> None:
    evil = "</script><img src=x onerror=alert(1)>"
    (tmp_path / "evil.toml").write_text(f"""
stop = "1 s"
record = ["x.y"]
[unit.x]
kind = "constant"
value = 1
[[plot]]
title = "{evil}"
y = ["x.y"]
""")
    superdense(tmp_path, "run", "evil.toml")
    superdense(tmp_path, "report", "out/evil")
    page = show(tmp_path / "evil.report.html")
    assert evil in page.inner_text("main") and page.locator("img").count() == 0


def test_a_comparison_tells_where_runs_part(folder: Path, show: Open) -> None:
    assert "equal" in superdense(folder, "compare", "fast", "fast", "--html", "equal.html", "--force")
    assert "The runs are equal" in show(folder / "equal.html").inner_text("main")
    superdense(folder, "compare", "fast", "slow", "--html", "both.html", "--force", code=1)
    page = show(folder / "both.html")
    text = page.inner_text("main")
    assert "The runs part at 3.062359337 s, micro-step 0: wan.to_0." in text
    assert "grid.coi_hz, first" in text and "grid.coi_hz, second" in text
    rows = page.locator("table").first.locator("tbody tr")
    assert rows.first.inner_text().startswith("nadir") and "-3.466e-3" in rows.first.inner_text()
    refused = subprocess.run(
        [SUPERDENSE, "compare", "fast", "slow", "--html", "both.html"], cwd=folder, capture_output=True, text=True
    )
    assert refused.returncode == 2 and "--force" in refused.stderr


def test_a_study_of_one_and_of_three_parameters(tmp_path: Path, show: Open) -> None:
    (tmp_path / "ball.toml").write_text("""
stop = "1 s"
[parameters]
height = 1.0
gravity = 9.81
back = 0.8
[unit.ball]
kind = "equations"
states = { x = "height", v = 0 }
derivatives = { x = "v", v = "-gravity" }
outputs = { x = "x" }
[[unit.ball.event]]
name = "bounce"
when = "x <= 0 and v < 0"
reset = { v = "-back*v" }
[result]
first = { value = "first(event('ball', 'bounce'))", unit = "s" }
mean = "mean(ball.x)"
""")
    (tmp_path / "study.toml").write_text("""
title = "When does the ball <b>bounce</b>?"
scenario = "ball.toml"
[vary]
height = { from = 0.5, to = 2.0, step = 0.01 }
gravity = { from = 1.0, to = 20.0 }
back = { from = 0.1, to = 0.9 }
[ask.limit]
method = "boundary"
over = "height"
keep = "first < 0.5"
[ask.map]
method = "grid"
over = { height = [0.5, 1.0, 2.0], gravity = [5, 10] }
[ask.all]
method = "latin-hypercube"
samples = 16
over = ["height", "gravity", "back"]
""")
    # Balls that bounce too low come to rest within the second, which is an error without `rest`.
    superdense(tmp_path, "study", "study.toml", "--out", "out", code=3)
    superdense(tmp_path, "report", "out")
    for width, scheme in [(1280, "light"), (400, "dark")]:
        page = show(tmp_path / "out.report.html", width, scheme)
        text = page.inner_text("main")
        assert "first < 0.5 holds up to height = 1.22, fails from 1.23" in text
        assert "When does the ball <b>bounce</b>?" in text
        assert "Runs without results" in text and "(Zeno or chattering)" in text
        assert fits(page) and min(painted(page)) > 200
        # The result of which the answer speaks is shown first.
        limit = page.locator("section").filter(has_text="limit: over height")
        assert limit.locator("select").input_value() == "0"
        # The map has a cell for each point, and both designs have a line for each point.
        sections = page.locator("section")
        assert sections.filter(has_text="map: over height and gravity").locator("rect title").count() == 6
        every = sections.filter(has_text="all: over height, gravity and back")
        lines = every.locator("polyline").count()
        assert 5 < lines < 16
        # By keyboard: another result, and the points as a table with the command for each.
        before = every.locator("svg").first.inner_html()
        every.locator("select").focus()
        page.keyboard.press("ArrowDown")
        assert every.locator("svg").first.inner_html() != before
        every.locator("summary").focus()
        page.keyboard.press("Enter")
        commands = every.locator("code")
        assert commands.count() == 16
    again = commands.first.inner_text().split()[1:]
    superdense(tmp_path, *again, "--out", "again")
    assert (tmp_path / "again" / "summary.json").is_file()


def test_a_study_that_is_not_at_its_end_has_no_report(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    told = subprocess.run([SUPERDENSE, "report", "a"], cwd=tmp_path, capture_output=True, text=True)
    assert told.returncode == 2 and "run its scenario first" in told.stderr
