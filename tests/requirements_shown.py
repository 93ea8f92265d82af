"""Which test shows which requirement of the bundle page. `test_requirements_table.py` holds it to the tests.

Tests are named by file (below `tests/`) and function.
"""

from __future__ import annotations

# Rows that need a part which this repository does not hold yet, with the part.
NOT_HERE = {
    "MB-014": "what the evaluation worker loads: there is no worker yet",
    "MB-016": "coverage notes on the site: there is no site yet",
    "MB-064": "references are never staged: nothing runs submitted models yet",
    "MB-113": "the site refuses a bundle of an unimplemented type: there is no site yet",
    "MB-114": "what a submitted model must expose: nothing runs submitted models yet",
}

SHOWN: dict[str, list[str]] = {
    "MB-001": [
        "medotter_bench/test_engine.py::test_extra_files_are_listed_and_change_no_number",
        "property/test_aggregation_laws.py::test_further_files_change_no_number_and_are_listed",
    ],
    "MB-002": [
        "test_fixed_names.py::test_the_page_names_can_be_imported",
        "medotter_bench/test_bundle_requirements.py::test_nobody_but_the_loader_and_the_factory_opens_the_three_files",
    ],
    "MB-003": [
        "medotter_bench/test_bundle.py::test_the_docstring_names_the_four_files",
        "test_fixed_names.py::test_the_docstring_of_bundle_names_its_files_and_when_they_are_read",
    ],
    "MB-004": [
        "medotter_bench/test_bundle.py::test_the_manifest_is_read_at_construction_and_not_again",
    ],
    "MB-005": [
        "medotter_bench/test_bundle.py::test_a_missing_manifest_is_a_file_not_found_error_at_construction",
    ],
    "MB-006": [
        "medotter_bench/test_bundle.py::test_the_yaml_files_are_read_only_when_asked",
    ],
    "MB-007": [
        "medotter_bench/test_bundle.py::test_coverage_reports_are_never_read",
    ],
    "MB-008": [
        "test_shipped_bundles.py::test_every_bundle_has_its_factory_side",
        "test_fixed_names.py::test_each_named_bundle_has_both_its_folders",
    ],
    "MB-009": [
        "test_shipped_bundles.py::test_vessel_has_no_task_yaml",
        "medotter_bench/test_bundle.py::test_the_yaml_files_are_read_only_when_asked",
        "e2e/test_shipped_bundles_score.py::test_vessel_ct_checks_and_its_code_is_never_run",
    ],
    "MB-010": [
        "test_shipped_bundles.py::test_five_manifests_are_tracked_and_construct",
        "medotter_bench/test_bundle_requirements.py::test_tracked_manifests_are_not_ignored_by_git",
    ],
    "MB-011": [
        "test_shipped_bundles.py::test_glioma_and_abdominal_track_none_and_raise_file_not_found",
        "medotter_bench/test_bundle_requirements.py::test_a_bundle_without_manifest_constructs_once_the_factory_has_run",
        "e2e/test_shipped_bundles_score.py::test_a_shipped_bundle_goes_from_nothing_to_a_headline",
    ],
    "MB-012": [
        "medotter_bench/factory/test_vendor.py::test_a_vendored_copy_holds_equal_bytes_in_files_of_its_own",
        "medotter_bench/factory/test_vendor.py::test_changed_missing_and_extra_files_are_each_named",
        "e2e/test_medotter_cli.py::test_a_new_bundle_goes_from_nothing_to_a_score",
        "test_shipped_bundles.py::test_vendored_copies_are_whole_and_only_glioma_has_its_coverage",
    ],
    "MB-013": [
        "medotter_bench/factory/test_vendor.py::test_a_copy_without_task_and_coverage_is_complete",
        "test_shipped_bundles.py::test_vendored_copies_are_whole_and_only_glioma_has_its_coverage",
    ],
    "MB-015": [
        "test_requirements_table.py::test_every_name_on_the_page_is_in_the_test_of_fixed_names",
        "test_fixed_names.py::test_each_key_of_the_spec_is_accepted_and_read",
        "test_fixed_names.py::test_each_field_of_a_case_is_in_the_contract_and_kept",
        "test_fixed_names.py::test_the_keys_of_task_yaml_reach_the_typed_view",
    ],
    "MB-020": [
        "medotter_bench/test_bundle_requirements.py::test_the_example_of_the_page_runs_from_the_root_of_the_repository",
        "medotter_bench/test_bundle.py::test_the_manifest_of_the_page_loads_with_the_values_printed_there",
    ],
    "MB-021": [
        "medotter_bench/test_bundle_requirements.py::test_the_example_of_the_page_runs_from_the_root_of_the_repository",
        "medotter_bench/test_bundle.py::test_the_manifest_of_the_page_loads_with_the_values_printed_there",
    ],
    "MB-022": [
        "medotter_bench/test_bundle.py::test_the_manifest_of_the_page_loads_with_the_values_printed_there",
        "medotter_bench/test_engine.py::test_a_legacy_hash_is_shown_and_a_stale_mb1_hash_is_refused",
    ],
    "MB-023": [
        "medotter_bench/test_bundle_requirements.py::test_the_example_of_the_page_runs_from_the_root_of_the_repository",
        "medotter_bench/test_bundle.py::test_the_manifest_of_the_page_loads_with_the_values_printed_there",
    ],
    "MB-024": [
        "medotter_bench/test_bundle_requirements.py::test_the_example_of_the_page_runs_from_the_root_of_the_repository",
        "medotter_bench/test_bundle.py::test_the_manifest_of_the_page_loads_with_the_values_printed_there",
    ],
    "MB-025": [
        "medotter_bench/test_bundle_requirements.py::test_the_example_of_the_page_runs_from_the_root_of_the_repository",
        "medotter_bench/test_bundle.py::test_an_unknown_case_is_a_lookup_error",
        "medotter_bench/test_bundle.py::test_unknown_keys_are_kept",
    ],
    "MB-026": [
        "medotter_bench/test_bundle.py::test_cases_walks_train_then_test_in_file_order_once_per_id",
        "medotter_bench/test_bundle.py::test_a_listed_case_without_an_entry_raises_at_that_point_naming_it",
    ],
    "MB-027": [
        "medotter_bench/test_bundle.py::test_specs_equal_safe_load_and_are_parsed_anew",
    ],
    "MB-028": [
        "medotter_bench/test_bundle.py::test_specs_equal_safe_load_and_are_parsed_anew",
    ],
    "MB-029": [
        "medotter_bench/test_bundle_requirements.py::test_the_example_of_the_page_runs_from_the_root_of_the_repository",
        "medotter_bench/test_bundle.py::test_a_text_path_and_a_path_both_work",
    ],
    "MB-030": [
        "test_fixed_names.py::test_the_keys_of_task_yaml_reach_the_typed_view",
        "test_fixed_names.py::test_each_key_of_the_identity_block_is_read_where_it_stands",
    ],
    "MB-031": [
        "medotter_bench/test_checks.py::test_names_that_differ_are_named_both",
    ],
    "MB-032": [
        "e2e/test_medotter_cli.py::test_show_and_list_speak_to_people_and_to_programs",
        "medotter_bench/test_bundle_requirements.py::test_the_format_note_is_shown_by_bundle_show",
        "test_fixed_names.py::test_only_the_description_may_be_absent_from_the_identity_block",
    ],
    "MB-033": [
        "test_fixed_names.py::test_the_keys_of_task_yaml_reach_the_typed_view",
        "medotter_bench/test_checks.py::test_regions_that_differ_between_the_two_files_are_reported",
    ],
    "MB-034": [
        "medotter_bench/test_engine.py::test_a_union_is_taken_before_the_metric",
        "golden/test_imaging_vectors.py::test_generated_volume_gives_its_dice_and_hd95",
    ],
    "MB-035": [
        "medotter_bench/test_bundle_requirements.py::test_where_the_two_files_differ_the_protocol_decides_the_headline",
        "medotter_bench/test_checks.py::test_what_changes_no_number_is_a_warning",
    ],
    "MB-036": [
        "medotter_bench/test_bundle_requirements.py::test_two_datasets_of_one_bundle_have_maps_of_their_own",
    ],
    "MB-037": [
        "medotter_bench/test_label_map.py::test_notes_are_stripped_beside_ids_and_beside_datasets",
        "medotter_bench/test_bundle_requirements.py::test_notes_are_stripped_at_both_levels_and_are_in_no_effective_map",
    ],
    "MB-038": [
        "medotter_bench/test_label_map.py::test_a_remap_sends_exactly_the_unlisted_ids_to_background",
        "medotter_bench/test_bundle_requirements.py::test_unlisted_native_ids_are_background_and_no_miss_and_their_voxels_are_in_the_row",
    ],
    "MB-039": [
        "medotter_bench/test_label_map.py::test_a_map_that_swaps_two_ids_is_applied_in_one_pass",
        "medotter_bench/test_bundle_requirements.py::test_a_map_that_swaps_is_applied_in_one_pass_and_several_ids_may_merge",
        "property/test_aggregation_laws.py::test_the_map_applied_by_hand_is_a_perfect_prediction",
    ],
    "MB-040": [
        "medotter_bench/test_engine.py::test_the_reference_is_remapped_and_the_prediction_never",
        "medotter_bench/test_bundle_requirements.py::test_a_prediction_in_native_ids_is_invalid_and_its_ids_are_named",
    ],
    "MB-041": [
        "medotter_bench/inference/test_volume_loader.py::test_the_reference_is_loaded_in_native_ids_whatever_remap_says",
    ],
    "MB-042": [
        "medotter_bench/test_bundle_requirements.py::test_a_prediction_in_native_ids_is_invalid_and_its_ids_are_named",
        "medotter_bench/test_engine.py::test_an_unusable_prediction_is_invalid_and_penalised",
    ],
    "MB-043": [
        "medotter_bench/test_label_map.py::test_native_to_lists_only_document_and_mean_identity",
        "medotter_bench/test_bundle_requirements.py::test_lists_of_native_and_to_ids_document_and_change_nothing",
        "test_shipped_bundles.py::test_gliomas_regions_penalty_and_channel_order",
    ],
    "MB-044": [
        "test_shipped_bundles.py::test_the_thoracic_task_says_what_the_page_says",
        "test_shipped_bundles.py::test_abdominal_maps_each_published_name_to_the_region_of_that_name",
    ],
    "MB-045": [
        "medotter_bench/test_engine.py::test_bundle_local_code_is_refused_and_named_and_never_run",
        "e2e/test_shipped_bundles_score.py::test_vessel_ct_checks_and_its_code_is_never_run",
    ],
    "MB-046": [
        "test_shipped_bundles.py::test_the_thoracic_task_says_what_the_page_says",
        "medotter_bench/test_bundle_requirements.py::test_the_pages_thoracic_files_score_as_printed_with_stated_defaults",
    ],
    "MB-050": [
        "medotter_bench/factory/test_freeze.py::test_freezing_again_gives_equal_bytes_and_changes_nothing",
        "medotter_bench/factory/test_freeze.py::test_a_change_without_a_higher_version_is_refused_and_nothing_is_written",
    ],
    "MB-051": [
        "medotter_bench/test_bundle.py::test_every_missing_key_is_one_problem_and_all_are_told_together",
        "medomni/core/test_core_contracts.py::test_each_missing_key_is_one_issue_and_all_are_reported_together",
        "test_fixed_names.py::test_each_key_of_the_manifest_is_in_its_contract",
    ],
    "MB-052": [
        "medotter_bench/test_bundle.py::test_the_manifest_of_the_page_loads_with_the_values_printed_there",
        "medotter_bench/factory/test_freeze.py::test_a_frozen_manifest_holds_the_keys_in_order_and_a_hash_that_verifies",
    ],
    "MB-053": [
        "medotter_bench/test_bundle.py::test_unknown_keys_are_kept",
        "medotter_bench/factory/test_freeze.py::test_a_patient_on_both_sides_of_a_fixed_split_is_dropped_from_training",
        "medotter_bench/test_bundle_requirements.py::test_a_bundle_without_manifest_constructs_once_the_factory_has_run",
    ],
    "MB-054": [
        "medotter_bench/test_bundle.py::test_the_manifest_of_the_page_loads_with_the_values_printed_there",
        "medotter_bench/test_bundle_requirements.py::test_the_trimmed_manifest_of_the_page_loads_and_its_gaps_are_told",
    ],
    "MB-055": [
        "medotter_bench/test_bundle_requirements.py::test_two_datasets_of_one_bundle_have_maps_of_their_own",
        "medotter_bench/test_checks.py::test_a_dataset_without_a_map_is_reported_as_identity",
    ],
    "MB-056": [
        "medotter_bench/test_checks.py::test_faults_of_the_splits_are_found_together",
        "medotter_bench/test_checks.py::test_malformed_entries_are_errors",
    ],
    "MB-057": [
        "medotter_bench/test_engine.py::test_a_tier_headline_counts_only_its_tier",
        "medotter_bench/test_bundle_requirements.py::test_any_name_of_a_tier_is_accepted_and_broken_down",
    ],
    "MB-058": [
        "medotter_bench/test_engine.py::test_the_region_of_a_case_restricts_it",
        "property/test_aggregation_laws.py::test_a_region_that_a_case_does_not_score_has_no_number_whatever_is_predicted",
    ],
    "MB-059": [
        "medotter_bench/test_engine.py::test_patients_of_two_datasets_are_two_and_a_case_without_one_is_its_own",
        "property/test_aggregation_laws.py::test_every_roll_up_equals_its_slow_twin",
    ],
    "MB-060": [
        "medotter_bench/test_bundle_requirements.py::test_inputs_have_the_shapes_of_a_ct_and_of_a_colour_tile",
    ],
    "MB-061": [
        "medomni/core/test_core_contracts.py::test_exactly_one_of_image_and_chan_is_demanded",
        "medotter_bench/test_checks.py::test_malformed_entries_are_errors",
    ],
    "MB-062": [
        "medotter_bench/inference/test_volume_loader.py::test_channels_come_in_the_manifests_order",
        "medotter_bench/test_bundle_requirements.py::test_channel_order_is_that_of_the_manifest_all_the_way",
        "medotter_bench/test_bundle_requirements.py::test_the_frozen_glioma_manifest_keeps_the_channel_order_of_its_factory",
        "medotter_bench/factory/test_manifest_hash.py::test_swapping_two_channels_changes_the_hash",
        "medotter_bench/test_checks.py::test_channels_in_another_order_within_a_dataset_are_an_error",
    ],
    "MB-063": [
        "medotter_bench/test_bundle_requirements.py::test_inputs_have_the_shapes_of_a_ct_and_of_a_colour_tile",
        "medotter_bench/test_engine.py::test_a_broken_reference_scores_nothing_and_names_every_case",
    ],
    "MB-065": [
        "medotter_bench/test_label_map.py::test_a_case_slot_changes_its_ids_and_leaves_the_others_to_the_dataset",
        "medotter_bench/test_bundle_requirements.py::test_the_slot_of_a_case_refines_the_map_and_its_absence_changes_nothing",
    ],
    "MB-066": [
        "medotter_bench/test_bundle.py::test_unknown_keys_are_kept",
        "medotter_bench/test_checks.py::test_extra_case_fields_are_free",
        "test_fixed_names.py::test_each_field_of_a_case_is_in_the_contract_and_kept",
    ],
    "MB-067": [
        "medotter_bench/test_bundle_requirements.py::test_inputs_have_the_shapes_of_a_ct_and_of_a_colour_tile",
        "medotter_bench/inference/test_volume_loader.py::test_a_case_without_prepared_files_lies_under_the_data_root",
    ],
    "MB-068": [
        "medotter_bench/test_engine.py::test_prepared_files_are_taken_as_a_whole_case_or_not_at_all",
        "medotter_bench/inference/test_volume_loader.py::test_a_half_prepared_case_is_an_error_that_names_the_rest",
    ],
    "MB-069": [
        "medomni/core/test_core_paths.py::test_no_string_leaves_the_root_or_raises_anything_else",
        "medotter_bench/inference/test_volume_loader.py::test_unsafe_paths_are_refused_before_anything_is_opened",
        "medotter_bench/test_checks.py::test_paths_that_leave_the_data_root_are_refused_before_anything_is_opened",
    ],
    "MB-070": [
        "medotter_bench/test_bundle_requirements.py::test_the_spec_alone_decides_which_adapter_scores",
        "e2e/test_shipped_bundles_score.py::test_a_shipped_bundle_goes_from_nothing_to_a_headline",
    ],
    "MB-071": [
        "medotter_bench/test_engine.py::test_an_unknown_task_type_lists_the_known_ones",
        "medotter_bench/adapters/test_adapter_registry.py::test_an_unknown_name_lists_the_known_ones",
        "medotter_bench/test_bundle_requirements.py::test_each_suffix_of_each_prediction_type_is_read",
    ],
    "MB-072": [
        "medotter_bench/test_engine.py::test_the_task_type_defaults_to_seg",
        "medotter_bench/test_bundle_requirements.py::test_the_pages_thoracic_files_score_as_printed_with_stated_defaults",
    ],
    "MB-073": [
        "test_shipped_bundles.py::test_older_specs_have_no_task_type",
        "e2e/test_shipped_bundles_score.py::test_a_shipped_bundle_goes_from_nothing_to_a_headline",
    ],
    "MB-074": [
        "medotter_bench/test_engine.py::test_modes_are_documentary",
        "medotter_bench/test_checks.py::test_what_changes_no_number_is_a_warning",
        "test_fixed_names.py::test_what_is_only_for_people_is_said_to_be_so_in_the_contract",
    ],
    "MB-075": [
        "medotter_bench/test_engine.py::test_modes_are_documentary",
        "medotter_bench/test_checks.py::test_what_changes_no_number_is_a_warning",
        "test_fixed_names.py::test_what_is_only_for_people_is_said_to_be_so_in_the_contract",
    ],
    "MB-076": [
        "medotter_bench/test_engine.py::test_a_union_is_taken_before_the_metric",
        "medotter_bench/test_label_map.py::test_a_region_is_the_union_of_its_ids",
        "medotter_bench/test_checks.py::test_a_fault_of_the_protocol_is_an_error_that_score_refuses_on_too",
    ],
    "MB-077": [
        "medotter_bench/test_engine.py::test_partial_labels_restrict_a_case_to_what_its_dataset_labels",
        "medotter_bench/test_engine.py::test_a_region_counts_only_if_its_dataset_can_produce_all_its_ids",
    ],
    "MB-078": [
        "medotter_bench/test_engine.py::test_without_partial_labels_every_region_is_scored_in_every_case",
        "medotter_bench/test_bundle_requirements.py::test_a_missed_structure_is_in_the_mean_at_its_penalty",
    ],
    "MB-079": [
        "medotter_bench/test_engine.py::test_partial_labels_restrict_a_case_to_what_its_dataset_labels",
        "property/test_aggregation_laws.py::test_the_macro_average_is_the_mean_of_region_roll_ups",
        "medotter_bench/test_bundle_requirements.py::test_the_headline_is_the_aggregate_that_it_names_value_for_value",
    ],
    "MB-080": [
        "medotter_bench/test_engine.py::test_only_the_metrics_asked_for_are_computed",
    ],
    "MB-081": [
        "golden/test_imaging_vectors.py::test_semantic_vector_gives_its_dice_and_hd95",
        "test_fixed_names.py::test_the_metrics_of_the_page_are_known_to_their_task_types",
    ],
    "MB-082": [
        "golden/test_imaging_vectors.py::test_instance_vector_gives_its_counts_and_scores",
        "test_fixed_names.py::test_the_metrics_of_the_page_are_known_to_their_task_types",
    ],
    "MB-083": [
        "medotter_bench/test_engine.py::test_dice_and_hd95_are_refused_for_instances",
    ],
    "MB-084": [
        "medotter_bench/test_engine.py::test_spacing_and_unit_of_hd95",
        "medotter_bench/test_engine.py::test_every_error_says_where",
        "medotter_bench/test_checks.py::test_an_hd95_block_without_the_metric_is_a_warning",
        "medotter_bench/test_traps_scoring.py::test_trap_18_a_percentile_of_nothing_is_refused_and_never_the_maximum",
    ],
    "MB-085": [
        "medotter_bench/test_engine.py::test_an_iou_of_exactly_the_threshold_is_no_match_by_default",
        "medotter_bench/test_bundle_requirements.py::test_a_threshold_below_one_half_pairs_objects_one_to_one",
        "medotter_bench/test_checks.py::test_nan_in_a_spec_is_an_error_naming_the_key",
    ],
    "MB-086": [
        "medotter_bench/test_bundle_requirements.py::test_each_key_of_the_penalty_table_works_for_each_metric",
        "medotter_bench/test_engine.py::test_empty_structures_take_the_table_and_name_its_key",
    ],
    "MB-087": [
        "medotter_bench/test_bundle_requirements.py::test_a_missed_structure_is_in_the_mean_at_its_penalty",
        "medotter_bench/test_engine.py::test_empty_structures_take_the_table_and_name_its_key",
    ],
    "MB-088": [
        "medotter_bench/test_engine.py::test_a_patient_counts_once_however_many_scans_there_are",
        "property/test_aggregation_laws.py::test_further_scans_of_a_patient_with_equal_values_change_nothing",
    ],
    "MB-089": [
        "medotter_bench/test_engine.py::test_median_and_mean_differ",
        "medotter_bench/test_bundle_requirements.py::test_an_unknown_rule_of_aggregation_is_an_error",
    ],
    "MB-090": [
        "medotter_bench/test_engine.py::test_the_regional_breakdown_has_three_forms_under_two_names",
    ],
    "MB-091": [
        "medotter_bench/test_engine.py::test_the_regional_breakdown_has_three_forms_under_two_names",
        "test_fixed_names.py::test_the_organ_breakdown_is_the_regional_one_under_another_name",
        "medotter_bench/test_checks.py::test_a_fault_of_the_protocol_is_an_error_that_score_refuses_on_too",
    ],
    "MB-092": [
        "medotter_bench/test_engine.py::test_breakdowns_can_be_all_some_or_none",
    ],
    "MB-093": [
        "medotter_bench/test_engine.py::test_breakdowns_can_be_all_some_or_none",
    ],
    "MB-094": [
        "medotter_bench/test_bundle_requirements.py::test_the_headline_is_the_aggregate_that_it_names_value_for_value",
    ],
    "MB-095": [
        "medotter_bench/test_engine.py::test_a_tier_headline_counts_only_its_tier",
        "property/test_aggregation_laws.py::test_a_tier_headline_is_the_roll_up_of_that_tier_alone",
    ],
    "MB-096": [
        "medotter_bench/test_bundle_requirements.py::test_each_suffix_of_each_prediction_type_is_read",
        "medotter_bench/test_bundle_requirements.py::test_a_file_of_another_type_is_extra_and_the_case_is_missing",
        "medotter_bench/test_bundle_requirements.py::test_a_prediction_type_of_another_task_type_is_refused",
    ],
    "MB-097": [
        "medotter_bench/test_bundle_requirements.py::test_a_prediction_in_native_ids_is_invalid_and_its_ids_are_named",
        "medotter_bench/test_engine.py::test_instance_metrics_count_objects_whatever_their_ids",
    ],
    "MB-098": [
        "medotter_bench/test_engine.py::test_a_flipped_prediction_is_invalid_and_never_resampled",
        "medotter_bench/test_engine.py::test_an_unusable_prediction_is_invalid_and_penalised",
        "test_fixed_names.py::test_the_one_coordinate_space_is_read_and_another_is_refused",
    ],
    "MB-099": [
        "e2e/test_medotter_cli.py::test_show_and_list_speak_to_people_and_to_programs",
        "medotter_bench/test_bundle_requirements.py::test_the_format_note_is_shown_by_bundle_show",
    ],
    "MB-100": [
        "medotter_bench/test_bundle_requirements.py::test_the_pages_thoracic_files_score_as_printed_with_stated_defaults",
        "medotter_bench/test_bundle_requirements.py::test_the_pages_nucleus_spec_scores_as_printed_with_stated_defaults",
    ],
    "MB-101": [
        "test_shipped_bundles.py::test_the_specs_say_what_the_page_says",
    ],
    "MB-110": [
        "medotter_bench/adapters/test_adapter_registry.py::test_the_package_fills_the_registry",
        "test_fixed_names.py::test_each_named_path_is_there",
    ],
    "MB-111": [
        "medotter_bench/adapters/test_adapter_conformance.py::test_every_adapter_that_scores_conforms",
        "medotter_bench/test_bundle_requirements.py::test_each_suffix_of_each_prediction_type_is_read",
        "e2e/test_shipped_bundles_score.py::test_a_shipped_bundle_goes_from_nothing_to_a_headline",
    ],
    "MB-112": [
        "medotter_bench/test_engine.py::test_stubs_refuse_before_any_file_is_opened",
        "medotter_bench/adapters/test_adapter_registry.py::test_stubs_refuse_whatever_is_asked_of_them",
    ],
    "MB-115": [
        "docs/test_docs_run.py::test_every_command_of_a_page_runs_and_prints_what_the_page_shows",
        "medotter_bench/test_bundle_requirements.py::test_every_metric_says_what_it_is_and_where_it_comes_from",
        "medotter_bench/test_bundle_requirements.py::test_the_dice_of_a_result_is_the_public_functions_number",
    ],
    "MB-116": [
        "test_fixed_names.py::test_the_loader_of_volumes_has_its_steps_and_documents_the_slot",
        "medotter_bench/inference/test_volume_loader.py::test_the_remap_slot_is_documented_with_its_example",
    ],
}
