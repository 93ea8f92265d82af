"""Label `meld_na`: MELD-Na of a liver patient. One candidate per draw time of any of the four ingredients.

Source: OPTN policy 9 as of 2016 (MELD with sodium), worded in the label's definition.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal, localcontext

from .clinical import adult_at, coded_before
from .mimic_tables import (
    CONTINUOUS_DIALYSIS_ITEMS,
    CREATININE,
    DAY,
    Candidate,
    Diagnosis,
    MimicTables,
    Series,
)

RULES = {
    "adult": "age at t0 is 18 or more",
    "all_four_values": "each ingredient has a value above 0 in [t0, t0 + 24 h]",
    "history_liver_disease": "a chronic liver disease code was known before t0",
}
NOT_APPLIED: tuple[str, ...] = ()

BILIRUBIN, INR, SODIUM = 50885, 51237, 50983
ITEMS = (CREATININE, BILIRUBIN, INR, SODIUM)
ONE = Decimal(1)


def liver(row: Diagnosis) -> bool:
    """K70-K74 without acute liver failure (K72.0, K72.00, K72.01), K76.6; 571, 572.2-572.4."""
    if row.version == 9:
        return row.code.startswith(("571", "5722", "5723", "5724"))
    if row.code in ("K720", "K7200", "K7201"):
        return False
    return row.code.startswith(("K70", "K71", "K72", "K73", "K74", "K766"))


def half_up(number: Decimal, step: str) -> Decimal:
    return number.quantize(Decimal(step), rounding=ROUND_HALF_UP)


def score(creatinine: Decimal, bilirubin: Decimal, inr: Decimal, sodium: Decimal, *, dialysed: bool) -> int:
    """MELD-Na in points, 6 to 40; creatinine and bilirubin in mg/dL, sodium in mEq/L."""
    with localcontext() as context:
        context.prec = 30
        kidney = Decimal(4) if dialysed else min(max(creatinine, ONE), Decimal(4))
        sum_of_logs = (
            Decimal("0.957") * kidney.ln()
            + Decimal("0.378") * max(bilirubin, ONE).ln()
            + Decimal("1.120") * max(inr, ONE).ln()
            + Decimal("0.643")
        )
        meld = min(10 * half_up(sum_of_logs, "0.1"), Decimal(40))
        if meld > 11:
            gap = 137 - min(max(sodium, Decimal(125)), Decimal(137))
            meld += Decimal("1.32") * gap - Decimal("0.033") * meld * gap
        return int(min(max(half_up(meld, "1"), Decimal(6)), Decimal(40)))


def dialysed_twice(tables: MimicTables, subject_id: int, t0: datetime) -> bool:
    """Two treatments started in [t0 - 7 d, t0), or 24 h of continuous treatment inside it."""
    start, rows = t0 - 7 * DAY, tables.dialysis(subject_id)
    if sum(start <= row.start < t0 for row in rows) >= 2:
        return True
    total, reached = timedelta(0), start
    for row in sorted(rows, key=lambda row: row.start):
        if row.itemid in CONTINUOUS_DIALYSIS_ITEMS:
            begin, end = max(row.start, reached), min(row.end, t0)
            if end > begin:
                total += end - begin
                reached = end
    return total >= DAY


def candidate(tables: MimicTables, subject_id: int, t0: datetime, series: tuple[Series, ...]) -> Candidate:
    windows = [item.closed(t0, t0 + DAY) for item in series]
    value = None
    if all(windows):
        first = [window[0].value for window in windows]
        value = score(*first, dialysed=dialysed_twice(tables, subject_id, t0))
    rules = {
        "adult": adult_at(tables, subject_id, t0),
        "all_four_values": all(windows),
        "history_liver_disease": coded_before(tables, subject_id, t0, liver),
    }
    return Candidate(subject_id, t0.isoformat(), t0, value, rules)


def candidates(tables: MimicTables) -> list[Candidate]:
    found = []
    for subject_id in tables.patients:
        whole = [tables.labs(subject_id, item) for item in ITEMS]
        series = tuple(Series.of([row for row in item.rows if row.value > 0]) for item in whole)
        times = sorted({row.time for item in whole for row in item.rows})
        found += [candidate(tables, subject_id, t0, series) for t0 in times]
    return found
