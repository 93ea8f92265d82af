"""Admissions of a patient merged into episodes where less than 24 hours lie between them.

Sorted by admission time, an admission that starts less than 24 hours after the latest discharge so far (or
before it) joins the episode. Every admission is an event at its own admission time.

Leaves to others: which admissions a label wants.
"""

from __future__ import annotations

from medomni.studio.recipe.catalog import Kind
from medomni.studio.recipe.library.shape import EventsFunction

_SQL = """
WITH sorted AS (
    SELECT *, max(dischtime) OVER (
        PARTITION BY subject_id ORDER BY admittime, hadm_id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ) AS latest
    FROM "hosp.admissions"
),
marked AS (
    SELECT *, CASE WHEN latest IS NULL OR admittime >= latest + INTERVAL 24 HOUR THEN 1 ELSE 0 END AS opens
    FROM sorted
),
numbered AS (
    SELECT *, sum(opens) OVER (
        PARTITION BY subject_id ORDER BY admittime, hadm_id ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    ) AS episode
    FROM marked
)
SELECT subject_id, hadm_id, admittime AS time, admittime, dischtime, admission_type,
    CAST(episode AS BIGINT) AS episode, CAST(opens AS INTEGER) AS is_first,
    CAST(row_number() OVER (
        PARTITION BY subject_id, episode ORDER BY dischtime DESC NULLS LAST, admittime DESC, hadm_id DESC
    ) = 1 AS INTEGER) AS is_last,
    max(dischtime) OVER (PARTITION BY subject_id, episode) AS episode_end
FROM numbered
"""

MERGED_ADMISSIONS = EventsFunction(
    name="merged_admissions",
    version=1,
    columns={
        "hadm_id": Kind.INTEGER,
        "admittime": Kind.TIME,
        "dischtime": Kind.TIME,
        "admission_type": Kind.TEXT,
        "episode": Kind.INTEGER,
        "is_first": Kind.INTEGER,
        "is_last": Kind.INTEGER,
        "episode_end": Kind.TIME,
    },
    keys=("hadm_id",),
    sql=_SQL,
    tables=("hosp.admissions",),
    known=("time", "admittime", "dischtime", "episode_end"),
    final={
        "dischtime": ("dischtime", "episode_end"),
        "is_last": ("episode_end",),
        "episode_end": ("episode_end",),
    },
)
