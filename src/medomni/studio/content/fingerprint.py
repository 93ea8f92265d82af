"""The data behind a pair as one digest, recorded beside the config hash and never inside it.

`rows1:` and the SHA-256 of one line per present table, in the order of names: the name, the rows of the whole
table, the rows of the cohort's patients (of everybody in a table without patients), and the sum modulo 2^64
of a 64-bit hash of each of those rows. A row's hash is the last eight bytes, little-endian, of the MD5 of its
cells as text in the order of the definition, so that neither file format nor row order counts.

Source: this project's own definition, as above; RFC 1321 (MD5); FIPS 180-4 (SHA-256).
"""

from __future__ import annotations

from collections.abc import Sequence

from medomni.core.hashing import sha256_bytes
from medomni.studio.data.connection import as_our_errors, quoted
from medomni.studio.data.store import StoredTable
from medomni.studio.tables import StoredTables

PREFIX = "rows1"
_MODULUS = 1 << 64
# Between cells, and for a cell without a value: neither is a letter that data hold.
_BETWEEN, _NOTHING = "chr(31)", "chr(30)"


def data_fingerprint(
    store: StoredTables,
    subjects: Sequence[int],
    *,
    memory_limit: str | None = None,
    threads: int | None = None,
) -> str:
    """The fingerprint of the rows of these patients.

    Args:
        store: The imported release.
        subjects: The cohort's patients, in any order.
        memory_limit: What DuckDB may use.
        threads: How many; the digest does not depend on it.

    Raises:
        DataImportError: The database fails.

    Source: this project's own definition; see the module.
    """
    connection = store.connect(memory_limit=memory_limit, threads=threads)
    lines = []
    try:
        with as_our_errors("the fingerprint of the data"):
            for name in sorted(store.present):
                table = store.store.tables[name]
                found = connection.execute(_query(table, subjects)).fetchall()
                count, total = found[0]
                lines.append(f"{name}|{table.n_rows}|{count}|{int(total) % _MODULUS}")
    finally:
        connection.close()
    return f"{PREFIX}:{sha256_bytes(chr(10).join(lines).encode())}"


def _query(table: StoredTable, subjects: Sequence[int]) -> str:
    cells = ", ".join(f"coalesce(CAST({quoted(name)} AS VARCHAR), {_NOTHING})" for name in table.columns)
    digest = f"md5_number_lower(concat_ws({_BETWEEN}, {cells}))"
    patient = table.definition.patient
    # By patient: the rows of a few people are read and no others.
    view = quoted(f"{table.name}@by_patient")
    numbers = ", ".join(str(int(subject)) for subject in sorted(subjects))
    only = f" WHERE {quoted(patient)} IN ({numbers})" if patient is not None else ""
    # Names come from the dataset's own definition.
    return f"SELECT count(*), coalesce(sum(CAST({digest} AS HUGEINT)), 0) FROM {view}{only}"  # noqa: S608
