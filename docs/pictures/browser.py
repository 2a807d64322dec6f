"""Screenshots as a phone or a wide screen would show a page, by day and by night, taken by Chromium.

Promise: standard library only. Chromium is spoken to through its DevTools pipe, so that a page is laid out for exactly
the width that is asked for (a window of its own cannot be narrower than some 500 pixels). Pages are files; nothing is
fetched. Used by make.py; no test needs it.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any


class Browser:
    """A Chromium without a window."""

    def __init__(self) -> None:
        program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
        if program is None:
            raise SystemExit("Chromium is needed for screenshots (on Debian: apt install chromium).")
        self.profile = tempfile.TemporaryDirectory(prefix="tacit-browser-", ignore_cleanup_errors=True)
        reads, self.to_browser = os.pipe()
        self.from_browser, writes = os.pipe()

        def places() -> None:  # Chromium reads commands from 3 and answers on 4
            os.dup2(reads, 13)
            os.dup2(writes, 14)
            os.dup2(13, 3)
            os.dup2(14, 4)

        options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--remote-debugging-pipe"]
        self.child = subprocess.Popen(
            [program, *options, f"--user-data-dir={self.profile.name}", "about:blank"],
            preexec_fn=places,
            close_fds=False,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(reads)
        os.close(writes)
        self.number = 0
        self.rest = b""
        target = self.say("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.say("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.say("Page.enable")

    def say(self, method: str, **parameters: Any) -> dict[str, Any]:
        """One command, and its answer; what else arrives is passed over."""
        self.number += 1
        message: dict[str, Any] = {"id": self.number, "method": method, "params": parameters}
        if hasattr(self, "session"):
            message["sessionId"] = self.session
        os.write(self.to_browser, json.dumps(message).encode() + b"\0")
        while True:
            found = self.read()
            if found.get("id") == self.number:
                if "error" in found:
                    raise SystemExit(f"Chromium refused {method}: {found['error']}")
                return dict(found["result"])

    def read(self) -> dict[str, Any]:
        while b"\0" not in self.rest:
            part = os.read(self.from_browser, 1 << 16)
            if not part:
                raise SystemExit("Chromium ended.")
            self.rest += part
        line, _, self.rest = self.rest.partition(b"\0")
        return dict(json.loads(line))

    def shot(self, page: Path, picture: Path, *, width: int, height: int, dark: bool, scale: float = 1.0) -> None:
        """The top of a page, at most `height` pixels of it, as a PNG made smaller by `scale`."""
        self.say(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.say("Emulation.setEmulatedMedia", features=[scheme])
        self.say("Page.navigate", url=page.resolve().as_uri())
        while self.read().get("method") != "Page.loadEventFired":
            pass
        asked = "[document.documentElement.scrollHeight, document.documentElement.scrollWidth]"
        long, wide = self.say("Runtime.evaluate", expression=asked, returnByValue=True)["result"]["value"]
        if wide > width:
            print(f"{page.name} at {width}: {wide} pixels wide, so it scrolls sideways")
        clip = {"x": 0, "y": 0, "width": width, "height": min(height, long), "scale": scale}
        taken = self.say("Page.captureScreenshot", format="png", clip=clip, captureBeyondViewport=False)
        picture.write_bytes(base64.b64decode(taken["data"]))

    def close(self) -> None:
        self.child.terminate()
        self.child.wait(timeout=30)
        self.profile.cleanup()
