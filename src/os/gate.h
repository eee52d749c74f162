/* os/gate.h - who may write to a store that many processes share, and the page that they share.
 *
 * Who is inside has its slot written in a word of the page: entering and leaving cost no system
 * call.  A slot is an OFD lock on one byte of the gate's file, held from gate_open() on, which the
 * kernel drops with its last owner.  So when the one inside does not leave, the others ask the
 * kernel whether it is still there, and take its place when it is not.  Process ids never decide
 * (a robust mutex identifies its owner by one, which collides between PID namespaces).  Who finds
 * the gate shut sleeps on a futex; the sleep is cut into slices, because a process that is
 * killed inside does not wake anybody.
 *
 * FAIRNESS.  A process that comes may overtake those who sleep: that keeps the processor busy,
 * and a run of small transactions of one process is several times cheaper than one in which two
 * take turns.  But who has been alone inside for GATE_BURST_MS while others sleep lets one of them
 * in before it enters again.  One that keeps coming back at once wakes nobody up until then.
 *
 * THE PAGE is the beginning of the file, and behind it is ROOM for what else the users of the gate
 * share.  Both are allocated when they are made, so a full disk cannot end a process with SIGBUS.
 * All fields but the atomic ones are changed inside the gate only.  It must never be trusted to be
 * newer than the store after the machine was down: it is written back by the kernel at any time,
 * but for `ceiling`, which gate_sync() makes durable.
 *
 * A forked child holds the slot of its parent, too, until gate_forked() drops it.  One thread at a
 * time per struct gate; any number of gates on one file.
 */
#ifndef OS_GATE_H
#define OS_GATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <tenure/error.h>

#include "core/time.h"
#include "os/clock.h"
#include "os/rights.h"

#define GATE_PAGE_BYTES 4096
#define GATE_SLOTS 65536 /* handles that may have one gate open at once */
#define GATE_SLICE_MS 5     /* of a sleep: how late the death of who is inside may be noticed */
#define GATE_SLICE_MAX_MS 15 /* slices grow: many who sleep would be many who look */
#define GATE_BURST_MS 3     /* so long one may come back before those who sleep */
#define GATE_YOUNG 64       /* sessions that the page has room for */

/* What the kernel says of a file; all 0 when there is none. */
struct gate_file {
    uint64_t ino;
    int64_t size, mtime_ns, ctime_ns;
};

struct gate_page {
    char magic[8];     /* GATE_MAGIC */
    uint32_t version;  /* GATE_VERSION */
    _Atomic uint32_t inside;  /* the user (slot + 1) who is inside, 0 when nobody is */
    _Atomic uint32_t wakes;   /* the futex: counts wake-ups */
    _Atomic uint32_t sleeps;  /* 1: somebody may sleep, so who leaves wakes one ... */
    _Atomic uint32_t woken;   /* ... unless this is 1: one is awake already and tries to come in */
    _Atomic int32_t owner_pid; /* for messages only; 0: nobody is inside */
    char owner_comm[16];       /* for messages only */
    _Atomic uint32_t last;     /* the user who came in last */

    uint8_t store_id[16];            /* of the database that this page belongs to; 0: none yet */
    char domain[CLOCK_DOMAIN_BYTES]; /* whose clock the store's instants count on */
    uint64_t floor;                  /* as of the last commit to the database */
    uint64_t ceiling;                /* durable: no token above it was given out */
    _Atomic uint32_t next_slot;      /* where to look for a free one */
    uint64_t checkpoint_frames;      /* length of the log at the last checkpoint */
    _Atomic uint64_t changes;        /* counts commits that others may want to look at */
    _Atomic int64_t observed_until;  /* until then somebody has an inotify watch on the file */
    unsigned char poke;              /* written with pwrite(), which inotify notices */
    _Atomic uint64_t token;          /* the highest that was given out, at least `floor` */
    uint64_t sequence;               /* of the last write of a record */
    uint64_t commits;                /* counts those to the database that were begun */
    int64_t clock;                   /* the store's, at the last write of a record in the room */
    uint64_t file;                   /* the file that this was written in: gate_is_copy() */
    uint64_t rows;                   /* that of the database which the room was compared with */
    int64_t base;                    /* the store's clock is the kernel's and this */

    /* The seal (store/sqlite_seal.c): how the database was left. */
    uint64_t sealed;                 /* `commits` as of then; 0: there is none */
    int64_t seal_ns;                 /* the time of day then */
    struct gate_file seal[2];        /* the database, and its log */

    /* Young sessions (store/sqlite_young.c).  Also read from outside. */
    uint32_t moving;                 /* 1: some of them may have rows, too */
    _Atomic uint64_t young[GATE_YOUNG]; /* their ids; 0: the place is free */
    struct gate_session {
        _Atomic int64_t expires; /* on the store's clock */
        _Atomic int64_t ttl;     /* ms */
        _Atomic int64_t notices;
    } of_young[GATE_YOUNG];
};

#define GATE_MAGIC "tenuregt"
#define GATE_VERSION 3 /* 1: without room, 2: without sessions; an older one becomes 3 when nobody
                         * else has it open */

struct gate;

/* Opens the gate file, or makes it with these rights, with `room` bytes behind the page, which
 * are 0 at first.  Not entered yet.  Errors: TENURE_DENIED, TENURE_READ_ONLY, TENURE_NO_SPACE,
 * TENURE_UNREACHABLE (no such directory), TENURE_FOREIGN (another file, a newer version, or an
 * older one that somebody has open). */
int gate_open(const char *path, const struct rights *rights, size_t room, struct gate **ret,
              tenure_error *err);

/* Leaves the gate if need be and closes it.  Returns NULL; NULL is fine. */
struct gate *gate_close(struct gate *g);

/* The page; valid until gate_close(), NULL after gate_forked(). */
struct gate_page *gate_page(const struct gate *g);

/* The room behind the page, as long as the page is valid. */
void *gate_room(const struct gate *g);

/* Enters, waiting for at most `patience`.  0, or TENURE_BUSY (who is inside, and for how long we
 * waited), TENURE_WENT_BACK (the gate file was removed or replaced under us). */
int gate_enter(struct gate *g, struct span patience, tenure_error *err);

/* Leaves and wakes one who sleeps. */
void gate_leave(struct gate *g);

/* Leaves for good: the next one who enters finds us gone (gate_is_alone()), so that of any number
 * who leave at once one knows that it is the last.  Only gate_close() may follow. */
void gate_depart(struct gate *g);

/* Whether nobody else has this gate open.  When the kernel does not say: false. */
bool gate_is_alone(const struct gate *g);

/* Whether its file still is where others find it. */
bool gate_is_in_place(const struct gate *g);

/* Whether the page says that it was written in another file: then this is a copy, of whatever age.
 * From gate_adopt() on it is the original. */
bool gate_is_copy(const struct gate *g);
void gate_adopt(struct gate *g);

/* Whether its file system still takes writes: one that became read-only after an error lets memory
 * that is mapped be written all the same, and forgets it. */
bool gate_is_writable(const struct gate *g);

/* Makes the page durable.  Inside the gate.  0, or an errno. */
int gate_sync(struct gate *g);

/* Tells those who watch the file with inotify, if there may be any, that something changed. */
void gate_poke(struct gate *g);

/* In the child after fork(): lets go of everything; only gate_close() may follow. */
void gate_forked(struct gate *g);

#endif
