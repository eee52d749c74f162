"""tenure config: values that only who leads may change."""
import pytest

from conftest import BINARY, LOST, REFUSED, USAGE, wait_until


def put(cli, key, value, *options):
    done = cli.run("config", "put", *options, key, value)
    assert done.code == 0, done.err
    return int(done.out)


def test_a_value_comes_back_byte_for_byte(cli, tmp_path):
    (tmp_path / "raw").write_bytes(bytes(range(256)) * 2048)
    script = f"{BINARY} config put k < raw && {BINARY} config get k | cmp - raw"
    done = cli.run("lock", "l", "--", "sh", "-ec", script)
    assert done.code == 0, done.err


def test_the_version_that_was_seen_is_demanded(cli):
    first = put(cli, "k", "one", "--version", "0")
    done = cli.run("config", "put", "--version", "0", "k", "two")
    assert (done.code, done.out) == (REFUSED, "") and str(first) in done.err
    second = put(cli, "k", "two", "--version", str(first))
    assert second > first
    done = cli.run("config", "delete", "--version", str(first), "k")
    assert done.code == REFUSED and str(second) in done.err
    assert cli.run("config", "get", "k").out == "two"


def test_only_who_leads_changes_it(cli):
    inside = f"{BINARY} config put k mine --while cl && {BINARY} config history --json k"
    led = cli.run("lead", "--once", "-q", "cl", "--", "sh", "-c", inside)
    assert led.code == 0, led.err
    epoch = led.objects[-1]["epoch"]
    assert led.objects[-1]["name"] == "cl" and epoch > 0
    done = cli.run("config", "put", "--while", "cl", "--epoch", str(epoch), "k", "late")
    assert done.code == LOST and str(epoch) in done.err
    assert cli.run("config", "get", "k").out == "mine"


def test_who_leads_now_is_named_to_who_led_before(cli):
    cli.start("lead", "--as", "node-b", "cl", "--", "sleep", "1000")
    epoch = wait_until(lambda: cli.holders("cl"), "the election")[0]["token"]
    done = cli.run("config", "put", "--while", "cl", "--epoch", str(epoch + 1), "k", "v")
    assert done.code == LOST and "node-b" in done.err and str(epoch) in done.err
    assert cli.run("config", "put", "--while", "cl", "--epoch", str(epoch), "k", "v").code == 0


@pytest.mark.parametrize("line, word", [
    (["put", "k", "v", "--epoch", "3"], "--while"),
    (["put", "k", "v", "--while", "cl"], "--epoch"),
    (["put", "k", "v", "--version", "x"], "version"),
    (["put", "k//x", "v"], "k//x"),
    (["put"], "KEY"),
    (["delete"], "KEY"),
    (["get", "a", "b"], "b"),
])
def test_a_wrong_line_is_refused_and_touches_nothing(cli, line, word):
    done = cli.run("config", *line)
    assert done.code == USAGE and word in done.err
    assert cli.run("status").code != 0  # no store was made


def test_watch_prints_a_line_for_each_change(cli):
    put(cli, "a/x", "1")
    watch = cli.start("config", "watch", "a/")
    watch.out.wait_for('"initial":true')
    put(cli, "b/y", "2")
    version = put(cli, "a/z", "3")
    watch.out.wait_for(f'"version":{version}')
    cli.run("config", "delete", "a/x")
    watch.out.wait_for('"deleted":true')
    assert not [line for line in watch.out.lines if "b/y" in line]


def test_status_and_watch_of_names_show_no_entries(cli):
    put(cli, "k", "v")
    assert cli.run("status", "--json").out == ""
    assert cli.run("history", "k").out == ""
