/* core/entry.h - one entry of the configuration: its value, its version, who changed it.
 *
 * An entry is written by whoever leads, and a leader that was replaced must not write it any more.
 * So a change can demand that a tenure stands and that the entry is what its writer has seen, and
 * both are asked within the step that makes the change.  Pure data and pure rules, like
 * core/claim.h and core/rules.h; the texts are borrowed.
 *
 * Invariants, checked by entry_check():
 *   - there is at least one change, the newest first, and their versions fall;
 *   - the value is empty when the newest change deleted it.
 */
#ifndef CORE_ENTRY_H
#define CORE_ENTRY_H

#include "core/rules.h"

#define ENTRY_VALUE_BYTES_MAX (512 * 1024)
#define ENTRY_CHANGES_MAX 16

struct entry_change {
    uint64_t version; /* from the tokens' sequence: unique in the store, and it only grows */
    bool deleted;
    uint64_t bytes;    /* of the value */
    struct text by;    /* who did it */
    struct text name;  /* the tenure that it demanded, empty for none, */
    uint64_t epoch;    /* and its token */
    int64_t wall_ms;   /* for people only */
};

struct entry {
    struct text value;
    struct instant touched; /* store's clock */
    uint32_t change_count;  /* 0: there never was such an entry */
    struct entry_change change[ENTRY_CHANGES_MAX];
};

/* What a change demands. */
struct entry_terms {
    bool at;          /* `version` counts: */
    uint64_t version; /* the entry is at this one; 0: it is not there */
    struct text name; /* empty, or the name that must be held under `epoch` */
    uint64_t epoch;
    struct text by;
};

enum entry_verdict {
    ENTRY_DONE = 1,
    ENTRY_NOT_HELD, /* nobody holds the name under that epoch */
    ENTRY_CHANGED,  /* it is at another version */
    ENTRY_ABSENT,   /* what should be deleted is not there */
};

bool entry_check(const struct entry *e);

/* Whether there is a value, and its version; 0 when there is none. */
bool entry_exists(const struct entry *e);
uint64_t entry_version(const struct entry *e);

/* Sets the value, or takes it away (`value` NULL).  `held` is the record of terms->name, NULL when
 * none is demanded; it is not changed.  DONE: *e is to be written, entry_version() or the newest
 * change's version is the new one.  Else *e is as it was. */
enum entry_verdict entry_change(struct entry *e, struct claim *held, struct facts *f,
                                const struct entry_terms *terms, const struct text *value);

#endif
