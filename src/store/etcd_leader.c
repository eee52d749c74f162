/* store/etcd_leader.c - which member to ask: the one that leads.
 *
 * Whatever is to be written or confirmed goes to the leader in the end, and so does each renewal of
 * a lease; a member between costs a way there and back, and can break.  So a connection to another
 * member is left for one to the leader, if that is one of our endpoints by the very name that it
 * advertises.  Once: when it cannot be reached, or leads no longer, any member will do, until the
 * connection that was greeted has ended.  And not for the endpoint that was just left: a leader
 * that others hear may be of no use to us. */
#include "store/etcd_engine.h"

static int endpoint_of(const struct etcd_store *s, const Etcd__Member *m)
{
    int found = -1;
    for (size_t i = 0; i < m->n_clienturls && found < 0; i++)
        found = etcd_url_find(&s->place, text_of(m->clienturls[i]));
    return found;
}

static void listed(struct etcd_store *s, struct etcd_call *c, enum etcd_call_end end,
                   const ProtobufCMessage *answer)
{
    const Etcd__MemberListResponse *r = (const void *)answer;
    int endpoint = -1;
    if (end != CALL_ANSWERED && end != CALL_REFUSED) {
        etcd_hello_failed(s, c, end);
        return;
    }
    for (size_t i = 0; end == CALL_ANSWERED && i < r->n_members; i++) {
        if (r->members[i]->id == s->leader)
            endpoint = endpoint_of(s, r->members[i]);
    }
    if (endpoint >= 0 && endpoint != s->link.endpoint && endpoint != s->link.left)
        etcd_link_turn_to(s, endpoint);
    else
        etcd_hello_stay(s);
}

void etcd_leader_seek(struct etcd_store *s, const Etcd__StatusResponse *r)
{
    Etcd__MemberListRequest m;
    bool leads = r->leader == 0 || r->leader == r->header->member_id;
    if (leads || s->place.endpoints == 1 || s->link.turned) {
        etcd_hello_stay(s);
        return;
    }
    s->leader = r->leader;
    etcd__member_list_request__init(&m);
    if (!etcd_call_start(s, ETCD_MEMBER_LIST, &m.base, &etcd__member_list_response__descriptor,
                         listed, NULL))
        etcd_hello_not_asked(s);
}
