"""Independent clients of the runner service, all behind one call: connectrpc, connect-node, connect-go and grpcio.

Messages go in and come out as canonical JSON values, so that one scenario drives every peer.
"""

import functools
import json
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from google.protobuf import descriptor_pb2, json_format, struct_pb2, timestamp_pb2
from google.protobuf.message import Message

from actionswire.gen.ping.v1 import ping_pb2
from actionswire.gen.runner.v1 import runner_pb2

NODE_FOLDER = Path(__file__).parents[1] / "conformance" / "peers" / "node"
GO_FOLDER = NODE_FOLDER.parent / "go"
INSTALL_S_MAX = 120
GO_BUILD_S_MAX = 300
PING, RUNNER = "ping.v1.PingService", "runner.v1.RunnerService"
FILES = {PING: ping_pb2, RUNNER: runner_pb2}


@dataclass(frozen=True)
class Answer:
    """What a peer's library made of one answer: a message with headers, or a code with a text."""

    message: dict[str, Any] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    code: str = ""
    text: str = ""


class Peer(Protocol):
    """One independent client."""

    def call(
        self, method: str, request: Any, headers: Mapping[str, str] | None = None, *, timeout_ms: int | None = None
    ) -> Answer:
        """Call a method of the runner service, or Ping."""

    def close(self) -> None:
        """Let go of connections and processes."""


def service_of(method: str) -> str:
    return PING if method == "Ping" else RUNNER


def types_of(method: str) -> tuple[type[Message], type[Message]]:
    module = FILES[service_of(method)]
    return getattr(module, f"{method}Request"), getattr(module, f"{method}Response")


class ConnectRpcPeer:
    """`connectrpc` from PyPI."""

    def __init__(self, url: str, *, is_json: bool, is_gzip: bool) -> None:
        from connectrpc.client import ConnectClientSync  # noqa: PLC0415 - only where this peer is used
        from connectrpc.compat import google_protobuf_binary_codec, google_protobuf_json_codec  # noqa: PLC0415
        from connectrpc.compression.gzip import GzipCompression  # noqa: PLC0415

        self.client = ConnectClientSync(
            f"{url}/api/actions",
            codec=google_protobuf_json_codec() if is_json else google_protobuf_binary_codec(),
            accept_compression=[GzipCompression()] if is_gzip else [],
            send_compression=GzipCompression() if is_gzip else None,
        )

    def call(
        self, method: str, request: Any, headers: Mapping[str, str] | None = None, *, timeout_ms: int | None = None
    ) -> Answer:
        from connectrpc.client import ResponseMetadata  # noqa: PLC0415
        from connectrpc.errors import ConnectError  # noqa: PLC0415
        from connectrpc.method import IdempotencyLevel, MethodInfo, StreamType  # noqa: PLC0415

        asked, answered = types_of(method)
        info = MethodInfo(
            name=method, service_name=service_of(method), input=asked, output=answered,
            stream_type=StreamType.UNARY,
            idempotency_level=IdempotencyLevel.UNKNOWN,
        )  # fmt: skip
        message = json_format.ParseDict(request, asked())
        try:
            with ResponseMetadata() as metadata:
                got = self.client.execute_unary(
                    request=message, method=info, headers=dict(headers or {}), timeout_ms=timeout_ms
                )
        except ConnectError as error:
            return Answer(code=error.code.value, text=error.message)
        shown = dict(metadata.headers.items())
        return Answer(json_format.MessageToDict(got), {name.lower(): value for name, value in shown.items()})

    def close(self) -> None:
        self.client.close()


class LinePeer:
    """A client in another language: one process that reads a call and writes an answer, line by line."""

    def __init__(self, command: Sequence[str], url: str, *, is_json: bool, is_gzip: bool) -> None:
        arguments = [f"{url}/api/actions", str(descriptor_file())]
        arguments += ["json" if is_json else "proto", "gzip" if is_gzip else "identity"]
        self.process = subprocess.Popen(
            [*command, *arguments], cwd=NODE_FOLDER, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def call(
        self, method: str, request: Any, headers: Mapping[str, str] | None = None, *, timeout_ms: int | None = None
    ) -> Answer:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        line = {
            "service": service_of(method), "method": method, "request": request, "headers": dict(headers or {}),
            "timeoutMs": timeout_ms or 0,
        }  # fmt: skip
        self.process.stdin.write(json.dumps(line) + "\n")
        self.process.stdin.flush()
        return Answer(**json.loads(self.process.stdout.readline()))

    def close(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait(20)
        self.process.stdout.close()


class GrpcPeer:
    """`grpcio` against the gRPC port."""

    def __init__(self, address: str) -> None:
        import grpc  # noqa: PLC0415 - only where this peer is used

        self.channel = grpc.insecure_channel(address)

    def call(
        self, method: str, request: Any, headers: Mapping[str, str] | None = None, *, timeout_ms: int | None = None
    ) -> Answer:
        import grpc  # noqa: PLC0415

        asked, answered = types_of(method)
        stub = self.channel.unary_unary(
            f"/{service_of(method)}/{method}",
            request_serializer=asked.SerializeToString,
            response_deserializer=answered.FromString,
        )
        message = json_format.ParseDict(request, asked())
        timeout = None if timeout_ms is None else timeout_ms / 1000
        try:
            got, call = stub.with_call(message, timeout=timeout, metadata=tuple((headers or {}).items()))
        except grpc.RpcError as error:
            return Answer(code=error.code().name.lower(), text=error.details())
        return Answer(json_format.MessageToDict(got), dict(call.initial_metadata()))

    def close(self) -> None:
        self.channel.close()


@functools.cache
def node_peer() -> tuple[tuple[str, ...], str]:
    """Return the command of connect-node from npm, or why it cannot run; installs its pinned packages once."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        return (), "node or npm is not installed"
    if not (NODE_FOLDER / "node_modules" / "@connectrpc" / "connect-node").is_dir():
        command = ["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts"]
        done = subprocess.run(
            command, cwd=NODE_FOLDER, capture_output=True, text=True, timeout=INSTALL_S_MAX, check=False
        )
        if done.returncode != 0:
            return (), f"npm ci failed: {done.stderr[-300:]}"
    return ("node", str(NODE_FOLDER / "peer.mjs")), ""


@functools.cache
def go_peer() -> tuple[tuple[str, ...], str]:
    """Return the command of connect-go, the library that real runners use, or why it cannot run; builds it once."""
    if shutil.which("go") is None:
        return (), "go is not installed"
    binary = Path(tempfile.mkdtemp(prefix="mockgitea-peer-")) / "peer"
    command = ["go", "build", "-mod=readonly", "-o", str(binary), "."]
    try:
        done = subprocess.run(
            command, cwd=GO_FOLDER, capture_output=True, text=True, timeout=GO_BUILD_S_MAX, check=False
        )
    except subprocess.TimeoutExpired:
        return (), f"go build took longer than {GO_BUILD_S_MAX} s"
    return ((str(binary),), "") if done.returncode == 0 else ((), f"go build failed: {done.stderr[-300:]}")


def camel_case(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


@functools.cache
def descriptor_file() -> Path:
    """Write the schema as a file descriptor set, so that the node peer needs no generated code."""
    modules = (struct_pb2, timestamp_pb2, ping_pb2, runner_pb2)
    descriptors = descriptor_pb2.FileDescriptorSet()
    for module in modules:
        module.DESCRIPTOR.CopyToProto(descriptors.file.add())
    for file in descriptors.file:
        for message in file.message_type:
            for one in message.field:
                one.json_name = camel_case(one.name)  # protoc fills it in; Python's own copy leaves it out
    path = Path(tempfile.mkdtemp(prefix="mockgitea-peer-")) / "schema.binpb"
    path.write_bytes(descriptors.SerializeToString())
    return path
