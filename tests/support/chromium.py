"""A headless Chromium driven over its debugging protocol: open, click, ask the page, look at it."""

import base64
import itertools
import json
import shutil
import subprocess
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any

import httpx
from websockets.sync.client import connect

NAMES = ("chromium", "chromium-browser", "google-chrome")
WITHIN_S = 20.0
LOOK_EVERY_S = 0.02


def find_chromium() -> str | None:
    """Return the browser's path, None when this machine has none."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Chromium:
    """One browser with one page; console errors and refused scripts are collected in ``complaints``."""

    def __init__(self, binary: str) -> None:
        self._home = Path(tempfile.mkdtemp(prefix="chromium-"))
        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"]
        self._process = subprocess.Popen(
            [binary, *flags, f"--user-data-dir={self._home}", "--remote-debugging-port=0", "about:blank"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.complaints: list[str] = []
        self._numbers = itertools.count(1)
        self._open = ExitStack()
        try:
            address = self._page_address()
            self._socket = self._open.enter_context(connect(address, max_size=None, open_timeout=WITHIN_S))
            for domain in ("Page", "Runtime", "Log"):
                self.command(f"{domain}.enable")
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> "Chromium":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def command(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send one command and return its result; events that pass by are noted."""
        number = next(self._numbers)
        self._socket.send(json.dumps({"id": number, "method": method, "params": parameters}))
        while True:
            message = json.loads(self._socket.recv(timeout=WITHIN_S))
            if message.get("id") == number:
                assert "error" not in message, f"{method}: {message['error']}"
                result: dict[str, Any] = message["result"]
                return result
            self._note(message)

    def open(self, url: str) -> None:
        """Load a page and wait until it is complete."""
        self.command("Page.navigate", url=url)
        self.wait_for(f"location.href === {json.dumps(url)} && document.readyState === 'complete'")

    def ask(self, expression: str) -> Any:
        """Evaluate JavaScript in the page and return its value."""
        answer = self.command("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, f"{expression}: {answer['exceptionDetails']}"
        return answer["result"].get("value")

    def wait_for(self, expression: str, within_s: float = WITHIN_S) -> Any:
        """Return the expression's value once it is true; fail with its last value."""
        deadline = time.monotonic() + within_s
        while True:
            value = self.ask(expression)
            if value:
                return value
            assert time.monotonic() < deadline, f"not within {within_s} s: {expression} (last value {value!r})"
            time.sleep(LOOK_EVERY_S)  # poll interval

    def resize(self, width: int, height: int = 900, *, dark: bool = False) -> None:
        """Set the size of the window and the colour scheme a person prefers."""
        self.command(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.command("Emulation.setEmulatedMedia", features=[scheme])

    def press(self, key: str) -> None:
        """Press and release a key, such as ``Tab`` or ``Enter``."""
        text = "\r" if key == "Enter" else ""
        code = {"Enter": 13, "Tab": 9}.get(key, 0)
        for kind in ("keyDown", "keyUp"):
            pressed = {"text": text} if text and kind == "keyDown" else {}
            self.command("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code, **pressed)

    def screenshot(self, path: Path) -> None:
        """Write a picture of the whole page."""
        data = self.command("Page.captureScreenshot", captureBeyondViewport=True)["data"]
        path.write_bytes(base64.b64decode(data))

    def close(self) -> None:
        """End the browser; safe to call twice."""
        self._open.close()
        self._process.terminate()
        try:
            self._process.wait(WITHIN_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        # The browser's helpers may still be writing into its folder for a moment.
        shutil.rmtree(self._home, ignore_errors=True)

    def _note(self, message: dict[str, Any]) -> None:
        parameters = message.get("params", {})
        if message.get("method") == "Runtime.exceptionThrown":
            self.complaints.append(json.dumps(parameters["exceptionDetails"])[:500])
        elif message.get("method") == "Log.entryAdded" and parameters["entry"]["level"] == "error":
            self.complaints.append(f"{parameters['entry']['text']} ({parameters['entry'].get('url', '')})")

    def _page_address(self) -> str:
        port_file = self._home / "DevToolsActivePort"
        deadline = time.monotonic() + WITHIN_S
        while time.monotonic() < deadline:
            if port_file.exists() and (lines := port_file.read_text().splitlines()):
                targets = httpx.get(f"http://127.0.0.1:{lines[0]}/json/list", timeout=WITHIN_S).json()
                for target in targets:
                    if target["type"] == "page":
                        return str(target["webSocketDebuggerUrl"])
            assert self._process.poll() is None, f"the browser ended with {self._process.returncode}"
            time.sleep(LOOK_EVERY_S)  # poll interval
        raise AssertionError("the browser opened no page")
