"""What our part relies on in Harbor, asked of the pinned version in its own environment.

A new Harbor that moves one of these names fails here, and not in somebody's run.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from medomni.bench import harbor_program
from medomni.bench.agents import BUILT_IN
from medomni.bench.environments import CLASSES
from medomni.bench.errors import RunRefusedError
from medomni.bench.trials import _HARNESS_TYPES

REPOSITORY = Path(__file__).resolve().parents[2]
# Raised by our part and unknown to Harbor, which then takes them for an agent's fault: Bench knows better.
_OWN = ("EnvironmentFailedError", "ModelUnreachableError", "ModelUnusableError")
_CHECKS = """
import inspect
from harbor.agents.base import BaseAgent
from harbor.environments.base import BaseEnvironment
from harbor.environments.docker.docker import DockerEnvironment as Docker
from harbor.environments.podman import PodmanEnvironment as Podman
from harbor.models.trial.error_policy import ERROR_POLICIES
from harbor.models.trial.result import TrialResult
from harbor.trial.trial import Trial
from harbor.utils.import_path import import_class

# Names with an underscore that `closed` overrides or calls.
for name in ("_egress_control_kernel_support", "_docker_compose_paths", "_validate_definition",
             "_environment_docker_compose_path", "_run_docker_compose_command", "_collect_buffered_output",
             "_terminate_process", "_effective_memory_mb"):
    assert hasattr(Docker, name), name
assert isinstance(inspect.getattr_static(Docker, "_collect_buffered_output"), staticmethod)
assert isinstance(inspect.getattr_static(Docker, "_egress_control_kernel_support"), classmethod)
assert isinstance(Docker.__dict__["_docker_compose_paths"], property)
assert issubclass(Podman, Docker)
assert "network_policy" in inspect.signature(BaseEnvironment.__init__).parameters
# The bracket around what an agent does, at whose end its processes are ended, and the order of what follows.
source = inspect.getsource(Trial._run_agent_phase)
assert "scoped_exec_env(exec_env)" in source
assert "__verifier__" in inspect.getsource(Trial._separate_verifier_session_id)
assert "run_healthcheck" in inspect.getsource(Trial._prepare)
fields = TrialResult.model_fields
for name in ("config", "exception_info", "agent_execution", "agent_result", "verifier_result", "verifier",
             "agent_info", "started_at"):
    assert name in fields, name
for name in {types}:
    assert name in ERROR_POLICIES or name in {own}, name
for path in {environments}:
    assert issubclass(import_class(path, base=BaseEnvironment, label="environment"), BaseEnvironment)
for path in {agents}:
    found = import_class(path, base=BaseAgent, label="agent")
    assert not inspect.isabstract(found), path
    assert found.name()
print("held")
"""


@pytest.fixture
def python() -> Path:
    try:
        return harbor_program.find_python(REPOSITORY)
    except RunRefusedError as reason:
        pytest.skip(reason.what)


def test_harbor_is_as_our_part_of_it_expects(python: Path, tmp_path: Path) -> None:
    agents = [path for path, _ in BUILT_IN.values() if not path.startswith("medomni_harbor.shell")]
    script = _CHECKS.format(types=_HARNESS_TYPES, own=_OWN, environments=[*CLASSES.values()], agents=agents)
    folder = harbor_program.import_folder(tmp_path / "imports")
    done = subprocess.run(
        [python, "-c", script], capture_output=True, text=True, env=harbor_program.variables(folder)
    )
    assert done.stdout == "held\n", done.stderr


def test_the_lock_pins_the_version_that_is_asked_for() -> None:
    lock = (REPOSITORY / "requirements-harbor.lock").read_text(encoding="utf-8")
    assert f"harbor=={harbor_program.VERSION} " in lock


def test_only_our_part_is_put_before_harbor(tmp_path: Path) -> None:
    folder = harbor_program.import_folder(tmp_path / "imports")
    assert [path.name for path in folder.iterdir()] == ["medomni_harbor"]
    assert harbor_program.import_folder(folder) == folder
    found = harbor_program.variables(folder)
    assert found["PYTHONPATH"].startswith(str(folder))
    assert found["HARBOR_TELEMETRY"] == "0"
