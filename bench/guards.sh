#!/bin/sh
# guards.sh [guards]: what the guards cost, each beside the same without a guard; interleaved, medians.
# BUILD names the build directory (default: ../build).  Needs nginx and wrk, and PostgreSQL.
. "$(dirname "$0")/lib.sh"
. "$BENCH/pg-server.inc"
export DUR=$((DUR < 2 ? DUR : 2))                 # there are 39 measurements, and run-all ends it after 180 s
BUILD=$(cd "${BUILD:-$BENCH/../build}" && pwd)
TENURE=$BUILD/src/cli/tenure
NGINX=$(PATH=$PATH:/usr/sbin command -v nginx)
N=billing/invoices; CHECK=17420; WEB=17421       # ports: the checker; nginx and, above it, its servers
[ "$BIN/guards" -nt "$BENCH/guards.c" ] ||
    cc -O2 -Wall -Wextra -I/usr/include/postgresql -o "$BIN/guards" "$BENCH/guards.c" -lpq -lsqlite3 -pthread
beside() { "$PY" "$BENCH/probe.py" beside guards "$@"; }
up() { for _ in $(seq 500); do curl -s -o "$DATA/up" "http://127.0.0.1:$1/" && return; sleep 0.02; done; echo "nothing on $1" >&2; exit 1; }
web() { # every server of it adds one thing to the one above
    T="proxy_http_version 1.1; proxy_set_header Connection ''; proxy_method HEAD; proxy_pass_request_body off; proxy_set_header Content-Length '';"
    W="location / { proxy_http_version 1.1; proxy_set_header Connection ''; proxy_pass http://service;"
    cat >"$DATA/nginx.conf" <<EOF
daemon off; worker_processes 2; pid $DATA/nginx.pid; error_log $DATA/nginx.log; events {}
$([ "$(id -u)" != 0 ] || echo 'user root;')
http { access_log off; keepalive_requests 1000000000;
    client_body_temp_path $DATA/n1; proxy_temp_path $DATA/n2; fastcgi_temp_path $DATA/n3; uwsgi_temp_path $DATA/n4; scgi_temp_path $DATA/n5;
    upstream service { server 127.0.0.1:$((WEB + 4)); keepalive 32; }
    upstream empty { server 127.0.0.1:$((WEB + 5)); keepalive 32; }
    upstream checker { server 127.0.0.1:$CHECK; keepalive 32; }
    server { listen 127.0.0.1:$WEB; $W } }
    server { listen 127.0.0.1:$((WEB + 1)); $W auth_request /_c; } location = /_c { internal; return 204; } }
    server { listen 127.0.0.1:$((WEB + 2)); $W auth_request /_c; } location = /_c { internal; $T proxy_pass http://empty/; } }
    server { listen 127.0.0.1:$((WEB + 3)); $W auth_request /_c; } location = /_c { internal; $T proxy_pass http://checker/check/$N; } }
    server { listen 127.0.0.1:$((WEB + 4)); location / { return 200 "done\n"; } }
    server { listen 127.0.0.1:$((WEB + 5)); location / { return 204; } }
}
EOF
    spawn "$NGINX" -p "$DATA" -c nginx.conf -e "$DATA/nginx.log"; NG=$LAST; up "$WEB"; }
stop_web() { [ -z "${NG:-}" ] || { kill "$NG" 2>/dev/null; wait "$NG"; } || :; NG=; } # its workers outlive a killed master
trap 'stop_web; [ -z "${S:-}" ] || kill -QUIT $S 2>/dev/null || :; cleanup' EXIT
load() { echo "wrk -t1 -c16 -d$DUR -H 'Tenure-Token: $N 42' http://127.0.0.1:$1"; }   # load PORT[/PATH]
if want guards; then
    head -c 32 /dev/urandom | base64 >"$DATA/secret"; chmod 600 "$DATA/secret"
    spawn "$TENURE" guard serve "http://127.0.0.1:$CHECK" --marks "$DATA/marks" --secret "$DATA/secret"; C=$LAST; up "$CHECK"
    "$TENURE" guard install "http://127.0.0.1:$CHECK?secret=$DATA/secret" --name $N
    "$TENURE" guard announce "http://127.0.0.1:$CHECK?secret=$DATA/secret" --name $N --token 42
    web
    beside nginx/no-check requests/s "$(load "$WEB")"
    beside nginx/guard requests/s "$(load $((WEB + 2)))" "$(load $((WEB + 3)))"       # beside a server that says yes
    beside nginx/guard-inline requests/s "$(load $((WEB + 1)))" "$(load $((WEB + 3)))" # beside a yes of nginx itself
    stop_web
    taskset -a -p -c 0 "$C" >/dev/null
    beside check/one-core checks/s "taskset -c 1 $(load "$CHECK/check/$N")"
    stop "$C"
    S=
    D=$DATA/ledger.db
    sqlite3 "$D" "PRAGMA journal_mode = WAL; CREATE TABLE free(id INTEGER PRIMARY KEY, total INTEGER); CREATE TABLE invoice(id INTEGER PRIMARY KEY, total INTEGER)" >/dev/null
    "$TENURE" guard install "sqlite:$D" --name $N --table invoice
    for c in 1 16; do beside sqlite/insert-$c commits/s "$BIN/guards sqlite $D free $c $DUR" "$BIN/guards sqlite $D invoice $c $DUR $N 42"; done
    start_pg
    psql -qX "$I" -c "CREATE TABLE free(id serial PRIMARY KEY, total int)" -c "CREATE TABLE invoice(id serial PRIMARY KEY, total int)"
    "$TENURE" guard install "postgres://postgres@127.0.0.1:$P/postgres" --name $N --table invoice
    for c in 1 16; do beside pg/insert-$c commits/s "$BIN/guards pg '$I' free $c $DUR" "$BIN/guards pg '$I' invoice $c $DUR $N 42"; done
    stop_pg
fi
