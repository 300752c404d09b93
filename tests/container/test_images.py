"""The images as a user starts them: server healthy, runner registers itself and executes a job."""

import json
import urllib.request
from typing import Any

import pytest
from testcontainers.core.container import DockerContainer
from testcontainers.core.network import Network

from eventually import eventually

pytestmark = pytest.mark.container

TOKEN = "container-test-registration-token-0000001"
WORKFLOW = "on: push\njobs:\n  a:\n    runs-on: ubuntu-latest\n    steps:\n      - run: echo hello from a container\n"


def call(url: str, body: Any = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=10) as answer:
        return json.loads(answer.read() or b"null")


def answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=2) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def test_server_and_runner_images_run_a_job(images: dict[str, str]) -> None:
    with Network() as network:
        server = DockerContainer(images["server"]).with_network(network).with_network_aliases("server")
        server.with_env("MOCKGITEA_REGISTRATION_TOKEN", TOKEN).with_exposed_ports(3000, 3001)
        with server:
            control = f"http://{server.get_container_host_ip()}:{server.get_exposed_port(3001)}"
            eventually(lambda: answers(f"{control}/readyz"), within_s=40)
            runner = DockerContainer(images["runner"]).with_network(network)
            runner.with_env("GITEA_INSTANCE_URL", "http://server:3000")
            runner.with_env("GITEA_RUNNER_REGISTRATION_TOKEN", TOKEN).with_env(
                "GITEA_RUNNER_LABELS", "ubuntu-latest:host"
            )
            with runner:
                run = call(
                    f"{control}/control/v1/enqueue",
                    {"workflow": WORKFLOW, "workflow_file": "a.yml", "repository": "demo/demo", "event": "push"},
                )
                done = eventually(
                    lambda: call(f"{control}/control/v1/runs/{run['run_id']}"),
                    lambda seen: seen["status"] in {"success", "failure", "cancelled"},
                    within_s=60,
                )
                assert done["status"] == "success", runner.get_logs()
