#!/usr/bin/python3
"""An invoice scheduler: issues the next invoice in every cycle, for as long as it leads.

    tenure lead --guard sqlite:LEDGER billing/invoices -- scheduler.py LEDGER

Each team has one like it.  It asks nobody in a cycle whether it still leads: the supervisor ends it
when it does not, and if both were asleep, the guard in the ledger refuses what it writes.
What it does is told on stdout, one JSON object in a line, with times of CLOCK_BOOTTIME in ms.
"""
import json
import os
import signal
import sqlite3
import sys
import time

CYCLE_S = 0.05   # a real one would run once a minute
RENDER_S = 0.03  # what it takes to make the invoice, between looking and writing


def tell(event, **details):
    at = time.clock_gettime(time.CLOCK_BOOTTIME) * 1000
    print(json.dumps({"event": event, "at": at, "epoch": int(os.environ["TENURE_EPOCH"]),
                      **details}), flush=True)


def open_ledger(path):
    """A connection that has presented the token, so that the guard knows who writes."""
    ledger = sqlite3.connect(path, timeout=5, isolation_level=None)
    name, token = os.environ["TENURE_NAME"], int(os.environ["TENURE_TOKEN"])
    ledger.execute(f'CREATE TEMP TABLE tenure_token ("{name}" DEFAULT {token})')
    return ledger


def next_number(ledger):
    return ledger.execute("SELECT coalesce(max(number), 0) + 1 FROM invoice").fetchone()[0]


def issue(ledger, number):
    epoch = int(os.environ["TENURE_EPOCH"])
    ledger.execute("INSERT INTO invoice (number, epoch, writer) VALUES (?, ?, ?)",
                   (number, epoch, os.environ["SCHEDULER"]))


def main():
    stopping = []
    signal.signal(signal.SIGTERM, lambda *_: stopping.append(True))
    ledger = open_ledger(sys.argv[1])
    tell("leads", next=next_number(ledger), pid=os.getpid())
    while not stopping:
        number = next_number(ledger)
        tell("renders", number=number)
        time.sleep(RENDER_S)
        try:
            issue(ledger, number)
        except sqlite3.IntegrityError as refusal:
            tell("refused", number=number, text=str(refusal))
            sys.exit(1)
        tell("issued", number=number)
        time.sleep(CYCLE_S - RENDER_S)
    tell("stops")


main()
