"""A checker of HTTP requests, nginx in front of a service, and the service: each a real one.

nginx is configured as docs/guard-http.md says, with other ports.
"""
import http.client
import http.server
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import threading

import pytest

from conftest import BINARY, LIMIT_S, ROOT, Running, wait_until
from ledgers import NAME, tenure
from postgres import free_port  # noqa: F401

NGINX = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")
PAGE = (ROOT / "docs/guard-http.md").read_text()


def blocks(language):
    """The fenced blocks of the page in that language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.M | re.S)


def answers(port):
    with socket.socket() as s:
        return s.connect_ex(("127.0.0.1", port)) == 0


def shown(token, name=NAME):
    """The headers that show a token."""
    return [] if token is None else [("Tenure-Token", f"{name} {token}")]


def ask(port, method, path, headers=(), body=None):
    """One request on a connection of its own: (status, headers, body)."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=LIMIT_S)
    try:
        connection.putrequest(method, path)
        for key, value in headers:
            connection.putheader(key, value)
        if body is not None:
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body)
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read().decode(errors="replace")
    finally:
        connection.close()


class Checker:
    """`tenure guard serve` on a port that it keeps, with marks and a secret of its own."""

    def __init__(self, directory):
        self.directory = pathlib.Path(directory)
        self.marks = self.directory / "guard.marks"
        self.secret = self.directory / "guard.secret"
        self.secret.write_text("a-secret-of-the-tests\n")
        self.secret.chmod(0o600)
        self.port = 0
        self.start()

    def start(self):
        self.process = Running([str(BINARY), "guard", "serve", f"http://127.0.0.1:{self.port}",
                                "--marks", str(self.marks), "--secret", str(self.secret)])
        line = self.process.err.wait_for("checking requests at")
        self.port = int(re.search(r":(\d+),", line)[1])

    def stop(self, signo=signal.SIGTERM):
        """Ends it; its exit code."""
        self.process.send(signo)
        return self.process.wait()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    @property
    def target(self):
        return f"{self.url}?secret={self.secret}"

    def guard(self, verb, *options, target=None):
        return tenure("guard", verb, target or self.target, *options)

    def install(self, *options, name=NAME):
        return self.guard("install", "--name", name, *options)

    def announce(self, token, name=NAME):
        return self.guard("announce", "--name", name, "--token", token)

    def look(self):
        """The objects that `guard check --json` prints."""
        done = self.guard("check", "--json", target=self.url)
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]

    def mark(self, name=NAME):
        return next(guard["mark"] for guard in self.look() if guard["guard"] == name)

    def check(self, headers, name=NAME, method="GET"):
        """As a proxy asks: (status, verdict, body)."""
        status, found, body = ask(self.port, method, f"/check/{name}", headers)
        return status, found["Tenure-Verdict"], body

    def end(self):
        self.process.end()


class Service:
    """Says yes to everything, and remembers what it was sent."""

    def __init__(self):
        service = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def serve(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                service.seen.append((self.command, self.path, self.headers["Tenure-Token"], body))
                self.send_response(200)
                self.send_header("Content-Length", "5")
                self.end_headers()
                self.wfile.write(b"done\n")

            do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = serve

            def log_message(self, *_):
                pass

        self.seen = []
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def end(self):
        self.server.shutdown()
        self.server.server_close()


class Nginx:
    """In the foreground, with all its files in the test's directory."""

    def __init__(self, directory, port, checker_port, service_port, patience="5s"):
        self.directory = pathlib.Path(directory)
        self.port = port
        server = blocks("nginx")[0].replace("127.0.0.1:7420", f"127.0.0.1:{checker_port}")
        server = server.replace("127.0.0.1:8080", f"127.0.0.1:{port}")
        server = server.replace("127.0.0.1:9000", f"127.0.0.1:{service_port}")
        server = server.replace("proxy_read_timeout 5s", f"proxy_read_timeout {patience}")
        places = "".join(f"{kind}_temp_path {self.directory}/nginx-{kind};\n" for kind in
                         ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        user = "user root;\n" if os.geteuid() == 0 else ""
        (self.directory / "nginx.conf").write_text(
            f"{user}daemon off;\nworker_processes 2;\npid {self.directory}/nginx.pid;\n"
            f"error_log {self.directory}/nginx.log;\nevents {{}}\n"
            f"http {{\naccess_log off;\n{places}{server}}}\n")
        self.start()

    def start(self):
        self.process = subprocess.Popen([NGINX, "-p", str(self.directory), "-c", "nginx.conf", "-e",
                                         f"{self.directory}/nginx.log"], stdin=subprocess.DEVNULL)
        wait_until(lambda: answers(self.port), "nginx")

    def stop(self):
        self.process.terminate()
        self.process.wait(LIMIT_S)

    def send(self, token, method="POST", path="/invoices/1", headers=None, body=b"total=1"):
        """A client's request: (status, verdict)."""
        status, found, _ = ask(self.port, method, path, shown(token) if headers is None
                               else headers, body)
        return status, found["Tenure-Verdict"]

    def end(self):
        if self.process.poll() is None:
            self.stop()


@pytest.fixture
def checker(tmp_path):
    """With the guard NAME."""
    made = Checker(tmp_path)
    done = made.install()
    assert done.returncode == 0, done.stderr
    yield made
    made.end()


@pytest.fixture
def service():
    made = Service()
    yield made
    made.end()
