"""Which tests show that a failure case of records or runs comes out right; `test_cases_table.py` checks it.

Tests are named by file (below `tests/`) and function: those of the case's kind, on inputs of their own, and
the one that reads the case's files, which skips where they are not. Imaging cases are parameters of one test
(`cases/test_imaging_cases.py`).
"""

from __future__ import annotations

from typing import NamedTuple


class Case(NamedTuple):
    """A case in a few words, the tests of its kind, and the test of its files, if they can be read."""

    what: str
    kind: list[str]
    files: str | None


# Cases that wait for a part that is not here yet, with the part.
NOT_HERE = {
    "EH-17": "the reader of sleep recordings",
    "EH-22": "the reader of sleep recordings",
}

_RECORD = "cases/test_record_cases.py"
_HASH = "cases/test_hash_cases.py"
_STUDIO = "medomni/studio"
_EVIDENCE = f"{_STUDIO}/test_evidence_cases.py"
_SCORE = "cases/test_score_cases.py"
_IMAGING = "cases/test_imaging_cases.py"
_BENCH = "medomni/bench"
_ANSWERS = f"{_BENCH}/test_bench_answers_cli.py"
_RECORDS = f"{_BENCH}/test_bench_records.py"

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
    "RN-01": Case(
        "errored samples leave the denominator",
        [
            f"{_RECORDS}::test_errors_of_the_agent_stay_in_the_denominator",
            f"{_RECORDS}::test_atoms_that_were_not_run_count_as_missing",
        ],
        f"{_SCORE}::test_rn_01_errors_stay_in_the_denominator",
    ),
    # Nothing is kept from run to run, so that the case's file of kept answers has no reader.
    "RN-04": Case(
        "cache not keyed by agent",
        [f"{_BENCH}/run/test_run_end_to_end.py::test_the_answers_of_one_agent_are_never_another_s"],
        None,
    ),
    "RN-06": Case(
        "answer key guessed",
        [f"{_ANSWERS}::test_several_targets_come_from_one_file"],
        f"{_SCORE}::test_rn_06_a_missing_key_is_a_missing_answer_and_no_key_is_guessed",
    ),
    "RN-08": Case(
        "orphan process after the deadline",
        [f"{_BENCH}/run/test_run_cases.py::test_an_agent_s_orphan_dies_with_its_time_and_scores_nothing"],
        f"{_BENCH}/run/test_run_cases.py::test_an_agent_s_orphan_dies_with_its_time_and_scores_nothing",
    ),
    "RN-10": Case(
        "checker log leaks expected values",
        [
            f"{_SCORE}::test_rn_10_the_score_of_the_case_names_who_and_no_right_answer",
            f"{_RECORDS}::test_no_public_file_holds_an_atom_a_patient_or_an_answer",
            f"{_BENCH}/run/test_run_cases.py::test_a_value_beside_a_target_s_name_is_found",
        ],
        f"{_BENCH}/run/test_run_cases.py::test_a_checker_s_log_with_a_right_answer_is_refused",
    ),
    "RN-11": Case(
        "score files inside a submission",
        [f"{_ANSWERS}::test_extra_files_folders_and_keys_are_told_of_and_never_scored"],
        f"{_IMAGING}::test_rn_11_files_that_look_like_scores_are_listed_and_read_by_nobody",
    ),
    "RN-13": Case(
        "ties in AUC",
        [f"{_BENCH}/test_bench_metrics.py::test_ties_count_half"],
        f"{_SCORE}::test_rn_13_ties_count_half",
    ),
    "RN-14": Case(
        "QWK with an unused category",
        [f"{_BENCH}/test_bench_metrics.py::test_classes_that_do_not_occur_keep_their_places"],
        f"{_SCORE}::test_rn_14_a_class_that_never_occurs_keeps_its_place",
    ),
    "RN-15": Case(
        "QWK 0/0",
        [f"{_BENCH}/test_bench_metrics.py::test_agreement_on_one_class_is_no_kappa_and_no_atoms_are_none"],
        f"{_SCORE}::test_rn_15_nothing_over_nothing_is_null_with_a_reason",
    ),
    "RN-17": Case(
        "positional pairing of answers",
        [f"{_RECORDS}::test_answers_are_joined_by_name_and_never_by_position"],
        f"{_SCORE}::test_rn_17_answers_are_joined_by_name",
    ),
    # Its files are of a made-up form; the kind is shown on ours.
    "RN-20": Case(
        "exit code 0 on failure",
        [
            "cases/test_exit_code_cases.py::test_a_check_exits_1_for_anything_wrong_and_names_it",
            "cases/test_exit_code_cases.py::test_a_pipe_hides_no_exit_code",
        ],
        None,
    ),
    "RN-23": Case(
        "labels taken from the command line",
        [f"{_ANSWERS}::test_a_target_that_is_not_whole_is_refused"],
        f"{_IMAGING}::test_rn_23_labels_on_the_command_line_are_refused",
    ),
}
