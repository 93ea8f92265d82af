"""The page in a real browser: nothing sticks out on a phone or at 200 % zoom, and nothing is blocked.

Needs Debian's chromium; skipped where there is none. The page is put into a frame of the width of a phone,
and the frame's own measures are read from the dumped document, so that no driver is needed.
"""

from __future__ import annotations

import html
import json
import re
import subprocess
from pathlib import Path

import pytest

from medotter_bench.report import render
from results_builders import dice_rows, document, loaded, row

CHROMIUM = Path("/usr/bin/chromium")
pytestmark = pytest.mark.skipif(not CHROMIUM.is_file(), reason="chromium is not installed")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--dump-dom",
    "--virtual-time-budget=3000",
)
PROBE = """<!DOCTYPE html><meta charset="utf-8"><body style="margin:0">
<iframe id="f" style="border:0;width:{width}px;height:800px" srcdoc="{page}"></iframe>
<script>addEventListener("load", () => {{
  const inner = document.getElementById("f").contentDocument, root = inner.documentElement;
  root.style.fontSize = "{size}";
  const strips = [...inner.querySelectorAll(".strip svg")].map((s) => s.getBoundingClientRect().width);
  const out = {{scroll: root.scrollWidth, client: root.clientWidth, text: inner.body.innerText.length,
    strip: Math.min(...strips), high: inner.querySelector("h1").getBoundingClientRect().height}};
  document.body.setAttribute("data-out", JSON.stringify(out));
}});</script></body>"""


def page() -> str:
    long = "patient_with_a_name_that_no_line_can_hold_" * 4
    cells = {
        r: {"dice": (0.0, "penalty:gt_nonempty_pred_empty"), "hd95": 373.13} for r in ("liver", "spleen")
    }
    rows = [*dice_rows([i / 40 for i in range(40)]), row(long, cells)]
    return render(loaded(document(rows, task="a_task_name_of_many_letters" * 3)))


def measured(tmp_path: Path, width: int, size: str) -> dict[str, float]:
    probe = tmp_path / "probe.html"
    probe.write_text(PROBE.format(page=html.escape(page()), width=width, size=size), encoding="utf-8")
    command = [str(CHROMIUM), *FLAGS, f"--user-data-dir={tmp_path / 'profile'}", probe.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=90)
    found = re.search(r'data-out="([^"]*)"', done.stdout)
    assert found, done.stderr[-2000:]
    return json.loads(html.unescape(found[1]))


@pytest.mark.parametrize(("width", "size"), [(390, "16px"), (1280, "16px"), (640, "32px")])
def test_the_page_never_scrolls_sideways(tmp_path, width, size):
    found = measured(tmp_path, width, size)
    assert found["client"] == width
    assert found["scroll"] <= width
    assert found["text"] > 1000
    assert found["strip"] > 250
