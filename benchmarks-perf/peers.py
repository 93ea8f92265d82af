"""The other side: times other packages, in their own environment, on arrays that it is told to load.

A program that reads one JSON object per line and answers with one: `{"do": "versions"}`, `{"do": "load",
...}`, `{"do": "time", "peer": ...}`. What a package needs (masks, tensors, evaluators) is made when it is
first asked, outside of the time. Runs with the peers' Python and needs nothing of this project. Leaves to
others: the rounds (`timing`) and which peer is asked when (`peer_process`).
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from importlib import import_module, metadata
from typing import Any

import numpy as np

Values = dict[str, list[Any]]
PACKAGES = {
    "surface-distance": "surface_distance",
    "monai": "monai.metrics",
    "panoptica": "panoptica",
    "stardist": "stardist.matching",
}


class Inputs:
    """Two label maps; regions are unions of ids, and absent where every id is an object."""

    def __init__(self, request: dict[str, Any]) -> None:
        self.reference = np.load(request["reference"])
        self.prediction = np.load(request["prediction"])
        self.spacing = tuple(request["spacing"])
        self.regions = request.get("regions")
        self._masks: list[tuple[Any, Any]] | None = None
        self.prepared: dict[str, Callable[[], Values]] = {}

    @property
    def masks(self) -> list[tuple[Any, Any]]:
        """Boolean masks of each region, reference first."""
        if self._masks is None:
            self._masks = [
                (np.isin(self.reference, ids), np.isin(self.prediction, ids)) for ids in self.regions.values()
            ]
        return self._masks


def surface_distance(inputs: Inputs) -> Callable[[], Values]:
    """Dice and robust Hausdorff distance; its surfaces have areas, so its hd95 is another number."""
    import surface_distance as package

    def run() -> Values:
        dice, hd95 = [], []
        for reference, prediction in inputs.masks:
            found = package.compute_surface_distances(reference, prediction, inputs.spacing)
            hd95.append(package.compute_robust_hausdorff(found, 95))
            dice.append(package.compute_dice_coefficient(reference, prediction))
        return {"dice": dice, "hd95": hd95}

    _ = inputs.masks
    return run


def monai(inputs: Inputs) -> Callable[[], Values]:
    """DiceMetric and HausdorffDistanceMetric on one batch whose channels are the regions."""
    import torch
    from monai.metrics import DiceMetric, HausdorffDistanceMetric

    torch.set_num_threads(1)
    reference, prediction = (
        torch.from_numpy(np.stack([pair[side] for pair in inputs.masks])[None]) for side in (0, 1)
    )

    def run() -> Values:
        dice = DiceMetric(include_background=True, reduction="none")
        hd95 = HausdorffDistanceMetric(include_background=True, percentile=95, reduction="none")
        found = dice(prediction, reference), hd95(prediction, reference, spacing=inputs.spacing)
        return {"dice": found[0][0].tolist(), "hd95": found[1][0].tolist()}

    return run


def panoptica(inputs: Inputs) -> Callable[[], Values]:
    """Its evaluator: each region as one matched object, or all objects by its threshold matcher."""
    from panoptica import InputType, Metric, NaiveThresholdMatching, Panoptica_Evaluator

    if inputs.regions is None:
        matcher = Panoptica_Evaluator(
            expected_input=InputType.UNMATCHED_INSTANCE,
            instance_matcher=NaiveThresholdMatching(),
            instance_metrics=[Metric.IOU],
            global_metrics=[],
        )

        def count() -> Values:
            found = matcher.evaluate(inputs.prediction, inputs.reference, result_all=False)["ungrouped"]
            return {"f1": [found.rq], "pq": [found.pq]}

        return count

    evaluator = Panoptica_Evaluator(
        expected_input=InputType.MATCHED_INSTANCE,
        instance_metrics=[Metric.DSC, Metric.HD95],
        global_metrics=[],
    )
    pairs = [(a.astype(np.uint8), b.astype(np.uint8)) for a, b in inputs.masks]

    def run() -> Values:
        found = [
            evaluator.evaluate(prediction, reference, result_all=False, voxelspacing=inputs.spacing)
            for reference, prediction in pairs
        ]
        results = [groups["ungrouped"] for groups in found]
        return {"dice": [r.sq_dsc for r in results], "hd95": [r.sq_hd95 for r in results]}

    return run


def stardist(inputs: Inputs) -> Callable[[], Values]:
    """`matching` at an IoU of 0.5."""
    from stardist.matching import matching

    def run() -> Values:
        found = matching(inputs.reference, inputs.prediction, thresh=0.5)
        return {"f1": [found.f1], "pq": [found.panoptic_quality]}

    return run


PEERS = {"surface-distance": surface_distance, "monai": monai, "panoptica": panoptica, "stardist": stardist}


class Program:
    """Answers requests."""

    def __init__(self) -> None:
        self.inputs: Inputs | None = None

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """One request's answer."""
        if request["do"] == "versions":
            return versions()
        if request["do"] == "load":
            self.inputs = None
            self.inputs = Inputs(request)
            return {}
        if self.inputs is None:
            return {"error": "nothing is loaded"}
        return timed(self.inputs, request["peer"])


def versions() -> dict[str, Any]:
    """Versions of the peers that work, and why the others do not."""
    found, missing = {}, {}
    for name, module in PACKAGES.items():
        try:
            import_module(module)
            found[name] = metadata.version(name)
        except Exception as failure:  # noqa: BLE001 - a stranger's module may raise anything
            missing[name] = f"{type(failure).__name__}: {failure}"
    return {"versions": found, "missing": missing}


def timed(inputs: Inputs, peer: str) -> dict[str, Any]:
    """Run one peer on what is loaded."""
    if peer not in inputs.prepared:
        inputs.prepared[peer] = PEERS[peer](inputs)
    wall, cpu = time.perf_counter(), time.process_time()
    values = inputs.prepared[peer]()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    plain = {name: [float(number) for number in numbers] for name, numbers in values.items()}
    return {"wall_sec": wall, "cpu_sec": cpu, "values": plain}


def main() -> int:
    """Answer until there are no more requests. What packages print goes to standard error."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    program = Program()
    for line in sys.stdin:
        try:
            answer = program.answer(json.loads(line))
        except Exception as failure:  # noqa: BLE001 - the other peers go on
            answer = {"error": f"{type(failure).__name__}: {failure}"}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
