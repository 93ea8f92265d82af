"""Which test shows which requirement of the page on tasks: templates, config hash, benchmarks and their sets.

`test_task_requirements_table.py` holds it to the tests, named by file (below `tests/`) and function.
Leaves to others: what is built and what is run (MO-060 to MO-092), and how the pages are arranged.
"""

from __future__ import annotations

# Rows that need a part which this repository does not hold yet, with the part.
NOT_HERE = {
    "MO-012": "all thirty templates: three datasets are not here yet",
    "MO-013": "templates on AI-READI: the dataset is not here yet",
    "MO-015": "templates on BDSP: the dataset is not here yet",
    "MO-016": "templates on VitalDB: the dataset is not here yet",
    "MO-108": "run and score records: nothing runs atoms yet",
    "MO-153": "the set of VitalDB: the dataset is not here yet",
    "MO-154": "the set v1: a set is published whole, and three datasets are not here yet",
    "MO-155": "the set of the ladder: a set is published whole, and three of its templates are not here yet",
}

_CORE = "medomni/core"
_STUDIO = "medomni/studio"
_NAMES = "test_task_names.py"
_OLD = "medomni/bench/test_import_v02.py"
_LABELS = f"{_STUDIO}/test_label_definitions.py"
_DEFINITIONS = f"{_STUDIO}/test_definitions.py"
_FILES = f"{_STUDIO}/test_config_files.py"
_HASH = f"{_CORE}/test_config_hash.py"
_RULES = f"{_CORE}/test_contract_rules.py"
_RELEASE = f"{_STUDIO}/test_release_check.py"
_TASK = f"{_STUDIO}/test_task_check.py"
_TEXT = f"{_STUDIO}/render/test_render_instruction.py"
_ATOM = f"{_STUDIO}/render/test_render_atom.py"

_REFUSED_TEMPLATES = f"{_LABELS}::test_templates_that_cannot_be_are_refused"

SHOWN: dict[str, list[str]] = {
    "MO-010": [f"{_STUDIO}/test_release_freeze.py::test_a_release_is_frozen_once_and_under_its_own_name"],
    "MO-011": [f"{_NAMES}::test_there_are_nine_templates_of_mimic_iv_by_their_names"],
    "MO-014": [f"{_NAMES}::test_there_are_nine_templates_of_mimic_iv_by_their_names"],
    "MO-017": [
        f"{_NAMES}::test_every_template_has_twenty_patients_at_n20_and_a_cohort_for_each_release",
        f"{_DEFINITIONS}::test_every_pair_of_the_repository_is_right",
    ],
    "MO-018": [f"{_NAMES}::test_rungs_stand_in_each_template_of_the_ladder_and_in_no_other"],
    "MO-019": [
        f"{_NAMES}::test_rungs_stand_in_each_template_of_the_ladder_and_in_no_other",
        f"{_TASK}::test_rungs_name_known_families_and_only_grow",
    ],
    "MO-020": [
        f"{_NAMES}::test_there_are_nine_templates_of_mimic_iv_by_their_names",
        f"{_NAMES}::test_names_of_datasets_hold_no_underscore",
    ],
    "MO-030": [
        f"{_CORE}/test_workspace.py::test_everything_lies_where_the_tree_of_the_project_says",
        f"{_DEFINITIONS}::test_files_that_do_not_exist_are_named_with_those_that_do",
    ],
    "MO-031": [_REFUSED_TEMPLATES, f"{_DEFINITIONS}::test_a_template_outside_its_dataset_is_refused"],
    "MO-032": [_REFUSED_TEMPLATES, f"{_DEFINITIONS}::test_names_must_be_those_of_the_file"],
    "MO-033": [
        _REFUSED_TEMPLATES,
        f"{_NAMES}::test_the_schema_of_templates_asks_for_what_the_page_asks_for",
    ],
    "MO-034": [_REFUSED_TEMPLATES, f"{_TEXT}::test_several_targets_go_into_one_answer"],
    "MO-035": [_REFUSED_TEMPLATES, f"{_DEFINITIONS}::test_all_problems_of_a_template_come_at_once"],
    "MO-036": [
        _REFUSED_TEMPLATES,
        f"{_NAMES}::test_the_schema_of_templates_asks_for_what_the_page_asks_for",
    ],
    "MO-037": [f"{_TEXT}::test_the_template_s_own_question_is_shown"],
    "MO-038": [_REFUSED_TEMPLATES, f"{_DEFINITIONS}::test_all_problems_of_a_template_come_at_once"],
    "MO-039": [f"{_NAMES}::test_what_a_template_only_records_reaches_no_evidence"],
    "MO-040": [f"{_LABELS}::test_evidence_and_exclude_are_optional_and_decide_nothing"],
    "MO-041": [
        f"{_FILES}::test_an_evidence_variant_and_a_template_of_no_dataset_are_refused",
        f"{_TASK}::test_the_refusal_of_the_full_record_says_why",
        f"{_STUDIO}/test_build_pair.py::test_another_evidence_variant_is_refused",
        f"{_RULES}::test_all_problems_of_schema_and_rules_are_told_at_once_with_their_lines",
    ],
    "MO-042": [
        f"{_LABELS}::test_evidence_and_exclude_are_optional_and_decide_nothing",
        f"{_NAMES}::test_what_a_template_only_records_reaches_no_evidence",
    ],
    "MO-043": [_REFUSED_TEMPLATES],
    "MO-044": [f"{_TEXT}::test_the_instruction_opens_with_the_statement"],
    "MO-045": [f"{_TEXT}::test_the_parts_stand_in_their_order"],
    "MO-046": [f"{_ATOM}::test_the_configuration_says_what_harbor_must_hold"],
    "MO-047": [_REFUSED_TEMPLATES, f"{_ATOM}::test_the_configuration_says_what_harbor_must_hold"],
    "MO-048": [
        f"{_CORE}/test_workspace.py::test_everything_lies_where_the_tree_of_the_project_says",
        f"{_LABELS}::test_the_content_of_the_repository_is_right",
    ],
    "MO-049": [
        f"{_TASK}::test_good_pairs_pass_part_by_part",
        f"{_TASK}::test_problems_of_every_part_are_told_at_once_with_file_and_line",
        f"{_TASK}::test_a_build_may_be_required",
        f"{_TASK}::test_windows_line_ends_are_named_as_that",
    ],
    "MO-100": [
        f"{_FILES}::test_each_arm_and_each_rung_has_a_hash_of_its_own",
        f"{_HASH}::test_each_variant_of_an_arm_has_a_hash_of_its_own",
        "medomni/cli/test_medomni_cli.py::test_the_hash_is_printed_and_explained",
    ],
    "MO-101": [
        "golden/test_hash_vectors.py::test_config_hashes_equal_the_golden_ones",
        f"{_HASH}::test_the_hash_is_that_of_the_prose",
    ],
    "MO-102": [
        "golden/test_hash_vectors.py::test_config_hashes_equal_the_golden_ones",
        f"{_HASH}::test_a_boundary_that_moves_between_two_files_changes_the_hash",
        f"{_HASH}::test_the_order_of_discovery_does_not_matter",
    ],
    "MO-103": [
        f"{_FILES}::test_the_files_of_a_pair_are_those_that_its_template_cohort_labels_and_arm_reach",
        f"{_FILES}::test_stray_files_never_count",
    ],
    "MO-104": [
        f"{_FILES}::test_one_byte_in_a_named_file_changes_the_hash_and_one_byte_elsewhere_does_not",
        f"{_FILES}::test_the_files_of_a_pair_are_those_that_its_template_cohort_labels_and_arm_reach",
    ],
    "MO-105": [
        f"{_HASH}::test_each_token_changes_the_hash",
        f"{_FILES}::test_the_tokens_are_the_builder_the_cohorts_release_and_the_content_release",
    ],
    "MO-106": [
        f"{_HASH}::test_each_token_changes_the_hash",
        f"{_FILES}::test_the_tokens_are_the_builder_the_cohorts_release_and_the_content_release",
    ],
    "MO-107": [f"{_STUDIO}/test_build_pair.py::test_the_config_hashes_can_be_computed_from_the_copies"],
    "MO-109": [f"{_HASH}::test_a_recorded_hash_is_computed_again_from_the_copied_files"],
    "MO-110": [
        f"{_FILES}::test_one_byte_in_a_named_file_changes_the_hash_and_one_byte_elsewhere_does_not",
        "medomni/cli/test_medomni_cli.py::test_a_workspace_is_made_and_hashes_as_this_one",
    ],
    "MO-111": [
        f"{_RELEASE}::test_faults_in_any_set_are_found",
        f"{_RELEASE}::test_entries_with_n_0_are_skipped_by_name",
    ],
    "MO-112": [f"{_RELEASE}::test_a_changed_cohort_without_a_higher_n_fails_and_names_its_fields"],
    "MO-113": [
        f"{_RELEASE}::test_a_changed_label_fails",
        f"{_RELEASE}::test_a_changed_recipe_that_the_label_reaches_fails",
    ],
    "MO-114": [f"{_RELEASE}::test_changed_targets_fail"],
    "MO-115": [f"{_RELEASE}::test_changed_scoring_fails"],
    "MO-116": [f"{_RELEASE}::test_another_dataset_release_fails"],
    "MO-117": [f"{_RELEASE}::test_a_higher_n_may_change_everything"],
    "MO-118": [f"{_RELEASE}::test_nothing_changed_passes_and_needs_neither_data_nor_builds"],
    "MO-119": [f"{_STUDIO}/test_release_freeze.py::test_the_release_check_comes_first"],
    "MO-120": [f"{_OLD}::test_lines_become_one_record_per_run_of_version_0"],
    "MO-121": [f"{_RULES}::test_old_hashes_and_version_0_belong_together_in_every_record"],
    "MO-122": [f"{_OLD}::test_one_wrong_line_imports_nothing"],
    "MO-123": [f"{_OLD}::test_set_files_pin_version_0_and_the_arms_that_the_records_name"],
    "MO-130": [f"{_CORE}/test_workspace.py::test_everything_lies_where_the_tree_of_the_project_says"],
    "MO-131": [f"{_CORE}/test_workspace.py::test_everything_lies_where_the_tree_of_the_project_says"],
    "MO-132": [
        f"{_CORE}/test_names.py::test_a_printed_set_name_is_parsed_to_itself",
        f"{_CORE}/test_names.py::test_what_is_no_set_name_is_refused",
    ],
    "MO-133": ["medomni/cli/test_medomni_cli.py::test_the_contracts_of_the_page_exist"],
    "MO-134": [f"{_RULES}::test_a_file_at_its_place_must_be_called_as_it_says"],
    "MO-135": [
        f"{_RULES}::test_the_version_of_a_benchmark_stays_text",
        f"{_CORE}/test_core_contracts.py::test_invalid_files_fail_with_the_code_in_their_name",
    ],
    "MO-136": [f"{_CORE}/test_core_contracts.py::test_invalid_files_fail_with_the_code_in_their_name"],
    "MO-137": [f"{_RULES}::test_the_projects_own_benchmark_is_as_it_is_fixed"],
    "MO-138": [f"{_CORE}/test_core_contracts.py::test_invalid_files_fail_with_the_code_in_their_name"],
    "MO-139": [f"{_RULES}::test_an_entry_pins_a_pair_and_its_version_and_nothing_else"],
    "MO-140": [
        f"{_RELEASE}::test_sets_only_grow_and_an_entry_never_changes",
        f"{_RELEASE}::test_a_set_may_grow",
    ],
    "MO-141": [f"{_RULES}::test_a_new_n_of_a_pair_needs_a_new_set"],
    "MO-142": [
        "golden/test_hash_vectors.py::test_task_set_hashes_equal_the_golden_ones",
        f"{_HASH}::test_a_sets_hash_is_that_of_the_prose_in_any_order",
    ],
    "MO-143": ["medomni/cli/test_medomni_cli.py::test_the_contracts_of_the_page_exist"],
    "MO-144": [f"{_RULES}::test_a_file_at_its_place_must_be_called_as_it_says"],
    "MO-145": [
        f"{_CORE}/test_core_contracts.py::test_valid_files_fulfil_their_contract",
        f"{_CORE}/test_core_contracts.py::test_invalid_files_fail_with_the_code_in_their_name",
    ],
    "MO-146": [f"{_RELEASE}::test_a_set_of_another_builder_is_refused_by_name"],
    "MO-147": [
        f"{_CORE}/test_core_contracts.py::test_invalid_files_fail_with_the_code_in_their_name",
        f"{_NAMES}::test_the_smoke_set_pins_every_template_that_is_here_on_generated_data",
    ],
    "MO-148": [f"{_CORE}/test_core_contracts.py::test_invalid_files_fail_with_the_code_in_their_name"],
    "MO-149": [
        f"{_RULES}::test_a_version_that_is_no_integer_is_named_by_its_path",
        f"{_RULES}::test_a_version_that_is_no_number_is_refused_in_yaml",
        "cases/test_hash_cases.py::test_eh_31_a_version_is_an_integer_and_nothing_like_one",
    ],
    "MO-150": [f"{_RULES}::test_version_0_belongs_to_the_imported_sets_alone"],
    "MO-151": [f"{_RULES}::test_the_projects_own_benchmark_is_as_it_is_fixed"],
    "MO-152": [f"{_NAMES}::test_the_smoke_set_pins_every_template_that_is_here_on_generated_data"],
    "MO-156": [
        f"{_STUDIO}/test_dummy_mimic.py::test_the_bytes_are_those_that_releases_were_built_from",
        f"{_STUDIO}/test_dummy_mimic.py::test_it_imports_cleanly_as_its_release",
    ],
    "MO-157": [f"{_NAMES}::test_there_are_three_arms_by_their_names"],
    "MO-158": ["medomni/cli/test_medomni_cli.py::test_the_contracts_of_the_page_exist"],
}
