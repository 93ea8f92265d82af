"""Importing a tiny release: what is kept, what is refused and how, and what a kill leaves."""

from __future__ import annotations

import contextlib
import errno
import os
import random
import subprocess
import sys
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

duckdb = pytest.importorskip("duckdb", reason="importing needs the extra `studio`")

import data_builders  # noqa: E402
from data_builders import LAB_HEADER, LABS, PATIENTS, TABLES_YAML, files, workspace, zipped  # noqa: E402

from medomni.core.errors import MedomniError, WriteError  # noqa: E402
from medomni.core.issues import IssuesError  # noqa: E402
from medomni.core.workspace import Workspace  # noqa: E402
from medomni.studio.data import connection, importer, preparation  # noqa: E402
from medomni.studio.data.connection import as_our_errors  # noqa: E402
from medomni.studio.data.errors import DataImportError, DataSpaceError, StoreError  # noqa: E402
from medomni.studio.data.importer import Imported, import_release  # noqa: E402
from medomni.studio.data.inspection import RecordCounter  # noqa: E402
from medomni.studio.data.store import open_in, open_store  # noqa: E402
from medomni.studio.data.verification import verify  # noqa: E402

RELEASE = "tiny/1.0"


def imported(place: Workspace, folder: Path, **options: Any) -> Imported:
    return import_release(place, "tiny", [folder], **({"release": "1.0", "threads": 1} | options))


def rows(place: Workspace, table: str, columns: str = "*") -> list[tuple[Any, ...]]:
    with contextlib.closing(open_in(place, RELEASE).connect(threads=1)) as made:
        found: list[tuple[Any, ...]] = made.execute(f'SELECT {columns} FROM "{table}"').fetchall()
    return found


def refusal(root: Path, folder: Path, **options: Any) -> MedomniError:
    with pytest.raises(MedomniError) as caught:
        imported(workspace(root), folder, **options)
    return caught.value


def issue_codes(failure: MedomniError) -> list[str]:
    assert isinstance(failure, IssuesError)
    return [issue.code for issue in failure.issues]


# What is kept.


def test_values_arrive_with_their_declared_types(tmp_path: Path) -> None:
    place = workspace(tmp_path)
    imported(place, files(tmp_path))
    assert rows(place, "hosp.patients") == [(1, "F", 1, date(2150, 2, 3)), (2, "M", 0, None)]
    drawn, day = datetime(2150, 1, 1, 10), date(2150, 1, 1)
    assert rows(place, "hosp.labs@by_patient") == [
        (12, 1, 50912, drawn, None, day, Decimal("1.4"), Decimal("0.12345679"), 'two\nlines, "quoted"'),
        (13, 1, 51006, None, None, date(2150, 1, 2), None, None, None),
        (11, 2, 50912, drawn, datetime(2150, 1, 1, 11, 30), day, Decimal("0.6"), Decimal("1.5"), None),
    ]


def test_codes_keep_their_leading_zeros(tmp_path: Path, shared: Path) -> None:
    """Case EH-04."""
    text = (shared / "cases" / "EH-04" / "diagnoses_icd.csv").read_text(encoding="utf-8")
    place = workspace(tmp_path)
    imported(place, files(tmp_path, codes=text))
    found = {code: subject for subject, code in rows(place, "hosp.codes")}
    assert found == {"0042": 9301, "042": 9302, "01882": 9303, "1882": 9304}


def test_flags_in_quotes_are_numbers(tmp_path: Path, shared: Path) -> None:
    """Case EH-11."""
    text = (shared / "cases" / "EH-11" / "admissions.csv").read_text(encoding="utf-8")
    tables = TABLES_YAML.replace(
        "columns: {subject_id: bigint, icd_code: text}",
        "columns: {subject_id: bigint, hospital_expire_flag: integer}",
    )
    place = workspace(tmp_path, tables=tables)
    imported(place, files(tmp_path, codes=text))
    assert rows(place, "hosp.codes", "*, hospital_expire_flag = 1") == [
        (9721, 1, True), (9722, 0, False), (9723, 1, True),
    ]  # fmt: skip


def test_big_tables_are_kept_by_item_and_by_patient(tmp_path: Path) -> None:
    place = workspace(tmp_path)
    imported(place, files(tmp_path))
    store = open_store(place.root, RELEASE)
    assert {order for order, path in store.table("hosp.labs").paths.items() if path} == {
        "by_item",
        "by_patient",
    }
    assert [row[0] for row in rows(place, "hosp.labs", "lab_id")] == [12, 11, 13]
    assert rows(place, "hosp.labs", "lab_id") == rows(place, "hosp.labs@by_item", "lab_id")
    assert store.table("hosp.patients").paths["by_item"] is None


def test_line_ends_bom_compression_and_case_of_headers_change_nothing(tmp_path: Path) -> None:
    plain = workspace(tmp_path / "a")
    imported(plain, files(tmp_path / "a"))
    other = workspace(tmp_path / "b")
    crlf = LABS.replace("\n", "\r\n").replace("two\r\n", "two\n").replace("lab_id,", "LAB_ID,", 1)
    folder = files(tmp_path / "b", labs=b"\xef\xbb\xbf" + crlf.encode(), patients=PATIENTS.removesuffix("\n"))
    zipped(folder, "labs")
    imported(other, folder)
    for table in ("hosp.patients", "hosp.labs"):
        assert rows(plain, table) == rows(other, table)


def test_files_do_not_depend_on_threads_or_on_the_order_of_rows(tmp_path: Path) -> None:
    draw = random.Random(1)
    lines = [
        f"{number},{draw.randint(1, 40)},{draw.choice((50912, 51006))},"
        f"2150-01-{draw.randint(1, 28):02d} 10:00:00,,2150-01-01,{draw.randint(1, 99) / 10},,"
        f"{'' if number % 3 else 'seen'}\n"
        for number in range(4000)
    ]
    codes = [f"{draw.randint(1, 9)},{draw.randint(1, 5)}\n" for _ in range(500)]
    digests = set()
    for name, threads in (("a", 1), ("b", 2), ("c", 2)):
        folder = files(
            tmp_path / name, labs=LAB_HEADER + "".join(lines), codes="subject_id,icd_code\n" + "".join(codes)
        )
        done = imported(workspace(tmp_path / name), folder, threads=threads)
        record = done.record.tables
        digests.add(tuple(str(each["sha256"]) for table in record.values() for each in table.files.values()))
        draw.shuffle(lines)
        draw.shuffle(codes)
    assert len(digests) == 1


def test_undeclared_columns_and_files_are_named_and_never_read(tmp_path: Path) -> None:
    place = workspace(tmp_path)
    folder = files(tmp_path, patients=PATIENTS.replace("dod", "dod,secret").replace("03\n", "03,x\n") + "")
    (folder / "hosp" / "patients.csv").write_text(
        'subject_id,secret,gender,hospital_expire_flag,dod\n1,"a""b",F,1,\n2,,M,0,\n', encoding="utf-8"
    )
    (folder / "hosp" / "extra.csv").write_bytes(b"\xff")
    record = imported(place, folder).record
    assert record.tables["hosp.patients"].undeclared_columns == ("secret",)
    assert record.undeclared == ("hosp/extra.csv",)
    assert list(open_in(place, RELEASE).table("hosp.patients").columns) == [
        "subject_id", "gender", "hospital_expire_flag", "dod",
    ]  # fmt: skip


def test_the_record_says_which_columns_are_empty_and_what_made_rows_known(tmp_path: Path) -> None:
    place = workspace(tmp_path)
    imported(place, files(tmp_path, codes="subject_id,icd_code\n1,\n"))
    store = open_in(place, RELEASE)
    assert store.table("hosp.labs").availability == (
        ("storetime", 1), ("charttime", 1), ("end of the day of chartdate", 1), ("none of them", 0),
    )  # fmt: skip
    assert store.table("hosp.codes").availability == (("hosp.labs.charttime + 7 d", 1),)
    assert store.table("hosp.codes").empty_columns == {"icd_code"}
    assert store.record.uncounted == ("hosp.labs", "hosp.codes")


def test_the_release_is_told_from_the_rows_of_a_counted_table(tmp_path: Path) -> None:
    place = workspace(tmp_path)
    assert import_release(place, "tiny", [files(tmp_path)]).record.release == "tiny/1.0"
    more = PATIENTS + "3,F,0,\n"
    assert import_release(place, "tiny", [files(tmp_path, patients=more)]).record.release == "tiny/demo"


def test_a_header_alone_is_an_empty_table(tmp_path: Path) -> None:
    place = workspace(tmp_path)
    assert imported(place, files(tmp_path, labs=LAB_HEADER)).record.tables["hosp.labs"].rows == 0
    assert rows(place, "hosp.labs") == []


def test_records_are_counted_across_any_cut(tmp_path: Path) -> None:
    text = LABS.encode()
    for size in range(1, 40):
        counter = RecordCounter()
        for start in range(0, len(text), size):
            counter.add(text[start : start + size])
        assert (counter.records, counter.open_quote) == (4, False)


# What is refused.


def test_missing_optional_tables_are_named(tmp_path: Path) -> None:
    place = workspace(tmp_path)
    assert imported(place, files(tmp_path)).record.absent == ("hosp.codes", "note.notes")
    store = open_in(place, RELEASE)
    assert not store.tables["hosp.codes"].present
    with pytest.raises(StoreError, match="table-absent"):
        store.table("hosp.codes")
    with pytest.raises(StoreError, match="table-unknown"):
        store.table("hosp.nothing")


def test_a_missing_required_table_is_refused(tmp_path: Path) -> None:
    failure = refusal(tmp_path, files(tmp_path, labs=""))
    assert issue_codes(failure) == ["table-missing"]
    assert "hosp.labs" in str(failure)


def test_a_class_that_does_not_need_a_table_may_lack_it(tmp_path: Path) -> None:
    folder = files(tmp_path, labs="", patients=PATIENTS + "3,F,0,\n")
    assert "hosp.labs" in imported(workspace(tmp_path), folder, release="demo").record.absent


def test_a_missing_module_and_a_missing_folder_are_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert issue_codes(refusal(tmp_path, tmp_path / "empty")) == ["module-missing"]
    assert issue_codes(refusal(tmp_path, tmp_path / "nowhere")) == ["source-folder"]


def test_a_table_in_two_files_is_refused(tmp_path: Path) -> None:
    folder = files(tmp_path)
    zipped(folder, "labs")
    assert issue_codes(refusal(tmp_path, files(tmp_path))) == ["table-twice"]


def test_an_unknown_or_unclear_release_is_refused(tmp_path: Path) -> None:
    assert refusal(tmp_path, files(tmp_path), release="9").code == "release-unknown"
    (tmp_path / "none").mkdir()
    assert refusal(tmp_path, tmp_path / "none", release=None).code == "release-unclear"
    many = PATIENTS + "".join(f"{number},F,0,\n" for number in range(3, 20))
    assert refusal(tmp_path, files(tmp_path, patients=many), release=None).code == "release-unclear"


def test_wrong_headers_are_told_all_at_once(tmp_path: Path) -> None:
    folder = files(
        tmp_path,
        patients=PATIENTS.replace("gender", "sex"),
        labs=LABS.replace("lab_id,", "subject_id,", 1),
        codes="\n",
    )
    assert sorted(issue_codes(refusal(tmp_path, folder))) == [
        "column-missing", "column-missing", "column-twice", "header-unreadable",
    ]  # fmt: skip


@pytest.mark.parametrize("header", [b"\xff\xfes\x00u\x00", b"a,b\rc,d\r", b"\xe9,a\n"])
def test_a_header_in_another_encoding_is_refused(tmp_path: Path, header: bytes) -> None:
    assert issue_codes(refusal(tmp_path, files(tmp_path, patients=header))) == ["header-unreadable"]


def test_other_counts_than_promised_are_refused(tmp_path: Path) -> None:
    failure = refusal(tmp_path, files(tmp_path, patients=PATIENTS + "3,F,0,\n"))
    assert issue_codes(failure) == ["count-mismatch"]
    assert "3 rows, and tiny/1.0 has 2" in str(failure)


@pytest.mark.parametrize(
    ("row", "code", "words"),
    [
        ("14,1,x,,,,,,\n", "value-invalid", 'line 6: itemid is "x"'),
        ("14,1,1.5,,,,,,\n", "value-invalid", "itemid"),
        ("14,1,1,2150-01-01,,,,,\n", "value-invalid", "charttime"),
        ("14,1,1,,,,0.123456789,,\n", "value-invalid", "valuenum"),
        ("14,1,1,,,,NaN,,\n", "value-invalid", "valuenum"),
        (",1,1,,,,,,\n", "value-missing", "lab_id is empty"),
        ("14,,1,,,,,,\n", "value-missing", "subject_id is empty"),
        ("14,1,1\n", "row-fields", "3 fields, and the header 9"),
        ("14,1,1,,,,,,,,\n", "row-fields", "11 fields"),
        ("\n", "row-blank", "line 6"),
        ('14,1,1,,,,,,"a"b\n', "row-quotes", "line 6"),
    ],
)
def test_a_bad_row_is_named_by_table_line_and_column(tmp_path: Path, row: str, code: str, words: str) -> None:
    # The row before it holds a line end: rows and lines are not the same.
    failure = refusal(tmp_path, files(tmp_path, labs=LABS + row + "15,1,bad,,,,,,\n"))
    assert (failure.code, "hosp.labs" in failure.what) == (code, True)
    assert words in str(failure)
    assert failure.where.endswith("labs.csv:6")
    assert failure.hint


def test_text_that_is_not_utf8_is_named_by_its_line(tmp_path: Path) -> None:
    failure = refusal(tmp_path, files(tmp_path, labs=LABS.encode() + b"14,1,1,,,,,,caf\xe9\n"))
    assert (failure.code, failure.where.endswith(":6")) == ("table-encoding", True)


def test_two_rows_with_one_key_are_refused(tmp_path: Path) -> None:
    failure = refusal(tmp_path, files(tmp_path, labs=LABS + "11,9,1,,,,,,\n"))
    assert (failure.code, "lab_id 11" in failure.what) == ("key-twice", True)


def test_mixed_line_ends_and_an_open_quote_are_refused(tmp_path: Path) -> None:
    mixed = LABS + "14,1,1,,,,,,\r\n"
    assert issue_codes(refusal(tmp_path, files(tmp_path, labs=mixed))) == ["line-ends-mixed"]
    assert issue_codes(refusal(tmp_path, files(tmp_path, labs=LABS + '14,1,1,,,,,,"a\n'))) == ["quote-open"]


def test_a_quote_inside_a_bare_field_never_costs_rows(tmp_path: Path) -> None:
    # Read as RFC 4180 has it, the two quotes hide the line end between them.
    odd = LABS + '14,1,1,,,,,,5"\n15,1,1,,,,,,6"\n'
    assert refusal(tmp_path, files(tmp_path, labs=odd)).code == "rows-differ"


def test_a_row_that_the_database_cannot_hold_is_refused(tmp_path: Path) -> None:
    long = LABS + f"14,1,1,,,,,,{'x' * (17 << 20)}\n"
    failure = refusal(tmp_path, files(tmp_path, labs=long))
    assert (failure.code, "hosp.labs" in failure.what) == ("table-unreadable", True)


@pytest.mark.parametrize("keep", [-20, -4, 30])
def test_a_truncated_download_is_refused(tmp_path: Path, keep: int) -> None:
    folder = files(tmp_path, labs=LABS + "".join(f"{number},1,1,,,,,,\n" for number in range(100, 4000)))
    zipped(folder, "labs", keep=keep)
    failure = refusal(tmp_path, folder)
    assert issue_codes(failure)[0] in ("source-truncated", "source-unreadable")
    assert "labs.csv.gz" in str(failure)


def test_a_damaged_download_is_refused(tmp_path: Path) -> None:
    folder = files(tmp_path, labs=LABS + "".join(f"{number},1,1,,,,,,\n" for number in range(100, 4000)))
    path = zipped(folder, "labs")
    data = bytearray(path.read_bytes())
    data[-6] ^= 1  # its checksum
    path.write_bytes(data)
    assert issue_codes(refusal(tmp_path, folder)) == ["source-corrupt"]


def test_a_gzip_file_of_several_members_is_read_whole(tmp_path: Path) -> None:
    folder = files(tmp_path)
    path = zipped(folder, "labs")
    (folder / "hosp" / "labs.csv").write_text("14,1,1,,,,,,\n", encoding="utf-8")
    first = path.read_bytes()
    second = zipped(folder, "labs").read_bytes()
    path.write_bytes(first + second)
    assert imported(workspace(tmp_path), folder).record.tables["hosp.labs"].rows == 4


# Disk, memory, other processes.


def test_too_little_disk_is_refused_before_the_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = type("Usage", (), {"free": 1000})
    monkeypatch.setattr(preparation.shutil, "disk_usage", lambda _: usage)
    failure = refusal(tmp_path, files(tmp_path))
    assert isinstance(failure, DataSpaceError)
    assert (failure.code, "free" in failure.what) == ("disk-space", True)


def test_a_full_disk_and_too_little_memory_have_their_own_errors() -> None:
    with pytest.raises(DataSpaceError, match="disk-full"), as_our_errors("sorting hosp.labs"):
        raise duckdb.IOException("Could not write file: No space left on device")
    with pytest.raises(DataSpaceError, match="memory-limit"), as_our_errors("sorting hosp.labs"):
        raise duckdb.OutOfMemoryException("could not allocate block")
    with pytest.raises(DataImportError, match="database-failed"), as_our_errors("sorting hosp.labs"):
        raise duckdb.BinderException("what")
    with pytest.raises(DataSpaceError, match="disk-full"), as_our_errors("sorting hosp.labs"):
        raise duckdb.IOException('Could not write file "a": File too large')
    with pytest.raises(WriteError, match="write-failed") as caught, as_our_errors("sorting", where="/a"):
        raise duckdb.IOException('Could not write file "/a/b": Input/output error')
    assert (caught.value.where, caught.value.hint) == ("/a", "check the disk and the folder")


def test_what_the_system_refuses_while_files_are_moved_is_our_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, folder = workspace(tmp_path), files(tmp_path)

    def full(building: Path, place: Path) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(place))

    with monkeypatch.context() as patched:
        patched.setattr(importer, "_move", full)
        with pytest.raises(WriteError) as caught:
            imported(place, folder)
    assert caught.value.code == "write-failed"
    assert "No space left" in str(caught.value)
    assert caught.value.where.endswith("hosp.patients")
    assert sorted(path.name for path in place.imported(RELEASE).iterdir()) == ["inspections.json", "lock"]
    assert imported(place, folder).converted == ("hosp.patients", "hosp.labs")


def test_a_small_import_needs_room_for_itself_and_no_gigabytes(tmp_path: Path) -> None:
    preparation.refuse_full_disk({tmp_path: 0})
    preparation.refuse_full_disk({tmp_path: 1})
    needed = r"needs about [\d.]+ GiB of disk, and [\d.]+ (GiB|MiB) are free"
    with pytest.raises(DataSpaceError, match=needed):
        preparation.refuse_full_disk({tmp_path: 1 << 60})


def test_a_full_disk_in_the_middle_leaves_nothing_half(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, folder = workspace(tmp_path), files(tmp_path)

    def full(*arguments: Any, **named: Any) -> None:
        raise DataSpaceError("the disk is full", code="disk-full")

    with monkeypatch.context() as patched:
        patched.setattr(importer, "convert", full)
        with pytest.raises(DataSpaceError):
            imported(place, folder)
    kept = place.imported(RELEASE)
    assert sorted(path.name for path in kept.iterdir()) == ["inspections.json", "lock"]
    assert not (place.spill_folder / "import-tiny-1.0").exists()
    with pytest.raises(StoreError, match="data-not-imported"):
        open_in(place, RELEASE)
    assert imported(place, folder).converted == ("hosp.patients", "hosp.labs")


def test_a_wrong_memory_limit_is_refused(tmp_path: Path) -> None:
    assert refusal(tmp_path, files(tmp_path), memory_limit="much").code == "memory-limit"


def test_a_small_memory_limit_changes_nothing(tmp_path: Path) -> None:
    small = imported(workspace(tmp_path / "a"), files(tmp_path / "a"), memory_limit="120MB")
    large = imported(workspace(tmp_path / "b"), files(tmp_path / "b"))
    assert small.record.as_dict() == large.record.as_dict()


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    place = workspace(tmp_path)
    place.cache.write_text("in the way", encoding="utf-8")
    with pytest.raises(WriteError):
        imported(place, files(tmp_path))
    with pytest.raises(DataSpaceError, match="spill-folder"):
        connection.connect(place.cache / "spill")


@pytest.mark.skipif(sys.platform == "win32", reason="locks are POSIX")
def test_two_imports_of_a_release_do_not_meet(tmp_path: Path) -> None:
    place = workspace(tmp_path)
    folder = files(tmp_path)
    imported(place, folder)
    with importer._locked(place.imported(RELEASE) / "lock"):
        assert refusal(tmp_path, folder).code == "import-in-use"


# Going on.


def test_a_second_import_reads_nothing_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place, folder = workspace(tmp_path), files(tmp_path)
    first = imported(place, folder)

    def never(*arguments: Any, **named: Any) -> None:
        raise AssertionError("read again")

    monkeypatch.setattr(preparation, "inspect", never)
    monkeypatch.setattr(importer, "convert", never)
    again = imported(place, folder)
    assert (again.converted, again.kept) == ((), ("hosp.patients", "hosp.labs"))
    assert again.record.as_dict() == first.record.as_dict()


def test_only_what_changed_is_imported_again(tmp_path: Path) -> None:
    place = workspace(tmp_path)
    imported(place, files(tmp_path))
    again = imported(place, files(tmp_path, labs=LABS.replace("1.4", "1.5")))
    assert (again.converted, again.kept) == (("hosp.labs",), ("hosp.patients",))
    assert Decimal("1.5") in {row[6] for row in rows(place, "hosp.labs")}
    tables = TABLES_YAML.replace("gender: text, ", "")
    assert imported(workspace(tmp_path, tables=tables), files(tmp_path)).kept == ()


def test_a_table_that_is_gone_leaves_the_store(tmp_path: Path) -> None:
    place = workspace(tmp_path)
    folder = files(tmp_path, codes="subject_id,icd_code\n1,042\n")
    imported(place, folder)
    (folder / "hosp" / "codes.csv").unlink()
    imported(place, folder)
    assert not open_in(place, RELEASE).tables["hosp.codes"].present
    assert not (place.imported(RELEASE) / "tables" / "hosp.codes").exists()


def test_damaged_memories_are_not_trusted(tmp_path: Path) -> None:
    place, folder = workspace(tmp_path), files(tmp_path)
    imported(place, folder)
    release = place.imported(RELEASE)
    (release / "inspections.json").write_text("[", encoding="utf-8")
    (release / "tables" / "hosp.labs" / "table.json").write_text("{}", encoding="utf-8")
    (release / "tables" / "hosp.patients" / "by_patient.parquet").write_bytes(b"short")
    assert imported(place, folder).converted == ("hosp.patients", "hosp.labs")
    assert verify(place, RELEASE) == []


def test_a_killed_import_leaves_whole_tables_and_the_next_one_goes_on(tmp_path: Path) -> None:
    place, folder = workspace(tmp_path), files(tmp_path)
    script = (
        "import os, signal, sys\n"
        "from pathlib import Path\n"
        "from medomni.core.workspace import load_workspace\n"
        "from medomni.studio.data import conversion, importer\n"
        "copy = conversion._copy\n"
        "def dies(connection, query, path, compression):\n"
        "    copy(connection, query, path, compression)\n"
        "    if path.parent.name == 'hosp.labs' and path.name == 'by_patient.parquet':\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "conversion._copy = dies\n"
        "place = load_workspace(Path(sys.argv[1]))\n"
        "importer.import_release(place, 'tiny', [Path(sys.argv[2])], release='1.0')\n"
    )
    killed = subprocess.run(
        [sys.executable, "-c", script, place.root, folder], capture_output=True, check=False
    )
    assert killed.returncode == -9, killed.stderr.decode()
    release = place.imported(RELEASE)
    assert (release / "building" / "hosp.labs" / "by_patient.parquet").is_file()
    assert [path.name for path in (release / "tables").iterdir()] == ["hosp.patients"]
    with pytest.raises(StoreError, match="import-unfinished"):
        open_in(place, RELEASE)
    assert imported(place, folder).kept == ("hosp.patients",)
    assert not (release / "building").exists()
    assert verify(place, RELEASE) == []


# The store.


@pytest.mark.parametrize(
    ("old", "new"), [("itemid: integer", "itemid: bigint"), ("hosp.labs", "hosp.results")]
)
def test_a_store_is_refused_where_its_tables_are_declared_otherwise_now(
    tmp_path: Path, old: str, new: str
) -> None:
    imported(workspace(tmp_path), files(tmp_path))
    with pytest.raises(StoreError, match="data-stale"):
        open_in(workspace(tmp_path, tables=TABLES_YAML.replace(old, new)), RELEASE)


def test_a_store_without_its_files_or_record_is_refused(tmp_path: Path) -> None:
    place = workspace(tmp_path)
    imported(place, files(tmp_path))
    release = place.imported(RELEASE)
    (release / "tables" / "hosp.labs" / "by_item.parquet").unlink()
    with pytest.raises(StoreError, match="data-stale"):
        open_in(place, RELEASE)
    for text in ("{", "{}", '{"schema": "medomni/data-import/2"}'):
        (release / "import.json").write_text(text, encoding="utf-8")
        with pytest.raises(StoreError, match="import-record-invalid"):
            open_in(place, RELEASE)


def test_verify_finds_a_changed_byte(tmp_path: Path) -> None:
    place = workspace(tmp_path)
    imported(place, files(tmp_path))
    assert verify(place, RELEASE) == []
    path = open_in(place, RELEASE).table("hosp.labs").paths["by_item"]
    assert path is not None
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    (issue,) = verify(place, RELEASE)
    assert (issue.code, "hosp.labs" in issue.what) == ("data-changed", True)


def test_verify_finds_other_rows_and_columns_under_the_same_digest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from medomni.studio.data import verification

    place = workspace(tmp_path)
    imported(place, files(tmp_path))
    path = open_in(place, RELEASE).table("hosp.patients").paths["by_patient"]
    with contextlib.closing(duckdb.connect()) as made:
        made.execute(f"COPY (SELECT 1 AS subject_id) TO '{path}' (FORMAT parquet)")
    recorded = open_in(place, RELEASE).record.tables
    digests = {
        str(place.imported(RELEASE) / "tables" / name / f"{order}.parquet"): each["sha256"]
        for name, table in recorded.items()
        for order, each in table.files.items()
    }
    monkeypatch.setattr(verification, "sha256_file", lambda each: digests[str(each)])
    assert [issue.code for issue in verify(place, RELEASE)] == ["data-differs", "data-differs"]


def test_verify_tells_a_file_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from medomni.studio.data import verification

    place = workspace(tmp_path)
    imported(place, files(tmp_path))

    def unreadable(path: Path) -> str:
        raise DataImportError("an input/output error", where=str(path))

    monkeypatch.setattr(verification, "sha256_file", unreadable)
    assert {issue.code for issue in verify(place, RELEASE)} == {"data-unreadable"}


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root reads everything")
def test_unreadable_files_are_told(tmp_path: Path) -> None:
    folder = files(tmp_path)
    (folder / "hosp" / "labs.csv").chmod(0)
    assert issue_codes(refusal(tmp_path, folder)) == ["source-unreadable"]


def test_the_store_says_what_it_is(tmp_path: Path) -> None:
    place = workspace(tmp_path)
    imported(place, files(tmp_path))
    store = open_store(place.root, RELEASE)
    assert (store.release.token, store.release.release_class) == (RELEASE, "real")
    assert store.table("hosp.labs").columns["valuenum"] == "DECIMAL(20,8)"
    assert store.table("hosp.labs").n_rows == 3
    with contextlib.closing(store.connect(memory_limit="200MB", threads=2)) as made:
        assert made.execute("SELECT current_setting('threads')").fetchall() == [(2,)]
    assert data_builders.LABS
