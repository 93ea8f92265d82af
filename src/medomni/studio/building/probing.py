"""The probes of a pair before anything is rendered: its evidence, its answers, and what it must not show.

Leaves to others: each probe (`probes`), the rendered bytes (`rendering`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil

from medomni.core.issues import Issue, warning
from medomni.studio.content.opened import OpenPair
from medomni.studio.data.connection import as_our_errors, quoted
from medomni.studio.data.store import StoredTable
from medomni.studio.draw import Drawn, Row
from medomni.studio.dummy import canaries as planted
from medomni.studio.evidence.model import Evidence
from medomni.studio.probes import single_feature
from medomni.studio.probes.blindness import Make, blindness_issues
from medomni.studio.probes.features import Feature, FeatureTable
from medomni.studio.probes.forbidden import (
    Forbidden,
    canaries,
    dates,
    evidence_issues,
    identity,
    restated,
)

_MAX_SINGLE_FEATURE = 0.95


@dataclass(frozen=True, slots=True)
class Gathered:
    """The evidence of a pair.

    Attributes:
        evidence: Of the drawn, in their order.
        features: Of the eligible patients who were asked.
    """

    evidence: tuple[Evidence, ...]
    features: FeatureTable


def asked(eligible: Sequence[Row], opened: OpenPair) -> list[Row]:
    """The eligible patients whom the single-feature probe asks, classes as even as they can be.

    Args:
        eligible: In the order of their hash, which no answer decides.
        opened: The pair.
    """
    size = single_feature.SIZES[opened.store.release_class]
    if size is None or len(eligible) <= size:
        return list(eligible)
    leading = opened.cohort.strata_label or opened.bounds[0].label.name
    if opened.library.label(leading).label.kind == "number":
        return list(eligible[:size])
    classes = sorted({row.value for row in eligible})
    quota = ceil(size / len(classes))
    first = {id(row) for each in classes for row in [r for r in eligible if r.value == each][:quota]}
    rest = [row for row in eligible if id(row) not in first]
    taken = first | {id(row) for row in rest[: max(0, size - len(first))]}
    return [row for row in eligible if id(row) in taken]


def gather_all(
    opened: OpenPair,
    drawn: Sequence[Drawn],
    eligible: Sequence[Row],
    make: Make,
    *,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Gathered:
    """The evidence of the drawn, and the features of those asked, in one pass over the tables.

    Args:
        opened: The pair.
        drawn: Its atoms.
        eligible: Everybody who could have been drawn.
        make: Makes evidence.
        progress: Told how many of how many are gathered.
    """
    sample = {row.subject: row for row in asked(eligible, opened)}
    mine = {each.subject: each for each in drawn}
    others = [
        Drawn(row.subject, row.prediction_time, row.key, row.value, "")
        for row in sample.values()
        if row.subject not in mine
    ]
    codes = {name: table.code for name, table in opened.library.dataset.tables.items()}
    features = FeatureTable(codes)
    kept: list[Evidence] = []
    everybody = [*drawn, *others]
    for done, (each, evidence) in enumerate(zip(everybody, make(everybody), strict=True), start=1):
        progress(done, len(everybody))
        if each.subject in mine:
            kept.append(evidence)
        if each.subject in sample:
            features.add(evidence, _answers(sample[each.subject], opened))
    return Gathered(tuple(kept), features)


def _answers(row: Row, opened: OpenPair) -> dict[str, float]:
    names = [bound.label.name for bound in opened.bounds]
    return {name: float(row.answers.get(name, row.value)) for name in names}


def forbidden_of(
    opened: OpenPair, drawn: Sequence[Drawn], names: Mapping[int, str]
) -> dict[str, list[Forbidden]]:
    """What must not be found in anything that the agent of each atom sees.

    Args:
        opened: The pair.
        drawn: Its atoms.
        names: Patient to atom.
    """
    shared = [dates()]
    for bound in opened.bounds:
        pattern = bound.label.probes.get("forbid_regex")
        if pattern:
            shared.append(restated(bound.label.name, pattern, bound.label.probes.get("allow", ())))
    if opened.store.release_class == "dummy":
        shared += canaries(*planted(opened.library.dataset.name, opened.pair.template))
    ids = _ids(opened, [each.subject for each in drawn])
    return {
        names[subject]: [*shared, *identity(each, atom=names[subject], pair=opened.pair)]
        for subject, each in ids.items()
    }


def probe(
    opened: OpenPair,
    drawn: Sequence[Drawn],
    names: Mapping[int, str],
    gathered: Gathered,
    *,
    forbidden: Mapping[str, Sequence[Forbidden]],
    make: Make,
) -> Iterator[Issue]:
    """Everything that the probes find in the evidence.

    Args:
        opened: The pair.
        drawn: Its atoms with their answers.
        names: Patient to atom.
        gathered: The evidence.
        forbidden: Atom to what must not be found.
        make: Makes evidence again, with permuted answers.
    """
    for each, evidence in zip(drawn, gathered.evidence, strict=True):
        atom = names[each.subject]
        yield from evidence_issues(atom, evidence, forbidden[atom])
    yield from _single_features(opened, drawn, names, gathered)
    yield from blindness_issues(drawn, names, gathered.evidence, make)


def _single_features(
    opened: OpenPair, drawn: Sequence[Drawn], names: Mapping[int, str], gathered: Gathered
) -> Iterator[Issue]:
    release_class = opened.store.release_class
    size = single_feature.SIZES[release_class]
    people = gathered.features.people
    if size is not None and people < size:
        what = f"only {people} eligible patients can be asked for single features, and {size} should be"
        yield warning("probe-few-patients", str(opened.pair), what)
    for label in (bound.label for bound in opened.bounds):
        yield from single_feature.single_feature_issues(
            gathered.features,
            label.name,
            kind=label.kind,
            fails_from=float(label.probes.get("max_single_feature", _MAX_SINGLE_FEATURE)),
            release_class=release_class,
            where=lambda feature: _example(feature, drawn, names, gathered),
        )


def _example(feature: Feature, drawn: Sequence[Drawn], names: Mapping[int, str], gathered: Gathered) -> str:
    """Atom, table, column and row where a feature is first seen."""
    place = f"{feature.table}.{feature.column}" if feature.column else feature.table
    for each, evidence in zip(drawn, gathered.evidence, strict=True):
        row = gathered.features.row_of(evidence, feature)
        if row:
            return f"{names[each.subject]}: {place}, row {row}"
    return f"{place}, in other eligible patients alone"


def _ids(opened: OpenPair, subjects: Sequence[int]) -> dict[int, set[str]]:
    """Each patient's id, and those of admissions and stays."""
    found = {subject: {str(subject)} for subject in subjects}
    connection = opened.store.connect()
    try:
        with as_our_errors("reading the patients' ids"):
            for table in opened.store.store.tables.values():
                known = table.definition
                # The table whose key an id is has all of that kind.
                key = known.key[0] if len(known.key) == 1 else None
                if (
                    table.present
                    and known.patient is not None
                    and key in {known.admission, known.stay} - {None}
                ):
                    for subject, text in connection.execute(_ids_query(table, subjects)).fetchall():
                        found[int(subject)].add(str(text))
    finally:
        connection.close()
    return found


def _ids_query(table: StoredTable, subjects: Sequence[int]) -> str:
    known = table.definition
    patient, key = quoted(str(known.patient)), quoted(known.key[0])
    view = quoted(f"{table.name}@by_patient")
    numbers = ", ".join(str(int(each)) for each in subjects)
    # Names come from the dataset's own definition.
    return f"SELECT {patient}, CAST({key} AS VARCHAR) FROM {view} WHERE {patient} IN ({numbers})"  # noqa: S608
