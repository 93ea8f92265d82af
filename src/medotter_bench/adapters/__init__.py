"""Adapters, one per task type. Importing this package fills the registry.

`seg`, `instance_seg_2d` and `instance_seg_3d` score; `cls`, `det` and `vlm` are stubs that refuse.
"""

from __future__ import annotations

from medotter_bench.adapters import registry
from medotter_bench.adapters.instances import InstanceAdapter
from medotter_bench.adapters.seg import SegAdapter
from medotter_bench.adapters.stubs import StubAdapter

__all__ = ["registry"]

registry.register(SegAdapter())
registry.register(InstanceAdapter("instance_seg_2d", ("instance_mask2d", "instance_rgb24")))
registry.register(InstanceAdapter("instance_seg_3d", ("instance_mask3d", "nifti", "nrrd")))
for _name in ("cls", "det", "vlm"):
    registry.register(StubAdapter(_name))
