"""Label `sepsis3_onset_12_60h`: first Sepsis-3 12 to 60 h after ICU admission. One candidate per ICU stay.

Source: Singer et al., JAMA 2016;315:801, with the antibiotic names of mimic-code.
"""

from __future__ import annotations

from datetime import datetime, time, timedelta

from .clinical import adult_at
from .mimic_tables import HOUR, Candidate, Culture, MimicTables, Order, Stay
from .sofa import day_scores

RULES = {
    "adult": "age at admission is 18 or more",
    "in_icu_at_t0": "outtime is t0 or later",
    "no_onset_before": "the onset, if there is one, is after t0",
    "no_pair_started": "no suspicion of this admission has its first member at or before t0",
}
NOT_APPLIED: tuple[str, ...] = ()

NAMES = """
    adoxa ala-tet alodox amikacin amikin amoxicill amphotericin ampicillin ancef anidulafungin
    augmentin avelox avidoxy axetil azactam azithromycin aztreonam bactocill bactrim bactroban
    bethkis biaxin cayston cedax cefaclor cefadroxil cefazolin cefdinir cefditoren cefepime cefotan
    cefotaxime cefotetan cefoxitin cefpirome cefpodoxime cefprozil ceftaroline ceftazidime
    ceftibuten ceftin ceftriaxone cefuroxime cephalexin cephalothin cephapririn chloramphenicol
    cipro claforan clarithromycin clavulanate cleocin clindamycin cubicin dicloxacillin
    dirithromycin doryx doxycy duricef dynacin ery-tab eryc eryped erythrocin erythromycin factive
    flagyl fortaz furadantin garamycin gentamicin kanamycin keflex kefzol ketek levaquin
    levofloxacin lincocin linezolid macrobid macrodantin maxipime mefoxin meropenem methicillin
    metronidazole minocin minocycline monodox monurol morgidox moxatag moxifloxacin mupirocin myrac
    nafcillin neomycin nitrofurantoin norfloxacin noroxin ocudox ofloxacin omnicef oracea oraxyl
    oxacillin panixine pediazole penicillin periostat pfizerpen piperacillin primsol proquin
    raniclor rifadin rifampin rocephin septra smz-tmp solodyn spectracef streptomycin sulfadiazine
    sulfamethoxazole sulfatrim sulfisoxazole suprax synercid tazicef tazobactam tetracycline
    timentin tobramycin trimethoprim unasyn vancocin vancomycin vantin vibativ vibra-tabs vibramycin
    zinacef zithromax zosyn zyvox
"""
ANTIBIOTICS = (*NAMES.split(), "bicillin l-a", "nicazel doxy 30", "pc pen vk", "pce dispertab")
LOCAL_FORMS = ("cream", "gel", "ophth oint", "desensitization")
LOCAL_ROUTES = frozenset({"OU", "OS", "OD", "AU", "AS", "AD", "TP"})


def systemic_antibiotic(order: Order) -> bool:
    drug, route = order.drug.lower(), order.route.lower()
    return (
        any(name in drug for name in ANTIBIOTICS)
        and order.drug_type != "BASE"
        and route != ""
        and order.route.upper() not in LOCAL_ROUTES
        and "eye" not in route
        and "ear" not in route
        and not any(form in drug for form in LOCAL_FORMS)
    )


def culture_time(culture: Culture) -> datetime:
    """A culture with a date alone stands at the beginning of its day."""
    return culture.time if culture.time is not None else datetime.combine(culture.day, time())


def drawn_before(culture: Culture, order: datetime) -> bool:
    """Culture in [order - 72 h, order]; with a date alone, on the order's day or up to 3 days before."""
    if culture.time is None:
        return 0 <= (order.date() - culture.day).days <= 3
    return order - 72 * HOUR <= culture.time <= order


def drawn_after(culture: Culture, order: datetime) -> bool:
    """Culture in (order, order + 24 h]; with a date alone, on the order's day or the next."""
    if culture.time is None:
        return 0 <= (culture.day - order.date()).days <= 1
    return order < culture.time <= order + 24 * HOUR


def suspicions(tables: MimicTables, stay: Stay) -> list[datetime]:
    """Times of suspected infection of the stay's admission, one per antibiotic order that has a culture."""
    cultures = tables.cultures_of.get(stay.subject_id, [])
    found = []
    for order in tables.orders_of.get(stay.hadm_id, []):
        if not systemic_antibiotic(order):
            continue
        before = [culture_time(row) for row in cultures if drawn_before(row, order.start)]
        if before:
            found.append(min(before))
        elif any(drawn_after(row, order.start) for row in cultures):
            found.append(order.start)
    return found


def onset_of(found: list[datetime], scores: list[tuple[datetime, int]]) -> datetime | None:
    onsets = []
    for suspicion in found:
        ends = [
            end
            for end, score in scores
            if score >= 2 and suspicion - 48 * HOUR <= end <= suspicion + 24 * HOUR
        ]
        if ends:
            onsets.append(max(suspicion, min(ends)))
    return min(onsets, default=None)


def candidate(tables: MimicTables, stay: Stay) -> Candidate:
    t0 = stay.intime + timedelta(hours=12)
    found = suspicions(tables, stay)
    onset = onset_of(found, day_scores(tables, stay)) if found else None
    return Candidate(
        stay.subject_id,
        stay.stay_id,
        t0,
        int(onset is not None and t0 < onset <= stay.intime + 60 * HOUR),
        {
            "adult": adult_at(tables, stay.subject_id, tables.admissions[stay.hadm_id].admittime),
            "in_icu_at_t0": stay.outtime >= t0,
            "no_onset_before": onset is None or onset > t0,
            "no_pair_started": all(suspicion > t0 for suspicion in found),
        },
    )


def candidates(tables: MimicTables) -> list[Candidate]:
    return [candidate(tables, stay) for stay in tables.stays]
