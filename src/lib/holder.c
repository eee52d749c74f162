#include "lib/holder.h"

#include <inttypes.h>
#include <stdio.h>

#include "lib/handle.h"

enum record_flaw holder_find(const struct store_record *record, struct claim *scratch,
                             struct holder *ret)
{
    enum record_flaw flaw = record_decode(record->bytes, record->len, scratch);
    if (flaw != RECORD_FINE)
        return flaw;
    ret->token = 0;
    if (claim_holders(scratch) > 0) {
        struct text as = scratch->ticket[0].as;
        ret->token = scratch->ticket[0].token;
        snprintf(ret->as, sizeof ret->as, "%.*s", (int)as.len, as.len ? as.at : "");
    }
    return RECORD_FINE;
}

int holder_explain(const struct holder *h, const char *name, uint64_t epoch, tenure_error *err)
{
    if (h->token == epoch)
        return error_set(err, TENURE_NOT_OWNED, "%s: its holder under epoch %" PRIu64 " (%s) is "
                                                "dead", name, epoch, h->as);
    if (h->token == 0)
        return error_set(err, TENURE_NOT_OWNED, "%s is not held under epoch %" PRIu64 ", nor at "
                                                "all", name, epoch);
    return error_set(err, TENURE_NOT_OWNED, "%s is not held under epoch %" PRIu64 ": %s holds it "
                                            "under %" PRIu64, name, epoch, h->as, h->token);
}
