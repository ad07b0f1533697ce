"""Driving a headless Chromium over its debugging pipe: for screenshots and for the tests.

Nothing but the standard library; no port is opened.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
PATIENCE = 30.0
"""Seconds to wait for an answer."""


def find() -> str | None:
    """The Chromium of this machine; None if it has none."""
    wanted = os.environ.get("CHROMIUM")
    return wanted or next((path for name in NAMES if (path := shutil.which(name))), None)


class Browser:
    """One page of a headless Chromium; a context manager."""

    def __init__(self, executable: str) -> None:
        self._folder = tempfile.mkdtemp(prefix="schedproof-browser-")
        to_browser, self._out = os.pipe()
        self._in, from_browser = os.pipe()
        arguments = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--hide-scrollbars",
            "--remote-debugging-pipe",
            f"--user-data-dir={self._folder}",
        ]
        # Chromium reads its commands from descriptor 3 and answers on 4.
        self._process = subprocess.Popen(
            [
                "bash",
                "-c",
                f'exec "$@" 3<&{to_browser} 4>&{from_browser}',
                "-",
                executable,
                *arguments,
            ],
            pass_fds=(to_browser, from_browser),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_browser)
        os.close(from_browser)
        os.set_blocking(self._in, False)
        self._unread = b""
        self._number = 0
        self._session: str | None = None
        self.events: list[dict[str, Any]] = []
        """Everything the browser told unasked: console messages, exceptions, requests."""

    def __enter__(self) -> Browser:
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network", "Accessibility"):
            self.call(f"{domain}.enable")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._in)
        os.close(self._out)
        shutil.rmtree(self._folder, ignore_errors=True)

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send one command and wait for its answer."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + PATIENCE
        while True:
            answer = self._read(deadline)
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                result: dict[str, Any] = answer["result"]
                return result
            self.events.append(answer)

    def _read(self, deadline: float) -> dict[str, Any]:
        while b"\0" not in self._unread:
            if time.monotonic() > deadline:
                raise TimeoutError("the browser does not answer")
            try:
                piece = os.read(self._in, 1 << 16)
                if not piece:
                    raise RuntimeError("the browser has gone away")
                self._unread += piece
            except BlockingIOError:
                time.sleep(0.005)
        message, _, self._unread = self._unread.partition(b"\0")
        answer: dict[str, Any] = json.loads(message)
        return answer

    def open(self, page: Path) -> None:
        """Load a file and wait until it is there."""
        for address in ("about:blank", page.resolve().as_uri()):
            self._go(address)

    def _go(self, address: str) -> None:
        self.events.clear()
        self.call("Page.navigate", url=address)
        deadline = time.monotonic() + PATIENCE
        while not any(e.get("method") == "Page.loadEventFired" for e in self.events):
            self.events.append(self._read(deadline))

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression on the page."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"]["text"])
        return answer["result"].get("value")

    def press(self, key: str) -> None:
        """One key, down and up."""
        text = {"text": key} if len(key) == 1 else {}
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, **text)
            text = {}

    def view(self, width: int, height: int, scheme: str = "light", media: str = "") -> None:
        """The size of the window, the colour scheme and the medium."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 500,
        )
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.call("Emulation.setEmulatedMedia", media=media, features=features)

    def screenshot(self, to: Path, whole: bool = False) -> None:
        """A picture of the window, or of the whole page."""
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        to.write_bytes(base64.b64decode(shot["data"]))

    def print_to(self, to: Path) -> None:
        """The page on paper."""
        printed = self.call("Page.printToPDF", printBackground=True)
        to.write_bytes(base64.b64decode(printed["data"]))

    @property
    def complaints(self) -> list[str]:
        """Console errors and warnings, exceptions, and every request but the page's own."""
        told = []
        for event in self.events:
            method, parameters = event.get("method"), event.get("params", {})
            if method == "Runtime.exceptionThrown":
                told.append(str(parameters["exceptionDetails"].get("text")))
            elif method == "Runtime.consoleAPICalled" and parameters["type"] in (
                "error",
                "warning",
            ):
                told.append(f"console.{parameters['type']}")
            elif method == "Log.entryAdded" and parameters["entry"]["level"] in (
                "error",
                "warning",
            ):
                told.append(parameters["entry"]["text"])
            elif method == "Network.requestWillBeSent" and parameters.get("type") != "Document":
                told.append(f"asks for {parameters['request']['url']}")
        return told
