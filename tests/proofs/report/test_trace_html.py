"""The HTML page in a real browser: it loads, steps, shows the break, runs nothing foreign."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import browser  # the documentation's, found through report_samples
import pytest
from report_samples import HOSTILE, saved, sourced

from proofs.report import trace_html
from proofs.report.trace_bars import axis_of

CHROMIUM = browser.find()
needs_chromium = pytest.mark.skipif(
    CHROMIUM is None, reason="no chromium on this machine: apt-get install chromium"
)


@pytest.fixture(scope="module")
def page() -> Iterator[browser.Browser]:
    assert CHROMIUM is not None
    with browser.Browser(CHROMIUM) as opened:
        yield opened


def _open(page: browser.Browser, folder: Path, text: str) -> None:
    file = folder / "trace.html"
    file.write_text(text, encoding="utf-8")
    page.open(file)


SHOWN = "[...document.querySelectorAll('section.step')].filter(s => s.offsetHeight).map(s => s.id)"
LIVE = "document.querySelector('[role=status]').textContent"


@needs_chromium
def test_it_loads_in_silence_and_steps_both_ways(page: browser.Browser, tmp_path: Path) -> None:
    page.view(1000, 800)
    _open(page, tmp_path, trace_html.render(saved("53962")))
    assert page.evaluate(SHOWN) == ["step-0"]
    page.press("ArrowRight")
    assert page.evaluate(SHOWN) == ["step-1"]
    assert page.evaluate(LIVE).startswith("Step 1 (2 of 3). rank 0: A running")
    page.press("ArrowLeft")
    page.press("ArrowLeft")
    assert page.evaluate(SHOWN) == ["step-0"]
    page.press("End")
    assert page.evaluate(SHOWN) == ["step-2"]
    page.press("Home")
    page.evaluate("document.querySelector('[data-go=forward]').click()")
    assert page.evaluate(SHOWN) == ["step-1"]
    assert page.complaints == []


@needs_chromium
def test_it_shows_where_it_breaks(page: browser.Browser, tmp_path: Path) -> None:
    page.view(390, 800)
    _open(page, tmp_path, trace_html.render(saved("53962")))
    page.press("b")
    assert page.evaluate(SHOWN) == ["step-2"]
    assert "Breaks here: num_scheduled_tokens = -1 < 1" in page.evaluate(LIVE)
    assert page.evaluate("document.querySelectorAll('[aria-current=step]').length") == 2
    broken = "document.querySelector('section.step.current tr.broken').textContent"
    assert page.evaluate(broken).startswith("B")
    assert page.evaluate("document.querySelector('[data-go=forward]').disabled")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.complaints == []


@needs_chromium
def test_a_step_can_be_linked_to_and_clicked(page: browser.Browser, tmp_path: Path) -> None:
    _open(page, tmp_path, trace_html.render(saved("53962")))
    page.evaluate("location.hash = '#step-2'")
    assert page.evaluate(SHOWN) == ["step-2"]
    page.evaluate("document.querySelector('tr[data-step=\"1\"] a').click()")
    assert page.evaluate(SHOWN) == ["step-1"]


@needs_chromium
def test_text_of_a_trace_stays_text(page: browser.Browser, tmp_path: Path) -> None:
    _open(page, tmp_path, trace_html.render(sourced(HOSTILE, HOSTILE)))
    assert page.evaluate("document.scripts.length") == 1
    assert "owned" not in page.evaluate("document.title")
    assert HOSTILE in page.evaluate("document.querySelector('.lane caption').textContent")
    assert "<script>document.title" in page.evaluate("document.querySelector('.code').textContent")
    assert page.complaints == []


@needs_chromium
def test_print_shows_every_step(page: browser.Browser, tmp_path: Path) -> None:
    _open(page, tmp_path, trace_html.render(saved("53962")))
    page.view(800, 800, media="print")
    assert page.evaluate(SHOWN) == ["step-0", "step-1", "step-2"]
    assert page.evaluate("document.querySelector('.controls').offsetHeight") == 0
    page.view(800, 800)


@needs_chromium
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read_in_both_schemes(
    page: browser.Browser, tmp_path: Path, scheme: str
) -> None:
    """At least 4.5 to 1, WCAG's AA, for every text on its own background."""
    page.view(1000, 800, scheme)
    _open(page, tmp_path, trace_html.render(sourced()))
    assert page.evaluate(CONTRAST) >= 4.5
    page.view(1000, 800)


@needs_chromium
def test_a_screen_reader_finds_names_and_tables(page: browser.Browser, tmp_path: Path) -> None:
    page.view(1000, 800)
    _open(page, tmp_path, trace_html.render(sourced()))
    nodes = page.call("Accessibility.getFullAXTree")["nodes"]
    seen = {
        (n["role"]["value"], n.get("name", {}).get("value", "")) for n in nodes if not n["ignored"]
    }
    assert ("heading", "uniform-decode") in seen
    assert ("group", "Walk through the steps") in seen
    assert ("table", "request A on rank 0") in seen
    assert ("image", "1 computed, rows: 1 + 1 draft, limit 64") in seen
    assert any(role == "rowheader" and name == "step 1" for role, name in seen)
    assert not [role for role, name in seen if role in ("button", "link", "image") and not name]


def test_the_page_asks_nothing_of_the_network() -> None:
    text = trace_html.render(sourced())
    assert not re.findall(r"""(?:src|srcset|@import|url)\s*[=(]\s*["']?(?!#)\w""", text)
    assert "default-src 'none'" in text
    assert not re.findall(r"<[^>]+ (?:style|on\w+)=", text)


def test_nothing_a_trace_says_is_markup() -> None:
    text = trace_html.render(sourced(HOSTILE, HOSTILE))
    assert text.count("<script>") == 1
    assert "{{body}}" in trace_html.render(sourced("{{body}}"))


def test_a_distant_limit_does_not_squeeze_the_blocks() -> None:
    near, far = sourced(), saved("53962")
    axis = axis_of(near)
    assert axis.limit == 64 and axis.high < 16
    assert "L = 64 →" in trace_html.render(near)
    assert axis_of(far).low == 0 and axis_of(far).high == 5


CONTRAST = """
(() => {
  const rgb = (text) => (text.match(/[\\d.]+/g) || []).map(Number);
  const light = (c) => {
    const [r, g, b] = c.slice(0, 3).map((v) => {
      v /= 255;
      return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (e) => {
    for (; e; e = e.parentElement) {
      const c = rgb(getComputedStyle(e).backgroundColor);
      if (c.length === 3 || c[3] > 0.99) return c;
    }
    return [255, 255, 255];
  };
  let worst = 21;
  const walk = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const e = walk.currentNode.parentElement;
    const shown = walk.currentNode.data.trim() && e.getClientRects().length;
    if (!shown || e.closest(":disabled, .hidden")) continue;
    const style = getComputedStyle(e);
    const ink = rgb(e.closest("svg") ? style.fill : style.color);
    const [a, b] = [light(ink), light(behind(e))].sort((x, y) => y - x);
    worst = Math.min(worst, (a + 0.05) / (b + 0.05));
  }
  return worst;
})()
"""
