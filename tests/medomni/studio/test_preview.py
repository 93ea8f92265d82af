"""The preview: everything that the agent sees, what was removed, and nothing of the answer."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from evidence_builders import table
from studio_builders import dummy_workspace
from typer.testing import CliRunner

from medomni.cli import app
from medomni.core.names import Pair, atom_name
from medomni.core.workspace import Workspace
from medomni.studio.errors import UnknownDefinitionError
from medomni.studio.evidence.model import Removal
from medomni.studio.preview.making import make_preview
from medomni.studio.preview.model import Preview, Track, track
from medomni.studio.preview.page import page
from medomni.studio.preview.timeline import place as position
from medomni.studio.preview.timeline import timeline, words
from medomni.studio.record.model import Record, RecordPart

PAIR = Pair("mimic-iv_in-hospital-mortality", "dummy")
_VOID = {"meta", "path", "br"}


class Outline(HTMLParser):
    """Ids, links, headings, and whether every element is closed in its order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.labels: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        found = dict(attrs)
        self.ids += [found["id"]] if found.get("id") else []
        self.links += [found["href"]] if found.get("href") else []
        self.labels += (found.get("aria-labelledby") or "").split()
        if tag not in _VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in _VOID

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return dummy_workspace(tmp_path_factory)


@pytest.fixture(scope="module")
def made(place: Workspace) -> Preview:
    return make_preview(place, PAIR, arm="modality-ladder", variant="r2")


def test_the_page_is_whole_accessible_and_fetches_nothing(made: Preview) -> None:
    text = page(made)
    outline = Outline(text)
    assert outline.open == []
    assert len(outline.ids) == len(set(outline.ids))
    assert {link.removeprefix("#") for link in outline.links} <= set(outline.ids)
    assert set(outline.labels) <= set(outline.ids)
    assert "script" not in outline.tags
    assert not re.search(r"(src|href)=\"?(https?:)?//", text)
    assert "default-src 'none'" in text
    assert [tag for tag in outline.tags if re.fullmatch("h[1-6]", tag)][:2] == ["h1", "h2"]
    assert text == page(made)


def test_it_shows_the_instruction_the_record_and_the_files(made: Preview) -> None:
    text = page(made)
    assert made.instruction.startswith(made.built.template.statement.strip())
    for part in made.record.parts:
        assert f"{part.family}: {part.table}" in text
    assert {each.path for each in made.files} > {"/data/README.txt", "/data/record/hosp.patients.csv"}
    assert made.number == 1
    assert made.total == 20
    assert made.config_hash in text


def test_what_was_removed_is_told_by_guard_and_filter_with_counts(made: Preview) -> None:
    text = page(made)
    assert {each.why for each in made.removed} == {"guard", "later", "end", "always"}
    for each in made.removed:
        assert each.rule.replace("'", "&#x27;") in text
    assert "hospital_death: hosp.patients; columns dod, anchor_year_group" in text


def test_a_rung_tells_what_it_does_not_show(made: Preview) -> None:
    shown = {part.family for part in made.record.parts}
    hidden = dict(made.withheld)
    assert "labs_chemistry" in hidden
    assert not shown & set(hidden)
    assert "Not under modality-ladder/r2" in page(made)
    tables = {each.table for each in made.tracks}
    assert "hosp.labevents" not in tables
    assert "icu.chartevents" in tables


def test_neither_the_answer_nor_the_patients_id_is_on_the_page(place: Workspace, made: Preview) -> None:
    from medomni.studio.opening import open_selection

    text = page(made)
    names = {
        atom_name(PAIR, version=1, patient=str(each.subject)): each
        for each in open_selection(place, PAIR).atoms
    }
    mine = names[made.atom]
    assert str(mine.subject) not in text
    assert mine.prediction_time[:10] not in text


def test_the_command_writes_the_page_of_the_atom_that_is_asked_for(
    place: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made: Preview
) -> None:
    monkeypatch.chdir(tmp_path)
    given = ["studio", "preview", str(PAIR), "--atom", made.atom, "--workspace", str(place.root)]
    result = CliRunner().invoke(app, given)
    assert result.exit_code == 0, result.output
    assert f"{made.atom} under encoders (atom 1 of 20)" in result.stdout
    assert "perception service attached" in (tmp_path / f"{made.atom}.html").read_text()
    result = CliRunner().invoke(app, [*given, "--out", "p.html", "--arm", "no-perception", "--json"])
    assert json.loads(result.stdout)["path"] == "p.html"
    assert "arm no-perception" in (tmp_path / "p.html").read_text()


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        ({"atom": "mimic-iv_in-hospital-mortality.dummy.0000000000"}, "preview-atom-unknown"),
        ({"arm": "gone"}, "preview-arm-unknown"),
        ({"arm": "modality-ladder", "variant": "r9"}, "preview-arm-unknown"),
    ],
)
def test_atoms_and_arms_that_do_not_exist_are_refused(
    place: Workspace, asked: dict[str, str], code: str
) -> None:
    with pytest.raises(UnknownDefinitionError) as caught:
        make_preview(place, PAIR, **asked)
    assert caught.value.code == code
    assert caught.value.hint.startswith("there are")


def test_the_full_record_is_refused_with_the_reason(place: Workspace) -> None:
    given = ["studio", "preview", "mimic-iv_ckd-staging:full@dummy", "--workspace", str(place.root)]
    result = CliRunner().invoke(app, given)
    assert result.exit_code == 2
    assert "error[evidence-variant-unsupported]" in result.stderr


# By hand.


def test_text_from_data_cannot_become_markup(made: Preview) -> None:
    evil = '<script>alert("x")</script>&'
    part = RecordPart("fam<ily>", "hosp.labevents", ("value", "na<me>"), ((evil, None),), 3)
    empty = RecordPart("other", "hosp.omr", ("value",), (), 2)
    removal = Removal("hosp.omr", "guard", evil, (evil,), 1)
    text = page(
        replace(
            made,
            record=Record(evil, (part, empty)),
            removed=(removal, replace(removal, why="new")),
            tracks=(Track(evil, (-1.0,), 0),),
            instruction=evil,
            withheld=(),
        )
    )
    assert "<script" not in text
    assert Outline(text).open == []
    assert "No row fits; see the file." in text
    assert "<h3>Others</h3>" in text
    assert "<h3>Not under" not in text


def test_nothing_on_record_is_told(made: Preview) -> None:
    text = page(replace(made, record=Record("rule", ()), tracks=(), removed=()))
    assert "Nothing is on record." in text
    assert "No kept row has a time." in text
    assert text.count("<p>Nothing.</p>") == 4


def test_other_people_s_data_come_with_their_terms(made: Preview) -> None:
    built = replace(
        made.built, access="open", release_class="demo", licence="ODbL", terms=("Do <not> share.",)
    )
    assert "Do &lt;not&gt; share. Not for scores." in page(replace(made, built=built))
    real = replace(built, access="credentialed", release_class="real")
    assert "Not for scores" not in page(replace(made, built=real))


def test_numbers_and_classes_are_asked_in_words(made: Preview) -> None:
    target = made.built.targets[0]
    number = replace(target, kind="number", metric="mae", range=("0", "99"), unit="days")
    classes = replace(target, kind="ordinal", metric="qwk", classes=("none", "some"))
    text = page(replace(made, built=replace(made.built, targets=(number, classes))))
    assert "<dd>0 to 99 days</dd>" in text
    assert "<dd>0 = none; 1 = some</dd>" in text


def test_times_are_read_in_hours_or_days_of_the_families_shown() -> None:
    rows = [("-2.500", None, "a"), (None, "-3", "b"), (None, None, "c"), ("-1.000", None, "d")]
    found = table("hosp.omr", ("charttime_h", "chartdate_d", "x"), rows, ["f", "f", "f", "g"])
    assert track(found, None) == Track("hosp.omr", (-72.0, -2.5, -1.0), 1)
    assert track(found, ("g",)) == Track("hosp.omr", (-1.0,), 0)
    assert track(found, ()).rows == 0


def test_distances_are_told_in_words() -> None:
    told = {0.0: "at hour 0", -0.5: "30 min before", 3.0: "3.0 h after", -36.0: "1.5 d before"}
    assert {hours: words(hours) for hours in told} == told
    assert words(-24 * 365.25 * 2) == "2.0 y before"


def test_the_picture_grows_to_the_right_with_time() -> None:
    far = 24 * 365.25 * 5
    places = [position(hours, far) for hours in (-far, -1000.0, -24.0, -1.0, 0.0, 5.0)]
    assert places == sorted(set(places))
    assert position(-far * 10, far) == places[0]


def test_the_picture_names_its_lanes_and_has_a_description() -> None:
    picture = timeline([Track("hosp.labevents", (-50.0, -1.0), 0), Track("hosp.patients", (), 1)])
    assert "hosp.labevents: 2 rows, 2.1 d before to 1.0 h before" in picture
    assert "hosp.patients" not in picture
    assert timeline([Track("hosp.patients", (), 1)]) == ""
