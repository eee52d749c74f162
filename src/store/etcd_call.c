/* store/etcd_call.c - gRPC calls over one HTTP/2 connection. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/etcd_engine.h"

#define WINDOW_BYTES (16 << 20) /* how far a server may be ahead of us */

/* ---- what nghttp2 asks and tells ------------------------------------------------------------- */

static struct etcd_call *call_on(struct etcd_store *s, int32_t stream)
{
    struct etcd_call *c = s->link.calls;
    while (c && c->stream != stream)
        c = c->next;
    return c;
}

static ssize_t give_bytes(nghttp2_session *http, int32_t stream, uint8_t *to, size_t room,
                          uint32_t *flags, nghttp2_data_source *source, void *arg)
{
    (void)http;
    (void)source;
    struct etcd_call *c = call_on(arg, stream);
    if (!c)
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    size_t n = c->out_len - c->out_at;
    if (n == 0 && c->streams)
        return NGHTTP2_ERR_DEFERRED;
    if (n > room)
        n = room;
    memcpy(to, c->out + c->out_at, n);
    c->out_at += n;
    if (!c->streams && c->out_at == c->out_len)
        *flags |= NGHTTP2_DATA_FLAG_EOF;
    return (ssize_t)n;
}

static int take_header(nghttp2_session *http, const nghttp2_frame *frame, const uint8_t *name,
                       size_t name_len, const uint8_t *value, size_t value_len, uint8_t flags,
                       void *arg)
{
    (void)http;
    (void)flags;
    struct text n = {(const char *)name, name_len}, v = {(const char *)value, value_len};
    struct etcd_call *c = call_on(arg, frame->hd.stream_id);
    if (!c)
        return 0;
    if (text_equal(n, text_of("grpc-status"))) {
        c->status = grpc_status_parse(v);
    } else if (text_equal(n, text_of("grpc-message"))) {
        grpc_message_decode(v, c->text, sizeof c->text);
    } else if (text_equal(n, text_of(":status")) && !text_equal(v, text_of("200"))) {
        c->status = GRPC_UNAVAILABLE; /* something in between */
        snprintf(c->text, sizeof c->text, "HTTP status %.*s", (int)(v.len > 3 ? 3 : v.len), v.at);
    }
    return 0;
}

static int take_bytes(nghttp2_session *http, uint8_t flags, int32_t stream, const uint8_t *bytes,
                      size_t len, void *arg)
{
    (void)flags;
    struct etcd_call *c = call_on(arg, stream);
    if (!c || grpc_inbox_add(&c->in, bytes, len) == GRPC_FINE)
        return 0;
    c->status = GRPC_INTERNAL;
    snprintf(c->text, sizeof c->text, "the answer is no message that we take");
    ng.nghttp2_submit_rst_stream(http, NGHTTP2_FLAG_NONE, stream, NGHTTP2_CANCEL);
    return 0;
}

static int take_end(nghttp2_session *http, int32_t stream, uint32_t code, void *arg)
{
    (void)http;
    struct etcd_call *c = call_on(arg, stream);
    if (!c)
        return 0;
    c->closed = true;
    c->unsent = code == NGHTTP2_REFUSED_STREAM;
    return 0;
}

static int take_frame(nghttp2_session *http, const nghttp2_frame *frame, void *arg)
{
    (void)http;
    struct etcd_store *s = arg;
    if (frame->hd.type == NGHTTP2_GOAWAY)
        s->link.leaves = true;
    bool pings = frame->hd.type == NGHTTP2_PING && !(frame->hd.flags & NGHTTP2_FLAG_ACK);
    if (pings && !etcd_ping_take(s, frame->ping.opaque_data))
        return NGHTTP2_ERR_CALLBACK_FAILURE;
    return 0;
}

/* A session that leaves pings to us (etcd_ping.c). */
static int session_new(struct etcd_store *s, const nghttp2_session_callbacks *calls)
{
    nghttp2_option *opt;
    int code = ng.nghttp2_option_new(&opt);
    if (code != 0)
        return code;
    ng.nghttp2_option_set_no_auto_ping_ack(opt, 1);
    code = ng.nghttp2_session_client_new2(&s->link.http, calls, s, opt);
    ng.nghttp2_option_del(opt);
    return code;
}

bool etcd_http_start(struct etcd_store *s)
{
    struct etcd_link *l = &s->link;
    nghttp2_session_callbacks *calls;
    static const nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, WINDOW_BYTES},
    };
    if (ng.nghttp2_session_callbacks_new(&calls) != 0)
        return false;
    ng.nghttp2_session_callbacks_set_on_header_callback(calls, take_header);
    ng.nghttp2_session_callbacks_set_on_data_chunk_recv_callback(calls, take_bytes);
    ng.nghttp2_session_callbacks_set_on_stream_close_callback(calls, take_end);
    ng.nghttp2_session_callbacks_set_on_frame_recv_callback(calls, take_frame);
    int code = session_new(s, calls);
    ng.nghttp2_session_callbacks_del(calls);
    if (code != 0)
        l->http = NULL;
    if (code == 0)
        code = ng.nghttp2_submit_settings(l->http, NGHTTP2_FLAG_NONE, settings, 2);
    if (code == 0)
        code = ng.nghttp2_session_set_local_window_size(l->http, NGHTTP2_FLAG_NONE, 0,
                                                        WINDOW_BYTES);
    return code == 0;
}

/* ---- beginning ------------------------------------------------------------------------------- */

static void call_free(struct etcd_call *c)
{
    grpc_inbox_free(&c->in);
    free(c->out);
    free(c);
}

/* Adds a message to what is to be sent. */
static bool add_message(struct etcd_call *c, const ProtobufCMessage *message)
{
    size_t len = pb.protobuf_c_message_get_packed_size(message);
    size_t more = len + GRPC_PREFIX_BYTES;
    if (c->out_at == c->out_len)
        c->out_at = c->out_len = 0;
    if (c->out_len + more > c->out_cap) {
        uint8_t *out = realloc(c->out, c->out_len + more);
        if (!out)
            return false;
        c->out = out;
        c->out_cap = c->out_len + more;
    }
    grpc_prefix_write(c->out + c->out_len, (uint32_t)len);
    pb.protobuf_c_message_pack(message, c->out + c->out_len + GRPC_PREFIX_BYTES);
    c->out_len += more;
    return true;
}

static nghttp2_nv header(const char *name, const char *value)
{
    return (nghttp2_nv){
        .name = (uint8_t *)(uintptr_t)name,
        .value = (uint8_t *)(uintptr_t)value,
        .namelen = strlen(name),
        .valuelen = strlen(value),
    };
}

/* HOST:PORT, an IPv6 address in brackets. */
static void authority(const struct etcd_store *s, char *to, size_t cap)
{
    const struct etcd_endpoint *e = &s->place.endpoint[s->link.endpoint];
    bool brackets = memchr(e->host.at, ':', e->host.len) != NULL;
    snprintf(to, cap, "%s%.*s%s:%u", brackets ? "[" : "", (int)e->host.len, e->host.at,
             brackets ? "]" : "", e->port);
}

static bool submit(struct etcd_store *s, struct etcd_call *c)
{
    char to[ENDPOINT_HOST_BYTES_MAX + 16], limit[24];
    authority(s, to, sizeof to);
    snprintf(limit, sizeof limit, "%lldm", (long long)s->patience.ms);
    nghttp2_nv headers[9] = {
        header(":method", "POST"),
        header(":scheme", s->place.tls ? "https" : "http"),
        header(":path", c->path),
        header(":authority", to),
        header("te", "trailers"),
        header("content-type", "application/grpc"),
        header("user-agent", "tenure/" TENURE_VERSION),
    };
    size_t count = 7;
    if (s->token)
        headers[count++] = header("token", s->token);
    if (!c->streams)
        headers[count++] = header("grpc-timeout", limit);
    nghttp2_data_provider body = {.read_callback = give_bytes};
    c->stream = ng.nghttp2_submit_request(s->link.http, NULL, headers, count, &body, NULL);
    return c->stream > 0;
}

static struct etcd_call *start(struct etcd_store *s, const char *path,
                               const ProtobufCMessage *message,
                               const ProtobufCMessageDescriptor *answers, etcd_done_fn *done,
                               void *arg)
{
    struct etcd_link *l = &s->link;
    if (l->state != LINK_UP || l->leaves)
        return NULL;
    struct etcd_call *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    *c = (struct etcd_call){
        .path = path,
        .answers = answers,
        .streams = message == NULL,
        .status = -1,
        .sent = clock_now(),
        .after = s->revision,
        .done = done,
        .arg = arg,
    };
    if ((message && !add_message(c, message)) || !submit(s, c)) {
        call_free(c);
        return NULL;
    }
    c->next = l->calls;
    l->calls = c;
    return c;
}

struct etcd_call *etcd_call_start(struct etcd_store *s, const char *path,
                                  const ProtobufCMessage *message,
                                  const ProtobufCMessageDescriptor *answers, etcd_done_fn *done,
                                  void *arg)
{
    assert(message);
    return start(s, path, message, answers, done, arg);
}

struct etcd_call *etcd_stream_start(struct etcd_store *s, const char *path,
                                    const ProtobufCMessageDescriptor *answers,
                                    etcd_done_fn *done)
{
    return start(s, path, NULL, answers, done, NULL);
}

bool etcd_stream_send(struct etcd_store *s, struct etcd_call *c, const ProtobufCMessage *message)
{
    if (!add_message(c, message))
        return false;
    /* An error says that it is not waiting: then it will take the bytes by itself. */
    ng.nghttp2_session_resume_data(s->link.http, c->stream);
    return true;
}

/* ---- ending ---------------------------------------------------------------------------------- */

/* Hands out the next whole message; false when there is none or it cannot be read. */
static bool hand_out(struct etcd_store *s, struct etcd_call *c)
{
    const uint8_t *bytes;
    size_t len;
    if (!grpc_inbox_next(&c->in, &bytes, &len))
        return false;
    ProtobufCMessage *answer = pb.protobuf_c_message_unpack(c->answers, NULL, len, bytes);
    if (!answer) {
        c->status = GRPC_INTERNAL;
        snprintf(c->text, sizeof c->text, "the answer cannot be read");
        return false;
    }
    c->done(s, c, CALL_ANSWERED, answer);
    pb.protobuf_c_message_free_unpacked(answer, NULL);
    return true;
}

static void unlink_call(struct etcd_store *s, struct etcd_call *c)
{
    struct etcd_call **at = &s->link.calls;
    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
}

static void finish(struct etcd_store *s, struct etcd_call *c, enum etcd_call_end end)
{
    unlink_call(s, c);
    bool answered = end == CALL_ANSWERED && hand_out(s, c);
    if (end == CALL_ANSWERED && !answered)
        end = CALL_LOST; /* a status without its message */
    if (!answered)
        c->done(s, c, end, NULL);
    call_free(c);
}

static enum etcd_call_end end_of(const struct etcd_call *c)
{
    if (c->unsent)
        return CALL_UNSENT;
    if (c->status == GRPC_OK && !c->streams)
        return CALL_ANSWERED;
    return c->status > 0 ? CALL_REFUSED : CALL_LOST;
}

void etcd_calls_dispatch(struct etcd_store *s)
{
    const nghttp2_session *http = s->link.http;
    struct etcd_call *c = s->link.calls;
    while (c && s->link.http == http) {
        bool streamed = c->streams && hand_out(s, c);
        if (streamed || (c->closed && s->link.http == http)) {
            if (!streamed)
                finish(s, c, end_of(c));
            c = s->link.http == http ? s->link.calls : NULL; /* the list may be another one now */
        } else {
            c = c->next;
        }
    }
}

void etcd_calls_lost(struct etcd_store *s)
{
    while (s->link.calls)
        finish(s, s->link.calls, CALL_LOST);
}
