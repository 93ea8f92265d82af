"""The page of a board: readable by everybody, self-contained, escaped, and every picture has a table twin."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from importlib import resources
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from board_builders import a_set, agent, as_record, comparison, score, suite, target
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from medomni.bench.leaderboard import pictures, words
from medomni.bench.leaderboard.board import make_board
from medomni.bench.leaderboard.model import Board
from medomni.bench.leaderboard.page import render, write_pages
from medomni.bench.leaderboard.records import Records
from medomni.bench.task_sets import Withdrawal
from medomni.core.errors import WriteError

HOSTILE = '<script>alert(1)</script>"&\u202e'


class Page(HTMLParser):
    """What a page holds, as far as the tests ask."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data

    def named(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


def usage(seconds: float, dollars: float | None) -> dict[str, Any]:
    found: dict[str, Any] = {
        "seconds": {"n": 20, "median": seconds, "p95": seconds * 3, "total": seconds * 20}
    }
    if dollars is not None:
        found["cost_usd"] = {"n": 20, "median": dollars / 20, "p95": dollars / 10, "total": dollars}
    return found


def full_board(name: str = "rule") -> Board:
    """A board with everything: suite, ladder, cost, tests, a withdrawn pair, missing answers, no number."""
    gone = Withdrawal("t_two@n20", 1, "2026-01-01", "a leak", "t_two@n20 version 2")
    s = a_set("t_one@n20", "t_two@n20", arms=("encoders", "modality-ladder"), withdrawn=[gone])
    agents = [agent(name), agent("prior"), agent("shell", model="m")]
    records = Records()
    rows: list[dict[str, Any]] = []
    for place, who in enumerate(agents):
        value = 0.5 + place / 10
        for pair, metric in (("t_one@n20", "auc"), ("t_two@n20", "mae")):
            targets = {"x": target(metric, value, answered=18, secondary={"skill": 0.1})}
            rows.append(
                score(who, s, pair=pair, targets=targets, usage=usage(10.0**place, 1.0 if place else None))
            )
        for rung in ("r1", "r2", "r10"):
            targets = {"x": target("auc", None if (place, rung) == (1, "r2") else value)}
            rows.append(score(who, s, arm="modality-ladder", variant=rung, targets=targets))
    made = [rows[0], rows[5], rows[10]]
    tests = [
        comparison(made[0], made[2], -0.2, 0.001, on="x"),
        comparison(made[0], made[1], None, None, on="x"),
    ]
    for number, value in enumerate([*rows, *tests]):
        records.add(as_record(value, f"{number}.json"))
    return make_board(s, records)


def test_headings_begin_at_one_and_skip_no_level() -> None:
    levels = [int(tag[1]) for tag, _ in Page(render(full_board())).tags if re.fullmatch("h[1-6]", tag)]
    assert levels.count(1) == 1
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_every_table_has_a_caption_and_every_header_cell_a_scope() -> None:
    page = Page(render(full_board()))
    assert len(page.named("table")) == len(page.named("caption")) > 5
    assert all(cell.get("scope") in ("col", "row") for cell in page.named("th"))


def test_every_picture_has_a_name_and_a_table_with_its_numbers() -> None:
    page = Page(render(full_board()))
    ids = [a["id"] for _, a in page.tags if "id" in a]
    assert len(set(ids)) == len(ids)
    for svg in page.named("svg"):
        assert svg["role"] == "img"
        named = svg.get("aria-labelledby")
        assert svg.get("aria-label") or (named and all(part in ids for part in named.split()))
    tables = {table["id"] for table in page.named("table")}
    figures = page.named("figure")
    assert figures
    assert all(figure["data-twin"] in tables for figure in figures)


def test_scrolling_tables_are_reached_by_keyboard_and_links_lead_somewhere() -> None:
    page = Page(render(full_board()))
    regions = [a for _, a in page.tags if a.get("class") == "scroll"]
    assert all(a["tabindex"] == "0" and a["role"] == "region" and a["aria-label"] for a in regions)
    ids = {a["id"] for _, a in page.tags if "id" in a}
    assert {a["href"] for a in page.named("a")} <= {f"#{each}" for each in ids}


def test_page_asks_for_nothing_and_runs_nothing() -> None:
    text = render(full_board())
    page = Page(text)
    assert not {"script", "img", "iframe", "link", "object"} & {tag for tag, _ in page.tags}
    assert not re.search(r"(?:src|href)=\"(?!#)|url\(|@import", text)
    policy = next(a["content"] for a in page.named("meta") if a.get("http-equiv"))
    assert policy is not None
    assert "default-src 'none'" in policy


def test_names_from_records_are_escaped_and_turn_nothing_around() -> None:
    text = render(full_board(HOSTILE))
    assert "<script>" not in text
    assert "\u202e" not in text
    assert "\\u202e" in text


def test_same_board_gives_the_same_bytes() -> None:
    assert render(full_board()) == render(full_board())


def test_page_says_preliminary_withdrawn_and_why_there_is_no_number() -> None:
    text = Page(render(full_board())).text
    assert "Preliminary." in text
    assert "Not for scores." not in text
    assert "Withdrawn on 2026-01-01: a leak. Use t_two@n20 version 2 instead." in text
    assert "no score: single_class" in text
    assert "18/20" in text


def test_dummy_data_is_not_for_scores() -> None:
    s = a_set()
    records = Records()
    records.add(as_record(score(agent("rule"), s, release_class="dummy", access="generated")))
    text = Page(render(make_board(s, records))).text
    assert "Not for scores. Dummy data show that everything works" in text
    assert "There are not two agents to compare." in text


def test_empty_board_has_a_page() -> None:
    text = Page(render(make_board(a_set(), Records()))).text
    assert "No score record of this set counts yet." in text


def test_suite_shows_its_tests_and_how_they_were_made() -> None:
    s = a_set("t_one@n20", "t_two@n20")
    rule, prior = ([score(agent(name), s, pair=p) for p in s.tasks] for name in ("rule", "prior"))
    records = Records()
    for value in (*rule, *prior, suite(s, [(rule, 0.4), (prior, 0.0)])):
        records.add(as_record(value))
    text = Page(render(make_board(s, records))).text
    assert "How intervals and tests were made: percentile bootstrap over patients." in text
    assert "rule is better" in text


def test_suite_of_which_nobody_has_all_pairs_folds_away() -> None:
    s = a_set("t_one@n20", "t_two@n20")
    records = Records()
    records.add(as_record(score(agent("rule"), s)))
    page = Page(render(make_board(s, records)))
    assert "Nobody has a score in all 2 pairs here" in page.text
    assert "Show the 1 rows of: Mean skill over the 2 pairs" in page.text


def test_index_is_the_board_itself_or_links_to_several(tmp_path: Path) -> None:
    board, other = make_board(a_set(), Records()), make_board(a_set(name="z"), Records())
    index = write_pages([board], tmp_path / "one")
    assert index.read_text() == render(board)
    index = write_pages([board, other], tmp_path / "two")
    links = [a["href"] for a in Page(index.read_text()).named("a")]
    assert links == ["b.s.html", "b.z.html"]
    assert all((index.parent / str(link)).is_file() for link in links)


def test_folder_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(WriteError) as caught:
        write_pages([make_board(a_set(), Records())], tmp_path / "file")
    assert caught.value.code == "write-failed"


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(first: str, second: str) -> float:
    high, low = sorted((luminance(first), luminance(second)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", [0, 1])
def test_colours_have_contrast_in_both_themes(theme: int) -> None:
    css = (resources.files("medomni.bench.leaderboard") / "templates" / "board.css").read_text()
    block = re.findall(r":root\{([^}]*)\}", css)[theme]
    colours = dict(re.findall(r"--(\w+):(#[0-9a-f]{6})", block))
    for name in ("ink", "muted", "accent", "mark"):
        assert contrast(colours[name], colours["bg"]) >= 4.5, name
    assert contrast(colours["ink"], colours["soft"]) >= 4.5
    for number in range(pictures.COLOURS):
        assert contrast(colours[f"s{number}"], colours["bg"]) >= 4.5, number


@hypothesis_settings(max_examples=100)
@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=6))
def test_axis_holds_every_value_and_its_ticks_rise(values: list[float]) -> None:
    axis = pictures.linear_axis(values)
    slack = 1e-8 * (axis.high - axis.low)
    assert axis.low <= min(values) + slack
    assert axis.high >= max(values) - slack
    assert list(axis.ticks) == sorted(set(axis.ticks))
    assert 2 <= len(axis.ticks) <= 12
    assert all(0 <= axis.share(value) <= 1 for value in values)


def test_logarithmic_axis_spans_whole_powers_of_ten() -> None:
    axis = pictures.log_axis([3.0, 2000.0])
    assert axis.ticks == (1.0, 10.0, 100.0, 1000.0, 10000.0)
    assert pictures.log_axis([1.0]).ticks == (1.0, 10.0)
    assert axis.share(100.0) == pytest.approx(0.5)
    assert axis.share(0.0) == 0.0


def test_numbers_of_points_that_lie_together_do_not_lie_on_each_other() -> None:
    plot = pictures.scatter([(1, 10.0, 0.5), (2, 10.0, 0.5), (3, 10.0, 0.5)], money=False)
    places = [point.label_y for point in plot.points]
    assert all(b - a >= 14 for a, b in pairwise(places))


def test_time_that_is_zero_gets_a_linear_axis() -> None:
    plot = pictures.scatter([(1, 0.0, 0.5), (2, 4.0, -0.5)], money=True)
    assert plot.x_ticks[0][1] == "$0"


def test_rungs_are_in_the_order_of_their_numbers_and_a_missing_one_breaks_the_line() -> None:
    assert sorted(["r10", "r2", "r1"], key=pictures.rung_order) == ["r1", "r2", "r10"]
    text = render(full_board())
    assert re.search(r'class="ln c\d" d="M[\d. ]+M[\d. ]+"', text)


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (words.number(None), "–"), (words.number(-0.125), "−0.12"), (words.number(12.345, "mae"), "12.35"),
        (words.number(0.01234, "mae"), "0.0123"), (words.rank(None), "–"), (words.rank((2, 2)), "2"),
        (words.rank((1, 3)), "1 to 3"), (words.seconds(None), "–"), (words.seconds(1234.4), "1234 s"),
        (words.seconds(0.1234), "0.123 s"), (words.money(None), "–"), (words.money(0.6), "$0.60"),
        (words.money(0.0123), "$0.012"), (words.p_value(0.00012), "0.00012"), (words.p_value(None), "–"),
        (words.interval(None), "–"), (words.interval((0.1, 0.9)), "0.10 to 0.90"),
        (words.direction("mae"), "lower is better"), (words.direction("auc"), "higher is better"),
    ],
)  # fmt: skip
def test_numbers_as_words(shown: str, expected: str) -> None:
    assert shown == expected
