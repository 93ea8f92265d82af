"""Which test shows that a known trap of imaging metrics is avoided; `test_traps_table.py` checks the table.

Tests are named by file (below `tests/`) and function. `decided` says where the design goes another way than
the usual advice, or is more exact than it.
"""

from __future__ import annotations

from typing import NamedTuple


class Trap(NamedTuple):
    """A trap in a few words, the tests that show it avoided, and what was decided about it."""

    what: str
    tests: list[str]
    decided: str = ""


TRAPS: dict[int, Trap] = {
    1: Trap(
        "both structures empty: 1, NaN, infinity or an exception",
        [
            "medotter_bench/metrics/test_traps_metrics.py::test_trap_1_both_empty_takes_the_table_and_never_nan",
            "medotter_bench/test_engine.py::test_empty_structures_take_the_table_and_name_its_key",
            "medotter_bench/test_traps_scoring.py::test_no_result_of_any_trap_holds_nan",
        ],
    ),
    2: Trap(
        "a false positive on an empty reference",
        [
            "medotter_bench/metrics/test_traps_metrics.py::test_trap_2_a_false_positive_on_an_empty_reference_is_no_success",
            "medotter_bench/test_engine.py::test_empty_structures_take_the_table_and_name_its_key",
        ],
    ),
    3: Trap(
        "a missed structure drops out of the mean",
        [
            "medotter_bench/metrics/test_traps_metrics.py::test_trap_3_a_missed_structure_stays_in_the_mean_as_a_number",
            "medotter_bench/test_engine.py::test_missing_prediction_takes_the_worst_penalty",
            "medotter_bench/test_bundle_requirements.py::test_a_missed_structure_is_in_the_mean_at_its_penalty",
        ],
    ),
    4: Trap(
        "hd95 of one empty side is 0",
        [
            "medotter_bench/metrics/test_traps_metrics.py::test_trap_4_hd95_of_one_empty_side_is_not_0",
            "medotter_bench/test_engine.py::test_empty_structures_take_the_table_and_name_its_key",
        ],
    ),
    5: Trap(
        "the penalty's literal value",
        [
            "medotter_bench/metrics/test_traps_metrics.py::test_trap_5_the_literal_penalty_is_used_on_any_grid",
            "medotter_bench/test_engine.py::test_without_a_table_a_miss_costs_the_grid_diagonal_and_says_so",
        ],
        "the table's number as it is; where it is silent the grid's diagonal, which is listed",
    ),
    6: Trap(
        "a distance above the penalty",
        [
            "medotter_bench/test_traps_scoring.py::test_trap_6_a_distance_above_the_penalty_is_neither_clipped_nor_hidden",
            "medotter_bench/test_checks.py::test_a_penalty_below_the_grid_diagonal_is_a_warning",
        ],
        "no cap; `bundle check` warns of a penalty below the grid's diagonal",
    ),
    7: Trap(
        "NaN shrinks the denominator",
        [
            "medotter_bench/test_traps_scoring.py::test_trap_7_the_mean_runs_over_the_declared_cases_and_every_reason_is_counted",
            "medotter_bench/test_engine.py::test_missing_prediction_takes_the_worst_penalty",
            "property/test_aggregation_laws.py::test_every_roll_up_equals_its_slow_twin",
        ],
        "n per aggregate; how many were empty or missed is in the outcome of each row",
    ),
    8: Trap(
        "an unlabelled region counts as a miss",
        [
            "medotter_bench/test_traps_scoring.py::test_trap_8_an_unlabelled_region_is_neither_missed_nor_a_false_positive",
            "medotter_bench/test_engine.py::test_partial_labels_restrict_a_case_to_what_its_dataset_labels",
        ],
    ),
    9: Trap(
        "spacing is ignored",
        [
            "medotter_bench/metrics/test_traps_metrics.py::test_trap_9_spacing_reaches_the_distance",
            "medotter_bench/test_traps_scoring.py::test_traps_9_and_10_spacing_of_the_file_reaches_the_axis_that_it_belongs_to",
            "medotter_bench/test_engine.py::test_spacing_and_unit_of_hd95",
        ],
    ),
    10: Trap(
        "spacing in another order than the axes",
        [
            "medotter_bench/metrics/test_traps_metrics.py::test_trap_10_spacing_belongs_to_the_axes_in_array_order",
            "medotter_bench/test_traps_scoring.py::test_traps_9_and_10_spacing_of_the_file_reaches_the_axis_that_it_belongs_to",
        ],
    ),
    11: Trap(
        "ITK's distance under anisotropy",
        [
            "medotter_bench/test_traps_scoring.py::test_trap_11_no_distance_of_itk_is_used_anywhere",
        ],
    ),
    12: Trap(
        "pooled against directed percentiles",
        [
            "medotter_bench/metrics/test_traps_metrics.py::test_trap_12_the_two_conventions_are_named_and_differ",
            "medotter_bench/test_traps_scoring.py::test_trap_12_the_convention_is_part_of_the_result",
        ],
    ),
    13: Trap(
        "distances over interiors",
        [
            "medotter_bench/metrics/test_traps_metrics.py::test_trap_13_distances_run_between_surfaces_and_not_over_interiors",
        ],
    ),
    14: Trap(
        "the percentile's rank is off",
        [
            "medotter_bench/metrics/test_traps_metrics.py::test_trap_14_the_percentile_of_a_known_list_is_exact",
            "medotter_bench/metrics/test_metrics_equal_slow_twins.py::test_masks_score_as_their_twin",
        ],
    ),
    15: Trap(
        "connectivity of the surface",
        [
            "medotter_bench/metrics/test_traps_metrics.py::test_trap_15_surface_voxels_have_a_face_neighbour_outside",
        ],
    ),
    16: Trap(
        "structures at the border of the image",
        [
            "medotter_bench/metrics/test_traps_metrics.py::test_trap_16_voxels_at_the_edge_of_the_image_are_surface",
        ],
    ),
    17: Trap(
        "a volume of one slice",
        [
            "medotter_bench/metrics/test_traps_metrics.py::test_trap_17_a_volume_of_one_slice_is_a_2d_image",
            "medotter_bench/test_traps_scoring.py::test_trap_17_a_volume_of_one_slice_scores_as_the_plane_that_it_is",
        ],
        "axes of length 1 are dropped whatever `mode` says",
    ),
    18: Trap(
        "percentile 0 means the maximum",
        [
            "medotter_bench/metrics/test_traps_metrics.py::test_trap_18_percentile_is_a_number_from_1_to_100",
            "medotter_bench/test_traps_scoring.py::test_trap_18_a_percentile_of_nothing_is_refused_and_never_the_maximum",
        ],
        "1 to 100, so that 0.95 is refused too",
    ),
    19: Trap(
        "quantiles of long lists in float32",
        [
            "medotter_bench/metrics/test_traps_metrics.py::test_trap_19_percentiles_are_float64_and_take_long_lists",
        ],
    ),
    20: Trap(
        "a distance to an empty mask",
        [
            "medotter_bench/metrics/test_traps_metrics.py::test_trap_20_no_distance_is_measured_to_an_empty_mask",
        ],
    ),
    21: Trap(
        "float values behind an 8-bit header",
        [
            "medotter_bench/inference/test_traps_loading.py::test_a_float_map_behind_an_eight_bit_header_gives_its_labels",
            "medotter_bench/test_traps_scoring.py::test_traps_of_files_an_odd_but_right_file_scores_in_full",
        ],
        "the tolerance is half the slope, and at most a quarter",
    ),
    22: Trap(
        "slope 0 or NaN",
        [
            "medotter_bench/inference/test_traps_loading.py::test_a_slope_that_means_unscaled_scales_nothing",
            "medotter_bench/test_traps_scoring.py::test_traps_of_files_an_odd_but_right_file_scores_in_full",
        ],
    ),
    23: Trap(
        "0.9999 truncated to 0",
        [
            "medotter_bench/inference/test_traps_loading.py::test_almost_one_is_one",
            "medotter_bench/test_traps_scoring.py::test_traps_of_files_an_odd_but_right_file_scores_in_full",
        ],
    ),
    24: Trap(
        "probabilities as labels",
        [
            "medotter_bench/inference/test_traps_loading.py::test_a_probability_map_is_no_label_map",
            "medotter_bench/test_traps_scoring.py::test_traps_of_files_a_wrong_file_is_invalid_takes_the_penalty_and_stops_nothing",
            "medotter_bench/test_traps_scoring.py::test_traps_of_masks_what_cannot_hold_ids_is_invalid",
        ],
    ),
    25: Trap(
        "native against canonical ids",
        [
            "medotter_bench/inference/test_traps_loading.py::test_native_ids_are_left_to_the_label_map",
            "medotter_bench/test_traps_scoring.py::test_traps_of_files_a_wrong_file_is_invalid_takes_the_penalty_and_stops_nothing",
            "medotter_bench/test_bundle_requirements.py::test_a_prediction_in_native_ids_is_invalid_and_its_ids_are_named",
        ],
        "an id outside the label space makes the prediction invalid",
    ),
    26: Trap(
        "64-bit label maps",
        [
            "medotter_bench/inference/test_traps_loading.py::test_sixty_four_bit_maps_are_read",
            "medotter_bench/test_traps_scoring.py::test_traps_of_files_an_odd_but_right_file_scores_in_full",
            "medotter_bench/test_traps_scoring.py::test_traps_of_masks_any_lossless_way_of_writing_the_ids_scores_in_full",
        ],
    ),
    27: Trap(
        "big-endian files",
        [
            "medotter_bench/inference/test_traps_loading.py::test_big_endian_files_end_in_native_order",
            "medotter_bench/test_traps_scoring.py::test_traps_of_files_an_odd_but_right_file_scores_in_full",
        ],
    ),
    28: Trap(
        "equal shape, other affine",
        [
            "medotter_bench/inference/test_traps_loading.py::test_the_same_shape_with_another_orientation_is_refused",
            "medotter_bench/test_engine.py::test_a_flipped_prediction_is_invalid_and_never_resampled",
            "medotter_bench/test_traps_scoring.py::test_traps_of_files_a_wrong_file_is_invalid_takes_the_penalty_and_stops_nothing",
        ],
    ),
    29: Trap(
        "a tolerance that right files fail",
        [
            "medotter_bench/inference/test_traps_loading.py::test_rounding_in_an_affine_is_accepted",
            "medotter_bench/test_traps_scoring.py::test_traps_of_files_an_odd_but_right_file_scores_in_full",
        ],
    ),
    30: Trap(
        "sform against qform",
        [
            "medotter_bench/inference/test_traps_loading.py::test_two_forms_that_disagree_are_refused_and_none_states_no_orientation",
            "medotter_bench/test_traps_scoring.py::test_traps_of_files_a_wrong_file_is_invalid_takes_the_penalty_and_stops_nothing",
        ],
        "two valid forms that disagree are an error, not a warning",
    ),
    31: Trap(
        "spacing as a 32-bit number",
        [
            "medotter_bench/inference/test_traps_loading.py::test_spacing_is_what_the_writer_meant",
        ],
    ),
    32: Trap(
        "spacing 0, negative, NaN, or not in mm",
        [
            "medotter_bench/inference/test_traps_loading.py::test_spacings_that_are_no_length_are_refused_and_units_are_converted",
            "medotter_bench/test_traps_scoring.py::test_traps_of_files_a_wrong_file_is_invalid_takes_the_penalty_and_stops_nothing",
        ],
    ),
    33: Trap(
        "axes of length 1",
        [
            "medotter_bench/inference/test_traps_loading.py::test_only_a_trailing_axis_of_length_one_is_dropped",
            "medotter_bench/test_traps_scoring.py::test_traps_of_files_an_odd_but_right_file_scores_in_full",
            "medotter_bench/test_traps_scoring.py::test_traps_of_files_a_wrong_file_is_invalid_takes_the_penalty_and_stops_nothing",
        ],
    ),
    34: Trap(
        "layered NRRD",
        [
            "medotter_bench/inference/test_traps_loading.py::test_layered_nrrd_is_refused",
        ],
    ),
    35: Trap(
        "another shape",
        [
            "medotter_bench/inference/test_traps_loading.py::test_another_shape_is_refused_with_both_shapes",
            "medotter_bench/test_traps_scoring.py::test_trap_35_both_shapes_are_told",
            "medotter_bench/test_traps_scoring.py::test_traps_of_files_a_wrong_file_is_invalid_takes_the_penalty_and_stops_nothing",
        ],
    ),
    36: Trap(
        "voxels behind an extension",
        [
            "medotter_bench/inference/test_traps_loading.py::test_voxels_behind_an_extension_are_found",
            "medotter_bench/test_traps_scoring.py::test_trap_36_a_prediction_behind_an_extension_is_found_where_vox_offset_says",
        ],
    ),
    37: Trap(
        "truncated gzip",
        [
            "medotter_bench/inference/test_traps_loading.py::test_a_gzip_cut_short_or_with_a_wrong_checksum_is_refused",
            "medotter_bench/test_engine.py::test_a_damaged_prediction_is_invalid",
            "medotter_bench/test_traps_scoring.py::test_traps_of_files_a_wrong_file_is_invalid_takes_the_penalty_and_stops_nothing",
        ],
    ),
    38: Trap(
        "gzip of several members",
        [
            "medotter_bench/inference/test_traps_loading.py::test_every_member_of_a_gzip_is_read",
            "medotter_bench/test_engine.py::test_a_multi_member_gzip_is_read_whole",
            "medotter_bench/test_traps_scoring.py::test_traps_of_files_an_odd_but_right_file_scores_in_full",
        ],
    ),
    39: Trap(
        "bytes after the gzip",
        [
            "medotter_bench/inference/test_traps_loading.py::test_zeros_after_a_gzip_are_padding_and_anything_else_is_not",
            "medotter_bench/test_traps_scoring.py::test_traps_of_files_an_odd_but_right_file_scores_in_full",
            "medotter_bench/test_traps_scoring.py::test_traps_of_files_a_wrong_file_is_invalid_takes_the_penalty_and_stops_nothing",
        ],
    ),
    40: Trap(
        "gzip bomb",
        [
            "medotter_bench/inference/test_traps_loading.py::test_a_gzip_bomb_is_stopped_at_the_size_of_its_header",
            "medotter_bench/test_traps_scoring.py::test_traps_of_files_a_wrong_file_is_invalid_takes_the_penalty_and_stops_nothing",
        ],
    ),
    41: Trap(
        "header bomb",
        [
            "medotter_bench/inference/test_traps_loading.py::test_a_header_bomb_is_refused_from_the_header",
            "medotter_bench/test_traps_scoring.py::test_trap_41_a_header_bomb_is_refused_from_its_header",
        ],
    ),
    42: Trap(
        "compressed or not, whatever the name says",
        [
            "medotter_bench/inference/test_traps_loading.py::test_the_name_does_not_say_whether_a_file_is_compressed",
            "medotter_bench/test_traps_scoring.py::test_traps_of_files_an_odd_but_right_file_scores_in_full",
        ],
    ),
    43: Trap(
        "names that only resemble a case",
        [
            "medotter_bench/inference/test_traps_loading.py::test_a_manifests_path_cannot_leave_its_root",
            "medotter_bench/test_traps_scoring.py::test_trap_43_a_name_that_only_resembles_the_case_is_extra_and_never_taken",
            "medotter_bench/test_traps_scoring.py::test_trap_43_case_ids_that_differ_in_case_alone_are_refused",
            "medotter_bench/test_engine.py::test_two_files_for_one_case_are_both_named",
        ],
    ),
    44: Trap(
        "ids cut at 255 or 65535",
        [
            "medotter_bench/metrics/test_traps_metrics.py::test_trap_44_ids_are_never_narrowed",
            "medotter_bench/inference/test_traps_loading.py::test_ids_cut_off_at_their_types_maximum_are_noted",
            "medotter_bench/test_traps_scoring.py::test_trap_44_ids_cut_to_8_bits_lose_their_object_and_never_join_another",
            "medotter_bench/test_traps_scoring.py::test_traps_of_masks_any_lossless_way_of_writing_the_ids_scores_in_full",
        ],
    ),
    45: Trap(
        "16-bit PNG read as 8-bit",
        [
            "medotter_bench/inference/test_traps_loading.py::test_sixteen_bit_png_keeps_sixteen_bits",
            "medotter_bench/test_traps_scoring.py::test_traps_of_masks_any_lossless_way_of_writing_the_ids_scores_in_full",
        ],
    ),
    46: Trap(
        "ids in colours",
        [
            "medotter_bench/inference/test_traps_loading.py::test_colours_are_read_only_as_declared",
            "medotter_bench/test_engine.py::test_an_rgb_mask_packs_ids_only_where_the_spec_says_so",
            "medotter_bench/test_traps_scoring.py::test_traps_of_masks_any_lossless_way_of_writing_the_ids_scores_in_full",
            "medotter_bench/test_traps_scoring.py::test_traps_of_masks_what_cannot_hold_ids_is_invalid",
        ],
    ),
    47: Trap(
        "lossy masks",
        [
            "medotter_bench/inference/test_traps_loading.py::test_lossy_formats_are_refused_whatever_their_name",
            "medotter_bench/test_traps_scoring.py::test_traps_of_masks_what_cannot_hold_ids_is_invalid",
        ],
    ),
    48: Trap(
        "MATLAB files",
        [
            "medotter_bench/inference/test_traps_loading.py::test_mat_files_are_not_guessed_at",
            "medotter_bench/test_traps_scoring.py::test_trap_48_a_mat_file_is_extra_and_its_case_missing",
        ],
        "not supported: a reference in .mat is refused, a prediction is extra",
    ),
    49: Trap(
        "gaps between ids",
        [
            "medotter_bench/metrics/test_traps_metrics.py::test_trap_49_gaps_in_ids_mean_nothing",
            "medotter_bench/inference/test_traps_loading.py::test_gaps_between_ids_are_kept",
            "medotter_bench/test_traps_scoring.py::test_traps_of_masks_any_lossless_way_of_writing_the_ids_scores_in_full",
        ],
    ),
    50: Trap(
        "one id in two places",
        [
            "medotter_bench/metrics/test_traps_metrics.py::test_trap_50_one_id_in_two_places_is_one_object_and_is_reported",
            "medotter_bench/test_traps_scoring.py::test_trap_50_one_id_in_two_places_is_one_object_and_is_counted",
        ],
    ),
    51: Trap(
        "an IoU exactly at the threshold",
        [
            "medotter_bench/metrics/test_traps_metrics.py::test_trap_51_an_iou_exactly_at_the_threshold_matches_only_under_ge",
            "medotter_bench/test_engine.py::test_an_iou_of_exactly_the_threshold_is_no_match_by_default",
            "golden/test_imaging_vectors.py::test_instance_vector_gives_its_counts_and_scores",
        ],
    ),
    52: Trap(
        "two predictions for one object",
        [
            "medotter_bench/metrics/test_traps_metrics.py::test_trap_52_under_ge_two_predictions_never_match_one_reference",
            "medotter_bench/test_traps_scoring.py::test_trap_52_two_halves_never_both_match_one_object",
        ],
    ),
    53: Trap(
        "thresholds below one half",
        [
            "medotter_bench/metrics/test_traps_metrics.py::test_trap_53_thresholds_below_one_half_are_assigned_one_to_one",
            "medotter_bench/test_bundle_requirements.py::test_a_threshold_below_one_half_pairs_objects_one_to_one",
        ],
    ),
    54: Trap(
        "images without any object",
        [
            "medotter_bench/metrics/test_traps_metrics.py::test_trap_54_no_object_at_all_is_no_number_and_the_table_decides",
            "medotter_bench/test_engine.py::test_an_image_without_objects_is_not_scored_by_default",
            "medotter_bench/test_bundle_requirements.py::test_each_key_of_the_penalty_table_works_for_each_metric",
        ],
        "not scored unless the table gives a number",
    ),
    55: Trap(
        "objects on one side only",
        [
            "medotter_bench/metrics/test_traps_metrics.py::test_trap_55_objects_on_one_side_only_score_0",
            "medotter_bench/test_traps_scoring.py::test_trap_55_objects_on_one_side_only_score_0_for_every_metric",
        ],
    ),
    56: Trap(
        "variants of AJI",
        [
            "medotter_bench/metrics/test_traps_metrics.py::test_trap_56_aji_may_take_a_prediction_twice_and_aji_plus_may_not",
            "golden/test_imaging_vectors.py::test_instance_vector_gives_its_counts_and_scores",
        ],
        "`aji` takes a prediction more than once, `aji_plus` never",
    ),
    57: Trap(
        "missed objects and the union of AJI",
        [
            "medotter_bench/metrics/test_traps_metrics.py::test_trap_57_a_missed_reference_joins_the_union_of_aji",
        ],
    ),
    58: Trap(
        "ties of AJI",
        [
            "medotter_bench/metrics/test_traps_metrics.py::test_trap_58_aji_ties_go_to_the_larger_intersection_then_to_the_smaller_id",
        ],
    ),
    59: Trap(
        "an epsilon in the quality",
        [
            "medotter_bench/metrics/test_traps_metrics.py::test_trap_59_quality_has_no_epsilon",
        ],
    ),
    60: Trap(
        "the mean over tiles against pooled counts",
        [
            "medotter_bench/test_traps_scoring.py::test_trap_60_the_unit_decides_the_mean_and_the_counts_to_pool_are_in_the_rows",
        ],
        "the unit of the spec decides; pooled counts follow from the rows and are no aggregate",
    ),
    61: Trap(
        "volumes scored slice by slice",
        [
            "medotter_bench/metrics/test_traps_metrics.py::test_trap_61_a_volume_is_one_table_and_not_a_stack_of_slices",
            "medotter_bench/inference/test_traps_loading.py::test_a_stack_is_one_volume_and_not_slices",
            "medotter_bench/test_traps_scoring.py::test_trap_61_a_stack_is_scored_as_one_volume",
        ],
    ),
    62: Trap(
        "background as a class",
        [
            "medotter_bench/test_traps_scoring.py::test_trap_62_background_is_no_region_and_adds_nothing_to_any_mean",
        ],
    ),
}
