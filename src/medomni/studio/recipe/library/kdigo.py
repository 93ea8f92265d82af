"""KDIGO stages of acute kidney injury from creatinine alone, with the start of dialysis.

Urine output is left out: charting bias. Values are decimal, so 1.4 - 1.1 >= 0.3 holds.

Leaves to others: the baseline, which the label chooses.

Source: KDIGO Clinical Practice Guideline for Acute Kidney Injury, 2012, section 2.1, with the rise of stage
3 by 4.0 mg/dL asking for an acute rise, as in table 2.
"""

from __future__ import annotations

from medomni.studio.recipe.catalog import Kind
from medomni.studio.recipe.library.shape import ValueFunction

# Haemodialysis, CRRT, CVVHD, peritoneal dialysis, CVVHDF, SCUF.
DIALYSIS = (225441, 225802, 225803, 225805, 225809, 225955)

_SQL = """
WITH creatinine AS (
    SELECT subject_id, charttime, valuenum AS v
    FROM "hosp.labevents"
    WHERE itemid = 50912 AND valuenum > 0 AND charttime IS NOT NULL
),
spans AS (SELECT cand_id, subject_id, a1 AS base, a2 AS lo, a3 AS hi, a4 AS closed FROM candidates),
inside AS (
    SELECT s.cand_id, s.subject_id, s.base, c.charttime, c.v
    FROM spans AS s JOIN creatinine AS c
        ON c.subject_id = s.subject_id AND c.charttime <= s.hi
        AND (c.charttime > s.lo OR (s.closed AND c.charttime = s.lo))
),
moments AS (SELECT DISTINCT subject_id, charttime FROM inside),
lows AS (
    SELECT m.subject_id, m.charttime, min(e.v) AS low48
    FROM moments AS m JOIN creatinine AS e
        ON e.subject_id = m.subject_id AND e.charttime < m.charttime
        AND e.charttime >= m.charttime - INTERVAL 48 HOUR
    GROUP BY m.subject_id, m.charttime
),
rises AS (
    SELECT i.cand_id, i.base, i.v, coalesce(i.v - l.low48 >= 0.3, FALSE) AS acute
    FROM inside AS i LEFT JOIN lows AS l ON l.subject_id = i.subject_id AND l.charttime = i.charttime
),
stages AS (
    SELECT cand_id, max(CASE
        WHEN v >= 3.0 * base THEN 3
        WHEN v >= 4.0 AND (acute OR v >= 1.5 * base) THEN 3
        WHEN v >= 2.0 * base THEN 2
        WHEN acute OR v >= 1.5 * base THEN 1
        ELSE 0 END) AS stage
    FROM rises GROUP BY cand_id
),
dialysed AS (
    SELECT DISTINCT s.cand_id
    FROM spans AS s JOIN "icu.procedureevents" AS p
        ON p.subject_id = s.subject_id AND p.starttime <= s.hi
        AND (p.starttime > s.lo OR (s.closed AND p.starttime = s.lo))
    WHERE p.itemid IN (225441, 225802, 225803, 225805, 225809, 225955)
)
SELECT s.cand_id, CASE
    WHEN s.base IS NULL OR s.lo IS NULL OR s.hi IS NULL THEN NULL
    WHEN d.cand_id IS NOT NULL THEN 3
    ELSE coalesce(g.stage, 0) END AS value
FROM spans AS s
LEFT JOIN stages AS g ON g.cand_id = s.cand_id
LEFT JOIN dialysed AS d ON d.cand_id = s.cand_id
"""

KDIGO_CREATININE = ValueFunction(
    name="kdigo_creatinine",
    version=1,
    parameters=(
        ("baseline", Kind.DECIMAL),
        ("start", Kind.TIME),
        ("end", Kind.TIME),
        ("start_inclusive", Kind.BOOL),
    ),
    kind=Kind.INTEGER,
    sql=_SQL,
    tables=("hosp.labevents", "icu.procedureevents"),
    until=2,
)
