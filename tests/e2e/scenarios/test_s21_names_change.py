"""Scenario 21: names of the store change.

An embedded store has neither addresses nor certificates, but its path is a name, too: a link that
leads elsewhere after a while, a directory that is moved.  Elsewhere a client keeps what it has
open, for ever, and leads there while the next one leads by the new name.

P3, P6: who holds where nobody else can get to any more is told, and ends in time.  Addresses and
certificates wait for the engines that have them.
"""
import json
import subprocess

import pytest

from conftest import BINARY, LIMIT_S, LOST
from field import SLACK_S, engine, now, pause, resource, store  # noqa: F401

pytestmark = pytest.mark.embedded
TTL_S = 1.0


def linked(cli):
    """The store is known by a link to its directory."""
    for name in ("one", "two"):
        (cli.directory / name).mkdir()
    link = cli.directory / "current"
    link.symlink_to("one")
    cli.env["TENURE_STORE"] = f"sqlite:{link}/tenure.db"
    return link


def start(cli, resource):
    linked(cli)
    h = cli.start("lock", "--ttl", f"{TTL_S * 1000:.0f}ms", "job", "--", *resource.worker("H"))
    resource.wait_for("H")
    return h


def test_a_link_that_leads_to_another_store_changes_nothing_for_who_holds(cli, resource):
    """It keeps the store that it opened, and its command is told which: what is done in the name of
    the tenure goes there, also when the link leads elsewhere."""
    script = ("echo $TENURE_STORE; read go; \"$0\" check && \"$0\" check job && echo stands; "
              "\"$0\" status job --json")
    link = linked(cli)
    h = subprocess.Popen([str(BINARY), "lock", "--ttl", f"{TTL_S * 1000:.0f}ms", "job", "--", "sh",
                          "-c", script, str(BINARY)], env=cli.env, cwd=cli.directory, text=True,
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert h.stdout.readline().strip() == f"sqlite:{cli.directory}/one/tenure.db"
    fresh = link.with_name("fresh")
    fresh.symlink_to("two")
    fresh.rename(link)
    pause(2 * TTL_S)  # several renewals
    out, _ = h.communicate("go\n", timeout=LIMIT_S)
    stands, status = out.splitlines()
    assert h.returncode == 0 and stands == "stands"
    assert json.loads(status)["holders"][0]["state"] == "held"
    assert cli.status() == {}  # by the link: another store, that nobody has used


def test_a_directory_that_is_moved_away_ends_who_holds_there(cli, resource):
    h = start(cli, resource)
    since = now()
    (cli.directory / "one").rename(cli.directory / "moved")
    assert h.wait() == LOST
    assert max(m.at for m in resource.of("H")) - since < TTL_S + SLACK_S


def test_what_is_moved_away_and_back_within_the_lease_costs_nothing(cli, resource):
    h = start(cli, resource)
    for _ in range(3):
        (cli.directory / "one").rename(cli.directory / "moved")
        (cli.directory / "moved").rename(cli.directory / "one")
        resource.wait_for("H", after=len(resource.marks) + 20)
    assert h.running and len(resource.tokens()) == 1
