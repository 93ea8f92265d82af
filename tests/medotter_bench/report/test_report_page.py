"""The page of a result: complete, escaped, without requests, accessible, the same bytes each time."""

from __future__ import annotations

import copy
import itertools
import re
from html.parser import HTMLParser
from importlib import resources

import pytest

from medotter_bench.report import read_timings, render
from medotter_bench.report.distribution import Axis, Mark, axis_of, strip
from medotter_bench.report.layout import interval, metric_name, number, plain
from medotter_bench.results_reading import ResultsError
from results_builders import SPEC, dice_results, dice_rows, document, loaded, row

REGIONS = ("liver", "spleen")
VOID = {"meta", "br", "path", "rect", "image"}
HOSTILE = "</title><script>alert(1)</script><img src=x onerror=alert(2)>\"'&{{7*7}}\u202e\0"


class Page(HTMLParser):
    """Collects what the checks below ask of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None], tuple[str, ...]]] = []
        self.open: list[str] = []
        self.texts: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs), tuple(self.open)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs), tuple(self.open)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)

    def named(self, *names):
        return [(tag, attributes, inside) for tag, attributes, inside in self.tags if tag in names]

    @property
    def text(self) -> str:
        return " ".join(self.texts)


def many(n=8):
    rows = dice_rows([0.5 + i / 100 for i in range(n)])
    worst = {r: {"dice": (0.0, "penalty:missing"), "hd95": (99.0, "penalty:missing")} for r in REGIONS}
    rows[0] = row("c000", worst, status="missing", code="prediction-missing", what="no file c000.nii.gz")
    rows[1] = row("c001", worst, status="invalid", code="grid-shape", what="another shape")
    empty = {r: {"dice": (0.0, "penalty:gt_nonempty_pred_empty"), "hd95": 3.0} for r in REGIONS}
    rows[2] = row("c002", empty)
    rows[3] = row("c003", {"liver": {"dice": 0.6, "hd95": 2.0}, "spleen": {"dice": None, "hd95": None}})
    found = document(rows)
    found["extra"] = ["left/over.txt"]
    return loaded(found)


def test_the_page_is_well_formed_with_one_h1_and_headings_in_order():
    page = Page(render(many()))
    levels = [int(tag[1]) for tag, _, _ in page.named("h1", "h2", "h3", "h4")]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))
    assert page.named("html")[0][1]["lang"] == "en"
    assert len(page.named("title")) == 1 + len(page.named("svg"))
    ids = [a["id"] for _, a, _ in page.tags if a.get("id")]
    assert len(ids) == len(set(ids))
    for _, attributes, _ in page.tags:
        for key in ("aria-labelledby", "data-twin"):
            assert set((attributes.get(key) or "").split()) <= set(ids)


def test_nothing_is_fetched_and_nothing_runs():
    text = render(many())
    page = Page(text)
    assert not page.named("script", "link", "iframe", "object", "base", "form", "audio", "video")
    for _, attributes, _ in page.tags:
        assert not any(key.startswith("on") for key in attributes)
        for key in ("href", "src", "srcset", "action", "xlink:href", "data"):
            assert (attributes.get(key) or "#").startswith(("#", "data:image/png;base64,"))
    assert "default-src 'none'" in text
    assert "url(" not in text
    assert "@import" not in text
    assert not re.search(r"https?://", text)


def test_every_drawing_is_named_and_every_figure_has_its_table():
    page = Page(render(many()))
    tables = {a["id"] for _, a, _ in page.named("table")}
    figures = page.named("figure")
    assert figures
    assert all(a["data-twin"] in tables for _, a, _ in figures)
    for tag, attributes, inside in page.named("svg"):
        assert (tag, attributes["role"]) == ("svg", "img")
        assert "svg" not in inside
    assert len(page.named("caption")) == len(tables)
    assert all(a["scope"] in ("row", "col") for _, a, _ in page.named("th"))
    assert all(
        a["tabindex"] == "0" and a["aria-label"] for _, a, _ in page.tags if a.get("class") == "scroll"
    )


def test_the_headline_comes_first_with_interval_and_n():
    text = Page(render(many())).text
    head = text[: text.index("What was scored")]
    assert "liver dice" in head
    assert re.search(r"95% interval 0\.\d{3} to 0\.\d{3}, mean over n = 8 of 8 patients", head)
    assert "cannot rank" not in head


def test_a_result_that_cannot_rank_says_so_at_the_top():
    found = copy.deepcopy(document(dice_rows([0.5, 0.6])))
    found["headline"]["n_required"] = 3
    text = Page(render(loaded(found))).text
    assert "This result cannot rank." in text[: text.index("What was scored")]
    none = Page(render(dice_results([None, None]))).text
    assert "There is no number: no case scores region liver" in none


def test_problems_are_counted_and_listed_with_their_reason():
    text = Page(render(many())).text
    for words in ("no file c000.nii.gz", "grid-shape", "liver dice: gt_nonempty_pred_empty", "left/over.txt"):
        assert words in text
    assert "No case is missing" in Page(render(dice_results([0.5, 0.6]))).text


def test_penalties_differ_by_shape_and_unscored_values_have_no_mark():
    text = render(many())
    assert 'class="pen" d="M' in text
    drawing = strip([Mark(0.5, False), Mark(0.5, False), Mark(0.0, True)], Axis(0.0, 1.0))
    assert drawing.dots.count("h0") == 2
    assert drawing.penalties.count("z") == 1
    assert drawing.box[0] == 6.0


def test_marks_never_leave_the_drawing_and_penalties_beyond_the_axis_stand_aside():
    marks = [Mark(v / 10, False) for v in range(60)] + [Mark(373.13, True)] * 40
    axis = axis_of("hd95", marks)
    assert (axis.low, axis.high) == (0.0, 6.0)
    drawing = strip(marks, axis)
    numbers = [float(n) for n in re.findall(r"M([\d.]+) ", drawing.dots + drawing.penalties)]
    heights = [float(n) for n in re.findall(r" (-?[\d.]+)h", drawing.dots + drawing.penalties)]
    assert all(0 < n < 350 for n in numbers)
    assert all(0 < n < 34 for n in heights)
    assert axis_of("hd95", []).high == 1.0
    assert axis_of("hd95", [Mark(0.0, False)]).high == 1.0
    assert axis_of("dice", marks) == Axis(0.0, 1.0)


def test_hostile_text_is_text_everywhere():
    name = HOSTILE
    cells = {r: {"dice": 0.5, "hd95": 1.0} for r in REGIONS}
    rows = [row(name, cells, dataset=name, tier=name, patient_uid=name)]
    rows.append(row("x", cells, status="invalid", code="grid-shape", what=name))
    found = document(rows, task=name, version=name)
    found["extra"] = [name]
    found["software"] = {name: name}
    found["effective"]["defaults_used"] = [name]
    text = render(loaded(found, name), about={name: name}, timings={name: 1.0})
    page = Page(text)
    assert not page.named("script")
    assert [a.get("src") for _, a, _ in page.tags if a.get("src")] == []
    assert "alert(1)" in page.text
    assert "{{7*7}}" in page.text
    assert "\u202e" not in text
    assert "\0" not in text
    assert "\\u202e" in text


def test_hostile_regions_and_metrics_are_text_too():
    spec = copy.deepcopy(SPEC)
    spec["eval_regions"] = {HOSTILE: [1]}
    spec["main_region"] = HOSTILE
    spec["aggregation"]["headline"]["region"] = HOSTILE
    found = document([row("c", {HOSTILE: {"dice": 0.5, "hd95": 1.0}})], spec=spec)
    page = Page(render(loaded(found)))
    assert not page.named("script")
    assert not [a for _, a, _ in page.named("img")]


def test_the_same_result_gives_the_same_bytes():
    assert render(many()) == render(many())


def test_cases_of_a_withheld_tier_are_shown_nowhere_one_by_one():
    cells = {r: {"dice": 0.5, "hd95": 1.0} for r in REGIONS}
    rows = [row("open_1", cells), row("secret_1", cells, tier="hidden")]
    worst = {r: {"dice": (0.0, "penalty:missing"), "hd95": (9.0, "penalty:missing")} for r in REGIONS}
    rows.append(
        row("secret_2", worst, tier="hidden", status="missing", code="x-y", what="secret_2 is not there")
    )
    text = render(loaded(document(rows)), withheld=["hidden"], timings={"secret_1": 1.0, "open_1": 2.0})
    assert "secret" not in text
    assert "open_1" in text
    assert "The 2 cases of withheld tiers (hidden)" in text
    alone = render(loaded(document(rows[1:])), withheld=["hidden"])
    assert "secret" not in alone
    assert "there are no distributions" in alone


def test_long_tables_fold_and_a_page_of_500_cases_stays_small():
    text = render(loaded(document(dice_rows([(i % 97) / 97 for i in range(500)]))))
    assert "<details><summary>Show the 1000 rows of: Every case" in text
    assert len(text) < 5_000_000


def test_the_protocol_lists_defaults_and_label_maps():
    found = document(dice_rows([0.5, 0.6]))
    found["effective"]["label_remap"] = {"DS_A": {"4": 3}}
    text = Page(render(loaded(found), about={"name": "Organs", "description": "What is measured."})).text
    for words in ("hd95.percentile", "grid diagonal", "What is measured.", "counts as", "penalties.dice"):
        assert words in text
    bare = copy.deepcopy(document(dice_rows([0.5])))
    bare["effective"]["defaults_used"] = []
    assert "no default was used" in Page(render(loaded(bare))).text


def test_timings_are_read_from_beside_the_results(tmp_path):
    path = tmp_path / "results.json"
    assert read_timings(path) == {}
    beside = tmp_path / "results.timings.json"
    beside.write_text('{"schema": "medotter/timings/1", "unit": "s", "cases": {"a": 1.5, "b": 2}}')
    assert read_timings(path) == {"a": 1.5, "b": 2.0}
    text = Page(render(dice_results([0.5]), timings=read_timings(path))).text
    assert "3.50" in text
    for bad in ("{", "[]", '{"cases": {"a": "x"}}', '{"cases": {"a": true}}', '{"cases": {"a": -1}}'):
        beside.write_text(bad)
        with pytest.raises(ResultsError) as caught:
            read_timings(path)
        assert caught.value.code == "timings-invalid"


def luminance(colour):
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_text_has_enough_contrast_in_both_modes():
    css = (resources.files("medotter_bench.report") / "templates" / "report.css").read_text()
    modes = [
        dict(re.findall(r"--(\w+):(#[0-9a-f]{6})\b", block)) for block in re.findall(r":root\{([^}]*)\}", css)
    ]
    for mode in modes[:2]:
        for ink in ("ink", "muted", "accent", "mark"):
            for ground in ("bg", "soft"):
                low, high = sorted((luminance(mode[ink]), luminance(mode[ground])))
                assert (high + 0.05) / (low + 0.05) >= 4.5, (ink, ground)


def test_numbers_are_short_and_a_lack_of_one_is_a_dash():
    assert number(0.91349, "dice") == "0.913"
    assert number(12.3456, "hd95") == "12.35"
    assert number(None, "dice") == "–"
    assert number(-0.5, "hd95") == "−0.50"
    assert interval([0.1, 0.2], "dice") == "0.100 to 0.200"
    assert metric_name("hd95", "mm") == "hd95 (mm) ↓"
    assert (plain(None), plain(True), plain([]), plain([1, 2]), plain({"a": None})) == (
        "none",
        "yes",
        "none",
        "1, 2",
        "a none",
    )
    assert plain({"a": {"b": 1}}) == '{"a": {"b": 1}}'
