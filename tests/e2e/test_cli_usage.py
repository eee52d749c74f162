"""The command line itself: what is refused, and that help, man pages and completions agree."""
import os
import re
import shutil
import sqlite3
import subprocess

import pytest

from conftest import BINARY, DENIED, INTERNAL, REFUSED, UNREACHABLE, USAGE

MAN = BINARY.parent
COMMANDS = ["lock", "lead", "check", "status", "watch", "history", "evict", "transfer", "resign",
            "timing", "doctor", "completion", "lease take", "lease renew", "lease drop",
            "guard install", "guard announce", "guard check", "guard remove", "guard serve",
            "config get", "config put", "config delete", "config watch", "config history",
            "permit keygen", "permit issue", "permit verify", "permit list", "permit revoke",
            "store init", "store check", "store upgrade"]

# The command line, and what its message must name: the value and the rule.
BAD = [
    ([], "a command is missing"),
    (["lokc", "a"], "lokc: unknown command; did you mean lock?"),
    (["elect", "a"], "elect: unknown command; did you mean lead?"),
    (["release", "a"], "release: unknown command; did you mean lease drop?"),
    (["version"], "version: unknown command; did you mean --version?"),
    (["--store", "x", "status"], "--store: options come after the command"),
    (["lease"], "one of: take renew drop"),
    (["lease", "tke", "a"], "lease tke: unknown; one of: take renew drop"),
    (["lock"], "NAME is missing"),
    (["lock", "a", "--"], "--: a command follows it"),
    (["lock", "--", "make", "test"], "--: NAME is missing in front of it"),
    (["lead", "-n", "--", "make"], "--: NAME is missing in front of it"),
    (["lock", "a", "--ttl", "5s", "--", "true"], "--ttl: options come before NAME"),
    (["lock", "--non", "a"], "--non: unknown option; did you mean --nonblock? see tenure lock"),
    (["lock", "--tll", "5s", "a"], "--tll: unknown option; did you mean --ttl?"),
    (["lock", "-Z", "a"], "-Z: unknown option"),
    (["lock", "-nZ", "a"], "-Z: unknown option"),
    (["lock", "--tt", "5s", "a"], "--tt: unknown option"),
    (["lock", "--nonblock=1", "a"], "--nonblock=1: it takes no value"),
    (["lock", "--ttl"], "--ttl: TIME is missing"),
    (["lock", "-w"], "-w: TIME is missing"),
    (["lock", "-w", "5", "--wait", "5", "a"], "-w, --wait: given twice"),
    (["lock", "-w5", "-w5", "a"], "-w, --wait: given twice"),
    (["lock", "-nn", "a"], "-n, --nonblock: given twice"),
    (["lock", "--ttl=10s", "--ttl=10s", "a"], "--ttl: given twice"),
    (["status", "--store", "memory:", "--store", "memory:"], "--store: given twice"),
    (["lock", "-n", "-w", "5", "a"], "-n and -w"),
    (["lock", "-s", "-x", "a"], "-s and -x"),
    (["lock", "-s", "--permits", "2", "a"], "-s and --permits"),
    (["lock", "-v", "-q", "a"], "-v and -q"),
    (["lock", "--ttl", "0", "a"], "--ttl 0: a TTL is at least 500ms"),
    (["lock", "--ttl", "200ms", "a"], "--ttl 200ms: a TTL is at least 500ms"),
    (["lock", "--ttl", "25h", "a"], "--ttl 25h: a TTL is at most 1d"),
    (["lock", "--ttl", "-1", "a"], "--ttl -1: a duration starts with a plain number"),
    (["lock", "--ttl", "1e3", "a"], "--ttl 1e3: the units are ms, s, m, h and d"),
    (["lock", "--ttl", "", "a"], '--ttl "": a duration has at least one digit'),
    (["lock", "--ttl=", "a"], '--ttl "": a duration has at least one digit'),
    (["lock", "--ttl", "9223372036854775808", "a"], "a duration is at most 3660d"),
    (["lock", "--ttl", " 5s", "a"], "--ttl  5s: a duration starts with a plain number"),
    (["lock", "--ttl", "0.0005", "a"], "--ttl 0.0005: a duration starts with a plain number"),
    (["lock", "-w", "1e3", "a"], "-w 1e3: the units are ms, s, m, h and d"),
    (["lock", "-w", "", "a"], '-w "": a duration has at least one digit'),
    (["lock", "--wait=-1", "a"], "--wait -1: a duration starts with a plain number"),
    (["lead", "-w", "9223372036854775808", "a"], "a duration is at most 3660d"),
    (["lead", "--ttl", "0", "a"], "--ttl 0: a TTL is at least 500ms"),
    (["lead", "-w5", "--wait", "5", "a"], "-w, --wait: given twice"),
    (["lease", "take", "--ttl", "0", "a"], "--ttl 0: the length of a lease is at least 500ms"),
    (["lease", "take", "--ttl", "-1", "a"], "--ttl -1: a duration starts with a plain number"),
    (["lease", "take", "--ttl", "1h", "-w", "1e3", "a"], "-w 1e3: the units are"),
    (["lease", "renew", "--token", "1", "--ttl", "9223372036854775808", "a"], "at most 3660d"),
    (["transfer", "a", "--to", "b", "-w", "0"], "-w 0: a wait is at least 1ms"),
    (["doctor", "--ttl", "1ms"], "--ttl 1ms: a TTL is at least 500ms"),
    (["timing", "--ttl", "500ms", "--grace", "400ms"], "--grace 400ms"),
    (["lock", "--ttl", "10s", "--grace", "9s", "a"],
     "--grace 9s: grace <= deadline - doubt does not hold, 9s > 9.900s - 5s = 4.900s"),
    (["lock", "--ttl", "10s", "--grace", "100ms", "a"],
     "--grace 100ms: grace >= 2 x kill margin does not hold, 100ms < 2 x 500ms = 1s"),
    (["timing", "--grace", "6s"], "grace <= deadline - doubt does not hold"),
    (["lock", "--permits", "0", "a"], "--permits 0: a number of permits is a number from 1 to 256"),
    (["lock", "--permits", "257", "a"], "from 1 to 256"),
    (["lock", "--permits", "1x", "a"], "--permits 1x: a number of permits is a whole number"),
    (["lock", "--permits", "+1", "a"], "--permits +1: a number of permits is a whole number"),
    (["lock", "--priority", "1001", "a"], "from -1000 to 1000"),
    (["lock", "--priority", "99999999999999999999", "a"], "from -1000 to 1000"),
    (["lock", "-E", "256", "a"], "-E 256: an exit code is a number from 0 to 255"),
    (["lock", "-E", "81", "a"], "64 and 81 to 85 have another meaning"),
    (["lock", "--signal", "FOO", "a"], "--signal FOO: a signal is a name or number"),
    (["lock", "--signal", "STOP", "a"], "does not ask a process to end"),
    (["lock", "--signal", "99", "a"], "--signal 99: a signal is a name or number"),
    (["lock", "--as", "", "a"], "--as \"\": a name must not be empty"),
    (["lock", "--as", "x" * 129, "a"], "a name has at most 128 bytes, this has 129"),
    (["lock", "--as", b"\xff\xfe", "a"], "valid UTF-8"),
    (["lock", "--value", "v" * 1025, "a"], "a value has at most 1024 bytes, this has 1025"),
    (["lock", "--value", "two\nlines", "a"], "control characters"),
    (["lock", "--json", "a", "--", "true"], "--json: with a command"),
    (["lock", "--probe", "true", "a"], "--probe: without a command"),
    (["lock", "--guard", "postgres:x", "a", "--", "true"], "sqlite:PATH"),
    (["lock", ""], 'NAME "": a name has at least one byte'),
    (["lock", "a//b"], "NAME a//b: a segment is empty"),
    (["lock", "/a"], "NAME /a: a segment is empty"),
    (["lock", "a/"], "NAME a/: a segment is empty"),
    (["lock", "a/../b"], 'a segment is "." or ".."'),
    (["lock", "a b"], "byte 2 (0x20): only letters, digits"),
    (["lock", b"caf\xc3\xa9"], "byte 4 (0xc3): only letters, digits"),
    (["lock", b"a\xff"], "byte 2 (0xff)"),
    (["lock", "n" * 256], "a name has at most 255 bytes"),
    (["lock", "--store", "", "a"], '--store "": it must not be empty'),
    (["lock", "--store", "sqllite:x.db", "a"], "sqllite"),
    (["lock", "--store", "x.db", "a"], "did you mean sqlite:x.db?"),
    (["lock", "--store", "./x.db", "a"], "did you mean sqlite:./x.db?"),
    (["lead", "--store", "postgres://127.0.0.1:99999/x", "a"], "invalid port number"),
    (["lock", "--store", "etcd://", "a"], '"etcd://": a host is missing'),
    (["status", "a", "b"], "b: one operand too many"),
    (["status", "a//"], "a segment is empty"),
    (["lease", "take", "--ttl", "1h", "a//b"], "NAME a//b: a segment is empty"),
    (["evict", b"a\xff", "--token", "1", "--reason", "r"], "byte 2 (0xff)"),
    (["history", "n" * 256], "a name has at most 255 bytes"),
    (["watch", "/"], "a segment is empty"),
    (["resign", ""], 'NAME "": a name has at least one byte'),
    (["store", "init", "--stor", "memory:"], "--stor: unknown option; did you mean --store?"),
    (["status", "--store", "sqlite"], "sqlite"),
    (["evict", "a"], "--token N is missing"),
    (["evict", "a", "--token", "1"], "--reason TEXT is missing"),
    (["evict", "a", "--token", "0", "--reason", "x"], "a token is a whole number from 1"),
    (["evict", "a", "--token", "-1", "--reason", "x"], "a token is a whole number from 1"),
    (["evict", "a", "--token", "18446744073709551616", "--reason", "x"], "18446744073709551615"),
    (["evict", "a", "--token", "1", "--reason", "r" * 201], "at most 200 bytes, this has 201"),
    (["evict", "a", "--token", "1", "--reason", ""], '--reason "": a reason must not be empty'),
    (["transfer", "a"], "--to CANDIDATE is missing"),
    (["lease", "take", "a"], "--ttl TIME is missing"),
    (["lease", "take", "a", "--ttl", "367d"], "the length of a lease is at most 366d"),
    (["lease", "renew", "a", "--ttl", "1h"], "--token N is missing"),
    (["completion", "ksh"], "SHELL ksh: one of: bash zsh fish"),
    (["guard", "install", "sqlite:x.db", "--name", "a"], "--table TABLE is missing"),
    (["guard", "install", "http:x", "--name", "a"], "http://HOST[:PORT]?secret=FILE"),
    (["guard", "serve", "--marks", "m"], "--secret FILE is missing"),
    (["guard", "serve", "--secret", "s"], "--marks FILE is missing"),
    (["lock", "--guard", "http://", "a", "--", "true"], "the target of a guard is"),
    (["check", "a"], "no tenure of this name in the environment"),
    (["check"], "TENURE_NAME and TENURE_TOKEN are not in the environment"),
]


def words(args):
    return " ".join(a if isinstance(a, str) else repr(a) for a in args)[:60]


@pytest.mark.parametrize("args,rule", BAD, ids=[words(a) for a, _ in BAD])
def test_bad_usage_names_the_value_and_the_rule_and_touches_nothing(cli, tmp_path, args, rule):
    done = subprocess.run([str(BINARY), *args], env=cli.env, cwd=tmp_path, capture_output=True,
                          timeout=30, stdin=subprocess.DEVNULL)
    err = done.stderr.decode(errors="replace")
    assert done.returncode == USAGE, err
    assert rule in err
    assert err.startswith("tenure: ") and err.count("\n") == 1, err
    assert done.stdout == b""
    assert os.listdir(tmp_path) == [], "nothing was touched"


WRITERS = {"lock": ["lock", "a", "--", "touch", "ran"], "lead": ["lead", "a", "--", "touch", "ran"],
           "lease": ["lease", "take", "--ttl", "1h", "a"], "status": ["status"],
           "init": ["store", "init"], "upgrade": ["store", "upgrade"],
           "evict": ["evict", "a", "--token", "1", "--reason", "r"]}


@pytest.mark.parametrize("command,off,who", [(c, 7, "newer") for c in WRITERS] +
                         [("lock", -2, "older"), ("upgrade", -2, "older")])
def test_a_store_that_another_version_wrote_is_refused_untouched(cli, tmp_path, command, off, who):
    path = tmp_path / "tenure.db"
    assert cli.run("store", "init").code == 0
    with sqlite3.connect(path) as db:
        version = db.execute("PRAGMA user_version").fetchone()[0]
        db.execute(f"PRAGMA user_version = {version + off}")
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()
    before = path.read_bytes()
    done = cli.run(*WRITERS[command])
    assert done.code == DENIED and str(path) in done.err
    assert f"version {version + off}" in done.err
    assert f"versions {version - 1} and {version}:" in done.err
    assert f"{who} tenure made" in done.err and "name another store" in done.err
    assert path.read_bytes() == before and not (tmp_path / "ran").exists()


def test_a_tilde_that_the_shell_left_alone_is_told(cli):
    done = cli.run("status", "--store", "sqlite:~/tenure.db")
    assert done.code == UNREACHABLE and "write $HOME" in done.err
    done = cli.run("status", "--store", "sqlite:none/tenure.db")
    assert done.code == UNREACHABLE and "the directory none does not exist" in done.err
    assert "HOME" not in done.err and list(cli.directory.iterdir()) == []


def test_a_typo_in_the_stores_variable_is_told_as_one_of_the_option(cli):
    done = cli.run("lock", "a", "--", "touch", "ran", env={"TENURE_STORE": "sqllite:x.db"})
    assert done.code == USAGE and "sqllite" in done.err and "sqlite:PATH" in done.err
    assert list(cli.directory.iterdir()) == []


@pytest.mark.parametrize("args", [
    ["lock", "-w5", "a", "--", "true"], ["lock", "-w", "5", "a", "true"],
    ["lock", "--wait=5", "a", "--", "true"], ["lock", "--wait", "2.5", "a", "--", "true"],
    ["lock", "-nv", "a", "--", "true"], ["lock", "-xnE", "7", "a", "--", "true"],
    ["lock", "-n", "--", "a", "--", "true"], ["lock", "-n", "--", "-a", "true"],
    ["lock", "--priority", "-5", "a", "--", "true"],
    ["lock", "--signal", "SIGINT", "a", "--", "true"],
    ["lock", "--signal", "15", "a", "--", "true"],
    ["lock", "n" * 255, "--", "true"],
])
def test_every_spelling_of_good_usage_is_taken(cli, args):
    done = cli.run(*args)
    assert done.code == 0, done.err


def test_a_word_after_the_name_belongs_to_the_command(cli):
    done = cli.run("lock", "a", "--", "printf", "%s\n", "-n", "--ttl", "--help")
    assert done.out == "-n\n--ttl\n--help\n"


def test_version_and_help_succeed_on_stdout(cli):
    assert re.fullmatch(r"tenure \d+\.\d+\.\d+\n", cli.run("--version").out)
    for args in ["help"], ["--help"], ["-h"], ["help", "lock"], ["lease", "--help"], ["lock", "-h"]:
        done = cli.run(*args)
        assert done.code == 0 and "tenure" in done.out and done.err == ""


def help_of(cli, command):
    done = cli.run(*command.split(), "--help")
    assert done.code == 0, done.err
    return done.out


def options_of(cli, command):
    """[(letter, long)] as the help shows them."""
    found = re.findall(r"^ +(?:-(\w), |    )--([a-z-]+)", help_of(cli, command), re.M)
    assert found, command
    return found


@pytest.mark.parametrize("command", COMMANDS)
def test_help_fits_a_terminal_and_names_options_exits_and_examples(cli, command):
    text = help_of(cli, command)
    assert all(len(line) <= 80 for line in text.splitlines() if not line.startswith("  tenure"))
    for part in "Usage: tenure ", "\nOptions:\n", "\nExit:\n", "\nExamples:\n", "--help":
        assert part in text


def test_the_overview_lists_every_command(cli):
    text = cli.run("help").out
    for command in COMMANDS:
        assert re.search(rf"^  {command.split()[0]} ", text, re.M), command


@pytest.fixture(scope="module")
def scripts():
    return {shell: subprocess.run([str(BINARY), "completion", shell], capture_output=True,
                                  text=True, check=True, timeout=30).stdout
            for shell in ("bash", "zsh", "fish")}


def man_source(page):
    return (MAN / page).read_text()


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_is_in_the_man_page_and_in_each_completion(cli, scripts, command):
    page = man_source(f"tenure-{command.split()[0]}.1").replace("\\-", "-")
    for letter, name in options_of(cli, command):
        assert f"\\fB--{name}\\fR" in page
        assert not letter or f"\\fB-{letter}\\fR" in page
        assert f"--{name} " in scripts["bash"] or f"--{name}'" in scripts["bash"]
        assert f"--{name}" in scripts["zsh"]
        assert f"-l {name} " in scripts["fish"]


# What scdoc writes into every page, whatever its source is.
SCDOC_NOISE = ("skipping paragraph macro", "input text line longer than 80 bytes",
               "new sentence, new line", "lower case character in document title",
               "unable to resolve cross reference", "referenced manual not found",
               "missing date", "operating system explicitly")


@pytest.mark.parametrize("page", sorted(p.name for p in MAN.glob("*.1")))
def test_man_pages_are_clean(page):
    done = subprocess.run(["mandoc", "-Tlint", str(MAN / page)], capture_output=True, text=True)
    left = [line for line in done.stdout.splitlines() if not any(n in line for n in SCDOC_NOISE)]
    assert left == []


def test_there_is_a_man_page_for_each_command_and_one_for_all():
    pages = {p.name for p in MAN.glob("*.1")}
    assert pages == {"tenure.1"} | {f"tenure-{c.split()[0]}.1" for c in COMMANDS}


def test_the_man_page_names_every_kind_of_store_that_a_message_names(cli):
    known = cli.run("status", "--store", "redis:x").err.split("known in this build are ")[1]
    page = (MAN / "tenure.1").read_text().replace("\\fB", "").replace("\\fI", "") \
        .replace("\\fR", "")
    kinds = re.findall(r"[a-z]+:", known)
    assert "sqlite:" in kinds and [k for k in kinds if k not in page] == []


# ---- completion in the real shells ---------------------------------------------------------------


def bash_complete(cli, *line):
    script = ('eval "$(tenure completion bash)"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); '
              '_tenure; printf "%s\\n" "${COMPREPLY[@]}"')
    done = subprocess.run(["bash", "--norc", "-ec", script, "bash", *line],
                          env={**cli.env, "PATH": f"{BINARY.parent}:{cli.env['PATH']}"},
                          capture_output=True, text=True, timeout=30)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    return done.stdout.split()


def test_bash_completes_commands_options_and_values(cli):
    assert bash_complete(cli, "tenure", "lo") == ["lock"]
    assert bash_complete(cli, "tenure", "lock", "--per") == ["--permits"]
    assert bash_complete(cli, "tenure", "lease", "ta") == ["take"]
    assert bash_complete(cli, "tenure", "lease", "take", "--t") == ["--ttl"]
    assert bash_complete(cli, "tenure", "lock", "--signal", "US") == ["USR1", "USR2"]
    assert bash_complete(cli, "tenure", "completion", "z") == ["zsh"]
    assert "lock" in bash_complete(cli, "tenure", "help", "")
    assert "--strict" not in bash_complete(cli, "tenure", "guard", "check", "--")


@pytest.fixture
def election(cli):
    """Somebody leads `role`, and two stand by, one of whom has a name to be careful with."""
    cli.start("lead", "--as", "first", "role").out.wait_for(lambda line: line.isdigit())
    for i, who in enumerate(("node-b", "$(touch pwned) b")):
        cli.start("lead", "--as", who, "role")
        cli.wait_for_waiters("role", i + 1)
    return cli


def test_bash_completes_what_the_store_knows(election, tmp_path):
    assert bash_complete(election, "tenure", "evict", "ro") == ["role"]
    assert bash_complete(election, "tenure", "transfer", "role", "--to", "n") == ["node-b"]
    offered = bash_complete(election, "tenure", "transfer", "role", "--to", "")
    assert "node-b" in offered and "first" not in offered
    assert "\\$\\(touch\\" in offered and not (tmp_path / "pwned").exists()
    assert bash_complete(election, "tenure", "transfer", "other", "--to", "n") == ["node-b"]


def test_keys_of_the_configuration_are_completed_and_names_of_locks_are_not(cli):
    assert cli.run("lease", "take", "lease-1", "--ttl", "1h").code == 0
    assert cli.run("config", "put", "cluster/release", "v17").code == 0
    assert cli.run("config", "put", "cluster/gone", "v17").code == 0
    assert cli.run("config", "delete", "cluster/gone").code == 0
    for verb in "get", "put", "delete", "history", "watch":
        assert bash_complete(cli, "tenure", "config", verb, "c") == ["cluster/release"]
        assert bash_complete(cli, "tenure", "config", verb, "l") == []
    assert bash_complete(cli, "tenure", "config", "put", "k", "--while", "l") == ["lease-1"]
    assert bash_complete(cli, "tenure", "permit", "issue", "l") == []
    if shutil.which("fish"):
        assert fish_complete(cli, "tenure config get c") == ["cluster/release"]
    if shutil.which("zsh"):
        keys, _ = zsh_complete(cli, "tenure config get ")
        assert "cluster/release" in keys and "lease-1" not in keys


def test_bash_completes_the_command_that_is_run(cli):
    assert "tenure" in bash_complete(cli, "tenure", "lock", "a", "--", "tenu")
    assert bash_complete(cli, "tenure", "lock", "a", "--", "sh", "--per") == []


def test_without_a_store_completion_is_silent_and_makes_none(cli, tmp_path):
    assert bash_complete(cli, "tenure", "transfer", "role", "--to", "n") == []
    assert cli.run("__known", "names").code == 0
    assert not (tmp_path / "tenure.db").exists()


def fish_complete(cli, line):
    done = subprocess.run(["fish", "--no-config", "-c",
                           f"tenure completion fish | source; complete -C '{line}'"],
                          env={**cli.env, "PATH": f"{BINARY.parent}:{cli.env['PATH']}"},
                          capture_output=True, text=True, timeout=30)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    return [line.split("\t")[0] for line in done.stdout.splitlines()]


@pytest.mark.skipif(not shutil.which("fish"), reason="fish is not installed")
def test_fish_completes_commands_options_and_values(cli):
    assert fish_complete(cli, "tenure lo") == ["lock"]
    assert fish_complete(cli, "tenure lock --per") == ["--permits"]
    assert fish_complete(cli, "tenure lease ta") == ["take"]
    assert "--ttl" in fish_complete(cli, "tenure lease take --t")
    assert fish_complete(cli, "tenure lock --signal US") == ["USR1", "USR2"]
    assert fish_complete(cli, "tenure completion z") == ["zsh"]
    assert "--reason" not in fish_complete(cli, "tenure guard check --")
    assert fish_complete(cli, "tenure lock a -- tenure lea") == ["lead", "lease"]


@pytest.mark.skipif(not shutil.which("fish"), reason="fish is not installed")
def test_fish_completes_what_the_store_knows(election, tmp_path):
    assert fish_complete(election, "tenure evict ro") == ["role"]
    assert fish_complete(election, "tenure transfer role --to n") == ["node-b"]
    assert not (tmp_path / "pwned").exists()


def zsh_complete(cli, *lines):
    """What zsh offers for each line, by asking it in a terminal of its own.  "2004h" is written
    when its editor takes over: what is typed before that is the terminal's."""
    script = r"""
zmodload zsh/zpty
zpty z zsh -f -i
go() { zpty -w z "$1"; }
go "PS1=; LISTMAX=1000; autoload -U compinit; compinit -u -D"
go 'source <(tenure completion zsh); setopt no_list_beep; bindkey "^I" list-choices'
go 'echo RE""ADY'
zpty -r -m z x '*READY*2004h*'
for line; do
    zpty -w -n z "$line"$'\t'$'\x15''echo DO""NE'$'\n'
    zpty -r -m z out '*DONE*2004h*'
    print -r -- "$out"
    print -r -- "=== next"
done
"""
    done = subprocess.run(["zsh", "-f", "-c", script, "zsh", *lines], capture_output=True,
                          text=True, timeout=60,
                          env={**cli.env, "PATH": f"{BINARY.parent}:{cli.env['PATH']}",
                               "TERM": "dumb", "COLUMNS": "200"})
    return done.stdout.split("=== next")


@pytest.mark.skipif(not shutil.which("zsh"), reason="zsh is not installed")
def test_zsh_completes_commands_options_and_values(cli):
    commands, options, verbs, of_verb, signals, _ = zsh_complete(
        cli, "tenure l", "tenure lock --p", "tenure lease ", "tenure lease take --",
        "tenure lock --signal ")
    assert "lease" in commands and "lead" in commands and "Run a command while" in commands
    assert "--permits" in options and "--priority" in options and "--probe" in options
    assert "renew" in verbs and "Extend a lease" in verbs
    assert "--ttl" in of_verb and "--permits" not in of_verb
    assert "USR1" in signals


@pytest.mark.skipif(not shutil.which("zsh"), reason="zsh is not installed")
def test_zsh_completes_what_the_store_knows_and_the_command_that_is_run(election, tmp_path):
    names, candidates, command, _ = zsh_complete(
        election, "tenure evict ", "tenure transfer role --to ", "tenure lock a -- tenur")
    assert "role" in names
    assert "node-b" in candidates and "first" not in candidates
    assert "tenure" in command.split("tenur", 1)[1]
    assert not (tmp_path / "pwned").exists()


# ---- streams -------------------------------------------------------------------------------------


@pytest.mark.parametrize("args", [["help"], ["lock", "--help"], ["timing"], ["timing", "--json"],
                                  ["completion", "bash"], ["--version"], ["status"]])
def test_output_that_cannot_be_written_is_an_error(cli, args):
    assert cli.run("store", "init").code == 0
    with open("/dev/full", "w") as full:
        done = subprocess.run([str(BINARY), *args], env=cli.env, cwd=cli.directory, stdout=full,
                              stderr=subprocess.PIPE, text=True, timeout=30)
    assert done.returncode == INTERNAL
    assert "No space left" in done.stderr


def without(*descriptors):
    """A program that is started without them, as `>&-` does it."""
    return {"preexec_fn": lambda: [os.close(fd) for fd in descriptors]}


def test_closed_standard_descriptors_are_not_taken_for_the_store(cli):
    assert cli.run("store", "init").code == 0
    assert cli.run("status", **without(0, 2)).code == 0
    command = ["sh", "-c", "read line; echo to nobody && echo to nobody >&2"]
    assert cli.run("lock", "a", "--", *command, **without(0, 1, 2)).code == 0
    assert list(cli.status()) == ["a"]


@pytest.mark.parametrize("args", [["status"], ["status", "--json", "--all"], ["history", "c"],
                                  ["--version"], ["lock", "a"],
                                  ["lease", "take", "b", "--ttl", "1h"]])
def test_what_is_printed_to_a_closed_stdout_is_an_error_and_nothing_is_kept(cli, args):
    """P6: who is not told the token must not believe that there is none."""
    assert cli.run("lock", "c", "--", "true").code == 0
    done = cli.run(*args, **without(1))
    assert (done.code, done.err) == (INTERNAL, "tenure: standard output: Bad file descriptor\n")
    assert not cli.holders("a") and not cli.holders("b")


def test_a_closed_stdin_is_not_an_empty_value(cli):
    done = cli.run("config", "put", "limit", **without(0))
    assert done.code == USAGE and "stdin cannot be read" in done.err
    assert cli.run("config", "get", "limit").code == REFUSED


def test_timing_prints_what_follows_from_the_ttl(cli):
    t = cli.run("timing", "--json", "--ttl", "10s").objects[0]
    assert t["renew_ms"] == 3333 and t["doubt_ms"] == 5000 and t["deadline_ms"] == 9900
    assert t["stop_ms"] == t["deadline_ms"] - t["grace_ms"]
    assert t["kill_ms"] == t["deadline_ms"] - t["margin_ms"]
    assert t["gap_max_ms"] == 11000 and t["overlap_max_ms"] == 0
    text = cli.run("timing", "--ttl", "1m").out
    assert "TTL 1m." in text and "deadline" in text
