"""tenure permit: granted while an epoch stands, signed, and verified without the store."""
import base64
import concurrent.futures
import json
import os
import pathlib
import stat
import subprocess

import pytest

from conftest import BINARY, DENIED, LOST, REFUSED, UNREACHABLE, USAGE, wait_until

CLOCK = ("--clock-error", "50ms")
ROLE = "cluster/maintenance"


class Effector:
    """Who does things to node-7, and has nothing but a file of keys and one of what it has seen."""

    def __init__(self, cli):
        self.cli = cli
        self.keys = cli.directory / "keys"
        self.state = cli.directory / "seen"

    def show(self, permit, *options, resource="node-7", operation="drain", role=ROLE, clock=CLOCK,
             **more):
        return self.cli.run("permit", "verify", resource, operation, "--role", role, "--keys",
                            self.keys, "--state", self.state, *clock, *options, stdin=permit,
                            env={"TENURE_STORE": "sqlite:/nowhere/at/all"}, **more)


@pytest.fixture
def keys(cli):
    """The signing key, whose public half the effector trusts."""
    done = cli.run("permit", "keygen", "key")
    assert done.code == 0, done.err
    (cli.directory / "key.pub").rename(cli.directory / "keys")
    return cli.directory / "key"


@pytest.fixture
def effector(cli, keys):
    return Effector(cli)


def lead(cli, *options, after=0):
    """Somebody leads; its process and the epoch, which is higher than `after`."""
    process = cli.start("lead", *options, ROLE, "--", "sleep", "1000")
    tokens = wait_until(lambda: [h["token"] for h in cli.holders(ROLE) if h["token"] > after],
                        "the election")
    return process, tokens[0]


def issue(cli, epoch, *options, resource="node-7", operation="drain", role=ROLE, clock=CLOCK):
    return cli.run("permit", "issue", resource, operation, "--key", "key", "--role", role,
                   "--epoch", str(epoch), *clock, *options)


def test_under_lead_a_permit_needs_no_more_than_the_key(cli, effector):
    script = f"{BINARY} permit issue node-7 drain --key key --clock-error 50ms"
    done = cli.run("lead", "--once", "-q", ROLE, "--", "sh", "-c", script)
    assert done.code == 0 and done.out.count("\n") == 1, done.err
    assert done.out.startswith("permit1.")
    shown = effector.show(done.out)
    assert (shown.code, shown.out, shown.err) == (0, "", "")


def test_an_outer_tenure_is_found_by_its_name_in_its_own_store(cli, effector):
    inner = f"{BINARY} permit issue node-7 drain --key key --clock-error 50ms --role {ROLE} --json"
    script = f"{BINARY} lock --store sqlite:{cli.directory}/other.db inner -- {inner}"
    done = cli.run("lead", "--once", "-q", ROLE, "--", "sh", "-c", script)
    assert done.code == 0, done.err
    assert effector.show(done.objects[0]["permit"]).code == 0


def test_json_says_what_the_permit_says(cli, effector):
    _, epoch = lead(cli)
    said = issue(cli, epoch, "--json", "--for", "30s").objects[0]
    assert (said["role"], said["epoch"], said["resource"]) == (ROLE, epoch, "node-7")
    assert said["valid_ms"] == 30000 and said["clock_error_ms"] == 50
    done = effector.show(said["permit"], "--json")
    verdict = done.objects[0]
    assert done.code == 0 and verdict["verdict"] == "admit" and verdict["reason"] is None
    assert {k: verdict[k] for k in ("serial", "key", "not_after")} == \
        {k: said[k] for k in ("serial", "key", "not_after")}


def test_a_permit_that_may_outlive_its_epoch_says_so(cli, keys):
    _, epoch = lead(cli)
    done = issue(cli, epoch, "--for", "30s")
    assert done.code == 0 and f"may outlive epoch {epoch} by 30s" in done.err
    assert issue(cli, epoch, operation="cordon").err == ""
    done = issue(cli, epoch, "--for", "2h", operation="reboot")
    assert done.code == USAGE and "a permit is at most 1h" in done.err


def test_each_refusal_has_its_own_word_and_class(cli, effector):
    _, epoch = lead(cli)
    permit = issue(cli, epoch, "--for", "30s").out
    newer = issue(cli, epoch, "--for", "30s", resource="node-8").out
    altered = permit[:-6] + ("BBBB" if permit[-6:-2] == "AAAA" else "AAAA") + permit[-2:]
    cases = [
        ("malformed", REFUSED, effector.show("permit2" + permit[7:])),
        ("malformed", REFUSED, effector.show("")),
        ("malformed", REFUSED, effector.show(permit * 3)),
        ("altered", REFUSED, effector.show(altered)),
        ("wrong role", REFUSED, effector.show(permit, role="other")),
        ("wrong resource", REFUSED, effector.show(permit, resource="node-8")),
        ("wrong operation", REFUSED, effector.show(permit, operation="cordon")),
        ("expired", LOST, effector.show(permit, clock=("--clock-error", "31s"))),
        ("admit", 0, effector.show(permit)),
        ("replayed", LOST, effector.show(permit)),
        ("admit", 0, effector.show(permit, "--retries")),
        ("admit", 0, effector.show(newer, resource="node-8")),
    ]
    for number, (word, code, done) in enumerate(cases):
        assert done.code == code, (number, word, done.err)
        assert (word in done.err) == (code != 0), (number, word, done.err)
    cli.run("permit", "keygen", "other")
    other = issue(cli, epoch, operation="reboot").out
    (cli.directory / "other.pub").rename(effector.keys)
    done = effector.show(other, operation="reboot")
    assert done.code == REFUSED and "unknown key" in done.err


def test_an_older_epoch_is_refused_where_a_newer_one_was_seen(cli, effector):
    first, old = lead(cli)
    late = issue(cli, old, "--for", "60s").out
    first.end()
    _, new = lead(cli, after=old)
    taken = issue(cli, new)
    assert taken.code == REFUSED and str(old) in taken.err  # not while that one is good
    assert issue(cli, new, operation="cordon").code == 0
    cordon = issue(cli, new, "--shared", operation="look").out
    assert effector.show(cordon, operation="look").code == 0
    done = effector.show(late, "--json")
    assert done.code == LOST and done.objects[0]["verdict"] == "stale"
    assert str(old) in done.err and str(new) in done.err
    done = issue(cli, old, operation="reboot")
    assert done.code == LOST and str(new) in done.err


def test_a_lock_is_a_role_too_unless_several_hold_it(cli, effector):
    ask = f"{BINARY} permit issue node-7 drain --key key --clock-error 50ms"
    done = cli.run("lock", ROLE, "--", "sh", "-c", ask)
    assert done.code == 0 and effector.show(done.out).code == 0
    for shared in (["-s"], ["--permits", "2"]):
        done = cli.run("lock", *shared, f"x{len(shared)}", "--", "sh", "-c", ask)
        assert done.code == REFUSED and "several at once" in done.err


def test_anybody_can_verify_a_permit_with_a_library_of_their_own(cli, effector):
    """By the page alone (docs/permits.md), and by OpenSSL."""
    _, epoch = lead(cli)
    permit = issue(cli, epoch).out.strip()
    signed, _, signature = permit.rpartition(".")
    raw = {name: base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
           for name, text in (("signature", signature), ("body", signed.split(".")[1]),
                              ("key", effector.keys.read_text().split()[1]))}
    spki = bytes.fromhex("302a300506032b6570032100") + raw["key"]  # RFC 8410
    for name, content in (("s", raw["signature"]), ("m", signed.encode()), ("k", spki)):
        (cli.directory / name).write_bytes(content)
    done = subprocess.run(["openssl", "pkeyutl", "-verify", "-pubin", "-keyform", "DER", "-inkey",
                           "k", "-rawin", "-in", "m", "-sigfile", "s"], cwd=cli.directory,
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert ROLE.encode() in raw["body"] and b"\x06node-7\x05drain" in raw["body"]


def test_of_many_who_ask_at_once_one_is_granted(cli, keys):
    _, epoch = lead(cli)
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        codes = sorted(pool.map(lambda _: issue(cli, epoch).code, range(6)))
    assert codes == [0] + [REFUSED] * 5


def test_of_many_who_show_one_permit_one_is_admitted(cli, effector):
    permit = issue(cli, lead(cli)[1], "--for", "60s").out
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        codes = sorted(pool.map(lambda _: effector.show(permit).code, range(6)))
    assert codes == [0] + [LOST] * 5


def test_who_waits_is_granted_when_the_other_is_over(cli, keys):
    _, epoch = lead(cli)
    assert issue(cli, epoch, "--for", "700ms").code == 0
    assert issue(cli, epoch).code == REFUSED
    assert issue(cli, epoch, "-w", "20").code == 0


def test_a_revoked_permit_makes_room(cli, keys):
    _, epoch = lead(cli)
    serial = issue(cli, epoch, "--for", "60s", "--json").objects[0]["serial"]
    waiting = cli.start("permit", "issue", "node-7", "drain", "--key", "key", "--role", ROLE,
                        "--epoch", str(epoch), "-w", "20", *CLOCK)
    assert cli.run("permit", "revoke", "node-7", "drain", "--serial", str(serial)).code == 0
    waiting.out.wait_for("permit1.")
    listed = cli.run("permit", "list", "--all", "--json", "node-7").objects
    assert [o["state"] for o in listed] == ["good", "revoked"]
    assert listed[1]["serial"] == serial and listed[0]["left_ms"] > 0
    assert len(cli.run("permit", "list", "--json").objects) == 1
    done = cli.run("permit", "revoke", "node-7", "drain", "--serial", str(serial), "--as", "bea")
    assert done.code == LOST and str(serial) in done.err


def test_a_permit_that_nobody_received_makes_room(cli, keys):
    _, epoch = lead(cli)
    script = f"{BINARY} permit issue node-7 drain --key key --role {ROLE} --epoch {epoch} " \
             "--clock-error 50ms > /dev/full"
    done = cli.run("lock", "x", "--", "sh", "-c", script)
    assert done.code != 0 and "permit1." not in done.out
    assert issue(cli, epoch).code == 0


def test_a_clock_that_nobody_vouches_for_is_refused(cli, effector):
    """Whether this machine's is kept synchronised decides what is seen here."""
    _, epoch = lead(cli)
    permit = issue(cli, epoch, "--for", "60s").out
    shown, issued = effector.show(permit, clock=()), issue(cli, epoch, clock=(), operation="look")
    assert (shown.code, issued.code) in ((0, 0), (DENIED, DENIED))
    if shown.code == DENIED:
        assert "unknown clock" in shown.err and "--clock-error" in issued.err


def test_files_that_others_could_have_written_are_not_believed(cli, effector):
    permit = issue(cli, lead(cli)[1], "--for", "60s").out
    key = cli.directory / "key"
    assert stat.S_IMODE(os.stat(key).st_mode) == 0o600
    effector.keys.chmod(0o666)
    done = effector.show(permit)
    assert done.code == DENIED and str(effector.keys) in done.err and "0666" in done.err
    effector.keys.chmod(0o644)
    effector.state.write_text("tenure-permit-marks-1\n")
    effector.state.chmod(0o602)
    assert effector.show(permit).code == DENIED
    effector.state.chmod(0o600)
    effector.state.write_text("something else\n")
    done = effector.show(permit)
    assert done.code == DENIED and "cannot be read" in done.err
    assert effector.state.read_text() == "something else\n"
    key.chmod(0o640)
    done = issue(cli, 1)
    assert done.code == DENIED and "0640" in done.err
    effector.keys.unlink()
    assert effector.show(permit).code == UNREACHABLE


def test_a_state_has_one_path_or_a_permit_would_be_admitted_by_each(cli, effector):
    permit = issue(cli, lead(cli)[1], "--for", "60s").out
    file = cli.directory / "the-file"
    effector.state.symlink_to(file)
    done = effector.show(permit)  # nothing was mounted where it points to: not "none yet"
    assert done.code == DENIED and "link" in done.err and not file.exists()
    file.write_text("tenure-permit-marks-1\n")
    assert effector.show(permit).code == DENIED
    effector.state.unlink()
    assert effector.show(permit).code == 0


def test_a_key_is_never_overwritten(cli, keys):
    before = keys.read_text()
    done = cli.run("permit", "keygen", "key")
    assert done.code == REFUSED and "key" in done.err and keys.read_text() == before
    assert not pathlib.Path(f"{keys}.pub").exists()


@pytest.mark.parametrize("line, word", [
    (["issue", "node-7", "drain"], "--key"),
    (["issue", "node-7", "--key", "key"], "OPERATION"),
    (["issue", "node-7", "drain", "--key", "key", "--role", "cl"], "--epoch"),
    (["issue", "node-7", "drain", "--key", "key", "--epoch", "3"], "--role"),
    (["issue", "node-7", "drain", "--key", "key"], "--role NAME --epoch N"),
    (["issue", "node//7", "drain", "--key", "key"], "node//7"),
    (["issue", "node-7", "drain", "--key", "key", "--clock-error", "11m"], "at most 10m"),
    (["issue", "n" * 191, "d", "--key", "key", "--role", "cl", "--epoch", "3", *CLOCK], "190"),
    (["issue", "n", "d", "--key", "key", "--role", "cl", "--epoch", "3", "--for", "100ms", *CLOCK],
     "at least 101ms"),
    (["verify", "node-7", "drain", "--keys", "keys", "--state", "s"], "--role"),
    (["verify", "node-7", "drain", "--role", "cl", "--state", "s"], "--keys"),
    (["revoke", "node-7", "drain"], "--serial"),
    (["keygen"], "FILE"),
])
def test_a_wrong_line_is_refused_and_touches_nothing(cli, keys, line, word):
    cli.run("lock", "x", "--", "true")  # there is a store
    done = cli.run("permit", *line)
    assert done.code == USAGE and word in done.err, done.err
    assert cli.run("permit", "list", "--all", "--json").out == ""
    assert not (cli.directory / "s").exists()


def test_what_was_seen_survives_in_a_readable_file(cli, effector):
    _, epoch = lead(cli)
    said = issue(cli, epoch, "--json").objects[0]
    assert effector.show(said["permit"]).code == 0
    assert effector.state.read_text() == \
        f"tenure-permit-marks-1\n{ROLE} node-7 {epoch} 0 {said['serial']}\n"
    assert json.loads(effector.show(said["permit"], "--json").out)["verdict"] == "replayed"
