/* guards.c - single-row INSERT + commit, as many a second as so many clients get in.
 *
 *     guards sqlite PATH  TABLE CLIENTS SECONDS [NAME TOKEN]
 *     guards pg CONNINFO  TABLE CLIENTS SECONDS [NAME TOKEN]
 *
 * With a token each connection presents it once, as its guard wants it.  Prints commits/s. */
#include "bench.h"

#include <libpq-fe.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdbool.h>

static const char *where, *table, *name, *token;
static atomic_bool go, over;

struct client {
    bool pg;
    pthread_t thread;
    unsigned long commits;
    PGconn *conn;
    sqlite3 *db;
    sqlite3_stmt *insert;
};

static void open_sqlite(struct client *c)
{
    char sql[1200];
    if (sqlite3_open(where, &c->db) != SQLITE_OK || sqlite3_busy_timeout(c->db, 60000) != SQLITE_OK)
        die(sqlite3_errmsg(c->db));
    sqlite3_exec(c->db, "PRAGMA synchronous = FULL", NULL, NULL, NULL);
    snprintf(sql, sizeof sql, "CREATE TEMP TABLE tenure_token(\"%s\" DEFAULT %s)", name, token);
    if (token[0] && sqlite3_exec(c->db, sql, NULL, NULL, NULL) != SQLITE_OK)
        die(sqlite3_errmsg(c->db));
    snprintf(sql, sizeof sql, "INSERT INTO %s(total) VALUES (1)", table);
    if (sqlite3_prepare_v2(c->db, sql, -1, &c->insert, NULL) != SQLITE_OK)
        die(sqlite3_errmsg(c->db));
}

static void open_pg(struct client *c)
{
    char sql[1200];
    c->conn = PQconnectdb(where);
    if (PQstatus(c->conn) != CONNECTION_OK)
        die(PQerrorMessage(c->conn));
    snprintf(sql, sizeof sql, "SET tenure.token = '%s=%s'", name, token);
    if (token[0])
        PQclear(PQexec(c->conn, sql));
    snprintf(sql, sizeof sql, "INSERT INTO %s(total) VALUES (1)", table);
    PGresult *r = PQprepare(c->conn, "i", sql, 0, NULL);
    if (PQresultStatus(r) != PGRES_COMMAND_OK)
        die(PQerrorMessage(c->conn));
    PQclear(r);
}

static void commit_one(struct client *c)
{
    if (c->pg) {
        PGresult *r = PQexecPrepared(c->conn, "i", 0, NULL, NULL, NULL, 0);
        if (PQresultStatus(r) != PGRES_COMMAND_OK)
            die(PQerrorMessage(c->conn));
        PQclear(r);
    } else if (sqlite3_step(c->insert) != SQLITE_DONE || sqlite3_reset(c->insert) != SQLITE_OK) {
        die(sqlite3_errmsg(c->db));
    }
}

static void *run(void *arg)
{
    struct client *c = arg;
    while (!atomic_load(&go))
        usleep(1000);
    while (!atomic_load(&over)) {
        commit_one(c);
        c->commits++;
    }
    return NULL;
}

int main(int argc, char **argv)
{
    static struct client client[64];
    if (argc != 6 && argc != 8)
        die("usage: see guards.c");
    int clients = atoi(argv[4]);
    where = argv[2];
    table = argv[3];
    name = argc == 8 ? argv[6] : "";
    token = argc == 8 ? argv[7] : "";
    for (int i = 0; i < clients && i < 64; i++) {
        client[i].pg = strcmp(argv[1], "pg") == 0;
        (client[i].pg ? open_pg : open_sqlite)(&client[i]);
        pthread_create(&client[i].thread, NULL, run, &client[i]);
    }
    double began = now();
    atomic_store(&go, true);
    usleep((useconds_t)(atof(argv[5]) * 1e6));
    atomic_store(&over, true);
    unsigned long commits = 0;
    for (int i = 0; i < clients && i < 64; i++) {
        pthread_join(client[i].thread, NULL);
        commits += client[i].commits;
        PQfinish(client[i].conn);
        sqlite3_finalize(client[i].insert);
        sqlite3_close(client[i].db);
    }
    printf("%.1f\n", (double)commits / (now() - began));
    return 0;
}
