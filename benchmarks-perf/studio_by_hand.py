"""The cohort `mimic-iv_ckd-staging` as one query that a person would write for DuckDB.

It knows what the label's file says and nothing of the recipe language: filters come first, nothing is kept
but what the next part needs. Two forms: the picked patients alone, and before them a table of every
candidate with each rule's truth, which the recipe language always makes.

Leaves to others: the release (`studio_release`), the same by the recipe language (`studio`).
"""

from __future__ import annotations

PREFIX = "mimic-iv_ckd-staging|n20|v1|"

_EGFR = """
CREATE OR REPLACE TEMP MACRO egfr(scr, gender, age) AS
    142 * pow(least(scr::DOUBLE / CASE WHEN gender = 'F' THEN 0.7 ELSE 0.9 END, 1),
        CASE WHEN gender = 'F' THEN -0.241 ELSE -0.302 END)
    * pow(greatest(scr::DOUBLE / CASE WHEN gender = 'F' THEN 0.7 ELSE 0.9 END, 1), -1.2)
    * pow(0.9938::DOUBLE, age) * CASE WHEN gender = 'F' THEN 1.012 ELSE 1 END
"""
_STAGE = """
CREATE OR REPLACE TEMP MACRO stage(e) AS
    CASE WHEN e >= 60 THEN 0 WHEN e >= 45 THEN 1 WHEN e >= 30 THEN 2 WHEN e >= 15 THEN 3 ELSE 4 END
"""
MACROS = (_EGFR, _STAGE)

# Creatinine, and the earliest moment from which a patient is out.
_PARTS = """
creatinine AS MATERIALIZED (
    SELECT subject_id, labevent_id, charttime AS t, valuenum AS v, storetime
    FROM "hosp.labevents"
    WHERE itemid = 50912 AND valuenum > 0 AND valuenum <= 150 AND charttime IS NOT NULL
),
people AS (SELECT subject_id, gender, anchor_age - anchor_year AS born FROM "hosp.patients"),
coded AS (
    SELECT d.subject_id, a.dischtime + INTERVAL 7 DAY AS since, d.icd_code AS code, d.icd_version AS version
    FROM "hosp.diagnoses_icd" AS d JOIN "hosp.admissions" AS a USING (hadm_id)
),
dialysis AS (
    SELECT subject_id, since FROM coded
    WHERE (version = 10 AND code LIKE 'Z992%')
        OR (version = 9 AND (code LIKE 'V451%' OR code LIKE 'V56%'))
    UNION ALL
    SELECT subject_id, starttime FROM "icu.procedureevents"
    WHERE itemid IN (225441, 225802, 225803, 225805, 225809, 225955)
),
transplant AS (
    SELECT subject_id, since FROM coded
    WHERE (version = 10 AND (code LIKE 'Z940%' OR code LIKE 'T861%')) OR (version = 9 AND code LIKE 'V420%')
),
first_dialysis AS (SELECT subject_id, min(since) AS since FROM dialysis GROUP BY subject_id),
first_transplant AS (SELECT subject_id, min(since) AS since FROM transplant GROUP BY subject_id),
-- One value per moment: the last one known, then the greatest key.
one_a_moment AS (
    SELECT subject_id, t, v FROM creatinine
    QUALIFY row_number() OVER (
        PARTITION BY subject_id, t ORDER BY coalesce(storetime, t) DESC, labevent_id DESC) = 1
),
in_icu AS (
    SELECT DISTINCT c.labevent_id
    FROM creatinine AS c JOIN "icu.icustays" AS s
        ON s.subject_id = c.subject_id AND s.intime <= c.t AND (s.outtime >= c.t OR s.outtime IS NULL)
)
"""

# The values of a week are looked at for the picked alone.
PICKED = f"""
CREATE OR REPLACE TEMP TABLE by_hand AS
WITH {_PARTS},
chronic AS (
    SELECT c.*, e.v AS v0, e.t AS t0
    FROM creatinine AS c ASOF JOIN one_a_moment AS e
        ON c.subject_id = e.subject_id AND c.t - INTERVAL 90 DAY >= e.t
    WHERE e.t >= c.t - INTERVAL 730 DAY
),
allowed AS (
    SELECT c.*, p.gender, p.born + year(c.t) AS age, p.born + year(c.t0) AS age0
    FROM chronic AS c
    JOIN people AS p ON p.subject_id = c.subject_id AND p.born + year(c.t) >= 18
    LEFT JOIN first_dialysis AS d ON d.subject_id = c.subject_id
    LEFT JOIN first_transplant AS k ON k.subject_id = c.subject_id
    WHERE (d.since IS NULL OR d.since >= c.t) AND (k.since IS NULL OR k.since >= c.t)
        AND c.labevent_id NOT IN (SELECT labevent_id FROM in_icu)
),
picked AS (
    SELECT * FROM allowed
    QUALIFY row_number() OVER (PARTITION BY subject_id ORDER BY sha256(
        '{PREFIX}' || subject_id || '|' || strftime(t, '%Y-%m-%dT%H:%M:%S') || '|' || labevent_id)) = 1
),
week AS (
    SELECT p.labevent_id, min(c.v) AS lowest
    FROM picked AS p JOIN creatinine AS c
        ON c.subject_id = p.subject_id AND c.t <= p.t AND c.t >= p.t - INTERVAL 7 DAY
    GROUP BY p.labevent_id
)
SELECT p.subject_id, p.t, p.labevent_id, stage(egfr(p.v, p.gender, p.age)) AS value
FROM picked AS p JOIN week AS w USING (labevent_id)
WHERE p.v < 1.5 * w.lowest
    AND stage(egfr(p.v0, p.gender, p.age0)) = stage(egfr(p.v, p.gender, p.age))
"""  # noqa: S608 - constant text

# Every candidate with each rule, and from it the picked.
EVERY = f"""
CREATE OR REPLACE TEMP TABLE by_hand_every AS
WITH {_PARTS},
earlier AS (
    SELECT c.labevent_id, e.v AS v0, e.t AS t0
    FROM creatinine AS c ASOF JOIN one_a_moment AS e
        ON c.subject_id = e.subject_id AND c.t - INTERVAL 90 DAY >= e.t
    WHERE e.t >= c.t - INTERVAL 730 DAY
),
lows AS (
    SELECT labevent_id, min(v) OVER (
        PARTITION BY subject_id ORDER BY t RANGE BETWEEN INTERVAL 7 DAY PRECEDING AND CURRENT ROW) AS lowest
    FROM creatinine
)
SELECT c.subject_id, c.t, c.labevent_id, stage(egfr(c.v, p.gender, p.born + year(c.t))) AS value,
    p.born + year(c.t) >= 18 AS adult,
    e.v0 IS NOT NULL AS chronic,
    i.labevent_id IS NULL AS not_in_icu,
    d.since IS NULL OR d.since >= c.t AS no_dialysis,
    k.since IS NULL OR k.since >= c.t AS no_transplant,
    c.v < 1.5 * w.lowest AS no_acute_injury,
    coalesce(stage(egfr(e.v0, p.gender, p.born + year(e.t0))) = value, FALSE) AS same_class,
    adult AND chronic AND not_in_icu AND no_dialysis AND no_transplant AS past
FROM creatinine AS c
JOIN people AS p ON p.subject_id = c.subject_id
LEFT JOIN earlier AS e ON e.labevent_id = c.labevent_id
LEFT JOIN lows AS w ON w.labevent_id = c.labevent_id
LEFT JOIN in_icu AS i ON i.labevent_id = c.labevent_id
LEFT JOIN first_dialysis AS d ON d.subject_id = c.subject_id
LEFT JOIN first_transplant AS k ON k.subject_id = c.subject_id
"""  # noqa: S608 - constant text
PICKED_OF_EVERY = f"""
CREATE OR REPLACE TEMP TABLE by_hand AS
SELECT subject_id, t, labevent_id, value FROM (
    SELECT * FROM by_hand_every WHERE past
    QUALIFY row_number() OVER (PARTITION BY subject_id ORDER BY sha256(
        '{PREFIX}' || subject_id || '|' || strftime(t, '%Y-%m-%dT%H:%M:%S') || '|' || labevent_id)) = 1
) WHERE no_acute_injury AND same_class
"""  # noqa: S608 - constant text
COUNTS = """
SELECT count(*), count(DISTINCT subject_id), count(*) FILTER (past), count(DISTINCT subject_id) FILTER (past),
    count(*) FILTER (past AND no_acute_injury AND same_class)
FROM by_hand_every
"""
