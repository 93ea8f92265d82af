"""The tables of made-up MIMIC-IV and their columns, in the order and spelling of the real files.

Source: mimic-code, mimic-iv/buildmimic/postgres/create.sql, and the headers of the open demo 2.2.
"""

from __future__ import annotations

_COLUMNS = {
    "hosp/patients": "subject_id gender anchor_age anchor_year anchor_year_group dod",
    "hosp/admissions": (
        "subject_id hadm_id admittime dischtime deathtime admission_type admit_provider_id "
        "admission_location discharge_location insurance language marital_status race edregtime "
        "edouttime hospital_expire_flag"
    ),
    "hosp/transfers": "subject_id hadm_id transfer_id eventtype careunit intime outtime",
    "hosp/services": "subject_id hadm_id transfertime prev_service curr_service",
    "hosp/labevents": (
        "labevent_id subject_id hadm_id specimen_id itemid order_provider_id charttime storetime "
        "value valuenum valueuom ref_range_lower ref_range_upper flag priority comments"
    ),
    "hosp/d_labitems": "itemid label fluid category",
    "hosp/diagnoses_icd": "subject_id hadm_id seq_num icd_code icd_version",
    "hosp/d_icd_diagnoses": "icd_code icd_version long_title",
    "hosp/procedures_icd": "subject_id hadm_id seq_num chartdate icd_code icd_version",
    "hosp/d_icd_procedures": "icd_code icd_version long_title",
    "hosp/drgcodes": "subject_id hadm_id drg_type drg_code description drg_severity drg_mortality",
    "hosp/hcpcsevents": "subject_id hadm_id chartdate hcpcs_cd seq_num short_description",
    "hosp/prescriptions": (
        "subject_id hadm_id pharmacy_id poe_id poe_seq order_provider_id starttime stoptime drug_type "
        "drug formulary_drug_cd gsn ndc prod_strength form_rx dose_val_rx dose_unit_rx form_val_disp "
        "form_unit_disp doses_per_24_hrs route"
    ),
    "hosp/pharmacy": (
        "subject_id hadm_id pharmacy_id poe_id starttime stoptime medication proc_type status "
        "entertime verifiedtime route frequency disp_sched infusion_type sliding_scale "
        "lockout_interval basal_rate one_hr_max doses_per_24_hrs duration duration_interval "
        "expiration_value expiration_unit expirationdate dispensation fill_quantity"
    ),
    "hosp/emar": (
        "subject_id hadm_id emar_id emar_seq poe_id pharmacy_id enter_provider_id charttime "
        "medication event_txt scheduletime storetime"
    ),
    "hosp/emar_detail": (
        "subject_id emar_id emar_seq parent_field_ordinal administration_type pharmacy_id "
        "barcode_type reason_for_no_barcode complete_dose_not_given dose_due dose_due_unit dose_given "
        "dose_given_unit will_remainder_of_dose_be_given product_amount_given product_unit "
        "product_code product_description product_description_other prior_infusion_rate infusion_rate "
        "infusion_rate_adjustment infusion_rate_adjustment_amount infusion_rate_unit route "
        "infusion_complete completion_interval new_iv_bag_hung continued_infusion_in_other_location "
        "restart_interval side site non_formulary_visual_verification"
    ),
    "hosp/poe": (
        "poe_id poe_seq subject_id hadm_id ordertime order_type order_subtype transaction_type "
        "discontinue_of_poe_id discontinued_by_poe_id order_provider_id order_status"
    ),
    "hosp/poe_detail": "poe_id poe_seq subject_id field_name field_value",
    "hosp/microbiologyevents": (
        "microevent_id subject_id hadm_id micro_specimen_id order_provider_id chartdate charttime "
        "spec_itemid spec_type_desc test_seq storedate storetime test_itemid test_name org_itemid "
        "org_name isolate_num quantity ab_itemid ab_name dilution_text dilution_comparison "
        "dilution_value interpretation comments"
    ),
    "hosp/omr": "subject_id chartdate seq_num result_name result_value",
    "icu/icustays": "subject_id hadm_id stay_id first_careunit last_careunit intime outtime los",
    "icu/chartevents": (
        "subject_id hadm_id stay_id caregiver_id charttime storetime itemid value valuenum valueuom warning"
    ),
    "icu/d_items": (
        "itemid label abbreviation linksto category unitname param_type lownormalvalue highnormalvalue"
    ),
    "icu/inputevents": (
        "subject_id hadm_id stay_id caregiver_id starttime endtime storetime itemid amount amountuom "
        "rate rateuom orderid linkorderid ordercategoryname secondaryordercategoryname "
        "ordercomponenttypedescription ordercategorydescription patientweight totalamount "
        "totalamountuom isopenbag continueinnextdept statusdescription originalamount originalrate"
    ),
    "icu/ingredientevents": (
        "subject_id hadm_id stay_id caregiver_id starttime endtime storetime itemid amount amountuom "
        "rate rateuom orderid linkorderid statusdescription originalamount originalrate"
    ),
    "icu/outputevents": ("subject_id hadm_id stay_id caregiver_id charttime storetime itemid value valueuom"),
    "icu/procedureevents": (
        "subject_id hadm_id stay_id caregiver_id starttime endtime storetime itemid value valueuom "
        "location locationcategory orderid linkorderid ordercategoryname ordercategorydescription "
        "patientweight isopenbag continueinnextdept statusdescription ORIGINALAMOUNT ORIGINALRATE"
    ),
    "icu/datetimeevents": (
        "subject_id hadm_id stay_id caregiver_id charttime storetime itemid value valueuom warning"
    ),
    "note/discharge": "note_id subject_id hadm_id note_type note_seq charttime storetime text",
    "note/radiology": "note_id subject_id hadm_id note_type note_seq charttime storetime text",
}

HEADERS = {table: tuple(columns.split()) for table, columns in _COLUMNS.items()}
