"""Small clinical facts that several labels share: coded history, kidney function, adulthood.

Source: `CKD-EPI 2021`, Inker et al., N Engl J Med 2021;385:1737 (no race term); ages and coding lag as the
definitions of the nine labels say.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from decimal import Decimal, localcontext

from .mimic_tables import CREATININE, DAY, Diagnosis, Measured, MimicTables, Series

ADULT_AGE = 18
CODING_LAG = 7 * DAY


def adult_at(tables: MimicTables, subject_id: int, moment: datetime) -> bool:
    return tables.patients[subject_id].age_at(moment) >= ADULT_AGE


def coded_before(
    tables: MimicTables, subject_id: int, t0: datetime, wanted: Callable[[Diagnosis], bool]
) -> bool:
    """Whether a wanted code was known before t0: its admission's discharge plus seven days lies before t0."""
    return any(
        wanted(row) and tables.admissions[row.hadm_id].dischtime + CODING_LAG < t0
        for row in tables.diagnoses_of.get(subject_id, [])
    )


def codes(*, icd10: tuple[str, ...] = (), icd9: tuple[str, ...] = ()) -> Callable[[Diagnosis], bool]:
    """A test for codes that begin with one of the given ones (written without dots)."""

    def wanted(row: Diagnosis) -> bool:
        return row.code.startswith(icd10 if row.version == 10 else icd9)

    return wanted


def creatinines(tables: MimicTables, subject_id: int) -> Series:
    """Serum creatinine (mg/dL) with 0 < value <= 150."""
    rows = tables.labs(subject_id, CREATININE).rows
    return Series.of([row for row in rows if 0 < row.value <= 150])


def lowest(rows: tuple[Measured, ...]) -> Decimal | None:
    return min((row.value for row in rows), default=None)


def egfr(scr: Decimal, age: int, gender: str) -> Decimal:
    """CKD-EPI 2021 in mL/min/1.73 m2, to 30 digits: no value sits on a class edge by rounding."""
    female = gender == "F"
    kappa = Decimal("0.7") if female else Decimal("0.9")
    alpha = Decimal("-0.241") if female else Decimal("-0.302")
    with localcontext() as context:
        context.prec = 30
        ratio = scr / kappa
        result = Decimal(142) * min(ratio, Decimal(1)) ** alpha * max(ratio, Decimal(1)) ** Decimal("-1.2")
        result *= Decimal("0.9938") ** age
        return result * Decimal("1.012") if female else result


def within(start: datetime, moment: datetime, length: timedelta) -> bool:
    """Whether `moment` lies in (start, start + length]."""
    return start < moment <= start + length
