"""The HTTP guard from outside: a real checker, asked as a proxy asks it, and the command (P10).

The same promises as in test_guard.py, as far as requests have them; with nginx in front of a
service in test_guard_nginx.py; what many threads see of the marks is in tests/guards/http.c.
"""
import contextlib
import http.client
import pathlib
import re
import resource
import signal
import socket
import sqlite3

import pytest

from checkers import ask, checker, free_port, shown  # noqa: F401
from conftest import BINARY, DENIED, INTERNAL, LIMIT_S, REFUSED, UNREACHABLE, UNSURE, USAGE
from conftest import Running
from ledgers import NAME, tenure

TOO_LARGE = "9223372036854775808"


# ---- requests --------------------------------------------------------------------------------


def test_a_request_is_refused_without_a_token_and_let_in_with_one(checker):
    assert checker.check([])[:2] == (401, "missing")
    assert checker.check(shown(42))[:2] == (200, "raise")
    assert checker.check(shown(42))[:2] == (200, "admit")
    assert checker.mark() == 42


def test_a_replaced_writer_is_refused_and_told_why(checker):
    assert checker.announce(42).returncode == 0
    status, verdict, body = checker.check(shown(41))
    assert (status, verdict) == (403, "stale")
    assert body.count("\n") == 1 and all(word in body for word in (NAME, "41", "42"))


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS",
                                    "BREW"])
def test_every_method_is_checked(checker, method):
    assert checker.announce(42).returncode == 0
    assert checker.check(shown(42), method=method)[:2] == (200, "admit")
    assert checker.check(shown(41), method=method)[:2] == (403, "stale")


@pytest.mark.parametrize("value", ["", NAME, f"{NAME} 0", f"{NAME} -1", f"{NAME} 042", "42",
                                   f"{NAME} 4e1", f"{NAME} 0x2a", f"{NAME} 42.0", f"{NAME} 42 42",
                                   f"{NAME}  42", f"{NAME}=42", f"{NAME} {TOO_LARGE}",
                                   f"{NAME} 18446744073709551658", "billing//invoices 42",
                                   f"{NAME} 42, {NAME} 43", "\xe4 42", f"{NAME} 4\t2",
                                   "n" * 8192, f"{NAME} " + "4" * 8192])
def test_what_is_no_token_is_refused_as_invalid(checker, value):
    assert checker.check([("Tenure-Token", value)])[:2] == (401, "invalid")
    assert checker.mark() == 0


def test_two_headers_are_refused_also_when_both_would_be_admitted(checker):
    assert checker.announce(42).returncode == 0
    assert checker.check(shown(42) + shown(42))[:2] == (401, "invalid")
    assert checker.check(shown(41) + [("tenure-token", f"{NAME} 42")])[:2] == (401, "invalid")


def test_a_header_that_is_larger_than_any_buffer_is_not_let_in(checker):
    status, verdict, _ = checker.check([("X", "x" * 200_000)] + shown(42))
    assert status >= 400 and verdict is None
    assert checker.check(shown(42))[:2] == (200, "raise")


def test_a_token_for_another_guard_does_not_count(checker):
    assert checker.install(name="billing/other").returncode == 0
    assert checker.check(shown(42, "billing/other"))[:2] == (401, "missing")
    assert checker.check(shown(42, "billing/other"), "billing/other")[:2] == (200, "raise")
    assert checker.mark() == 0


def test_a_request_to_a_guard_that_there_is_not_is_not_let_in(checker):
    assert checker.check(shown(42, "none"), "none")[:2] == (503, "broken")
    assert checker.check(shown(42), f"{NAME}/deeper")[:2] == (503, "broken")
    assert checker.check([], "none")[:2] == (503, "broken")


def test_the_name_of_the_guard_ends_where_the_path_of_a_request_begins(checker):
    assert checker.announce(42).returncode == 0
    assert checker.check(shown(42), f"{NAME}//invoices//1?x=//y")[:2] == (200, "admit")
    assert checker.check(shown(41), f"{NAME}//{NAME}")[:2] == (403, "stale")
    assert checker.check(shown(42), NAME.replace("/", "%2f"))[:2] == (503, "broken")
    for path in ("/check/", "/check", "/check//x", "/check/../guards", "/", "/guards/../check/a"):
        assert ask(checker.port, "GET", path, shown(42))[0] in (400, 404), path


def test_a_body_is_read_and_the_connection_stays(checker):
    connection = http.client.HTTPConnection("127.0.0.1", checker.port, timeout=LIMIT_S)
    for size in (0, 10, 100_000):
        connection.request("POST", f"/check/{NAME}", b"x" * size, dict(shown(42)))
        first = connection.sock
        answer = connection.getresponse()
        assert answer.status == 200 and answer.read()
        assert connection.sock is first, "it was closed"
    connection.close()


def test_strict_tells_newer_from_stale(checker):
    assert checker.install("--strict", name="strict").returncode == 0
    assert checker.check(shown(43, "strict"), "strict")[:2] == (403, "newer")
    assert checker.announce(43, "strict").returncode == 0
    assert checker.check(shown(43, "strict"), "strict")[:2] == (200, "admit")
    assert checker.announce(44, "strict").returncode == 0
    assert checker.check(shown(43, "strict"), "strict")[:2] == (403, "stale")


# ---- who may change something ----------------------------------------------------------------


def test_who_only_knows_the_address_cannot_raise_a_mark_beyond_what_the_rule_admits(checker):
    assert checker.install("--strict", name="strict").returncode == 0
    largest = shown(2**63 - 1, "strict")
    assert checker.check(largest, "strict")[:2] == (403, "newer")
    wrong = [("Authorization", "Bearer a-secret-of-the-testS")]
    twice = [("Authorization", f"Bearer {checker.secret.read_text().strip()}")] * 2
    for headers in ([], wrong, twice):
        for method, path in (("POST", "/announce"), ("PUT", "/guards/more"),
                             ("DELETE", "/guards/strict")):
            status, found, _ = ask(checker.port, method, path, largest + headers)
            assert (status, found["Tenure-Result"]) == (401, "DENIED"), (method, path)
    for method in ("POST", "PUT", "DELETE"):
        status, _, _ = ask(checker.port, method, "/check/strict", largest)
        assert status == 403
    assert [(guard["guard"], guard["mark"]) for guard in checker.look()] == \
        [(NAME, 0), ("strict", 0)]


def test_too_few_open_files_are_told_and_a_soft_limit_is_raised(checker):
    def serve(soft, hard):
        return Running([str(BINARY), "guard", "serve", "http://127.0.0.1:0", "--marks",
                        f"{checker.marks}.2", "--secret", str(checker.secret)],
                       preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard)))

    refused = serve(100, 100)
    assert refused.wait() == INTERNAL and "may have 100 (ulimit -n)" in refused.err.text()
    raised = serve(100, 2000)
    try:
        raised.err.wait_for("checking requests at")
        limits = pathlib.Path(f"/proc/{raised.pid}/limits").read_text()
        assert int(re.search(r"Max open files +(\d+)", limits)[1]) == 1024
    finally:
        raised.end()


def test_without_the_secret_the_command_is_denied_and_says_what_it_lacks(checker, tmp_path):
    other = tmp_path / "other"
    other.write_text("another-secret-of-the-tests")
    other.chmod(0o600)
    for verb, options in (("install", ["--name", "a"]), ("remove", ["--name", NAME]),
                          ("announce", ["--name", NAME, "--token", "42"])):
        done = checker.guard(verb, *options, target=checker.url)
        assert done.returncode == DENIED and "?secret=FILE" in done.stderr, done.stderr
        done = checker.guard(verb, *options, target=f"{checker.url}?secret={other}")
        assert done.returncode == DENIED and "secret" in done.stderr, done.stderr
    assert checker.mark() == 0


def test_a_secret_that_others_can_read_is_refused_on_both_sides(checker):
    checker.secret.chmod(0o644)
    done = checker.announce(42)
    assert done.returncode == DENIED and "chmod" in done.stderr
    assert checker.stop() == 0
    done = tenure("guard", "serve", checker.url, "--marks", checker.marks, "--secret",
                  checker.secret)
    assert done.returncode == DENIED and "chmod" in done.stderr


# ---- the command -----------------------------------------------------------------------------


def test_an_announcement_moves_up_and_never_down(checker):
    assert checker.announce(42).returncode == 0
    assert checker.announce(42).returncode == 0
    done = checker.announce(41)
    assert done.returncode == REFUSED and "stale" in done.stderr and "42" in done.stderr
    assert checker.mark() == 42


@pytest.mark.parametrize("token", ["0", "-1", "abc", "1e3", "", TOO_LARGE,
                                   "18446744073709551616"])
def test_a_token_that_is_none_is_refused(checker, token):
    done = checker.announce(token)
    assert done.returncode == USAGE and "--token" in done.stderr
    assert checker.mark() == 0


def test_bad_targets_are_refused_and_nothing_is_installed(checker, tmp_path):
    closed = f"http://127.0.0.1:{free_port()}"
    for arguments, code in [
        (("install", "http:127.0.0.1", "--name", "a"), USAGE),
        (("install", "http://", "--name", "a"), USAGE),
        (("install", "http://:80", "--name", "a"), USAGE),
        (("install", f"{checker.url}0000", "--name", "a"), USAGE),
        (("install", f"{checker.url}?secrets=x", "--name", "a"), USAGE),
        (("install", f"http://user:word@127.0.0.1:{checker.port}", "--name", "a"), USAGE),
        (("install", f"{checker.url}?secret={tmp_path}/none", "--name", "a"), UNREACHABLE),
        (("install", checker.target, "--name", "a//b"), USAGE),
        (("install", checker.target, "--name", "a", "--table", "invoice"), USAGE),
        (("install", checker.target), USAGE),
        (("install", closed, "--name", "a"), UNREACHABLE),
        (("announce", closed, "--name", NAME, "--token", "1"), UNREACHABLE),
        (("check", closed), UNREACHABLE),
        (("announce", checker.target, "--name", "none", "--token", "1"), USAGE),
        (("check", checker.url, "--name", "none"), USAGE),
        (("remove", checker.target, "--name", "none"), USAGE),
    ]:
        done = tenure("guard", *arguments)
        assert done.returncode == code, (arguments, done.stderr)
        assert done.stderr.startswith("tenure: ") and done.stdout == ""
    assert [(guard["guard"], guard["mark"]) for guard in checker.look()] == [(NAME, 0)]


def test_what_answers_and_is_no_checker_is_told_from_one(checker):
    """A server that says 200 to everything has announced nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        command = Running([str(BINARY), "guard", "announce",
                           f"http://127.0.0.1:{server.getsockname()[1]}", "--name", NAME,
                           "--token", "42"])
        with server.accept()[0] as connection:
            connection.recv(65536)
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\ndone\n")
            assert command.wait() == DENIED
    assert "not a checker" in command.err.text()


@pytest.mark.parametrize("verb, head, body", [
    ("check", "200 OK\r\nTenure-Result: OK", '[{"guard":"a\\u001b[2J","mark":1,"strict":false,'
     '"refused":0,"last":null}]'),
    ("check", "200 OK\r\nTenure-Result: OK", '[{"guard":"a","mark":1,"strict":false,"refused":1,'
     '"last":{"verdict":"\\u001b[2J","token":1,"at_ms":1}}]'),
    ("check", "200 OK\r\nTenure-Result: OK", '[{"guard":"a","mark":-1,"strict":false,"refused":0,'
     '"last":null}]'),
    ("announce", "409 Conflict\r\nTenure-Result: NOT_OWNED", "stale\x1b[2J"),
])
def test_what_a_stranger_answers_does_not_reach_the_terminal(verb, head, body):
    with socket.create_server(("127.0.0.1", 0)) as server:
        options = ["--name", NAME, "--token", "42"] if verb == "announce" else []
        command = Running([str(BINARY), "guard", verb,
                           f"http://127.0.0.1:{server.getsockname()[1]}", *options])
        with server.accept()[0] as connection:
            connection.recv(65536)
            connection.sendall(f"HTTP/1.1 {head}\r\nContent-Length: {len(body)}\r\n\r\n{body}"
                               .encode())
            assert command.wait() == (REFUSED if verb == "announce" else DENIED)
    assert "\x1b" not in command.err.text() and "-1" not in command.err.text()


def test_an_announcement_without_an_answer_is_unsure(checker):
    with socket.create_server(("127.0.0.1", 0)) as server:
        command = Running([str(BINARY), "guard", "announce",
                           f"http://127.0.0.1:{server.getsockname()[1]}", "--name", NAME,
                           "--token", "42"])
        connection, _ = server.accept()
        connection.recv(65536)
        connection.close()
        assert command.wait() == UNSURE
    assert "may have done it" in command.err.text()


def test_an_announcement_to_a_checker_that_is_stopped_is_unsure_and_may_have_been_made(checker):
    checker.process.send(signal.SIGSTOP)
    assert checker.announce(42).returncode == UNSURE
    checker.process.send(signal.SIGCONT)
    assert checker.announce(42).returncode == 0  # whether it was or not


@pytest.mark.parametrize("query", ["strict", "strict=", "strict=true", "strict=0",
                                   "strict=1&strict=0"])
def test_who_asks_for_a_strict_guard_in_other_words_gets_none(checker, query):
    secret = [("Authorization", f"Bearer {checker.secret.read_text().strip()}")]
    status, found, _ = ask(checker.port, "PUT", f"/guards/new?{query}", secret)
    assert (status, found["Tenure-Result"]) == (400, "INVALID")
    assert ask(checker.port, "PUT", "/guards/new?strict=1", secret)[0] == 200


def test_a_guard_is_as_strict_as_it_was_installed(checker):
    done = checker.install("--strict")
    assert done.returncode == REFUSED and "without --strict" in done.stderr
    assert checker.announce(42).returncode == 0
    assert checker.install().returncode == 0
    assert checker.mark() == 42


def test_check_shows_marks_and_refusals(checker):
    assert checker.announce(42).returncode == 0
    assert checker.check(shown(41))[0] == 403
    assert checker.check([])[0] == 401
    found, = checker.look()
    assert re.match(r"\d{4}-", found["refusals"]["last"].pop("at"))
    assert found == {"guard": NAME, "mark": 42, "strict": False, "warning": None, "tables": [],
                     "refusals": {"count": 2, "last": {"verdict": "missing", "token": None,
                                                       "token_text": None}}}
    done = checker.guard("check", target=checker.url)
    assert done.returncode == 0 and "intact" in done.stdout and "refused 2" in done.stdout


def test_check_says_when_a_mark_is_higher_than_any_token_of_the_store(checker, tmp_path):
    store = tmp_path / "tenure.db"
    held = tenure("lock", "--guard", checker.target, NAME, "--", "true", store=store)
    assert held.returncode == 0, held.stderr
    done = checker.guard("check", "--store", f"sqlite:{store}")
    assert done.returncode == 0, done.stderr
    assert checker.announce(checker.mark() + 1000).returncode == 0
    done = checker.guard("check", "--store", f"sqlite:{store}")
    assert done.returncode == 1 and "higher than" in done.stderr


def test_remove_leaves_nothing_and_lets_nobody_in(checker):
    assert checker.announce(42).returncode == 0
    assert checker.guard("remove", "--name", NAME).returncode == 0
    assert checker.look() == []
    assert checker.check(shown(42))[:2] == (503, "broken")
    assert checker.stop() == 0
    with sqlite3.connect(checker.marks) as db:
        assert db.execute("SELECT count(*) FROM guard").fetchone() == (0,)


# ---- under lock and lead ---------------------------------------------------------------------


@pytest.mark.parametrize("verb", [["lock"], ["lead", "--once"]])
def test_the_token_is_announced_before_the_command_starts(checker, tmp_path, verb):
    done = tenure(*verb, "--guard", checker.target, NAME, "--", "sh", "-c",
                  f"{BINARY} guard check '{checker.url}' --json; echo $TENURE_TOKEN",
                  store=tmp_path / "tenure.db")
    assert done.returncode == 0, done.stderr
    report, token = done.stdout.splitlines()
    assert f'"mark":{token},' in report


def test_when_the_announcement_fails_the_command_is_not_started(checker, tmp_path):
    store, started = tmp_path / "tenure.db", tmp_path / "started"
    assert checker.announce(2**62).returncode == 0  # higher than any token of a new store
    arguments = ("lock", "--guard", checker.target, NAME, "--", "touch", started)
    done = tenure(*arguments, store=store)
    assert done.returncode == DENIED and "stale" in done.stderr
    assert checker.stop() == 0
    done = tenure(*arguments, store=store)
    assert done.returncode == UNREACHABLE, done.stderr
    assert not started.exists()
    again = tenure("lock", "-n", NAME, "--", "true", store=store)
    assert again.returncode == 0, "the tenure was not given back"


# ---- the checker as a process ----------------------------------------------------------------


def test_marks_stand_after_the_checker_was_killed(checker):
    assert checker.announce(42).returncode == 0
    assert checker.check(shown(43))[:2] == (200, "raise")
    assert checker.stop(signal.SIGKILL) == 137
    checker.start()
    assert checker.check(shown(42))[:2] == (403, "stale")
    assert checker.check(shown(43))[:2] == (200, "admit")


def test_a_term_ends_it_and_a_hang_up_is_nothing(checker):
    checker.process.send(signal.SIGHUP)
    assert checker.check(shown(42))[0] == 200
    assert checker.stop() == 0
    checker.start()
    assert checker.stop(signal.SIGINT) == 0


CROWD = 2000  # more than a checker has connections


@pytest.fixture
def crowd(checker):
    """Connections in the middle of a request."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(CROWD + 500, before[1]), before[1]))
    with contextlib.ExitStack() as stack:
        for _ in range(CROWD):
            member = stack.enter_context(socket.create_connection(("127.0.0.1", checker.port)))
            member.sendall(f"GET /check/{NAME} HTTP/1.1\r\nX: ".encode())
        yield stack
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_a_crowd_that_is_gone_keeps_nobody_out(checker, crowd):
    crowd.close()
    assert checker.check(shown(42))[:2] == (200, "raise")


def test_a_crowd_does_not_keep_it_from_ending(checker, crowd):
    assert checker.stop() == 0


def test_one_file_and_one_address_have_one_checker(checker, tmp_path):
    def second(url, marks):
        done = tenure("guard", "serve", url, "--marks", marks, "--secret", checker.secret)
        return done.returncode, done.stderr

    code, said = second("http://127.0.0.1:0", checker.marks)
    assert code == UNREACHABLE and "another checker" in said
    code, said = second(checker.url, tmp_path / "more.marks")
    assert code == UNREACHABLE and "listen" in said
    assert not (tmp_path / "more.marks").exists()


def test_a_marks_file_that_is_none_is_refused(checker, tmp_path):
    assert checker.stop() == 0
    foreign, newer = tmp_path / "foreign", tmp_path / "newer"
    newer.write_bytes(checker.marks.read_bytes())
    for path, sql in ((foreign, "CREATE TABLE guard(name, mark, strict)"),
                      (newer, "PRAGMA user_version = 2")):
        with contextlib.closing(sqlite3.connect(path)) as db:
            db.execute(sql)
    for marks, code, word in [(foreign, DENIED, "something else"), (newer, DENIED, "version 2"),
                              (BINARY, DENIED, "not a database"), (tmp_path, UNREACHABLE, "open"),
                              (tmp_path / "no/such", UNREACHABLE, "No such file")]:
        before = marks.read_bytes() if marks.is_file() else None
        done = tenure("guard", "serve", "http://127.0.0.1:0", "--marks", marks, "--secret",
                      checker.secret)
        assert done.returncode == code and word in done.stderr, (marks, done.stderr)
        assert marks.read_bytes() == before if before else not marks.is_file()


def test_bad_addresses_are_refused(checker, tmp_path):
    marks = tmp_path / "more.marks"
    for url in ("https://127.0.0.1:0", "http://127.0.0.1:0/prefix", "127.0.0.1:0", "http://[::1",
                "http://127.0.0.1:x", f"http://127.0.0.1?secret={checker.secret}", "sqlite:x"):
        done = tenure("guard", "serve", url, "--marks", marks, "--secret", checker.secret)
        assert done.returncode == USAGE and done.stderr.startswith("tenure: "), url
        assert url != "127.0.0.1:0" or "it is http://HOST[:PORT]" in done.stderr
    assert not marks.exists()


def test_a_mark_that_cannot_be_made_durable_does_not_rise_and_lets_nobody_in(checker):
    """No file may grow any more, as when the disk is full."""
    assert checker.announce(42).returncode == 0
    resource.prlimit(checker.process.pid, resource.RLIMIT_FSIZE, (1, resource.RLIM_INFINITY))
    assert checker.check(shown(43))[:2] == (503, "unavailable")
    assert checker.announce(43).returncode in (UNREACHABLE, DENIED)
    checker.process.err.wait_for("no mark can rise")
    assert ask(checker.port, "GET", "/health")[0] == 503
    assert checker.check(shown(42))[:2] == (200, "admit") and checker.mark() == 42
    resource.prlimit(checker.process.pid, resource.RLIMIT_FSIZE,
                     (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert checker.check(shown(43))[:2] == (200, "raise")
    assert ask(checker.port, "GET", "/health")[0] == 200
    checker.process.err.wait_for("marks can rise again")
    assert len(checker.process.err.lines) == 3  # it is not said for each request


def test_metrics_count_by_guard_and_verdict(checker):
    assert checker.announce(42).returncode == 0
    for headers in (shown(42), shown(42), shown(41), []):
        checker.check(headers)
    checker.check(shown(1, "stranger"), "stranger")
    status, found, body = ask(checker.port, "GET", "/metrics")
    assert status == 200 and found["Content-Type"].startswith("text/plain; version=0.0.4")
    lines = body.splitlines()
    for line in (f'tenure_guard_checks_total{{guard="{NAME}",verdict="admit"}} 2',
                 f'tenure_guard_checks_total{{guard="{NAME}",verdict="stale"}} 1',
                 f'tenure_guard_checks_total{{guard="{NAME}",verdict="missing"}} 1',
                 'tenure_guard_checks_total{guard="",verdict="broken"} 1',
                 f'tenure_guard_mark{{guard="{NAME}"}} 42', "tenure_guard_durable 1",
                 f'tenure_guard_announcements_total{{guard="{NAME}"}} 1',
                 "tenure_guard_commit_seconds_count 2"):
        assert line in lines, body
    assert "stranger" not in body, "a client can make labels"


def test_other_machines_reach_it_only_when_asked_to_and_are_warned_of(checker, tmp_path):
    listens = [line.split()[1] for line in pathlib.Path("/proc/net/tcp").read_text().splitlines()
               if line.split()[3] == "0A" and line.split()[1].endswith(f":{checker.port:04X}")]
    assert listens == [f"0100007F:{checker.port:04X}"]
    exposed = Running([str(BINARY), "guard", "serve", "http://0.0.0.0:0", "--marks",
                       str(tmp_path / "more"), "--secret", str(checker.secret)])
    exposed.err.wait_for("checking requests at http://0.0.0.0:")
    assert "other machines" in exposed.err.lines[0]
    exposed.send(signal.SIGTERM)
    assert exposed.wait() == 0
