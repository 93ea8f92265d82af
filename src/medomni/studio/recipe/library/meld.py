"""MELD-Na of 2016 from creatinine, bilirubin, INR and sodium, with dialysis in the week before.

Each of the first three is at least 1.0; creatinine is at most 4.0, and is 4.0 after two dialysis sessions,
or 24 hours of continuous dialysis, in the seven days before the prediction time. Rounding is half up.

Leaves to others: which values (the label's windows choose them).

Source: OPTN policy 9, MELD with sodium (2016): MELD(i) = 0.957 ln(Cr) + 0.378 ln(bilirubin) + 1.120 ln(INR)
+ 0.643, rounded to one decimal and times 10; above 11: MELD(i) + 1.32 (137 - Na) - 0.033 MELD(i) (137 -
Na).
"""

from __future__ import annotations

from medomni.studio.recipe.catalog import Kind
from medomni.studio.recipe.library.shape import ValueFunction

_SQL = """
WITH sessions AS (
    SELECT c.cand_id, count(*) AS n
    FROM candidates AS c JOIN "icu.procedureevents" AS p ON p.subject_id = c.subject_id
        AND p.starttime >= c.t0 - INTERVAL 7 DAY AND p.starttime < c.t0
    WHERE p.itemid IN (225441, 225802, 225803, 225805, 225809, 225955)
    GROUP BY c.cand_id
),
spans AS (
    SELECT c.cand_id, greatest(epoch_us(p.starttime), epoch_us(c.t0 - INTERVAL 7 DAY)) AS lo,
        least(epoch_us(p.endtime), epoch_us(c.t0)) AS hi
    FROM candidates AS c JOIN "icu.procedureevents" AS p ON p.subject_id = c.subject_id
        AND p.starttime < c.t0 AND p.endtime > c.t0 - INTERVAL 7 DAY AND p.endtime > p.starttime
    WHERE p.itemid IN (225802, 225803, 225809)
),
reached AS (
    SELECT cand_id, lo, hi, max(hi) OVER (
        PARTITION BY cand_id ORDER BY lo, hi ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ) AS before
    FROM spans
),
continuous AS (
    SELECT cand_id, sum(greatest(hi - greatest(lo, coalesce(before, lo)), 0)) AS us
    FROM reached GROUP BY cand_id
),
prepared AS (
    SELECT c.cand_id, c.a1, c.a2, c.a3, c.a4,
        coalesce(s.n >= 2, FALSE) OR coalesce(t.us >= 86400000000, FALSE) AS dialysed
    FROM candidates AS c
    LEFT JOIN sessions AS s ON s.cand_id = c.cand_id
    LEFT JOIN continuous AS t ON t.cand_id = c.cand_id
),
floored AS (
    SELECT cand_id,
        CASE WHEN dialysed THEN 4.0::DOUBLE ELSE least(greatest(a1::DOUBLE, 1.0), 4.0) END AS cr,
        greatest(a2::DOUBLE, 1.0) AS bili,
        greatest(a3::DOUBLE, 1.0) AS inr,
        least(greatest(a4, 125), 137) AS na
    FROM prepared
    WHERE a1 IS NOT NULL AND a2 IS NOT NULL AND a3 IS NOT NULL AND a4 IS NOT NULL
),
tenths AS (
    SELECT cand_id, na, least(CAST(
        floor((0.957 * ln(cr) + 0.378 * ln(bili) + 1.120 * ln(inr) + 0.643) * 10 + 0.5) AS INTEGER), 40) AS
        meld
    FROM floored
),
scored AS (
    SELECT cand_id, CASE WHEN meld > 11
        THEN meld + 1.32 * (137 - na) - 0.033 * meld * (137 - na)
        ELSE CAST(meld AS DECIMAL(20, 8)) END AS score
    FROM tenths
)
SELECT cand_id, CAST(least(greatest(floor(score + 0.5), 6), 40) AS INTEGER) AS value FROM scored
"""

MELD_NA = ValueFunction(
    name="meld_na",
    version=1,
    parameters=(
        ("creatinine", Kind.DECIMAL),
        ("bilirubin", Kind.DECIMAL),
        ("inr", Kind.DECIMAL),
        ("sodium", Kind.DECIMAL),
    ),
    kind=Kind.INTEGER,
    sql=_SQL,
    tables=("icu.procedureevents",),
    # The arguments decide: dialysis is read before the prediction time only.
    until=0,
    nullable=False,
)
