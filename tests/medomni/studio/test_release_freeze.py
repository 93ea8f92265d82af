"""`release freeze`: what the lock holds, and when it is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from release_builders import DAYS, DEMO, LADDER, STAGE, frozen_workspace, mini, with_sets, write_set
from studio_builders import edit
from typer.testing import CliRunner

from medomni.cli import app
from medomni.core import contracts
from medomni.core.hashing import canonical_digest
from medomni.core.issues import IssuesError
from medomni.core.workspace import Workspace, load_workspace
from medomni.studio.config_files import hash_pair
from medomni.studio.errors import ReleaseError
from medomni.studio.release.check import check_release
from medomni.studio.release.freezing import freeze


@pytest.fixture
def place(tmp_path_factory: pytest.TempPathFactory, tmp_path: Path) -> Workspace:
    return frozen_workspace(tmp_path_factory, tmp_path / "w")


def next_release(place: Workspace, version: str) -> Workspace:
    (place.root / "medomni.toml").write_text(f'release = "{version}"\n', encoding="utf-8")
    return load_workspace(place.root)


def test_the_lock_fulfils_its_contract_and_holds_digests_of_parsed_values(place: Workspace) -> None:
    lock = contracts.load("release-lock", place.release_lock("0.3.0"))
    assert set(lock["pairs"]) == {STAGE, DEMO, DAYS}
    row = lock["pairs"][STAGE]
    assert set(row["recipes"]) == {"tables", "families", "events"}
    assert set(row["labels"]) == {"stage"}
    for digest, document in lock["documents"].items():
        assert canonical_digest(document) == digest
    scoring = lock["documents"][row["scoring"]]
    assert scoring["missing_answers"] == "worst-case"
    assert scoring["targets"]["stage"]["metric"] == "qwk"
    assert len(scoring["targets"]["stage"]["classes"]) == 3
    assert [each["arm"] for each in row["hashes"]] == ["encoders", "no-perception"]


def test_config_hashes_of_every_arm_and_rung_stand_in_it(tmp_path: Path) -> None:
    place = with_sets(mini(tmp_path / "w"))
    write_set(place, "ladder", {LADDER: 1}, arms="modality-ladder")
    from medomni.core.names import Pair

    freeze(place, "0.3.0", without_builds=True)
    lock = json.loads(place.release_lock("0.3.0").read_text())
    rows = lock["pairs"][LADDER]["hashes"]
    assert [row["variant"] for row in rows] == ["r1", "r2"]
    for row in rows:
        pair = Pair.parse(LADDER)
        assert row["config_hash"] == hash_pair(place, pair, arm=row["arm"], variant=row["variant"]).value


def test_a_release_is_frozen_once_and_under_its_own_name(place: Workspace) -> None:
    before = place.release_lock("0.3.0").read_bytes()
    with pytest.raises(ReleaseError) as caught:
        freeze(place, "0.3.0", without_builds=True)
    assert caught.value.code == "release-frozen"
    assert place.release_lock("0.3.0").read_bytes() == before
    with pytest.raises(ReleaseError) as caught:
        freeze(place, "0.4.0", without_builds=True)
    assert caught.value.code == "release-differs"


def test_the_release_check_comes_first(place: Workspace) -> None:
    edit(place.label("mini", "stage"), "trigger - 90d", "trigger - 91d")
    later = next_release(place, "0.4.0")
    with pytest.raises(IssuesError) as caught:
        freeze(later, "0.4.0", without_builds=True)
    assert caught.value.issues[0].code == "release-label-changed"
    assert not later.release_lock("0.4.0").exists()


def test_an_earlier_n_that_sets_still_pin_keeps_its_row(place: Workspace) -> None:
    edit(
        place.template("mini", "mini_stage") / "cohorts" / "n20.yaml",
        "\nversion: 1\n",
        "\nversion: 2\n",
    )
    later = next_release(place, "0.4.0")
    freeze(later, "0.4.0", without_builds=True)
    first, second = (json.loads(later.release_lock(each).read_text()) for each in ("0.3.0", "0.4.0"))
    assert second["pairs"][STAGE] == first["pairs"][STAGE]
    assert second["documents"][second["pairs"][STAGE]["cohort"]]
    check = check_release(later)
    assert check.ok
    assert check.against == "0.4.0"


def test_a_workspace_that_pins_nothing_has_no_release(tmp_path: Path) -> None:
    with pytest.raises(ReleaseError) as caught:
        freeze(mini(tmp_path / "w"), "0.3.0")
    assert caught.value.code == "release-empty"


def test_pinned_dummy_pairs_must_be_built_or_left_out_on_purpose(tmp_path: Path) -> None:
    place = with_sets(mini(tmp_path / "w"))
    write_set(place, "v2", {"mini_stage@dummy": 1})
    with pytest.raises(ReleaseError) as caught:
        freeze(place, "0.3.0")
    assert caught.value.code == "release-build-missing"
    assert "mini_stage@dummy" in caught.value.what
    given = ["studio", "release", "freeze", "0.3.0", "--workspace", str(place.root)]
    assert CliRunner().invoke(app, given).exit_code == 2
    result = CliRunner().invoke(app, [*given, "--without-builds", "--json"])
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert told["path"] == "bench/releases/0.3.0.lock.json"
    assert (told["sets"], told["pairs"], told["builds"]) == (3, 4, 0)
    assert json.loads(place.release_lock("0.3.0").read_text())["builds"] == {}
    place.release_lock("0.3.0").unlink()
    result = CliRunner().invoke(app, [*given, "--without-builds"])
    assert "3 task sets, 4 pairs, 0 dummy builds" in result.stdout
    assert "a changed renderer shows nowhere" in result.stderr
