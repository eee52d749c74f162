#include "core/entry.h"

bool entry_check(const struct entry *e)
{
    for (uint32_t i = 0; i < e->change_count; i++) {
        const struct entry_change *c = &e->change[i];
        if (c->version == 0 || (i > 0 && c->version >= c[-1].version))
            return false;
        if ((c->name.len == 0) != (c->epoch == 0) || (c->deleted && c->bytes != 0))
            return false;
    }
    return e->change_count == 0 ? e->value.len == 0 : e->value.len == e->change[0].bytes;
}

bool entry_exists(const struct entry *e)
{
    return e->change_count > 0 && !e->change[0].deleted;
}

uint64_t entry_version(const struct entry *e)
{
    return entry_exists(e) ? e->change[0].version : 0;
}

static void remember(struct entry *e, const struct entry_change *change)
{
    uint32_t kept = e->change_count < ENTRY_CHANGES_MAX ? e->change_count : ENTRY_CHANGES_MAX - 1;
    memmove(e->change + 1, e->change, kept * sizeof *e->change);
    e->change[0] = *change;
    e->change_count = kept + 1;
}

enum entry_verdict entry_change(struct entry *e, struct claim *held, struct facts *f,
                                const struct entry_terms *terms, const struct text *value)
{
    if (held && !rules_stands(held, f, terms->epoch))
        return ENTRY_NOT_HELD;
    if (terms->at && terms->version != entry_version(e))
        return ENTRY_CHANGED;
    if (!value && !entry_exists(e))
        return ENTRY_ABSENT;
    e->value = value ? *value : (struct text){NULL, 0};
    e->touched = f->now;
    /* From the tokens, so that one that was deleted and is there again has a higher version. */
    uint64_t version = facts_draw(f, e->change_count > 0 ? e->change[0].version : 0);
    remember(e, &(struct entry_change){
                    .version = version,
                    .deleted = !value,
                    .bytes = e->value.len,
                    .by = terms->by,
                    .name = terms->name,
                    .epoch = held ? terms->epoch : 0,
                    .wall_ms = f->wall_ms,
                });
    return ENTRY_DONE;
}
