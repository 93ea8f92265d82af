"""Which tests show that a failure case of clinical records comes out right; `test_cases_table.py` checks it.

Tests are named by file (below `tests/`) and function: those of the case's kind, on inputs of their own, and
the one that reads the case's files, which skips where they are not. Imaging cases are parameters of one test
(`cases/test_imaging_cases.py`).
"""

from __future__ import annotations

from typing import NamedTuple


class Case(NamedTuple):
    """A case in a few words, the tests of its kind, and the test of its files."""

    what: str
    kind: list[str]
    files: str


# Cases that wait for a part that is not here yet, with the part.
NOT_HERE = {
    "EH-17": "the reader of sleep recordings",
    "EH-22": "the reader of sleep recordings",
}

_RECORD = "cases/test_record_cases.py"
_HASH = "cases/test_hash_cases.py"
_STUDIO = "medomni/studio"
_EVIDENCE = f"{_STUDIO}/test_evidence_cases.py"

CASES: dict[str, Case] = {
    "EH-01": Case(
        "age from the anchor pair",
        [
            f"{_RECORD}::test_the_age_at_an_admission_counts_from_the_anchor_pair",
            f"{_STUDIO}/test_recipe_values.py::test_ages_count_from_the_anchor_pair",
        ],
        f"{_RECORD}::test_eh_01_ages_and_the_adult_cohort",
    ),
    "EH-02": Case(
        "top-coded age used as a number",
        [f"{_RECORD}::test_ages_above_the_highest_stated_one_are_left_out_of_a_target_of_age"],
        f"{_RECORD}::test_eh_02_top_coded_ages",
    ),
    "EH-04": Case(
        "code column read as a number",
        [
            f"{_RECORD}::test_codes_that_differ_in_zeros_are_two_codes",
            f"{_STUDIO}/test_recipe_windows.py::test_codes_are_text_and_never_numbers",
        ],
        f"{_RECORD}::test_eh_04_two_diseases_stay_two",
    ),
    "EH-07": Case(
        "birth row inflates event counts",
        [
            f"{_RECORD}::test_a_birth_row_passes_no_gate_of_event_counts",
            f"{_STUDIO}/test_recipe_windows.py::test_a_birth_row_is_no_event",
        ],
        f"{_RECORD}::test_eh_07_the_birth_row_does_not_count",
    ),
    "EH-09": Case(
        "readmission gap and order",
        [
            f"{_RECORD}::test_the_gap_to_the_next_stay_counts_from_the_discharge",
            f"{_STUDIO}/test_recipe_library.py::test_readmission_counts_from_the_discharge_and_by_time",
        ],
        f"{_RECORD}::test_eh_09_readmissions",
    ),
    "EH-11": Case(
        "text flag compared with a number",
        [
            f"{_RECORD}::test_a_quoted_flag_is_the_number_that_it_says",
            f"{_STUDIO}/test_recipe_values.py::test_a_flag_is_a_number_and_a_text_never_equals_one",
        ],
        f"{_RECORD}::test_eh_11_a_text_flag_gives_both_classes",
    ),
    "EH-12": Case(
        "threshold hard-coded for one value",
        [
            f"{_RECORD}::test_stages_come_from_rises_at_any_level",
            f"{_STUDIO}/test_recipe_library.py::test_kdigo_stages_two_values_a_day_apart",
        ],
        f"{_RECORD}::test_eh_12_stages",
    ),
    "EH-14": Case(
        "sentinel taken as a value",
        [
            f"{_RECORD}::test_codes_for_unknown_are_no_answers",
            f"{_STUDIO}/test_label_tables.py::test_codes_for_missing_are_no_values",
        ],
        f"{_RECORD}::test_eh_14_only_measurements_are_answers",
    ),
    "EH-18": Case(
        "draw time used instead of result time",
        [f"{_EVIDENCE}::test_a_result_that_was_drawn_before_and_stored_after_is_hidden"],
        f"{_EVIDENCE}::test_the_shared_case_of_results_is_answered",
    ),
    "EH-19": Case(
        "date-only timestamp at midnight",
        [f"{_EVIDENCE}::test_a_note_that_knows_its_day_alone_is_not_of_that_mornings_past"],
        f"{_EVIDENCE}::test_the_shared_case_of_days_is_answered",
    ),
    "EH-21": Case(
        "observation window depends on the label",
        [f"{_EVIDENCE}::test_two_patients_with_the_same_past_look_the_same_whoever_died"],
        f"{_EVIDENCE}::test_the_shared_case_of_windows_is_answered",
    ),
    "EH-27": Case(
        "line endings change the hash",
        [
            f"{_HASH}::test_a_template_with_other_line_ends_is_refused_by_name",
            "medomni/core/test_config_hash.py::test_line_ends_change_the_hash",
            f"{_STUDIO}/test_config_files.py::test_line_ends_are_named_as_that",
            f"{_STUDIO}/test_definitions.py::test_carriage_returns_are_refused_in_files_of_every_kind",
        ],
        f"{_HASH}::test_eh_27_line_ends_change_the_hash_and_are_named",
    ),
    "EH-28": Case(
        "hash covers the wrong thing",
        [
            "medomni/core/test_config_hash.py::test_any_changed_byte_changes_the_hash",
            "medomni/core/test_config_hash.py::test_a_renamed_added_or_removed_file_changes_the_hash",
            "medomni/core/test_config_hash.py::test_a_boundary_that_moves_between_two_files_changes_the_hash",
            "medomni/core/test_config_hash.py::test_the_hash_is_independent_of_folder_and_machine",
        ],
        f"{_HASH}::test_eh_28_bytes_paths_and_lengths_all_count",
    ),
    "EH-31": Case(
        "schema accepts NaN or true for an integer",
        [
            "medomni/core/test_contract_rules.py::test_a_version_that_is_no_integer_is_named_by_its_path",
            "medomni/core/test_contract_rules.py::test_a_version_that_is_no_number_is_refused_in_yaml",
            "medomni/core/test_contract_rules.py::test_nan_in_json_names_its_place",
        ],
        f"{_HASH}::test_eh_31_a_version_is_an_integer_and_nothing_like_one",
    ),
}
