"""Several hosts on one machine: network namespaces around a router, whose cables can be cut."""
import contextlib
import os
import subprocess

import pytest

ROUTER = "router"

# What each cut does to the cable of one host, on the router's side.
CUTS = {
    "both ways": ["link set {cable} down"],
    "from it": ["rule add pref 10 iif {cable} blackhole"],
    "to it": ["rule add pref 10 to {address} blackhole"],
}


def ip(*words):
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True)


class Hosts:
    """The hosts of these names; each reaches the others through the router."""

    def __init__(self, *names):
        self.names = names
        made = []
        try:
            for name in (ROUTER, *names):
                ip("netns", "add", self._namespace(name))
                made.append(name)
                self._ip(name, "link set lo up")
        except subprocess.CalledProcessError as error:
            for name in made:
                ip("netns", "del", self._namespace(name))
            pytest.skip(f"needs network namespaces: {error.stderr.strip()}")
        for name in names:
            self._plug_in(name)
        subprocess.run([*self.command(ROUTER), "sh", "-c",
                        "echo 1 >/proc/sys/net/ipv4/ip_forward"], check=True)

    @staticmethod
    def _namespace(name):
        return f"tenure-{os.getpid()}-{name}"

    def _ip(self, name, words):
        ip("-n", self._namespace(name), *words.split())

    def _net(self, name):
        return f"10.77.{self.names.index(name) + 1}"

    def address(self, name):
        return f"{self._net(name)}.2"

    def _plug_in(self, name):
        self._ip(ROUTER, f"link add {name} type veth peer name eth0 "
                         f"netns {self._namespace(name)}")
        self._ip(ROUTER, f"address add {self._net(name)}.1/24 dev {name}")
        self._ip(ROUTER, f"link set {name} up")
        self._ip(name, f"address add {self.address(name)}/24 dev eth0")
        self._ip(name, "link set eth0 up")
        self._ip(name, f"route add default via {self._net(name)}.1")

    def command(self, name):
        """What stands in front of a command that is to run on that host."""
        return ["ip", "netns", "exec", self._namespace(name)]

    def cut(self, name, how):
        """Cuts a host off: nobody is told, packets get lost (one of CUTS)."""
        for words in CUTS[how]:
            self._ip(ROUTER, words.format(cable=name, address=self.address(name)))

    def mend(self, name, how):
        for words in CUTS[how]:
            undo = words.replace("rule add", "rule del").replace(" down", " up")
            self._ip(ROUTER, undo.format(cable=name, address=self.address(name)))

    def close(self):
        for name in (ROUTER, *self.names):
            with contextlib.suppress(subprocess.CalledProcessError):
                ip("netns", "del", self._namespace(name))
