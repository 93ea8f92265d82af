"""Onset of Sepsis-3 in an ICU stay: suspected infection with SOFA of 2 or more around it.

Over the suspicions of the stay's admission, the onset is the earliest of max(suspicion, first hour's end
with SOFA of 2 or more in [suspicion - 48 h, suspicion + 24 h]); the baseline SOFA is taken as 0. Missing
where there is none.

Leaves to others: the two ingredients (`suspicion`, `sofa`).

Source: Singer et al., JAMA 2016;315:801.
"""

from __future__ import annotations

from medomni.studio.recipe.catalog import Kind
from medomni.studio.recipe.library import sofa, suspicion
from medomni.studio.recipe.library.shape import ValueFunction

_SQL = """
WITH pairs AS (
    SELECT c.cand_id, s.time AS suspected, min(h.time) AS failed
    FROM candidates AS c
    JOIN "suspicion_of_infection@1" AS s ON s.hadm_id = c.hadm_id
    JOIN "sofa24@1" AS h ON h.stay_id = c.stay_id
        AND h.time >= s.time - INTERVAL 48 HOUR AND h.time <= s.time + INTERVAL 24 HOUR
    WHERE h.value >= 2
    GROUP BY c.cand_id, s.time
)
SELECT cand_id, min(greatest(suspected, failed)) AS value FROM pairs GROUP BY cand_id
"""

SEPSIS3_ONSET = ValueFunction(
    name="sepsis3_onset",
    version=1,
    parameters=(),
    kind=Kind.TIME,
    sql=_SQL,
    tables=(*sofa.SOFA24.tables, *suspicion.SUSPICION_OF_INFECTION.tables),
    ids=("hadm_id", "stay_id"),
    nullable=True,
    uses=(sofa.SOFA24, suspicion.SUSPICION_OF_INFECTION),
)
