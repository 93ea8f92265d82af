"""Made-up MIMIC-IV: 240 patients in the real files' form, imported as `mimic-iv/dummy-1`.

Nothing is taken from a real row. The same bytes every time: all draws are whole numbers of `draws`.

Leaves to others: the patients' lives (`mimic_plan`) and rows (its siblings).
"""

from __future__ import annotations

from medomni.studio.dummy import mimic_icu, mimic_labs
from medomni.studio.dummy.mimic_canaries import CANARY_CODE, add_canaries
from medomni.studio.dummy.mimic_drugs import add_drugs
from medomni.studio.dummy.mimic_headers import HEADERS
from medomni.studio.dummy.mimic_hospital import add_admission, add_clinic, add_notes, add_person
from medomni.studio.dummy.mimic_infection import add_cultures
from medomni.studio.dummy.mimic_plan import patients
from medomni.studio.dummy.tables import Tables

# Items that no made-up result has, but whose labels the guards must find.
_GUARDED_LABS = {
    52546: ("Creatinine", "Blood", "Chemistry"),
    52024: ("Creatinine, Whole Blood", "Blood", "Blood Gas"),
    52101: ("Cr", "Blood", "Hematology"),
    52026: ("Estimated GFR (MDRD equation)", "Blood", "Blood Gas"),
    51770: ("MDRDgfr", "Blood", "Chemistry"),
    51080: ("Creatinine Clearance", "Urine", "Chemistry"),
    51977: ("Creatinine, Blood", "Urine", "Chemistry"),
    51082: ("Creatinine, Urine", "Urine", "Chemistry"),
    51070: ("Albumin/Creatinine, Urine", "Urine", "Chemistry"),
    50910: ("Creatine Kinase (CK)", "Blood", "Chemistry"),
}
_DIAGNOSES = {
    "I10": "Essential (primary) hypertension",
    "E785": "Hyperlipidemia, unspecified",
    "Z87891": "Personal history of nicotine dependence",
    "F329": "Major depressive disorder, single episode, unspecified",
    "K219": "Gastro-esophageal reflux disease without esophagitis",
    "J449": "Chronic obstructive pulmonary disease, unspecified",
    "E119": "Type 2 diabetes mellitus without complications",
    "I2510": "Atherosclerotic heart disease of native coronary artery without angina pectoris",
    "N1831": "Chronic kidney disease, stage 3a",
    "N1832": "Chronic kidney disease, stage 3b",
    "N184": "Chronic kidney disease, stage 4 (severe)",
    "N185": "Chronic kidney disease, stage 5",
    "N186": "End stage renal disease",
    "Z992": "Dependence on renal dialysis",
    "Z515": "Encounter for palliative care",
    "K7030": "Alcoholic cirrhosis of liver without ascites",
    "K7460": "Unspecified cirrhosis of liver",
    "K766": "Portal hypertension",
    "K743": "Primary biliary cirrhosis",
    CANARY_CODE: "CANARY_CODE",
}


def generate() -> Tables:
    """All tables with all rows."""
    tables = Tables(HEADERS)
    for patient in patients():
        add_person(tables, patient)
        for admission in patient.admissions:
            add_admission(tables, patient, admission)
            add_drugs(tables, patient, admission)
            add_notes(tables, patient, admission)
            mimic_icu.add_unit(tables, patient, admission)
        add_clinic(tables, patient)
        mimic_labs.add_labs(tables, patient)
        add_cultures(tables, patient)
        add_canaries(tables, patient)
    _dictionaries(tables)
    return tables


def _dictionaries(tables: Tables) -> None:
    labs = {item: facts[:3] for item, facts in mimic_labs.ITEMS.items()} | _GUARDED_LABS
    for item, (label, fluid, category) in sorted(labs.items()):
        tables.add("hosp/d_labitems", itemid=item, label=label, fluid=fluid, category=category)
    for item, (label, short, linked, category, unit) in sorted(mimic_icu.ITEMS.items()):
        tables.add(
            "icu/d_items",
            itemid=item,
            label=label,
            abbreviation=short,
            linksto=linked,
            category=category,
            unitname=unit or None,
            param_type="Numeric" if unit else "Text",
        )
    for code, title in sorted(_DIAGNOSES.items()):
        tables.add("hosp/d_icd_diagnoses", icd_code=code, icd_version=10, long_title=title)
    tables.add(
        "hosp/d_icd_procedures",
        icd_code="02HV33Z",
        icd_version=10,
        long_title="Insertion of infusion device into superior vena cava, percutaneous approach",
    )
