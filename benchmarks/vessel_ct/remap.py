"""Native label ids of the source datasets to the canonical ids of `vessel_ct`.

Canonical: 1 aorta, 2 inferior vena cava, 3 portal and splenic vein. Every other id becomes background.
Leaves to others: loading the label map, and scoring (`scoring.py`).

Source: label lists as published. BTCV: Synapse syn3193805. FLARE22: challenge page. TotalSegmentator v2: the
class maps `total` and `total_mr` of its repository.
"""

import numpy as np

CANONICAL = {"aorta": 1, "inferior_vena_cava": 2, "portal_splenic_vein": 3}
NATIVE_TO_CANONICAL = {
    "BTCV": {8: 1, 9: 2, 10: 3},
    "FLARE22": {5: 1, 6: 2},  # labels no portal or splenic vein
    "TotalSegmentator": {52: 1, 63: 2, 64: 3},
    "TotalSegmentator_MRI": {23: 1, 24: 2, 25: 3},
}


def remap(label_map, meta):
    """The label map in canonical ids.

    Args:
        label_map: Integer array (X, Y, Z) of native ids.
        meta: The case's entry in the manifest; its `dataset` selects the map.

    Raises:
        ValueError: the dataset is none of this bundle's.
    """
    dataset = meta["dataset"]
    if dataset not in NATIVE_TO_CANONICAL:
        raise ValueError(f"vessel_ct knows no label ids of the dataset {dataset!r}")
    label_map = np.asarray(label_map)
    canonical = np.zeros(label_map.shape, np.uint8)
    for native, target in NATIVE_TO_CANONICAL[dataset].items():
        canonical[label_map == native] = target
    return canonical
