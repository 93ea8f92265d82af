"""Which file names a prediction may have, by `prediction_format.type`.

Leaves to others: finding files (`engine`), and what is inside them (`reading`).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

SUFFIXES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "nifti": (".nii.gz", ".nii"),
        "nrrd": (".nrrd", ".mha"),
        "instance_mask2d": (".png", ".tif", ".tiff", ".npy"),
        "instance_mask3d": (".nii.gz", ".tif", ".npy", ".npz"),
        "instance_rgb24": (".png",),
    }
)

# What a suffix promises; a file without one of these is taken by its content alone.
FAMILIES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        ".nii.gz": ("nifti",),
        ".nii": ("nifti",),
        ".nrrd": ("nrrd",),
        ".mha": ("mha",),
        ".png": ("png", "jpeg"),
        ".jpg": ("jpeg", "png"),
        ".jpeg": ("jpeg", "png"),
        ".tif": ("tiff",),
        ".tiff": ("tiff",),
        ".npy": ("npy",),
        ".npz": ("npz",),
    }
)


def families_of(name: str) -> tuple[str, ...]:
    """The formats that a file called `name` may hold; empty where its suffix promises none."""
    lowered = name.lower()
    return next((kinds for suffix, kinds in FAMILIES.items() if lowered.endswith(suffix)), ())
