"""What `make install` puts in its place: enough to compile against, and to read on."""
import os
import re
import shutil
import subprocess

import pytest

from conftest import BINARY, ROOT

BUILD = BINARY.parents[2]
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")

pytestmark = pytest.mark.skipif(not shutil.which("meson") or not (BUILD / "build.ninja").exists(),
                                reason="this is no build directory of meson's")


def run(*command, **env):
    inherited = {k: v for k, v in os.environ.items() if k != "PREFIX"}  # make would take it
    return subprocess.run([*map(str, command)], env={**inherited, **env}, capture_output=True,
                          text=True, timeout=60)


@pytest.fixture
def place(tmp_path):
    done = run("meson", "install", "-C", BUILD, "--no-rebuild", DESTDIR=str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    program, = tmp_path.glob("**/bin/tenure")
    return program.parents[1]


def test_the_examples_compile_against_what_pkg_config_says(place, tmp_path):
    described, = place.glob("lib/**/tenure.pc")
    said = run("pkg-config", "--cflags", "tenure", PKG_CONFIG_SYSROOT_DIR=str(tmp_path),
               PKG_CONFIG_PATH=str(described.parent))
    assert said.returncode == 0 and f"-I{place}/include" in said.stdout, said.stderr
    examples = sorted((place / "share/doc/tenure/examples").glob("*.c"))
    assert examples
    for example in examples:
        done = run("cc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only",
                   *said.stdout.split(), example)
        assert done.returncode == 0, done.stderr


def test_every_link_of_an_installed_page_leads_somewhere(place):
    pages = place / "share/doc/tenure"
    links = {(page, target) for page in pages.glob("**/*.md")
             for target in LINK.findall(page.read_text()) if "://" not in target}
    assert len(links) > 20
    assert not [(page.name, target) for page, target in links
                if not (page.parent / target).exists()]
    assert "[schema.sql](guards/postgres/schema.sql)" in (pages / "guard-postgres.md").read_text()
    for sql in "postgres/schema.sql", "sqlite/schema.sql", "sqlite/trigger.sql":
        assert (pages / "guards" / sql).read_text() == (ROOT / "guards" / sql).read_text()


def test_another_prefix_is_said_to_make():
    told = run("make", "-C", ROOT, "-n", "install", f"BUILD={BUILD}", "PREFIX=/opt/tenure")
    assert told.returncode == 0 and "--prefix=/opt/tenure" in told.stdout, told.stderr
    told = run("make", "-C", ROOT, "-n", "install", f"BUILD={BUILD}")
    assert told.returncode == 0 and "--prefix" not in told.stdout
