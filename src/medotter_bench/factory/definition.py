"""`factory.yaml` as typed objects: source datasets, split, tiers, skipped cases, generated data.

Read strictly: unknown keys are refused and all problems are reported at once. Leaves to others: finding
files (`scan`), splitting (`split`), what the `dummy` block means (`dummy_spec`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from medomni.core.errors import DocumentNotFoundError
from medomni.core.files import read_yaml
from medotter_bench.errors import BundleNotFoundError
from medotter_bench.factory.dummy_spec import DummySpec, read_dummy
from medotter_bench.factory.errors import FactoryError
from medotter_bench.factory.fields import Fields, Findings
from medotter_bench.factory.patterns import Pattern, PatternError, field_names
from medotter_bench.factory.versions import parse_version

FACTORY = "factory.yaml"
SCHEMA = "medotter/factory/1"
POLICIES = ("by_patient", "by_dataset", "fixed")
SPLITS = ("train", "test")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
_TOP = ("schema", "version", "split_version", "datasets", "split", "tiers", "skip", "same_patient", "dummy")
_DATASET = (
    "licence", "citation", "url", "image", "chan", "seg", "case", "patient", "series", "region", "only",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class PatientRule:
    """How the patient's id follows from the fields of a path: a template, then possibly a regex on it."""

    template: str
    regex: re.Pattern[str] | None = None


@dataclass(frozen=True, slots=True)
class Dataset:
    """One source dataset: where its files lie below the data root and what their names say.

    Attributes:
        image: Pattern of the input where it is one file, else None.
        chan: Channel name -> pattern, in channel order, where the input is several files.
        seg: Pattern of the reference mask.
        case: Template of the case's name; the case id is `<dataset>/<case>`.
        patient: Rule of the patient's id; None where patients are not known (each case is its own).
        series: Template of the series' id; None where there is none.
        has_series: Whether the manifest gets a `series_uid` at all.
        region: The one region that its cases score, or None.
        only: Field -> regex that its whole text must match; files of other fields are not of this dataset.
    """

    name: str
    licence: str
    citation: str
    url: str
    image: Pattern | None
    chan: Mapping[str, Pattern]
    seg: Pattern
    case: str
    patient: PatientRule | None
    series: str | None
    has_series: bool
    region: str | None
    only: Mapping[str, re.Pattern[str]]

    @property
    def roles(self) -> dict[str, Pattern]:
        """Every file of a case: `image` or `chan <name>` in channel order, then `seg`."""
        inputs = {f"chan {name}": pattern for name, pattern in self.chan.items()}
        if self.image is not None:
            inputs = {"image": self.image}
        return {**inputs, "seg": self.seg}


@dataclass(frozen=True, slots=True)
class SplitRule:
    """How cases are split: by seeded hash of the patient, by dataset, or by fixed lists of case ids."""

    policy: str
    seed: int = 0
    test_fraction: float = 0.0
    lists: Mapping[str, tuple[str, ...]] | None = None


@dataclass(frozen=True, slots=True)
class Factory:
    """A whole `factory.yaml`."""

    name: str
    version: str
    split_version: str
    datasets: Mapping[str, Dataset]
    split: SplitRule
    tiers: Mapping[str, str]
    skip: Mapping[str, str]
    same_patient: tuple[tuple[str, ...], ...]
    dummy: Mapping[str, DummySpec]


def read_factory(bundle_dir: str | Path) -> Factory:
    """Reads `factory.yaml` of a bundle.

    Raises:
        BundleNotFoundError: there is none.
        FactoryError: it is malformed; lists all problems (codes `factory-…`).
        DocumentError: it is no strict YAML.
    """
    folder = Path(bundle_dir)
    try:
        document = read_yaml(folder / FACTORY)
    except DocumentNotFoundError as missing:
        hint = "a vendored bundle has none; the factory side lies in benchmarks/"
        raise BundleNotFoundError(f"no {FACTORY} in this bundle", where=str(folder), hint=hint) from missing
    findings = Findings(document)
    factory = _read(Fields(document.value, findings, (), _TOP), folder.resolve().name)
    if findings.issues:
        count = len(findings.issues)
        raise FactoryError(f"{count} problem{'s'[: count > 1]} in {FACTORY}", issues=findings.issues)
    return factory


def _read(top: Fields, name: str) -> Factory:
    if top.text("schema") not in ("", SCHEMA):
        top.problem("factory-schema", f"schema must be {SCHEMA}, found {top.value['schema']!r}", "schema")
    version = top.text("version")
    if version and parse_version(version) is None:
        top.problem("factory-version", f"version {version!r} is not like 1.2.3 or 1.2.3-rc.1", "version")
    datasets = _datasets(top)
    factory = Factory(
        name=name,
        version=version,
        split_version=top.text("split_version"),
        datasets=datasets,
        split=_split(top, datasets),
        tiers=_tiers(top),
        skip=_skip(top),
        same_patient=_same_patient(top),
        dummy=read_dummy(top.inner("dummy", None)),
    )
    _check_names(top, factory)
    return factory


def _datasets(top: Fields) -> dict[str, Dataset]:
    block = top.inner("datasets", None, required=True)
    if block is None:
        return {}
    if not block.value:
        block.problem("factory-required", "datasets names no dataset")
    datasets = {}
    for name, entry in block.each(_DATASET):
        if not _NAME.fullmatch(name):
            entry.problem("factory-name", f"dataset name {name!r} may hold letters, digits, _ . and - only")
        datasets[name] = _dataset(name, entry)
    return datasets


def _dataset(name: str, entry: Fields) -> Dataset:
    chan = entry.inner("chan", None)
    if entry.has("image") == entry.has("chan"):
        entry.problem("factory-required", f"{name}: exactly one of image and chan says where inputs lie")
    seg = _pattern(entry, "seg")
    dataset = Dataset(
        name=name,
        licence=entry.text("licence"),
        citation=entry.text("citation"),
        url=entry.text("url", required=False),
        image=_pattern(entry, "image") if entry.has("image") else None,
        chan={key: _pattern(chan, key) for key in chan.value if isinstance(key, str)} if chan else {},
        seg=seg,
        case=_template(entry, "case", seg.fields) if entry.has("case") else entry.text("case"),
        patient=_patient(entry, seg.fields),
        series=_template(entry, "series", seg.fields) if entry.value.get("series") is not None else None,
        has_series=entry.has("series"),
        region=entry.text("region", required=False) or None,
        only=_only(entry, seg.fields),
    )
    for role, pattern in dataset.roles.items():
        if set(pattern.fields) != set(seg.fields):
            what = f"{name}: {role} has the fields {list(pattern.fields)} and seg has {list(seg.fields)}"
            entry.problem("factory-fields", what, hint="every pattern of a dataset needs the same fields")
    return dataset


def _pattern(entry: Fields, key: str) -> Pattern:
    try:
        return Pattern.parse(text) if (text := entry.text(key)) else Pattern.parse("missing")
    except PatternError as fault:
        entry.problem("factory-pattern", str(fault), key)
        return Pattern.parse("wrong")


def _template(entry: Fields, key: str, fields: tuple[str, ...]) -> str:
    template = entry.text(key)
    try:
        unknown = [name for name in field_names(template) if name not in fields]
    except PatternError as fault:
        entry.problem("factory-pattern", str(fault), key)
        return ""
    if unknown:
        what = (
            f"{key} uses {', '.join(unknown)}, and the patterns have only {', '.join(fields) or 'no field'}"
        )
        entry.problem("factory-fields", what, key)
    return template


def _patient(entry: Fields, fields: tuple[str, ...]) -> PatientRule | None:
    if not entry.has("patient"):
        entry.problem("factory-required", "patient is missing", hint="write null where patients are unknown")
        return None
    if not isinstance(entry.value["patient"], dict):
        found = entry.value["patient"]
        return None if found is None else PatientRule(_template(entry, "patient", fields))
    rule = Fields(entry.value["patient"], entry.findings, (*entry.path, "patient"), ("from", "regex"))
    regex = _regex(rule, "regex", rule.text("regex"))
    if regex is not None and regex.groups != 1:
        rule.problem("factory-pattern", "regex must have exactly one group, the patient's id", "regex")
    return PatientRule(_template(rule, "from", fields), regex)


def _regex(entry: Fields, key: str, text: str) -> re.Pattern[str] | None:
    try:
        return re.compile(text)
    except re.error as fault:
        entry.problem("factory-pattern", f"{key} is no regular expression: {fault}", key)
        return None


def _only(entry: Fields, fields: tuple[str, ...]) -> dict[str, re.Pattern[str]]:
    block = entry.inner("only", fields)
    if block is None:
        return {}
    found = {key: _regex(block, key, block.text(key)) for key in block.value if key in fields}
    return {key: regex for key, regex in found.items() if regex is not None}


def _split(top: Fields, datasets: Mapping[str, Any]) -> SplitRule:
    block = top.inner("split", ("policy", "seed", "test_fraction", "datasets", "cases"), required=True)
    if block is None:
        return SplitRule("fixed")
    policy = block.choice("policy", POLICIES)
    wanted = {"by_patient": {"seed", "test_fraction"}, "by_dataset": {"datasets"}, "fixed": {"cases"}}[policy]
    for key in ("seed", "test_fraction", "datasets", "cases"):
        if block.has(key) and key not in wanted:
            block.problem("factory-unknown-key", f"{key} means nothing to the policy {policy}", key)
        elif not block.has(key) and key in wanted:
            block.problem("factory-required", f"the policy {policy} needs {key}")
    if policy == "by_patient":
        return SplitRule(policy, block.integer("seed", 0), _fraction(block))
    key = "datasets" if policy == "by_dataset" else "cases"
    inner = block.inner(key, SPLITS)
    lists = {split: tuple(inner.items(split, str, "text") if inner else ()) for split in SPLITS}
    _check_lists(block, key, lists, datasets)
    return SplitRule(policy, lists=lists)


def _fraction(block: Fields) -> float:
    found = block.value.get("test_fraction", 0.5)
    if isinstance(found, bool) or not isinstance(found, int | float) or not 0 < found <= 1:
        block.problem(
            "factory-range", f"test_fraction must be above 0 and at most 1, found {found!r}", "test_fraction"
        )
        return 0.5
    return float(found)


def _check_lists(
    block: Fields, key: str, lists: Mapping[str, tuple[str, ...]], datasets: Mapping[str, Any]
) -> None:
    entries = [entry for split in SPLITS for entry in lists[split]]
    for entry in sorted({entry for entry in entries if entries.count(entry) > 1}):
        block.problem("factory-split", f"{entry!r} stands twice in the lists", key)
    for entry in dict.fromkeys(entries):
        if entry.split("/")[0] not in datasets:
            block.problem("factory-split", f"{entry!r} names no dataset of this file", key)
    if key == "datasets":
        for name in datasets:
            if name not in entries:
                block.problem("factory-split", f"dataset {name!r} is in neither list", key)


def _tiers(top: Fields) -> dict[str, str]:
    block = top.inner("tiers", None)
    return {key: block.text(key) for key in block.value if isinstance(key, str)} if block else {}


def _skip(top: Fields) -> dict[str, str]:
    skip: dict[str, str] = {}
    for index, value in enumerate(top.items("skip", dict, "{case, reason}")):
        entry = Fields(value, top.findings, ("skip", index), ("case", "reason"))
        case = entry.text("case")
        if case in skip:
            entry.problem("factory-split", f"{case!r} is skipped twice", "case")
        skip[case] = entry.text("reason")
    return skip


def _same_patient(top: Fields) -> tuple[tuple[str, ...], ...]:
    groups = top.items("same_patient", list, "a list of <dataset>/<patient>")
    for index, group in enumerate(groups):
        if len(group) < 2 or not all(isinstance(key, str) and "/" in key for key in group):
            what = "a group of same_patient must list two or more <dataset>/<patient>"
            top.findings.add("factory-type", ("same_patient", index), what)
    return tuple(tuple(str(key) for key in group) for group in groups)


def _check_names(top: Fields, factory: Factory) -> None:
    for key, names in (("tiers", factory.tiers), ("dummy", factory.dummy)):
        for name in names:
            if name not in factory.datasets:
                top.findings.add(
                    "factory-name", (key, name), f"{key} names {name!r}, which is no dataset here"
                )
    if factory.tiers:
        for name in factory.datasets:
            if name not in factory.tiers:
                top.problem("factory-required", f"tiers says nothing of the dataset {name!r}", "tiers")
    for case in factory.skip:
        if case.split("/")[0] not in factory.datasets:
            top.problem("factory-name", f"skip names {case!r}, which is of no dataset here", "skip")
    for name, spec in factory.dummy.items():
        fields = factory.datasets[name].seg.fields if name in factory.datasets else tuple(spec.fields)
        if set(spec.fields) != set(fields):
            what = f"fields of {name} must be {list(fields)}, found {list(spec.fields)}"
            top.findings.add("factory-fields", ("dummy", name, "fields"), what)
