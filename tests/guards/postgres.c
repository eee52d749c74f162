/* tests/guards/postgres.c - the SQL of the PostgreSQL guard beside the rule that it repeats.  What
 * programs and several sessions see is in tests/e2e/test_guard.py and test_guard_postgres.py.
 *
 *     postgres URL      (of an empty database: tests/store/with_postgres) */
#include <stdint.h>

#include <tenure/guard.h>
#include "postgres/guard.h"
#include "store/postgres_libpq.h"
#include "tap.h"

static const char *url;
static tenure_error err;

/* The first column of the first row, in a buffer of its own; "" when there is none. */
static const char *ask(PGconn *conn, const char *sql)
{
    static char answer[64];
    PGresult *r = pq.PQexec(conn, sql);
    snprintf(answer, sizeof answer, "%s",
             pq.PQresultStatus(r) == PGRES_TUPLES_OK && pq.PQntuples(r) > 0
                 ? pq.PQgetvalue(r, 0, 0)
                 : "");
    pq.PQclear(r);
    return answer;
}

static void an_operator_puts_it_in_moves_it_and_takes_it_out(void)
{
    static const char *const keys[] = {"dbname", NULL};
    const char *const values[] = {url, NULL}, *table = "invoices";
    struct target *g = NULL;
    CHECK(pq_load(&err) == 0);
    PGconn *conn = pq.PQconnectdbParams(keys, values, 1);
    pq.PQclear(pq.PQexec(conn, "CREATE TABLE invoices (id integer)"));
    int opened = postgres_guard_open(url, 2000, &g, &err);
    int installed = opened < 0 ? opened : target_install(g, "a", &table, 1, false, &err);
    int announced = opened < 0 ? opened : target_announce(g, "a", 42, &err);
    int stale = opened < 0 ? opened : target_announce(g, "a", 41, &err);
    int none = opened < 0 ? opened : target_announce(g, "a", 0, &err);
    bool moved = strcmp(ask(conn, "SELECT mark FROM tenure_guard.verdict"), "42") == 0;
    int removed = opened < 0 ? opened : target_remove(g, "a", &err);
    int again = opened < 0 ? opened : target_remove(g, "a", &err);
    target_close(g);
    pq.PQfinish(conn);
    CHECK(opened == 0 && installed == 0 && announced == 0 && moved && removed == 0);
    CHECK(stale == TENURE_NOT_OWNED && none == TENURE_INVALID && again == TENURE_INVALID);
}

static void the_sql_and_the_rule_agree_on_all_small_tokens_of_postgresql(void)
{
    static const char *const keys[] = {"dbname", NULL};
    const char *const values[] = {url, NULL}, *table = "invoices";
    struct target *g = NULL;
    int agreed = 0;
    int code = postgres_guard_open(url, 2000, &g, &err);
    if (code == 0)
        code = target_install(g, "a", &table, 1, false, &err);
    PGconn *conn = pq.PQconnectdbParams(keys, values, 1);
    for (int n = 0; n < 7 * 7 * 2; n++) {
        uint64_t mark = (uint64_t)(n % 7), token = (uint64_t)(n / 7 % 7 + 1);
        bool strict = n >= 7 * 7;
        char sql[120];
        snprintf(sql, sizeof sql, "SELECT tenure_guard.judge(%d, '%d', %s)", (int)mark, (int)token,
                 strict ? "true" : "false");
        tenure_guard_verdict verdict = tenure_guard_admit(mark, token, strict);
        agreed += strcmp(ask(conn, sql), tenure_guard_verdict_text(verdict)) == 0;
    }
    bool removed = code == 0 && target_remove(g, "a", &err) == 0;
    target_close(g);
    pq.PQfinish(conn);
    CHECK(code == 0 && removed);
    CHECK(agreed == 7 * 7 * 2);
}

static void a_url_that_libpq_cannot_read_is_refused(void)
{
    struct target *g = NULL;
    CHECK(postgres_guard_open("postgres://h/d?no=such", 100, &g, &err) == TENURE_INVALID);
    CHECK(postgres_guard_open("postgres://[/", 100, &g, &err) == TENURE_INVALID);
    CHECK(postgres_guard_open("postgres://127.0.0.1:1/d", 100, &g, &err) == TENURE_UNREACHABLE);
    CHECK(g == NULL);
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 64;
    url = argv[1];
    return TAP_RUN(TAP(an_operator_puts_it_in_moves_it_and_takes_it_out),
                   TAP(the_sql_and_the_rule_agree_on_all_small_tokens_of_postgresql),
                   TAP(a_url_that_libpq_cannot_read_is_refused));
}
