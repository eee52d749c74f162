#!/usr/bin/python3
"""The agent of ten nodes: drains one when it is asked to, and writes down for whom.

    agent.py SOCKET [ROLE KEYS STATE]

No database is written to, so no guard can be here.  With keys it demands a permit for each drain
and asks `tenure permit verify` about it: that needs no store and no network.  A request is one line
of JSON, and so is the answer; {"note": ...} goes into the journal as it is, {} asks for it.
"""
import json
import os
import socket
import subprocess
import sys

CLOCK_ERROR = "50ms"  # one machine has one clock


def refusal(request, role, keys, state):
    """Why the permit is not good for this drain; None when it is."""
    done = subprocess.run(
        [os.environ["TENURE"], "permit", "verify", request["drain"], "drain", "--role", role,
         "--keys", keys, "--state", state, "--clock-error", CLOCK_ERROR],
        input=request["permit"], capture_output=True, text=True, check=False)
    return None if done.returncode == 0 else done.stderr.strip()


def answer(request, journal, demands):
    if not request:
        return journal
    if "note" in request:
        journal.append(request)
        return {}
    text = refusal(request, *demands) if demands else None
    if text is None:
        journal.append({"drained": request["drain"], "epoch": request["epoch"],
                        "who": request["who"]})
    return {"refused": text}


def main():
    path, demands, journal = sys.argv[1], sys.argv[2:], []
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen()
    print("listens", flush=True)
    while True:
        connection, _ = listener.accept()
        with connection, connection.makefile("rw") as stream:
            print(json.dumps(answer(json.loads(stream.readline()), journal, demands)), file=stream)


main()
