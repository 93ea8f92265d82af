"""A made-up MIMIC-IV release of any size, laid out as an import lays it out, in both sort orders.

Rows come out in the order in which they are kept, so that nothing is sorted: draws of blood stand in the
order of patient and time, and a table by item is one pass over them per item. At scale 1 there are as many
laboratory rows, patients, admissions, stays, diagnoses and procedures as in release 3.1, and 4.2 million of
the rows are creatinine. Nothing describes a person.

Leaves to others: what is asked of the release (`studio`, `studio_by_hand`).
"""

from __future__ import annotations

import shutil
from pathlib import Path

import duckdb

from medomni.core.hashing import sha256_file
from medomni.core.workspace import Workspace, load_workspace
from medomni.studio.data.connection import connect, literal, quoted
from medomni.studio.data.definitions import Dataset, Table, load_dataset
from medomni.studio.data.records import (
    ImportRecord,
    TableRecord,
    table_folder,
    write_import_record,
    write_table_record,
)

REPOSITORY = Path(__file__).resolve().parent.parent
RELEASE = "mimic-iv/3.1"
LABEVENTS, PATIENTS, ADMISSIONS, STAYS = 158_374_764, 364_627, 546_028, 94_458
DIAGNOSES, PROCEDURES, CREATININE_ROWS = 6_364_488, 808_706, 4_200_000
CREATININE = 50912
# The commonest items of chemistry, blood gas and haematology; the last fills up to the wanted number of rows.
ITEMS = (
    *(50802, 50804, 50818, 50820, 50821, 50861, 50862, 50863, 50868, 50878, 50882, 50885, 50893, 50902),
    *(50931, 50954, 50960, 50970, 50971, 50983, 51006, 51133, 51146, 51200, 51221, 51222, 51237, 51244),
    *(51248, 51249, 51250, 51254, 51256, 51265, 51274, 51275, 51277, 51279, 51301, 52075),
)
FILLER = ITEMS[-1]
_DRAWS = 6_300_000
_CHANCES = 1 << 20
_ROW_GROUP = 122_880

# A number from 0 up to 1 that depends on its arguments alone. Hashed twice: hashes of pairs go along.
_MACRO = "CREATE MACRO chance(a, b) AS (hash(hash(a, b)) >> 11) / 9007199254740992.0"

_PEOPLE = """
CREATE TABLE people AS
SELECT i + 10000000 AS subject_id,
    CASE WHEN chance(i, 'sex') < 0.52 THEN 'F' ELSE 'M' END AS gender,
    18 + floor(74 * chance(i, 'age'))::INTEGER AS anchor_age,
    2110 + floor(80 * chance(i, 'year'))::INTEGER AS anchor_year,
    -- One in five has no laboratory row; the others have few or very many.
    CASE WHEN chance(i, 'none') < 0.2 THEN 0
        ELSE greatest(1, floor({mean} * 0.72 * pow(-ln(1 - chance(i, 'many')), 1.6)))::INTEGER END AS draws,
    CASE WHEN chance(i, 'kidney') < 0.70 THEN 0.5 + 0.6 * chance(i, 'base')
        WHEN chance(i, 'kidney') < 0.84 THEN 1.1 + 0.6 * chance(i, 'base')
        WHEN chance(i, 'kidney') < 0.92 THEN 1.7 + 0.9 * chance(i, 'base')
        WHEN chance(i, 'kidney') < 0.97 THEN 2.6 + 2.0 * chance(i, 'base')
        ELSE 5.0 + 6.0 * chance(i, 'base') END AS base
FROM range({patients}) AS r(i)
"""

# Draws of blood: hours apart within an episode, weeks to months between episodes; sometimes two at once.
_DRAWN = """
CREATE TABLE draws AS
WITH each AS (
    SELECT p.*, unnest(range(p.draws)) AS k FROM people AS p
),
spaced AS (
    SELECT *, hash(subject_id, k) AS luck, chance(subject_id, k) AS u, chance(k, subject_id) AS v FROM each
),
placed AS (
    SELECT *,
        k = 0 OR u < 0.16 AS opens,
        CASE WHEN k = 0 THEN floor(525600 * v)
            WHEN u < 0.16 THEN 20160 + floor(400000 * v * v)
            WHEN u > 0.99 THEN 0
            ELSE 300 + floor(1500 * v) END AS gap
    FROM spaced
),
timed AS (
    SELECT *,
        sum(gap) OVER w AS minutes,
        sum(opens::INTEGER) OVER w AS episode
    FROM placed
    WINDOW w AS (PARTITION BY subject_id ORDER BY k)
)
SELECT row_number() OVER (ORDER BY subject_id, minutes, k) AS draw, subject_id, luck, base,
    subject_id * 1000 + episode AS hadm_id,
    make_timestamp(anchor_year, 1, 1, 0, 0, 0) + to_minutes(minutes::BIGINT) AS charttime,
    chance(subject_id, episode) AS episode_luck
FROM timed
ORDER BY subject_id, minutes, k
"""

# The patients table knows nobody's draws; the rest follows from the episodes.
_STAYS = """
CREATE TABLE episodes AS
SELECT subject_id, hadm_id, min(charttime) - INTERVAL 2 HOUR AS admittime,
    max(charttime) + INTERVAL 9 HOUR AS dischtime
FROM draws GROUP BY subject_id, hadm_id ORDER BY hash(hadm_id) LIMIT {admissions};
CREATE TABLE stays AS
SELECT *, hadm_id + 500 AS stay_id, admittime + INTERVAL 5 HOUR AS intime,
    admittime + INTERVAL 5 HOUR + to_hours(20 + floor(90 * chance(hadm_id, 'hours'))::INTEGER) AS outtime
FROM episodes ORDER BY hash(hadm_id, 'icu') LIMIT {stays};
"""

# About 250 codes; dialysis and transplants are rare among them.
_CODES = """
CASE WHEN chance(x.hadm_id, x.n) < 0.0006 THEN 'Z992' WHEN chance(x.hadm_id, x.n) < 0.0012 THEN 'Z940'
    WHEN chance(x.hadm_id, x.n) < 0.0016 THEN 'V451' WHEN chance(x.hadm_id, x.n) < 0.0018 THEN 'T8610'
    ELSE chr(65 + (hash(x.hadm_id, x.n) % 21)::INTEGER) || (100 + hash(x.n, x.hadm_id) % 12) END
"""
_PROCEDURE = """
CASE WHEN chance(x.stay_id, x.n) < 0.004 THEN 225441 WHEN chance(x.stay_id, x.n) < 0.006 THEN 225802
    ELSE 225400 + (hash(x.stay_id, x.n) % 30)::INTEGER END
"""
_DIAGNOSES_QUERY = f"""
SELECT *, n + 1 AS seq_num, {_CODES} AS icd_code,
    CASE WHEN icd_code LIKE 'V%' THEN 9 ELSE 10 END AS icd_version
FROM (SELECT *, unnest(range({{each}})) AS n FROM episodes) AS x
"""  # noqa: S608 - constant text
_PROCEDURES_QUERY = f"""
SELECT *, {_PROCEDURE} AS itemid, 180 AS value, 'min' AS valueuom,
    intime + to_hours(n::INTEGER) AS starttime, intime + to_hours(n::INTEGER + 3) AS endtime
FROM (SELECT *, unnest(range({{each}})) AS n FROM stays) AS x
"""  # noqa: S608 - constant text
_STAYS_QUERY = """
SELECT *, 'Medical Intensive Care Unit (MICU)' AS first_careunit, epoch(outtime - intime) / 86400.0 AS los
FROM stays
"""
# By table: its query, and of what each row has several.
_SMALL = {
    "hosp.patients": ("SELECT * FROM people", ""),
    "hosp.admissions": ("SELECT *, 'EW EMER.' AS admission_type FROM episodes", ""),
    "icu.icustays": (_STAYS_QUERY, ""),
    "hosp.diagnoses_icd": (_DIAGNOSES_QUERY, "episodes"),
    "icu.procedureevents": (_PROCEDURES_QUERY, "stays"),
}


def make_release(folder: Path, *, scale: float, memory_limit: str) -> Workspace:
    """Write a release into a new workspace with the repository's definitions.

    Args:
        folder: Where to; made.
        scale: Share of the rows of release 3.1.
        memory_limit: What DuckDB may use.
    """
    shutil.copytree(REPOSITORY / "studio", folder / "studio")
    (folder / "medomni.toml").write_text('release = "0.3.0"\n', encoding="utf-8")
    if scale < 1:
        _expect_less(folder)
    workspace = load_workspace(folder)
    dataset = load_dataset(workspace, "mimic-iv")
    with connect(workspace.spill_folder, memory_limit=memory_limit) as connection:
        # Tables of the generator itself, which may be larger than memory.
        connection.execute(f"ATTACH {literal(folder / 'made.duckdb')} AS made; USE made")
        records = [*_small_tables(connection, workspace, dataset, scale)]
        records.append(_labevents(connection, workspace, dataset.tables["hosp.labevents"], scale))
        version = str(connection.execute("SELECT version()").fetchall()[0][0])
    (folder / "made.duckdb").unlink()
    _write_record(workspace, dataset, records, version)
    return workspace


def _expect_less(folder: Path) -> None:
    """A small release need not have as many eligible patients as the real one."""
    label = folder / "studio" / "datasets" / "mimic-iv" / "labels" / "ckd_g_stage.yaml"
    text = label.read_text(encoding="utf-8")
    old = "real: {eligible_min: 5000, class_share_min: 0.005}"
    if old not in text:
        raise LookupError(f"the label has no line {old!r}")
    label.write_text(text.replace(old, "real: {eligible_min: 1}"), encoding="utf-8")


def _small_tables(
    connection: duckdb.DuckDBPyConnection, workspace: Workspace, dataset: Dataset, scale: float
) -> list[TableRecord]:
    counts = {"patients": PATIENTS, "admissions": ADMISSIONS, "stays": STAYS}
    wanted = {name: int(count * scale) for name, count in counts.items()}
    connection.execute(_MACRO)
    connection.execute(_PEOPLE.format(mean=round(_DRAWS / PATIENTS / 0.8, 3), patients=wanted["patients"]))
    connection.execute(_DRAWN)
    for statement in _STAYS.format(**wanted).split(";"):
        if statement.strip():
            connection.execute(statement)
    each = {"episodes": DIAGNOSES / ADMISSIONS, "stays": PROCEDURES / STAYS}
    records = []
    for name, (query, per) in _SMALL.items():
        source = query.format(each=_around(each[per])) if per else query
        table = dataset.tables[name]
        order = ", ".join(quoted(column) for column in table.sort["by_patient"])
        shaped = _shaped(connection, table, f"({source}) AS s", order)
        records.append(_write(connection, workspace, table, {"by_patient": shaped}))
    return records


def _around(mean: float) -> str:
    """The whole number below or above a mean, drawn by admission."""
    return f"{int(mean)} + (hash(hadm_id, 7) % 100 < {100 * (mean % 1):.0f})::INTEGER"


def _labevents(
    connection: duckdb.DuckDBPyConnection, workspace: Workspace, table: Table, scale: float
) -> TableRecord:
    """Each draw is measured for every item by a chance of the item's own."""
    draws = _number(connection, "SELECT count(*) FROM draws")
    total, shares = int(LABEVENTS * scale), _shares(draws, scale)
    has = {item: f"hash(hash(luck, {item})) % {_CHANCES} < {share}" for item, share in shares.items()}
    others = " + ".join(f"count(*) FILTER (WHERE {has[item]})" for item in shares)
    lacking = total - _number(connection, f"SELECT {others} FROM draws")  # noqa: S608 - numbers only
    if not 0 <= lacking <= draws:
        raise ArithmeticError(f"{lacking} rows are left for the last item, and there are {draws} draws")
    has[FILLER] = f"draw <= {lacking}"
    listed = ", ".join(f"CASE WHEN {has[item]} THEN {item} END" for item in sorted(has))
    items = f"(SELECT *, unnest(list_filter([{listed}], lambda x: x IS NOT NULL)) AS itemid FROM draws) AS s"  # noqa: S608
    parts = _parts(connection, workspace.spill_folder, table, has)
    by_item = f"SELECT * FROM read_parquet([{', '.join(map(literal, parts))}])"  # noqa: S608 - our own paths
    by_patient = _shaped(connection, table, items)
    record = _write(connection, workspace, table, {"by_patient": by_patient, "by_item": by_item})
    for part in parts:
        part.unlink()
    return record


def _parts(
    connection: duckdb.DuckDBPyConnection, folder: Path, table: Table, has: dict[int, str]
) -> list[Path]:
    """The rows of each item in a file of its own: one query over all would keep most of them in memory."""
    found = []
    for item in sorted(has):
        found.append(folder / f"{item}.parquet")
        query = _shaped(connection, table, f"(SELECT *, {item} AS itemid FROM draws WHERE {has[item]}) AS s")  # noqa: S608
        connection.execute(f"COPY ({query}) TO {literal(found[-1])} (FORMAT parquet)")
    return found


def _shares(draws: int, scale: float) -> dict[int, int]:
    """By item, how many of `_CHANCES` draws are measured for it; the filler is left half a share."""
    found = {CREATININE: CREATININE_ROWS * scale / draws}
    weights = {item: 1 - 0.018 * rank for rank, item in enumerate(ITEMS[:-1])}
    rest = LABEVENTS * scale / draws - found[CREATININE] - 0.5
    whole = sum(weights.values())
    found |= {item: weight * rest / whole for item, weight in weights.items()}
    if max(found.values()) > 1:
        raise ArithmeticError("there are too few draws for so many rows")
    return {item: round(share * _CHANCES) for item, share in found.items()}


_MADE = {
    "labevent_id": "draw * 4096 + itemid % 4096",
    "specimen_id": "draw * 8 + itemid % 3",
    "storetime": "charttime + to_minutes((30 + luck % 90)::BIGINT)",
    "valuenum": "CASE WHEN itemid = 50912"
    " THEN round(base * (0.94 + 0.12 * chance(luck, 'value'))"
    " * CASE WHEN episode_luck < 0.08 THEN 1 + 1.5 * chance(luck, 'ill') ELSE 1 END, 1)"
    " ELSE (luck % 1500) / 10.0 END",
    "valueuom": "'mg/dL'",
    "flag": "CASE WHEN luck % 4 = 0 THEN 'abnormal' END",
    "priority": "CASE WHEN luck % 3 = 0 THEN 'STAT' ELSE 'ROUTINE' END",
}


def _shaped(connection: duckdb.DuckDBPyConnection, table: Table, source: str, order: str = "") -> str:
    """A query with the table's columns, typed; those that the source lacks are empty."""
    described = connection.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()  # noqa: S608 - our own text
    there = {each[0] for each in described}
    made = _MADE if table.name == "hosp.labevents" else {}
    outputs = []
    for name, kind in table.columns.items():
        value = made.get(name, quoted(name) if name in there else "NULL")
        outputs.append(f"CAST({value} AS {kind.duckdb}) AS {quoted(name)}")
    query = f"SELECT {', '.join(outputs)} FROM {source}"  # noqa: S608 - our own text
    return f"{query} ORDER BY {order}" if order else query


def _write(
    connection: duckdb.DuckDBPyConnection, workspace: Workspace, table: Table, orders: dict[str, str]
) -> TableRecord:
    place = table_folder(workspace.imported(RELEASE), table.name)
    place.mkdir(parents=True)
    files, rows = {}, 0
    for order, query in orders.items():
        path = place / f"{order}.parquet"
        copied = connection.execute(
            f"COPY ({query}) TO {literal(path)}"
            f" (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE {_ROW_GROUP})"
        ).fetchall()
        rows = int(copied[0][0])
        files[order] = {"size": path.stat().st_size, "sha256": sha256_file(path)}
        _refuse_disorder(connection, path, table.sort[order][0])
    record = TableRecord(table.name, table.storage_digest(), rows, {}, files, (), (), ())
    write_table_record(place, record)
    return record


def _refuse_disorder(connection: duckdb.DuckDBPyConnection, path: Path, first: str) -> None:
    """Row groups must follow each other in the order of the first column, or the times would mean nothing."""
    query = "SELECT CAST(stats_min AS BIGINT), CAST(stats_max AS BIGINT) FROM parquet_metadata(?)"
    query += " WHERE path_in_schema = ? ORDER BY row_group_id"
    found = connection.execute(query, [str(path), first]).fetchall()
    bounds = [bound for group in found for bound in group]
    if bounds != sorted(bounds):
        raise ArithmeticError(f"{path.name} is not in order")


def _number(connection: duckdb.DuckDBPyConnection, query: str) -> int:
    return int(connection.execute(query).fetchall()[0][0])


def _write_record(workspace: Workspace, dataset: Dataset, records: list[TableRecord], version: str) -> None:
    tables = {record.name: record for record in records}
    absent = tuple(name for name in dataset.tables if name not in tables)
    record = ImportRecord(RELEASE, "real", tables, absent, (), (), version)
    write_import_record(workspace.imported(RELEASE), record)
