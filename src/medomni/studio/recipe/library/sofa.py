"""SOFA over 24 hours for every hour of an ICU stay.

Hours are whole clock hours; hour 0 ends at the first charted heart rate, rounded up. An hour covers (end -
1 h, end]; hours from -24 on are scored, those from 0 on are reported. The score of an hour sums, over six
organs, the worst score of that hour and of the 23 before; what is missing scores 0. Laboratory values go by
patient and time.

PaO2 is the arterial one of the laboratory (50821 whose specimen 52033 reads ART.), for a stay without such
text the bedside one (220224), and never an untyped one. FiO2 is 50816 at the same time, else the latest
223835 of the four hours before. The respiratory scores 3 and 4 need ventilation (225792 covering the time).
Verbal "No Response-ETT" makes the coma scale 15; parts not charted are those of the row before within 6
hours, else normal.

Leaves to others: which score means what (`sepsis`, labels).

Source: Vincent et al., Intensive Care Med 1996;22:707, in the hourly form of mimic-code,
mimic-iv/concepts/score.
"""

from __future__ import annotations

from medomni.studio.recipe.catalog import Kind
from medomni.studio.recipe.library.shape import EventsFunction

_BASE = """
WITH beats AS (
    SELECT s.stay_id, s.subject_id, s.hadm_id, min(c.charttime) AS first_beat, max(c.charttime) AS last_beat
    FROM "icu.icustays" AS s JOIN "icu.chartevents" AS c ON c.stay_id = s.stay_id
    WHERE c.itemid = 220045 AND c.valuenum IS NOT NULL
    GROUP BY s.stay_id, s.subject_id, s.hadm_id
),
hours AS (
    SELECT *, date_diff('hour', zero, last_hour) AS n FROM (
        SELECT *,
            date_trunc('hour', first_beat - INTERVAL 1 MICROSECOND) + INTERVAL 1 HOUR AS zero,
            date_trunc('hour', last_beat - INTERVAL 1 MICROSECOND) + INTERVAL 1 HOUR AS last_hour
        FROM beats
    ) AS b
),
charted AS (
    SELECT h.stay_id, c.charttime, c.itemid, c.valuenum AS v, c.value AS words
    FROM hours AS h JOIN "icu.chartevents" AS c ON c.stay_id = h.stay_id
    WHERE c.itemid IN (220052, 220181, 225312, 220224, 223835, 220739, 223900, 223901)
        AND c.valuenum IS NOT NULL
),
labs AS (
    SELECT h.stay_id, h.subject_id, l.charttime, l.itemid, l.valuenum AS v, l.specimen_id
    FROM hours AS h JOIN "hosp.labevents" AS l ON l.subject_id = h.subject_id
        AND l.charttime > h.zero - INTERVAL 25 HOUR AND l.charttime <= h.last_hour
    WHERE l.itemid IN (51265, 50885, 50912, 50821, 50816) AND l.valuenum IS NOT NULL
)
"""

_LUNGS = """,
typed AS (
    SELECT DISTINCT l.stay_id, l.charttime, l.v
    FROM labs AS l JOIN "hosp.labevents" AS t ON t.specimen_id = l.specimen_id AND t.subject_id = l.subject_id
    WHERE l.itemid = 50821 AND t.itemid = 52033 AND t.value = 'ART.'
),
oxygen AS (
    SELECT stay_id, charttime, v FROM typed
    UNION ALL
    SELECT stay_id, charttime, v FROM charted
    WHERE itemid = 220224 AND stay_id NOT IN (SELECT stay_id FROM typed)
),
inspired_lab AS (
    SELECT stay_id, charttime,
        max(CASE WHEN v > 0.2 AND v <= 1 THEN 100 * v WHEN v > 20 AND v <= 100 THEN v END) AS f
    FROM labs WHERE itemid = 50816 GROUP BY stay_id, charttime
),
inspired_chart AS (
    SELECT stay_id, charttime,
        max(CASE WHEN v > 0.2 AND v <= 1 THEN 100 * v WHEN v >= 20 AND v <= 100 THEN v END) AS f
    FROM charted WHERE itemid = 223835 GROUP BY stay_id, charttime
),
near AS (
    SELECT o.stay_id, o.charttime, o.v, max_by(i.f, i.charttime) AS f
    FROM oxygen AS o LEFT JOIN inspired_chart AS i ON i.stay_id = o.stay_id AND i.f IS NOT NULL
        AND i.charttime <= o.charttime AND i.charttime >= o.charttime - INTERVAL 4 HOUR
    GROUP BY o.stay_id, o.charttime, o.v
),
ratios AS (
    SELECT n.stay_id, n.charttime, n.v, coalesce(i.f, n.f) AS f
    FROM near AS n LEFT JOIN inspired_lab AS i ON i.stay_id = n.stay_id AND i.charttime = n.charttime
),
respiration AS (
    SELECT r.stay_id, r.charttime, CASE
        WHEN 100 * r.v < 100 * r.f AND ventilated THEN 4
        WHEN 100 * r.v < 200 * r.f AND ventilated THEN 3
        WHEN 100 * r.v < 300 * r.f THEN 2
        WHEN 100 * r.v < 400 * r.f THEN 1
        ELSE 0 END AS points
    FROM (
        SELECT r.*, EXISTS (
            SELECT 1 FROM "icu.procedureevents" AS p
            WHERE p.subject_id = h.subject_id AND p.itemid = 225792
                AND p.starttime <= r.charttime AND p.endtime >= r.charttime
        ) AS ventilated
        FROM ratios AS r JOIN hours AS h ON h.stay_id = r.stay_id
    ) AS r
    WHERE r.f IS NOT NULL
)
"""

_OTHERS = """,
pressure AS (
    SELECT stay_id, charttime, CASE WHEN sum(v) < 70 * count(*) THEN 1 ELSE 0 END AS points
    FROM charted WHERE itemid IN (220052, 220181, 225312) AND v > 0 AND v < 300
    GROUP BY stay_id, charttime
),
infusions AS (
    SELECT h.stay_id, i.starttime, i.endtime, i.itemid, CASE
        WHEN i.rateuom = 'mg/kg/min' AND coalesce(i.patientweight, 0) <> 1 THEN 1000 * i.rate ELSE i.rate
        END AS r
    FROM hours AS h JOIN "icu.inputevents" AS i ON i.stay_id = h.stay_id
    WHERE i.itemid IN (221906, 221289, 221662, 221653) AND i.rate > 0
        AND i.rateuom IN ('mcg/kg/min', 'mg/kg/min') AND i.endtime > i.starttime
),
vasopressors AS (
    SELECT stay_id, starttime, endtime, CASE
        WHEN itemid = 221662 AND r > 15 THEN 4
        WHEN itemid IN (221289, 221906) AND r > 0.1 THEN 4
        WHEN itemid = 221662 AND r > 5 THEN 3
        WHEN itemid IN (221289, 221906) THEN 3
        ELSE 2 END AS points
    FROM infusions
),
coma_parts AS (
    SELECT stay_id, charttime,
        max(CASE WHEN itemid = 220739 THEN v END) AS eyes,
        max(CASE WHEN itemid = 223900 AND coalesce(words, '') <> 'No Response-ETT' THEN v END) AS verbal,
        max(CASE WHEN itemid = 223901 THEN v END) AS motor,
        coalesce(bool_or(itemid = 223900 AND words = 'No Response-ETT'), FALSE) AS tube
    FROM charted WHERE itemid IN (220739, 223900, 223901)
    GROUP BY stay_id, charttime
),
coma_carried AS (
    SELECT *,
        lag(charttime) OVER w > charttime - INTERVAL 6 HOUR AS near,
        lag(eyes) OVER w AS eyes0, lag(verbal) OVER w AS verbal0, lag(motor) OVER w AS motor0,
        lag(tube) OVER w AS tube0
    FROM coma_parts
    WINDOW w AS (PARTITION BY stay_id ORDER BY charttime)
),
coma AS (
    SELECT stay_id, charttime, CASE
        WHEN tube THEN 15
        WHEN verbal IS NULL AND near AND tube0 THEN 15
        WHEN near AND tube0 THEN coalesce(motor, 6) + coalesce(verbal, 5) + coalesce(eyes, 4)
        ELSE coalesce(motor, CASE WHEN near THEN motor0 END, 6)
            + coalesce(verbal, CASE WHEN near THEN verbal0 END, 5)
            + coalesce(eyes, CASE WHEN near THEN eyes0 END, 4) END AS total
    FROM coma_carried
),
nerves AS (
    SELECT stay_id, charttime, CASE
        WHEN total < 6 THEN 4 WHEN total < 10 THEN 3 WHEN total < 13 THEN 2 WHEN total < 15 THEN 1 ELSE 0
        END AS points
    FROM coma
),
urine AS (
    SELECT h.stay_id, h.first_beat, o.charttime,
        sum(CASE WHEN o.itemid = 227488 THEN -abs(o.value) ELSE o.value END) AS ml
    FROM hours AS h JOIN "icu.outputevents" AS o ON o.stay_id = h.stay_id
    WHERE o.value IS NOT NULL AND o.itemid IN (226559, 226560, 226561, 226584, 226563, 226564, 226565, 226567,
        226557, 226558, 227488, 227489)
    GROUP BY h.stay_id, h.first_beat, o.charttime
),
urine_since AS (
    SELECT *, epoch_us(charttime) - epoch_us(coalesce(
        lag(charttime) OVER (PARTITION BY stay_id ORDER BY charttime), first_beat)) AS since
    FROM urine
),
urine_day AS (
    SELECT stay_id, charttime, sum(ml) OVER w AS ml, sum(since) OVER w AS span
    FROM urine_since
    WINDOW w AS (PARTITION BY stay_id ORDER BY charttime
        RANGE BETWEEN INTERVAL 23 HOUR PRECEDING AND CURRENT ROW)
),
kidney_urine AS (
    SELECT stay_id, charttime, CASE
        WHEN ml * 86400000000 < 200 * span THEN 4 WHEN ml * 86400000000 < 500 * span THEN 3 ELSE 0 END AS
        points
    FROM urine_day WHERE span BETWEEN 79200000000 AND 108000000000
)
"""

_TOTAL = """,
moments AS (
    SELECT stay_id, 'respiration' AS organ, charttime, points FROM respiration
    UNION ALL SELECT stay_id, 'circulation', charttime, points FROM pressure
    UNION ALL SELECT stay_id, 'nerves', charttime, points FROM nerves
    UNION ALL SELECT stay_id, 'kidney', charttime, points FROM kidney_urine
    UNION ALL SELECT stay_id, 'coagulation', charttime,
        CASE WHEN v < 20 THEN 4 WHEN v < 50 THEN 3 WHEN v < 100 THEN 2 WHEN v < 150 THEN 1 ELSE 0 END
        FROM labs WHERE itemid = 51265
    UNION ALL SELECT stay_id, 'liver', charttime,
        CASE WHEN v >= 12.0 THEN 4 WHEN v >= 6.0 THEN 3 WHEN v >= 2.0 THEN 2 WHEN v >= 1.2 THEN 1 ELSE 0 END
        FROM labs WHERE itemid = 50885
    UNION ALL SELECT stay_id, 'kidney', charttime,
        CASE WHEN v >= 5.0 THEN 4 WHEN v >= 3.5 THEN 3 WHEN v >= 2.0 THEN 2 WHEN v >= 1.2 THEN 1 ELSE 0 END
        FROM labs WHERE itemid = 50912
),
placed AS (
    SELECT m.stay_id, m.organ, m.points, h.n,
        CAST(ceil((epoch_us(m.charttime) - epoch_us(h.zero)) / 3600000000.0) AS BIGINT) AS first_hour,
        CAST(ceil((epoch_us(m.charttime) - epoch_us(h.zero)) / 3600000000.0) AS BIGINT) AS final_hour
    FROM moments AS m JOIN hours AS h ON h.stay_id = m.stay_id
    WHERE m.points > 0
    UNION ALL
    SELECT v.stay_id, 'circulation', v.points, h.n,
        CAST(ceil((epoch_us(v.starttime) - epoch_us(h.zero)) / 3600000000.0) AS BIGINT),
        CAST(ceil((epoch_us(v.endtime) - epoch_us(h.zero)) / 3600000000.0) AS BIGINT)
    FROM vasopressors AS v JOIN hours AS h ON h.stay_id = v.stay_id
),
reached AS (
    SELECT stay_id, organ, points,
        unnest(generate_series(greatest(first_hour, 0), least(final_hour + 23, n))) AS hour
    FROM placed
    WHERE final_hour >= -24 AND first_hour <= n
),
worst AS (SELECT stay_id, hour, organ, max(points) AS points FROM reached GROUP BY stay_id, hour, organ),
every AS (
    SELECT stay_id, subject_id, hadm_id, zero, unnest(generate_series(0, n)) AS hour FROM hours
)
SELECT e.subject_id, e.hadm_id, e.stay_id, CAST(e.hour AS BIGINT) AS hour,
    e.zero + to_hours(CAST(e.hour AS INTEGER)) AS time,
    CAST(coalesce(sum(w.points), 0) AS BIGINT) AS value,
    CAST(coalesce(max(CASE WHEN w.organ = 'respiration' THEN w.points END), 0) AS BIGINT) AS respiration,
    CAST(coalesce(max(CASE WHEN w.organ = 'coagulation' THEN w.points END), 0) AS BIGINT) AS coagulation,
    CAST(coalesce(max(CASE WHEN w.organ = 'liver' THEN w.points END), 0) AS BIGINT) AS liver,
    CAST(coalesce(max(CASE WHEN w.organ = 'circulation' THEN w.points END), 0) AS BIGINT) AS circulation,
    CAST(coalesce(max(CASE WHEN w.organ = 'nerves' THEN w.points END), 0) AS BIGINT) AS nerves,
    CAST(coalesce(max(CASE WHEN w.organ = 'kidney' THEN w.points END), 0) AS BIGINT) AS kidney
FROM every AS e LEFT JOIN worst AS w ON w.stay_id = e.stay_id AND w.hour = e.hour
GROUP BY e.subject_id, e.hadm_id, e.stay_id, e.hour, e.zero
"""

SQL = _BASE + _LUNGS + _OTHERS + _TOTAL

SOFA24 = EventsFunction(
    name="sofa24",
    version=1,
    columns={
        "hadm_id": Kind.INTEGER,
        "stay_id": Kind.INTEGER,
        "hour": Kind.INTEGER,
        **dict.fromkeys(
            ("respiration", "coagulation", "liver", "circulation", "nerves", "kidney"), Kind.INTEGER
        ),
    },
    keys=("stay_id", "hour"),
    sql=SQL,
    tables=(
        "icu.icustays",
        "icu.chartevents",
        "hosp.labevents",
        "icu.procedureevents",
        "icu.inputevents",
        "icu.outputevents",
    ),
    value=Kind.INTEGER,
)
