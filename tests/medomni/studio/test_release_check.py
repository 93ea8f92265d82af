"""`task check --release`: what a pinned pair may change without a higher N, and what it may not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from release_builders import DAYS, DEMO, IMPORTED, STAGE, frozen_workspace, mini, with_sets, write_set
from studio_builders import edit
from typer.testing import CliRunner

from medomni.cli import app
from medomni.core.hashing import task_set_hash
from medomni.core.releases import version_order
from medomni.core.workspace import Workspace
from medomni.studio.release.check import ReleaseCheck, check_release

TASK = "mini_stage"


@pytest.fixture
def place(tmp_path_factory: pytest.TempPathFactory, tmp_path: Path) -> Workspace:
    return frozen_workspace(tmp_path_factory, tmp_path / "w")


def cohort(place: Workspace) -> Path:
    return place.template("mini", TASK) / "cohorts" / "n20.yaml"


def template(place: Workspace) -> Path:
    return place.template("mini", TASK) / "template.yaml"


def raise_n(path: Path) -> None:
    edit(path, "\nversion: 1\n", "\nversion: 2\n")


def codes(check: ReleaseCheck) -> list[str]:
    return [issue.code for issue in check.issues]


def states(check: ReleaseCheck) -> dict[str, str]:
    return {str(each.pair): each.state for each in check.pairs}


def command(place: Workspace, *arguments: str) -> tuple[int, str]:
    given = ["studio", "task", "check", "--release", *arguments, "--workspace", str(place.root)]
    result = CliRunner().invoke(app, given)
    return result.exit_code, result.output


def test_nothing_changed_passes_and_needs_neither_data_nor_builds(place: Workspace) -> None:
    check = check_release(place)
    assert check.ok
    assert check.against == "0.3.0"
    assert states(check) == {STAGE: "unchanged", DEMO: "unchanged", DAYS: "unchanged"}
    assert not place.cache.exists()
    assert not place.atomtasks.exists()


def test_before_the_first_release_everything_is_new(tmp_path: Path) -> None:
    place = with_sets(mini(tmp_path / "w"))
    code, out = command(place)
    assert code == 0
    assert "no release is frozen yet: this is the first" in out
    assert f"{STAGE} v1: new" in out


def test_a_changed_cohort_without_a_higher_n_fails_and_names_its_fields(place: Workspace) -> None:
    edit(cohort(place), "per: 5", "per: 2")
    edit(cohort(place), "\nn: 15", "\nn: 6")
    check = check_release(place)
    (issue,) = check.issues
    assert issue.code == "release-cohort-changed"
    assert issue.where == place.relative(cohort(place))
    assert "strata.per: 5 → 2; n: 15 → 6" in issue.what
    assert f"{STAGE} (N = 1)" in issue.what
    assert states(check) == {STAGE: "changed", DEMO: "unchanged", DAYS: "unchanged"}
    code, out = command(place)
    assert code == 1
    assert "error[release-cohort-changed]" in out


def test_a_changed_label_fails(place: Workspace) -> None:
    edit(place.label("mini", "stage"), "trigger - 90d", "trigger - 91d")
    (issue,) = check_release(place).issues
    assert issue.code == "release-label-changed"
    assert 'windows.earlier.end: "trigger - 90d" → "trigger - 91d"' in issue.what


def test_a_changed_recipe_that_the_label_reaches_fails(place: Workspace) -> None:
    edit(place.recipe("mini", "events"), "value_max: 150", "value_max: 100")
    (issue,) = check_release(place).issues
    assert issue.code == "release-recipe-changed"
    assert "the recipe events" in issue.what
    assert DAYS not in issue.what


@pytest.mark.parametrize(
    ("recipe", "old", "new"),
    [
        ("tables", "    timeless: true\n", "    timeless: true\n    undated: [sex]\n"),
        ("families", "  events: [", "  happenings: ["),
    ],
)  # fmt: skip
def test_tables_and_families_are_recipes_of_every_pair(
    place: Workspace, recipe: str, old: str, new: str
) -> None:
    edit(place.recipe("mini", recipe), old, new)
    (issue,) = check_release(place).issues
    assert issue.code == "release-recipe-changed"
    assert f"the recipe {recipe}" in issue.what
    # Told once, with every pair that it concerns.
    assert f"{DAYS} (N = 1), {DEMO} (N = 1), {STAGE} (N = 1)" in issue.what


def test_a_recipe_that_no_pinned_label_reaches_may_change(place: Workspace) -> None:
    edit(place.recipe("mini", "other"), "version: 1", "version: 2")
    assert check_release(place).ok


def test_changed_targets_fail(place: Workspace) -> None:
    edit(template(place), "  - name: stage", "  - name: class")
    assert set(codes(check_release(place))) == {"release-targets-changed", "release-scoring-changed"}
    edit(template(place), "  - name: class", "  - question: Another?\n    name: stage")
    assert codes(check_release(place)) == ["release-targets-changed"]


def test_changed_scoring_fails(place: Workspace) -> None:
    edit(place.label("mini", "days"), "unit: days", "unit: weeks")
    check = check_release(place)
    assert codes(check) == ["release-scoring-changed", "release-label-changed"]
    assert 'targets.days.unit: "days" → "weeks"' in check.issues[0].what


def test_another_dataset_release_fails(place: Workspace) -> None:
    edit(cohort(place).with_name("demo.yaml"), "release: mini/demo-1", "release: mini/dummy-1")
    (issue,) = check_release(place).issues
    assert issue.code == "release-dataset-changed"
    assert "release: mini/demo-1 → mini/dummy-1" in issue.what
    raise_n(cohort(place).with_name("demo.yaml"))
    assert check_release(place).ok


def test_a_higher_n_may_change_everything(place: Workspace) -> None:
    raise_n(cohort(place))
    edit(cohort(place), "per: 5", "per: 2")
    edit(cohort(place), "\nn: 15", "\nn: 6")
    edit(place.label("mini", "stage"), "trigger - 90d", "trigger - 91d")
    raise_n(cohort(place).with_name("demo.yaml"))
    write_set(place, "v2", {STAGE: 2})
    check = check_release(place)
    assert check.ok, check.issues
    # The old sets go on pinning N = 1, which the release that pinned it builds.
    assert states(check) == {STAGE: "N rose", DEMO: "earlier N", DAYS: "unchanged"}


def test_a_shared_file_fails_for_the_pairs_that_kept_their_n_alone(place: Workspace) -> None:
    raise_n(cohort(place))
    edit(place.recipe("mini", "families"), "  events: [", "  happenings: [")
    (issue,) = check_release(place).issues
    assert DAYS in issue.what
    assert STAGE not in issue.what


def test_comments_layout_and_typos_elsewhere_are_free(place: Workspace) -> None:
    path = cohort(place)
    path.write_text(f"# why\n{path.read_text()}\nnotes: A note.\n")
    edit(template(place), "teh value", "the value")
    edit(place.label("mini", "stage"), "# each event is a candidate", "# a typo")
    label = place.label("mini", "days")
    first, _, rest = label.read_text().partition("\nversion: 1\n")
    label.write_text(f"version: 1\n{first}\n{rest}")
    (template(place).parent / "README.md").write_text("Other words.\n")
    edit(place.arm("encoders"), "description: ", "description: Words. ")
    check = check_release(place)
    assert check.ok, check.issues
    assert states(check) == {STAGE: "unchanged", DEMO: "unchanged", DAYS: "unchanged"}


def test_entries_with_n_0_are_skipped_by_name(place: Workspace) -> None:
    check = check_release(place)
    assert check.skipped == [f"mine/v0.2-mid: {IMPORTED}"]
    assert "skipped, since N = 0" in command(place)[1]


def test_an_n_that_falls_or_that_nobody_can_build_fails(place: Workspace) -> None:
    raise_n(cohort(place))
    write_set(place, "v2", {STAGE: 3})
    assert codes(check_release(place)) == ["release-pin-ahead"]
    edit(cohort(place), "\nversion: 2\n", "\nversion: 4\n")
    # No release has had N = 3, so that nothing is left to build it from.
    assert codes(check_release(place)) == ["release-pin-behind"]
    write_set(place, "v2", {STAGE: 4})
    assert check_release(place).ok
    lock = json.loads(place.release_lock("0.3.0").read_text())
    lock["pairs"][STAGE]["version"] = 5
    place.release_lock("0.3.0").write_text(json.dumps(lock))
    assert "release-version-fell" in codes(check_release(place))


def test_sets_only_grow_and_an_entry_never_changes(place: Workspace) -> None:
    write_set(place, "v1", {STAGE: 1, DEMO: 1})
    assert codes(check_release(place)) == ["release-entry-removed"]
    raise_n(cohort(place))
    write_set(place, "v1", {STAGE: 2, DEMO: 1, DAYS: 1})
    assert codes(check_release(place)) == ["release-entry-changed"]
    write_set(place, "v1", {STAGE: 1, DEMO: 1, DAYS: 1}, arms="encoders")
    assert codes(check_release(place)) == ["release-arm-removed"]
    write_set(place, "v1", {STAGE: 1, DEMO: 1, DAYS: 1}).unlink()
    assert codes(check_release(place)) == ["release-set-removed"]


def test_a_set_may_grow(place: Workspace) -> None:
    write_set(place, "v1", {STAGE: 1, DEMO: 1, DAYS: 1, "mini_days@demo": 1}, arms="encoders, no-perception")
    check = check_release(place)
    assert check.ok, check.issues
    assert states(check)["mini_days@demo"] == "new"


def test_a_set_of_another_builder_is_refused_by_name(place: Workspace) -> None:
    write_set(place, "v1", {STAGE: 1, DEMO: 1, DAYS: 1}, builder="other-v1")
    assert codes(check_release(place)) == ["builder-unknown", "release-set-builder"]


def test_faults_in_any_set_are_found(place: Workspace) -> None:
    write_set(place, "v2", {"mini_days:full@n20": 1})
    write_set(place, "v3", {"mini_days@n21": 1})
    write_set(place, "v4", {DAYS: 1}, arms="encoders, gone")
    write_set(place, "Odd", {DAYS: 1})
    (place.benchmark("mine") / "benchmark.yaml").unlink()
    found = codes(check_release(place))
    assert {"task-set-pair", "definition-unknown", "file-not-found", "name-invalid"} <= set(found)


def test_a_pair_that_is_wrong_by_itself_is_not_compared(place: Workspace) -> None:
    edit(cohort(place), "per: 5", "per: 3")
    check = check_release(place)
    assert codes(check) == ["cohort-draw"]
    assert states(check)[STAGE] == "wrong"


def test_a_lock_without_documents_still_tells_the_part(place: Workspace) -> None:
    path = place.release_lock("0.3.0")
    lock = json.loads(path.read_text())
    del lock["documents"]
    path.write_text(json.dumps(lock))
    edit(place.label("mini", "stage"), "trigger - 90d", "trigger - 91d")
    (issue,) = check_release(place).issues
    assert "the label stage changed since 0.3.0 (the lock keeps its digest alone)" in issue.what


def test_another_label_or_recipe_is_named(place: Workspace) -> None:
    label = place.label("mini", "days")
    label.with_name("days_again.yaml").write_text(
        label.read_text().replace("label: days", "label: days_again")
    )
    path = place.template("mini", "mini_days") / "template.yaml"
    edit(path, "label: days", "label: days_again")
    told = "\n".join(issue.what for issue in check_release(place).issues)
    assert "the label days_again changed since 0.3.0 (not reached before)" in told
    assert "the label days changed since 0.3.0 (not reached any more)" in told


def test_the_last_release_is_the_one_with_the_highest_version(place: Workspace) -> None:
    versions = ["0.10.0", "0.9.0", "0.10.0-rc.2", "0.10.0-rc.10", "0.10.0-alpha", "0.10.0-1", "0.2.11"]
    ordered = ["0.2.11", "0.9.0", "0.10.0-1", "0.10.0-alpha", "0.10.0-rc.2", "0.10.0-rc.10", "0.10.0"]
    assert sorted(versions, key=version_order) == ordered
    assert version_order("latest") < version_order("0.0.1")
    lock = json.loads(place.release_lock("0.3.0").read_text())
    for version in ("0.2.9", "0.10.0"):
        place.release_lock(version).write_text(json.dumps(lock | {"release": version}))
    assert check_release(place).against == "0.10.0"


def test_a_lock_under_another_name_is_refused(place: Workspace) -> None:
    place.release_lock("0.3.0").rename(place.release_lock("0.4.0"))
    code, out = command(place)
    assert code == 1
    assert "error[release-lock-name]" in out


def test_json_tells_pairs_states_and_issues(place: Workspace) -> None:
    edit(place.label("mini", "stage"), "trigger - 90d", "trigger - 91d")
    code, out = command(place, "--json")
    document = json.loads(out)
    assert code == 1
    assert document["ok"] is False
    assert document["against"] == "0.3.0"
    assert document["pairs"][2] == {"pair": STAGE, "state": "changed", "version": 1, "sets": ["mine/v1"]}
    assert document["skipped"] == [f"mine/v0.2-mid: {IMPORTED}"]
    assert [issue["code"] for issue in document["issues"]] == ["release-label-changed"]


def test_sets_are_listed_with_their_pairs_and_hash(place: Workspace) -> None:
    given = ["studio", "list", "sets", "--workspace", str(place.root)]
    lines = CliRunner().invoke(app, given).stdout.splitlines()
    assert lines == [
        "mine/v0.2-mid: 1 pairs under encoders, no-perception",
        "mine/v1: 3 pairs under encoders, no-perception",
    ]
    found = json.loads(CliRunner().invoke(app, [*given, "--json"]).stdout)[1]
    assert set(found) == {"set", "description", "builder", "arms", "tasks", "task_set_hash"}
    assert found["tasks"][0] == {"task": STAGE, "version": 1}
    assert found["task_set_hash"] == task_set_hash([(STAGE, 1), (DEMO, 1), (DAYS, 1)])
