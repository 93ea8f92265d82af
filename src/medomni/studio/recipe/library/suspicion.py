"""Suspected infection: a systemic antibiotic and a culture close together.

For each antibiotic order the earliest culture in [order - 72 h, order] makes the culture's time the
suspicion, else a culture in (order, order + 24 h] makes it the order's time. A culture with a date alone
counts on the order's day or up to three days before, or on the same or the next day after, and stands at
the beginning of its day. The suspicion is thus always the first of the two; what comes second may lie after
it.

Leaves to others: organ failure (`sofa`), and the two together (`sepsis`).

Source: Singer et al., JAMA 2016;315:801; Seymour et al., JAMA 2016;315:762; names of antibiotics and
left-out routes as in mimic-code, mimic-iv/concepts/medication/antibiotic.
"""

from __future__ import annotations

from medomni.studio.recipe.catalog import Kind
from medomni.studio.recipe.library.shape import EventsFunction

_NAMES = """
adoxa ala-tet alodox amikacin amikin amoxicill amphotericin ampicillin ancef anidulafungin augmentin avelox
avidoxy axetil azactam azithromycin aztreonam bactocill bactrim bactroban bethkis biaxin cayston cedax
cefaclor cefadroxil cefazolin cefdinir cefditoren cefepime cefotan cefotaxime cefotetan cefoxitin cefpirome
cefpodoxime cefprozil ceftaroline ceftazidime ceftibuten ceftin ceftriaxone cefuroxime cephalexin
cephalothin cephapririn chloramphenicol cipro claforan clarithromycin clavulanate cleocin clindamycin
cubicin dicloxacillin dirithromycin doryx doxycy duricef dynacin ery-tab eryc eryped erythrocin erythromycin
factive flagyl fortaz furadantin garamycin gentamicin kanamycin keflex kefzol ketek levaquin levofloxacin
lincocin linezolid macrobid macrodantin maxipime mefoxin meropenem methicillin metronidazole minocin
minocycline monodox monurol morgidox moxatag moxifloxacin mupirocin myrac nafcillin neomycin nitrofurantoin
norfloxacin noroxin ocudox ofloxacin omnicef oracea oraxyl oxacillin panixine pediazole penicillin periostat
pfizerpen piperacillin primsol proquin raniclor rifadin rifampin rocephin septra smz-tmp solodyn spectracef
streptomycin sulfadiazine sulfamethoxazole sulfatrim sulfisoxazole suprax synercid tazicef tazobactam
tetracycline timentin tobramycin trimethoprim unasyn vancocin vancomycin vantin vibativ vibra-tabs
vibramycin zinacef zithromax zosyn zyvox
"""
ANTIBIOTICS = (*_NAMES.split(), "bicillin l-a", "nicazel doxy 30", "pc pen vk", "pce dispertab")

_SQL = """
WITH orders AS (
    SELECT DISTINCT subject_id, hadm_id, starttime AS order_time
    FROM "hosp.prescriptions"
    WHERE starttime IS NOT NULL AND hadm_id IS NOT NULL
        AND drug_type <> 'BASE'
        AND route <> '' AND upper(route) NOT IN ('OU', 'OS', 'OD', 'AU', 'AS', 'AD', 'TP')
        AND NOT contains(lower(route), 'eye') AND NOT contains(lower(route), 'ear')
        AND regexp_matches(lower(drug), '@names@')
        AND NOT regexp_matches(lower(drug), 'cream|gel|ophth oint|desensitization')
),
cultures AS (
    SELECT subject_id, micro_specimen_id, max(charttime) AS charttime, CAST(max(chartdate) AS DATE) AS day
    FROM "hosp.microbiologyevents"
    GROUP BY subject_id, micro_specimen_id
),
before AS (
    SELECT o.subject_id, o.hadm_id, o.order_time,
        min(coalesce(c.charttime, CAST(c.day AS TIMESTAMP))) AS culture_time
    FROM orders AS o JOIN cultures AS c ON c.subject_id = o.subject_id
    WHERE CASE WHEN c.charttime IS NOT NULL
        THEN c.charttime >= o.order_time - INTERVAL 72 HOUR AND c.charttime <= o.order_time
        ELSE c.day BETWEEN CAST(o.order_time AS DATE) - 3 AND CAST(o.order_time AS DATE) END
    GROUP BY o.subject_id, o.hadm_id, o.order_time
),
after AS (
    SELECT o.subject_id, o.hadm_id, o.order_time,
        min(coalesce(c.charttime, CAST(c.day AS TIMESTAMP))) AS culture_time
    FROM orders AS o JOIN cultures AS c ON c.subject_id = o.subject_id
    WHERE CASE WHEN c.charttime IS NOT NULL
        THEN c.charttime > o.order_time AND c.charttime <= o.order_time + INTERVAL 24 HOUR
        ELSE c.day BETWEEN CAST(o.order_time AS DATE) AND CAST(o.order_time AS DATE) + 1 END
    GROUP BY o.subject_id, o.hadm_id, o.order_time
)
SELECT subject_id, hadm_id, order_time, culture_time, order_time AS known_time, culture_time AS time
FROM before
UNION ALL
SELECT a.subject_id, a.hadm_id, a.order_time, a.culture_time, a.culture_time AS known_time,
    a.order_time AS time
FROM after AS a LEFT JOIN before AS b ON b.hadm_id = a.hadm_id AND b.order_time = a.order_time
WHERE b.hadm_id IS NULL
"""
SQL = _SQL.replace("@names@", "|".join(ANTIBIOTICS))

SUSPICION_OF_INFECTION = EventsFunction(
    name="suspicion_of_infection",
    version=1,
    columns={
        "hadm_id": Kind.INTEGER,
        "order_time": Kind.TIME,
        "culture_time": Kind.TIME,
        "known_time": Kind.TIME,
    },
    keys=("hadm_id", "order_time"),
    sql=SQL,
    tables=("hosp.prescriptions", "hosp.microbiologyevents"),
    known=("known_time",),
)
