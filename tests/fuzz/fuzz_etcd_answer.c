/* What etcd answers is read without harm, and what our keys hold decodes to what it came from. */
#include <stdlib.h>
#include <string.h>

#include "store/etcd_library.h"
#include "store/etcd_message.h"
#include "wire/etcd_value.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void values(const unsigned char *data, size_t size)
{
    struct etcd_stamp stamp;
    struct etcd_session session;
    struct etcd_seal seal;
    struct etcd_news news;
    uint8_t again[64];
    if (etcd_stamp_decode(data, size, &stamp)) {
        etcd_stamp_encode(&stamp, again);
        if (memcmp(again, data, ETCD_STAMP_BYTES) != 0)
            abort();
    }
    if (etcd_session_decode(data, size, &session)) {
        etcd_session_encode(&session, again);
        if (memcmp(again, data, ETCD_SESSION_BYTES) != 0)
            abort();
    }
    if (etcd_seal_decode(data, size, &seal)) {
        etcd_seal_encode(&seal, again);
        if (memcmp(again, data, ETCD_SEAL_BYTES) != 0)
            abort();
    }
    if (etcd_news_decode(data, size, &news)) {
        uint8_t *whole = malloc(size);
        if (!whole || etcd_news_bytes(&news) != size || size % 8 == 0)
            abort();
        etcd_news_encode(&news, whole);
        if (memcmp(whole, data, size) != 0)
            abort();
        free(whole);
    }
}

/* Goes through a Txn's answer as an engine does that expects Ranges everywhere. */
static void walk(const Etcd__TxnResponse *r)
{
    for (size_t i = 0; i <= r->n_responses; i++) {
        const Etcd__RangeResponse *range = etcd_answer_range(r, i);
        for (size_t k = 0; range && k < range->n_kvs; k++)
            values(range->kvs[k]->value.data, range->kvs[k]->value.len);
        bool nested = i < r->n_responses &&
                      r->responses[i]->response_case ==
                          ETCD__RESPONSE_OP__RESPONSE_RESPONSE_TXN;
        const Etcd__SubTxnResponse *sub = nested ? r->responses[i]->response_txn : NULL;
        for (size_t k = 0; sub && k <= sub->n_responses; k++)
            (void)etcd_sub_range(sub, k);
    }
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    static const ProtobufCMessageDescriptor *const kinds[] = {
        &etcd__txn_response__descriptor,          &etcd__watch_response__descriptor,
        &etcd__range_response__descriptor,        &etcd__lease_keep_alive_response__descriptor,
        &etcd__lease_grant_response__descriptor,  &etcd__status_response__descriptor,
        &etcd__authenticate_response__descriptor, &etcd__member_list_response__descriptor,
    };
    tenure_error err;
    if (etcd_load(&err) < 0)
        abort();
    values(data, size);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        ProtobufCMessage *m = pb.protobuf_c_message_unpack(kinds[i], NULL, size, data);
        if (!m)
            continue;
        if (i == 0)
            walk((const Etcd__TxnResponse *)(const void *)m);
        pb.protobuf_c_message_free_unpacked(m, NULL);
    }
    return 0;
}
