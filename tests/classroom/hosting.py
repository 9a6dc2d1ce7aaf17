"""Environments and running servers for the checks of Binder and JupyterHub."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import requests
import websocket
from filelock import FileLock

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / ".cache/hosting"
SECONDS = 90  # for a server to answer, on a busy machine


def bare(**more: str) -> dict[str, str]:
    """This environment without what belongs to the one that runs the tests."""
    strange = ("PYTHON", "VIRTUAL_ENV", "JUPYTER", "COVERAGE", "PYTEST")
    return {k: v for k, v in os.environ.items() if not k.startswith(strange)} | more


def done(*command: object, **options: Any) -> str:
    """Run a command to its end; its output, or a failure with its last words."""
    result = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, check=False,
        stdin=subprocess.DEVNULL, **{"env": bare(), **options},
    )  # fmt: skip
    said = result.stdout + result.stderr
    assert result.returncode == 0, f"{command}: {said[-2000:]}"
    return said


def installed(*files: Path, make: Callable[[Path], None]) -> Path:
    """A folder that was made from these files; made afresh whenever one of them changes."""
    total = hashlib.sha256(sys.version.encode())
    for path in files:
        total.update(path.read_bytes())
    folder = CACHE / total.hexdigest()[:16]
    CACHE.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{folder}.lock"):
        if not (folder / "complete").exists():
            for old in CACHE.iterdir():  # of other versions; each takes 0.8 GB
                if old.is_dir():
                    shutil.rmtree(old)
            folder.mkdir()
            make(folder)
            (folder / "complete").touch()
    return folder


def free_ports(count: int) -> int:
    """The first of so many neighboring ports on which nobody listens."""
    for _ in range(100):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            first = probe.getsockname()[1]
        sockets = [socket.socket() for _ in range(count)]
        try:
            for number, one in enumerate(sockets):
                one.bind(("127.0.0.1", first + number))
            return first
        except (OSError, OverflowError):
            continue
        finally:
            for one in sockets:
                one.close()
    raise AssertionError("no free ports")


@contextmanager
def running(command: list[object], log: Path, **options: Any) -> Iterator[subprocess.Popen[str]]:
    """A server while the block runs; it is asked to end, and its log is shown on failure."""
    with log.open("w") as out:
        process = subprocess.Popen(
            [str(part) for part in command], stdout=out, stderr=subprocess.STDOUT, text=True,
            stdin=subprocess.DEVNULL, **{"env": bare(), **options},
        )  # fmt: skip
    try:
        yield process
    except BaseException:
        print(log.read_text()[-6000:])
        raise
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def patient(
    ask: Callable[[], requests.Response], wanted: Callable[[requests.Response], bool]
) -> Any:
    """Ask until the answer is the wanted one."""
    end, last = time.monotonic() + SECONDS, "no answer"
    while time.monotonic() < end:
        try:
            answer = ask()
            if wanted(answer):
                return answer
            last = f"{answer.status_code} {answer.url} {answer.text[:200]}"
        except requests.ConnectionError as error:
            last = str(error)
        time.sleep(1)
    raise AssertionError(last)


class Jupyter:
    """A Jupyter server, spoken to as a browser does."""

    def __init__(self, address: str, session: requests.Session) -> None:
        self.address, self.session = address.rstrip("/"), session

    def get(self, path: str) -> requests.Response:
        """Ask for something below the server's address."""
        return self.session.get(f"{self.address}/{path}", timeout=30)

    def send(self, method: str, path: str, data: Any = None) -> requests.Response:
        """Change something; the server wants to see its own cookie repeated in a header."""
        headers = {"X-XSRFToken": self.token()}
        return self.session.request(
            method, f"{self.address}/{path}", json=data, headers=headers, timeout=30
        )

    def token(self) -> str:
        """The cookie with the most exact path, which is the server's own, as in a browser."""
        wanted = urlsplit(self.address).path + "/"
        tokens = {k.path: k.value or "" for k in self.session.cookies if k.name == "_xsrf"}
        fitting = sorted((p for p in tokens if wanted.startswith(p)), key=len)
        return tokens[fitting[-1]] if fitting else ""

    def names(self, folder: str = "") -> list[str]:
        """The files in a folder."""
        return sorted(item["name"] for item in self.get(f"api/contents/{folder}").json()["content"])

    def notebook(self, path: str) -> Any:
        """A notebook's data."""
        return self.get(f"api/contents/{path}").json()["content"]

    @contextmanager
    def kernel(self, notebook: str) -> Iterator[Callable[[str], str]]:
        """A Python kernel beside a notebook; gives a function that runs code and returns text."""
        answer = self.send("POST", "api/kernels", {"name": "python3", "path": notebook})
        assert answer.status_code == 201, answer.text
        key = answer.json()["id"]
        request = requests.Request("GET", f"{self.address}/api")
        cookies = self.session.prepare_request(request).headers.get("Cookie", "")
        head = {"Authorization": self.session.headers.get("Authorization"), "Cookie": cookies}
        channel = websocket.create_connection(
            f"{self.address.replace('http', 'ws', 1)}/api/kernels/{key}/channels"
            f"?_xsrf={quote(self.token())}",
            header=[f"{name}: {value}" for name, value in head.items() if value],
            timeout=60,
        )
        try:
            yield lambda code: talk(channel, code)
        finally:
            channel.close()
            self.send("DELETE", f"api/kernels/{key}")


def talk(channel: websocket.WebSocket, code: str) -> str:
    """Run code over a kernel's channel: all text that it shows, an error with its type."""
    key = uuid.uuid4().hex
    header = {"msg_id": key, "msg_type": "execute_request", "session": key, "username": "",
              "version": "5.3", "date": ""}  # fmt: skip
    content = {"code": code, "silent": False, "store_history": False, "allow_stdin": False}
    message = {"channel": "shell", "header": header, "parent_header": {}, "metadata": {}}
    channel.send(json.dumps({**message, "content": content}))
    shown = ""
    while True:
        said = json.loads(channel.recv())
        if said["parent_header"].get("msg_id") != key:
            continue
        content = said["content"]
        if said["msg_type"] == "stream":
            shown += content["text"]
        elif said["msg_type"] in ("display_data", "execute_result"):
            shown += content["data"].get("text/plain", "")
        elif said["msg_type"] == "error":
            shown += f"{content['ename']}: {content['evalue']}"
        elif said["msg_type"] == "status" and content["execution_state"] == "idle":
            return shown
