/* store/etcd_fight.h - who goes first when many write one record at the same moment.
 *
 * Of all who decided on the same version one succeeds, and each of the others costs etcd as much.
 * Two rules keep them few.  They are about speed only: each waits for a while at most, and is
 * right to write whenever it does.
 *
 * Who was rung for a name that many fight for got it from somebody who as a rule asks again at
 * once; so it lets that one write first.
 *
 * Who loses an attempt would lose the next one, too, with all others who lost it, but for one.  So
 * each puts a key, lost/NN, and learns by it how many lost before it to the same write.  So many
 * writes of others it lets pass, which it hears of by a watch on the record, for as long as it
 * takes; then it decides on what the last one wrote.  A hand-over does not wait in this way: the
 * others wait for it. */
#ifndef STORE_ETCD_FIGHT_H
#define STORE_ETCD_FIGHT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/time.h"
#include "etcd.pb-c.h"

struct etcd_store;
struct etcd_txn;
struct etcd_work;

/* What a work lost. */
struct etcd_loss {
    unsigned attempts;
    int64_t ahead;        /* so many writes of others it lets pass since the last one */
    int64_t written;      /* how often the record had been written by then, */
    struct instant since; /* and when we heard of that, */
    struct span took;     /* after how long */
    bool follows;         /* it wants to hear of what others write */
    bool stale;           /* it did not, and looks before it decides again */
};

/* Else: puts the key, and says when that was put before. */
void etcd_fight_else(struct etcd_store *s, struct etcd_txn *t, const struct etcd_work *w);

/* An attempt was lost, and took so long; `before` is what etcd_fight_else() has found, or NULL. */
void etcd_fight_lost(struct etcd_store *s, struct etcd_work *w, struct span took,
                     const Etcd__RangeResponse *before);

/* An attempt succeeded. */
void etcd_fight_won(struct etcd_store *s, const struct etcd_work *w);

/* Whether it lets others go first, until s->held_back at the latest. */
bool etcd_fight_waits(struct etcd_store *s, struct etcd_work *w);

/* Whose record is to be followed, NULL for none; it stays the same one as long as possible. */
const struct etcd_work *etcd_fight_followed(const struct etcd_store *s);

#endif
