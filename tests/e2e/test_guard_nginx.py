"""The HTTP guard in its place: real nginx, configured as docs/guard-http.md says, in front of a
service that takes everything (P10)."""
import http.client
import pathlib
import re
import signal
import subprocess
import threading
import time

import pytest

from checkers import NGINX, Nginx, ask, blocks, free_port, shown
from checkers import checker, service  # noqa: F401
from conftest import BINARY, LIMIT_S, wait_until
from ledgers import NAME, tenure

pytestmark = pytest.mark.skipif(not NGINX, reason="nginx is not installed")
STALE = (403, "stale")


@pytest.fixture
def nginx(tmp_path, checker, service):  # noqa: F811
    made = Nginx(tmp_path, free_port(), checker.port, service.port)
    yield made
    made.end()


# ---- what passes ------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE", "PATCH"])
def test_a_fresh_request_passes_whole_and_a_stale_one_never_reaches_the_service(
        nginx, checker, service, method):  # noqa: F811
    assert checker.announce(42).returncode == 0
    assert nginx.send(42, method, "/invoices/7?a=b", body=b"total=100") == (200, "admit")
    assert nginx.send(41, method) == STALE
    assert service.seen == [(method, "/invoices/7?a=b", f"{NAME} 42", b"total=100")]


@pytest.mark.parametrize("headers, refused", [
    ([], (401, "missing")),
    (shown(42, "billing/other"), (401, "missing")),
    ([("Tenure-Token", "42")], (401, "invalid")),
    ([("Tenure-Token", f"{NAME} 042")], (401, "invalid")),
    (shown(42) + shown(42), (401, "invalid")),
    (shown(42) + shown(43), (401, "invalid")),
    ([("Tenure-Token", f"{NAME} 42, {NAME} 43")], (401, "invalid")),
    ([("Tenure-Token", "n" * 8000)], (401, "invalid")),
    ([("Tenure-Token", "n" * 8192)], (400, None)),  # nginx itself: its buffers are 8 KiB
], ids=str)
def test_odd_headers_are_refused_and_the_service_sees_nothing(
        nginx, service, headers, refused):  # noqa: F811
    assert nginx.send(None, headers=headers) == refused
    assert service.seen == []


def test_the_client_cannot_reach_past_the_check(nginx, service):  # noqa: F811
    """Neither the checker, nor the location of the check, nor another guard."""
    for path in ("/_tenure", "/check/billing/other", "/announce", "/guards", "/metrics", "//",
                 "/x/../_tenure", "/%5ftenure"):
        for method in ("GET", "POST"):
            assert ask(nginx.port, method, path, [])[0] in (401, 404), path
    assert service.seen == []


def test_a_body_that_comes_in_chunks_passes_and_is_kept_from_the_checker(
        nginx, checker, service):  # noqa: F811
    assert checker.announce(42).returncode == 0
    connection = http.client.HTTPConnection("127.0.0.1", nginx.port, timeout=LIMIT_S)
    for token, status in ((42, 200), (41, 403), (42, 200)):
        connection.request("POST", "/", iter([b"x" * 70_000, b"y"]), dict(shown(token)),
                           encode_chunked=True)
        answer = connection.getresponse()
        assert answer.status == status and answer.read()
    connection.close()
    assert [len(body) for _, _, _, body in service.seen] == [70_001] * 2


def test_a_check_costs_no_connection(nginx, checker):  # noqa: F811
    assert checker.announce(42).returncode == 0
    for _ in range(20):
        assert nginx.send(42)[0] == 200 and nginx.send(41)[0] == 403
    to_checker = [line for line in pathlib.Path("/proc/net/tcp").read_text().splitlines()
                  if line.split()[2].endswith(f":{checker.port:04X}")]
    assert len(to_checker) < 20, "of 40 checks"  # each worker keeps some; closed ones stay in sight


# ---- the successor ----------------------------------------------------------------------------


def test_an_old_holder_is_refused_before_its_successor_has_sent_anything(
        nginx, checker, service, tmp_path):  # noqa: F811
    store = tmp_path / "tenure.db"
    curl = ["sh", "-c", f"curl -sSf -d x -H \"Tenure-Token: $TENURE_NAME ${{OLD:-$TENURE_TOKEN}}\" "
                        f"http://127.0.0.1:{nginx.port}/ && echo $TENURE_TOKEN"]
    lock = ("lock", "--guard", checker.target, NAME, "--")
    first = tenure(*lock, *curl, store=store)
    assert first.returncode == 0, first.stderr
    old = first.stdout.split()[-1]
    second = tenure(*lock, *curl, store=store, env={"OLD": old})
    assert second.returncode == 22 and "403" in second.stderr  # curl's word for it
    assert len(service.seen) == 1


def test_a_newer_token_is_told_from_a_stale_one(nginx, checker, service):  # noqa: F811
    assert checker.guard("remove", "--name", NAME).returncode == 0
    assert nginx.send(42) == (500, "broken")  # nothing to check by: nothing passes
    assert checker.install("--strict").returncode == 0
    assert checker.announce(42).returncode == 0
    assert nginx.send(41) == STALE
    assert nginx.send(43) == (403, "newer")
    assert service.seen == []


# ---- restarts ---------------------------------------------------------------------------------


def test_marks_stand_over_restarts_of_the_checker_and_of_nginx(
        nginx, checker, service):  # noqa: F811
    assert checker.announce(42).returncode == 0
    assert nginx.send(42) == (200, "admit")
    checker.stop(signal.SIGKILL)
    assert nginx.send(42)[0] == 500 and nginx.send(41)[0] == 500
    checker.start()
    assert nginx.send(41) == STALE
    assert nginx.send(42) == (200, "admit")
    nginx.stop()
    nginx.start()
    assert nginx.send(41) == STALE
    assert checker.stop() == 0
    checker.start()
    assert nginx.send(42) == (200, "admit")
    assert len(service.seen) == 3


def test_while_the_checker_does_not_answer_nothing_passes(
        checker, service, tmp_path):  # noqa: F811
    assert checker.announce(42).returncode == 0
    nginx = Nginx(tmp_path, free_port(), checker.port, service.port, patience="200ms")
    try:
        checker.process.send(signal.SIGSTOP)
        assert nginx.send(42)[0] == 500 and nginx.send(41)[0] == 500
        assert service.seen == []
        checker.process.send(signal.SIGCONT)
        wait_until(lambda: nginx.send(41) == STALE, "a refusal")
        wait_until(lambda: nginx.send(42)[0] == 200, "a fresh request")
    finally:
        nginx.end()


# ---- under load -------------------------------------------------------------------------------


class Crowd:
    """Clients that send without a pause, each on a connection of its own, with the token that they
    had at first."""

    def __init__(self, port, size):
        self.port = port
        self.token = 1
        self.sent = []  # (when it began, token, status)
        self.over = threading.Event()
        self.faults = []
        self.threads = [threading.Thread(target=self._guarded) for _ in range(size)]
        for thread in self.threads:
            thread.start()

    def _guarded(self):
        try:
            self._send()
        except Exception as fault:  # told by the test
            self.faults.append(repr(fault))

    def _send(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=LIMIT_S)
        while not self.over.is_set():
            for token in (self.token, max(1, self.token - 1)):
                began = time.monotonic()
                connection.request("POST", "/", b"x", dict(shown(token)))
                answer = connection.getresponse()
                answer.read()
                self.sent.append((began, token, answer.status))
        connection.close()

    def wait_for_more(self, count):
        enough = len(self.sent) + count
        wait_until(lambda: len(self.sent) >= enough or self.faults, "requests")

    def end(self):
        self.over.set()
        for thread in self.threads:
            thread.join(LIMIT_S)


def test_after_an_announcement_returned_no_stale_request_that_begins_later_is_admitted(
        nginx, checker, service):  # noqa: F811
    assert checker.announce(1).returncode == 0
    crowd = Crowd(nginx.port, 12)
    announced = {1: time.monotonic()}
    try:
        for token in range(2, 8):
            crowd.wait_for_more(60)
            assert checker.announce(token).returncode == 0
            announced[token] = time.monotonic()
            crowd.wait_for_more(60)
            crowd.token = token
        crowd.wait_for_more(60)
    finally:
        crowd.end()
    assert crowd.faults == []
    late = [(token, status) for began, token, status in crowd.sent
            if began > announced.get(token + 1, float("inf")) and status != 403]
    assert late == []
    statuses = {status for _, _, status in crowd.sent}
    assert statuses == {200, 403}
    assert len(service.seen) == sum(status == 200 for _, _, status in crowd.sent)


# ---- the page ---------------------------------------------------------------------------------


def test_the_page_can_be_followed(tmp_path, service):  # noqa: F811
    """Its commands, in its order, with other ports."""
    ports = {"7420": free_port(), "8080": free_port()}
    steps = [re.sub("127.0.0.1:(7420|8080)", lambda m: f"127.0.0.1:{ports[m[1]]}", step)
             for step in blocks("sh")]
    outputs = blocks("output")
    env = {"PATH": f"{BINARY.parent}:/usr/bin:/bin", "HOME": str(tmp_path),
           "TENURE_STORE": f"sqlite:{tmp_path}/tenure.db"}

    def run(step):
        done = subprocess.run(["sh", "-euc", step], cwd=tmp_path, env=env, text=True,
                              capture_output=True, timeout=LIMIT_S)
        assert done.returncode == 0, (step, done.stderr)
        return done.stdout

    prepare, serve = steps[0].strip().splitlines()
    run(prepare)
    assert serve.endswith(" &")
    serving = subprocess.Popen(["sh", "-c", "exec " + serve[:-2].replace(
        "serve", f"serve http://127.0.0.1:{ports['7420']}")], cwd=tmp_path, env=env,
        stderr=subprocess.PIPE, text=True)
    try:
        assert "checking requests" in serving.stderr.readline()
        assert run(steps[1]) == outputs[0]
        nginx = Nginx(tmp_path, ports["8080"], ports["7420"], service.port)
        try:
            assert run(steps[2]) == "done\n"
            assert run(steps[3]) == outputs[1]
            run(steps[4])
            assert len(steps) == 5 and len(service.seen) == 1
        finally:
            nginx.end()
    finally:
        serving.terminate()
        assert serving.wait(LIMIT_S) == 0
        serving.stderr.close()
