#!/bin/sh
# tenure.sh [lock|contend|elect|rest|held|cold|permit ...]: tenure on its stores, through the library and the command.
# BUILD names the build directory (default: ../build), whose tenure and libtenure are measured.
. "$(dirname "$0")/lib.sh"
BUILD=$(cd "${BUILD:-$BENCH/../build}" && pwd)
TENURE=$BUILD/src/cli/tenure
cc -O2 -Wall -Wextra -I"$BENCH/../include" -o "$BIN/tenure" "$BENCH/tenure.c" "$BUILD/src/lib/libtenure.so" -Wl,-rpath,"$BUILD/src/lib" -pthread
fresh() { rm -rf "$DATA/t"; mkdir -p "$DATA/t"; echo "sqlite:$DATA/t/bench.db"; }
P=tenure-sqlite
if want lock; then
    U=$(fresh); L "$BIN/tenure" lock $P "$U" 1 "$DUR"
    U=$(fresh); L "$BIN/tenure" lock $P "$U" 32 "$DUR"
    U=$(fresh); "$BIN/tenure" check $P "$U"
fi
if want contend; then
    for c in 2 16; do U=$(fresh); "$BIN/tenure" fight $P "$U" $c "$DUR"; done
    U=$(fresh); HOLD_MS=150 "$BIN/tenure" fight $P "$U" 2 "$DUR"
fi
if want elect; then
    U=$(fresh); "$PY" "$BENCH/probe.py" elect $P elect/kill-library "$TRIALS" "$BIN/tenure" elect "$U"
    U=$(fresh); elect_command $P "$U"
    U=$(fresh); HANG=1 LIMIT=30 "$PY" "$BENCH/probe.py" elect $P hang/ttl-1s 2 "$BIN/tenure" elect "$U" 1000
fi
if want rest; then
    U=$(fresh); "$BIN/tenure" hold $P "$U" 1000 10
    U=$(fresh); "$BIN/tenure" stand $P "$U" 100 10
fi
if want held; then U=$(fresh); "$BIN/tenure" hold $P "$U" 100000 1; fi
if want cold; then
    U=$(fresh); export TENURE_STORE="$U"
    "$PY" "$BENCH/probe.py" start $P 21 "$TENURE" lock cold --
    "$PY" - "$TENURE" $P <<'EOF'
import re, subprocess, sys, time
tenure, peer = sys.argv[1:]
def row(t, m, v): print(f"{peer}\t{t}\t{m}\t{v:.6g}", flush=True)
p = subprocess.Popen([tenure, "lock", "--ttl", "1s", "cold", "--", "/bin/sh", "-c", "echo go; exec sleep 100"], stdout=subprocess.PIPE, text=True)
p.stdout.readline()
time.sleep(1)  # it has renewed, so the database is open
def kb(pid, key): return int(re.search(key + r":\s+(\d+)", open(f"/proc/{pid}/smaps_rollup").read())[1])
kids = open(f"/proc/{p.pid}/task/{p.pid}/children").read().split()
row("cold", "idle_MB", kb(p.pid, "Rss") / 1024)
row("cold", "supervisor_and_guardian_pss_MB", (kb(p.pid, "Pss") + sum(kb(k, "Pss") for k in kids)) / 1024)
p.terminate(); p.wait()
EOF
    row $P cold binary_MB "$(mb "$(stat -Lc %s "$TENURE")")"
    row $P cold library_MB "$(mb "$(stat -Lc %s "$BUILD/src/lib/libtenure.so")")"
fi
if want permit; then
    cc -O2 -Wall -Wextra -I"$BENCH/../include" -o "$BIN/permit" "$BENCH/permit.c" "$BUILD/src/lib/libtenure.so" -Wl,-rpath,"$BUILD/src/lib" -pthread
    U=$(fresh); "$BIN/permit" $P "$U" "$DATA/t" "$DUR"
fi
