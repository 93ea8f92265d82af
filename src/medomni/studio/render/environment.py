"""`environment/`: the closed containers of an atom task, and the perception service where an arm attaches it.

The files are the same for every atom of a pair under an arm, so that all of them share one image. The staged
files are mounted, read-only, and are in no image. Images are built from a local base image that has `bash`,
`tar`, Python 3.11 or later, and a user `agent`: nothing is pulled.

Leaves to others: limits of the agent's container (`configuration`), making the base image.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath

from medomni.studio.definitions.templates import Template
from medomni.studio.errors import BuildError
from medomni.studio.perception.archive import NAME, archive_bytes
from medomni.studio.perception.settings import MOUNTED, PORT, config_text

BASE_IMAGE = "localhost/medomni-base:1"
AGENT_USER = "agent"
_PROBE = f"import urllib.request; urllib.request.urlopen('http://127.0.0.1:{PORT}/encoders', timeout=5)"
HEALTH_COMMAND = f'python3 -c "{_PROBE}"'
# Folders that hold something else in every container.
_TAKEN = ("/", "/data", "/logs", "/tests", "/solution", "/proc", "/sys", "/dev", "/etc", "/usr", "/bin")

_MAIN = """\
ARG BASE_IMAGE={base}
FROM ${{BASE_IMAGE}}
RUN mkdir -p {folder} && chown {user}:{user} {folder}
WORKDIR {folder}
"""
_SERVICE = """\
ARG BASE_IMAGE={base}
FROM ${{BASE_IMAGE}}
COPY {archive} config.json /opt/perception/
USER 65534:65534
WORKDIR /tmp
CMD ["python3", "/opt/perception/{archive}", "--data", "{data}", \\
     "--config", "/opt/perception/config.json", "--port", "{port}"]
"""
_COMPOSE_MAIN = """\
services:
  main:
    init: true
    stop_grace_period: 1s
    pids_limit: 512
    security_opt:
      - no-new-privileges
    volumes:
      - type: bind
        source: ../data
        target: {data}
        read_only: true
"""
_COMPOSE_SHARED = """\
    network_mode: "service:perception"
    depends_on:
      - perception
"""
_COMPOSE_SERVICE = """\
  perception:
    build:
      context: perception
    init: true
    stop_grace_period: 1s
    network_mode: none
    read_only: true
    cpus: 1
    mem_limit: 3g
    pids_limit: 128
    cap_drop:
      - ALL
    security_opt:
      - no-new-privileges
    tmpfs:
      - /tmp
    volumes:
      - type: bind
        source: ../data
        target: {data}
        read_only: true
"""


def environment_files(
    template: Template, *, perception: bool, refused: Sequence[str] = ()
) -> dict[str, str | bytes]:
    """The files of `environment/` by their path in the atom task.

    Args:
        template: Says where the answer goes, and whether there is internet.
        perception: Whether the service is attached.
        refused: Encoders of the service that are refused.

    Raises:
        BuildError: `render-internet` or `render-submission-path`.
    """
    internet = template.environment["internet"]
    if internet and perception:
        raise BuildError(
            f"{template.name} asks for the internet, and the perception service has a closed network alone",
            hint="set internet: false, or build it under an arm without the service",
            code="render-internet",
        )
    folder = _folder(template)
    compose = _COMPOSE_MAIN.format(data=MOUNTED)
    if perception:
        # The service's own network is nothing but its loopback, and the agent's container shares it.
        compose += _COMPOSE_SHARED + _COMPOSE_SERVICE.format(data=MOUNTED)
    elif not internet:
        compose += "    network_mode: none\n"
    files: dict[str, str | bytes] = {
        "environment/Dockerfile": _MAIN.format(base=BASE_IMAGE, folder=folder, user=AGENT_USER),
        "environment/docker-compose.yaml": compose,
    }
    if perception:
        files |= {
            "environment/perception/Dockerfile": _SERVICE.format(
                base=BASE_IMAGE, archive=NAME, data=MOUNTED, port=PORT
            ),
            f"environment/perception/{NAME}": archive_bytes(),
            "environment/perception/config.json": config_text(frozenset(refused)),
        }
    return files


def _folder(template: Template) -> str:
    """The folder of the answer, which the image makes."""
    path = PurePosixPath(template.submission_path)
    folder = str(path.parent)
    plain = all(part.replace("-", "").replace("_", "").replace(".", "").isalnum() for part in path.parts[1:])
    taken = any(folder == each or folder.startswith(f"{each}/") for each in _TAKEN if each != "/")
    if not path.is_absolute() or not plain or ".." in path.parts or folder == "/" or taken:
        raise BuildError(
            f"no container can have the answer at {template.submission_path}",
            where=template.name,
            hint="use a folder of its own, such as /workspace/answer.json",
            code="render-submission-path",
        )
    return folder
