"""Scenario 16: the embedded store on a network file system.

File locks are often without effect there, without any error: elsewhere there are two holders and
a corrupted file.  This kernel has no NFS; the programs are told by a library in front of libc
that they are on one (tests/e2e/tools/shim.c).  "Another host" is another time namespace, whose
clock is not ours.

P1: tokens grow.  P6: what cannot work is refused.
"""
import os
import signal
import subprocess

import pytest

from conftest import BINARY, DENIED, LIMIT_S
from field import TOOLS, as_root, engine, full, mounted, resource, shimmed, store  # noqa: F401

pytestmark = pytest.mark.embedded

NETWORK = {"nfs": 0x6969, "smb2": 0xfe534d42, "cifs": 0xff534d42, "9p": 0x01021997,
           "ceph": 0x00c36400, "lustre": 0x0bd00bd0, "gfs2": 0x01161970}


def lies(magic):
    return {"LD_PRELOAD": str(TOOLS / "shim.so"), "SHIM_FILE_SYSTEM": hex(magic)}


@shimmed
@pytest.mark.parametrize("name", NETWORK)
def test_a_new_store_there_is_refused_by_name(cli, engine, name):
    done = cli.run("lock", "-n", "job", "--", "touch", "ran", env=lies(NETWORK[name]))
    assert done.code == DENIED
    assert name in done.err and str(engine.path.parent) in done.err
    assert not engine.path.exists() and not (cli.directory / "ran").exists()


@shimmed
def test_a_store_that_is_there_is_refused_too_and_unharmed(cli, engine):
    holder, token = cli.hold("job")
    for command in (["lock", "-n", "job", "--", "true"], ["status"], ["history", "job"]):
        assert cli.run(*command, env=lies(0x6969)).code == DENIED
    assert [h["token"] for h in cli.holders("job")] == [token]
    assert holder.running and engine.damage() == []


@shimmed
def test_it_works_only_with_an_explicit_override(cli, engine):
    done = cli.run("lock", "-n", "--store", f"{engine.url}?fs=any", "job", "--", "true",
                   env=lies(0x6969))
    assert done.code == 0
    found = cli.run("doctor", "--store", f"{engine.url}?fs=any", env=lies(0x6969))
    assert found.code == 1 and "nfs" in found.out


@as_root
def test_in_an_overlay_it_works_or_is_refused_with_the_reason(cli, engine):
    for folder in ("lower", "upper", "work"):
        (cli.directory / folder).mkdir()
    options = ",".join(f"{k}={cli.directory}/{v}" for k, v in
                       (("lowerdir", "lower"), ("upperdir", "upper"), ("workdir", "work")))
    with mounted(cli.directory / "merged", "-t", "overlay", "overlay", "-o", options) as place:
        url = f"sqlite:{place}/tenure.db"
        done = cli.run("lock", "-n", "--store", url, "job", "--", "true")
        assert done.code in (0, DENIED)
        assert done.code == 0 or "overlay" in done.err
        found = cli.run("doctor", "--store", url)
        assert "overlay" in found.out + found.err


@as_root
def test_another_host_with_another_clock_is_refused(cli, engine):
    holder, token = cli.hold("job")
    done = subprocess.run(["unshare", "--time", "--boottime", "100000", str(BINARY), "lock", "-n",
                           "job", "--", "touch", "ran"], env=cli.env, cwd=cli.directory,
                          capture_output=True, text=True, timeout=LIMIT_S)
    assert done.returncode == DENIED, done.stderr
    assert not (cli.directory / "ran").exists()
    assert [h["token"] for h in cli.holders("job")] == [token]
    assert holder.running


def test_a_kill_in_the_middle_of_a_write_costs_nobody_anything(cli, engine, resource):
    tokens = []
    for round_ in range(full(15, 200)):
        crowd = [cli.start("lock", "--ttl", "2s", f"job{i % 2}", "--",
                           "sh", "-c", "echo $TENURE_TOKEN") for i in range(4)]
        os.kill(crowd[round_ % 4].pid, signal.SIGKILL)
        for process in crowd:
            code = process.wait()
            assert code in (0, 128 + signal.SIGKILL), process.err.text()
            tokens += [int(line) for line in process.out.text().split()]
    assert len(tokens) == len(set(tokens))  # no two grants share one
    assert engine.damage() == []
    assert cli.run("store", "check").code == 0
