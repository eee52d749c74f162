"""Scenario 5: extending what has already expired.

Elsewhere an expired lease is revived when nobody seems to have been in between, which hides that
somebody may have been.

P1: a new tenure has a higher token.  P4: lost is final.  P5: renew and drop name their tenure.
"""
from conftest import LOST
from field import engine, library, now, pause, resource, store  # noqa: F401

TTL_S = 0.5


def test_an_expired_lease_is_not_extended_and_not_dropped(cli, engine):
    first = int(cli.run("lease", "take", "--ttl", "500ms", "job").out)
    assert cli.run("lease", "renew", "job", "--ttl", "500ms", "--token", first).code == 0
    pause(TTL_S * 1.5 + engine.lease_late_s)  # nobody else interferes

    began = now()
    for verb in (["renew", "job", "--ttl", "500ms"], ["drop", "job"]):
        done = cli.run("lease", *verb, "--token", first)
        assert done.code == LOST
        assert f"no lease on job stands under token {first}" in done.err
    assert now() - began < 1  # at once, no loop of retries

    second = int(cli.run("lease", "take", "--ttl", "500ms", "job").out)  # C was in, and is out
    assert cli.run("lease", "drop", "job", "--token", second).code == 0
    assert cli.run("lease", "renew", "job", "--ttl", "500ms", "--token", first).code == LOST
    assert cli.run("lease", "renew", "job", "--ttl", "500ms", "--token", second).code == LOST
    third = int(cli.run("lease", "take", "--ttl", "500ms", "job").out)
    assert first < second < third
    assert cli.run("lease", "drop", "job", "--token", second).code == LOST  # touches no other
    assert [h["token"] for h in cli.holders("job")] == [third]


def test_the_library_says_not_owned_and_nothing_else(library, engine):
    program = library()
    program.do("open", engine.url, 2000, "h")
    token = program.number("lease", "take", "job", 500)
    pause(TTL_S * 1.5)
    assert program.do("lease", "renew", "job", token, 500)[0] == -3
    assert program.do("lease", "drop", "job", token)[0] == -3
    assert program.number("lease", "take", "job", 500) > token


def test_a_claim_that_was_not_renewed_is_lost_for_good(library, engine):
    program = library()
    program.do("open", engine.url, 500, "h")
    token = program.number("acquire", "job", 0)
    program.do("withhold", 1)
    pause(TTL_S * 1.5)
    assert program.do("check")[0] == -20
    program.do("withhold", 0)
    program.do("process")  # renewals would be possible again
    assert program.do("check")[0] == -20
    assert program.number("token") == token  # what it was stays readable
    code, text = program.do("release")
    assert code == -20 and str(token) in text
    assert program.number("acquire", "job", 5000) > token


def test_the_outcome_of_the_work_is_still_to_be_read(cli, resource, engine):
    token = int(cli.run("lease", "take", "--ttl", "500ms", "job").out)
    pause(TTL_S * 1.5)
    assert cli.run("lock", "-n", "other", "--", "sh", "-c", "exit 7").code == 7
    assert [p["token"] for p in cli.history("job")] == [token]
