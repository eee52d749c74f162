#!/usr/bin/python3
"""A maintenance leader: drains ten nodes, one after the other, for as long as it leads.

    tenure lead [--guard sqlite:PLAN] cluster/maintenance -- maintainer.py PLAN SOCKET [KEY]

What it does is written into a plan first, so that a successor goes on where it stopped; then the
node's agent is asked to do it.  With $GUARDED it shows its token to the plan's guard, with a KEY it
gets a permit for each drain.  It asks nobody whether it still leads.

What happens is told on stdout, one JSON object in a line.  At each point where it may be stopped it
waits for a line on stdin, so that a drill can hold it there.
"""
import json
import os
import socket
import sqlite3
import subprocess
import sys

NODES = [f"node-{n}" for n in range(1, 11)]
WHO, EPOCH = os.environ["WHO"], int(os.environ["TENURE_EPOCH"])


class Refused(Exception):
    """The plan does not take what we write."""


def tell(event, **details):
    print(json.dumps({"event": event, "epoch": EPOCH, **details}), flush=True)


def come_to(point, node=None):
    tell("at", point=point, node=node)
    sys.stdin.readline()


def open_plan(path):
    plan = sqlite3.connect(path, timeout=10, isolation_level=None)
    if os.environ.get("GUARDED"):
        plan.execute(f'CREATE TEMP TABLE tenure_token ("{os.environ["TENURE_NAME"]}" '
                     f'DEFAULT {os.environ["TENURE_TOKEN"]})')
    return plan


def write(plan, node, what):
    try:
        plan.execute("INSERT INTO step (node, what, epoch, who) VALUES (?, ?, ?, ?)",
                     (node, what, EPOCH, WHO))
    except sqlite3.IntegrityError as refusal:
        raise Refused(str(refusal)) from None


def left(plan):
    done = {row[0] for row in plan.execute("SELECT node FROM step WHERE what = 'done'")}
    return [node for node in NODES if node not in done]


def permit_for(node, key):
    """The permit, or None when the store does not grant one."""
    done = subprocess.run([os.environ["TENURE"], "permit", "issue", node, "drain", "--key", key,
                           "-w", "20", "--clock-error", "50ms"],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        tell("refused", by="store", node=node, text=done.stderr.strip())
        return None
    return done.stdout


def ask_agent(path, node, permit):
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(path)
        with connection.makefile("rw") as stream:
            print(json.dumps({"drain": node, "epoch": EPOCH, "who": WHO, "permit": permit}),
                  file=stream, flush=True)
            return json.loads(stream.readline())["refused"]


def drain(plan, agent, node, key):
    """A stubborn one: what the agent refuses is left, and the next node is tried."""
    write(plan, node, "begins")
    permit = permit_for(node, key) if key else None
    if key and permit is None:
        return
    come_to("before the drain", node)
    text = ask_agent(agent, node, permit)
    if text is not None:
        tell("refused", by="agent", node=node, text=text)
        return
    come_to("behind the drain", node)
    write(plan, node, "done")


def main():
    path, agent = sys.argv[1:3]
    key = sys.argv[3] if len(sys.argv) > 3 else None
    plan = open_plan(path)
    tell("leads", pid=os.getpid())
    come_to("the start")
    try:
        for node in left(plan):
            drain(plan, agent, node, key)
    except Refused as refusal:
        tell("refused", by="guard", node=node, text=str(refusal))
    tell("ends")


main()
