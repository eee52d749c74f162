/* store/etcd_library.h - nghttp2, protobuf-c and GnuTLS, loaded when the first store in etcd is
 * opened (os/library.h). */
#ifndef STORE_ETCD_LIBRARY_H
#define STORE_ETCD_LIBRARY_H

#include <nghttp2/nghttp2.h>
#include <protobuf-c/protobuf-c.h>
#include <tenure/error.h>

#define NG_CALLS(X)                                                                                \
    X(nghttp2_option_del) X(nghttp2_option_new) X(nghttp2_option_set_no_auto_ping_ack)             \
    X(nghttp2_session_callbacks_del) X(nghttp2_session_callbacks_new)                              \
    X(nghttp2_session_callbacks_set_on_data_chunk_recv_callback)                                   \
    X(nghttp2_session_callbacks_set_on_frame_recv_callback)                                        \
    X(nghttp2_session_callbacks_set_on_header_callback)                                            \
    X(nghttp2_session_callbacks_set_on_stream_close_callback)                                      \
    X(nghttp2_session_client_new2) X(nghttp2_session_del) X(nghttp2_session_mem_recv)              \
    X(nghttp2_session_mem_send) X(nghttp2_session_resume_data)                                     \
    X(nghttp2_session_set_local_window_size) X(nghttp2_session_want_read)                          \
    X(nghttp2_submit_ping) X(nghttp2_submit_request) X(nghttp2_submit_rst_stream)                  \
    X(nghttp2_submit_settings) X(nghttp2_strerror)

#define PB_CALLS(X)                                                                                \
    X(protobuf_c_message_free_unpacked) X(protobuf_c_message_get_packed_size)                      \
    X(protobuf_c_message_pack) X(protobuf_c_message_pack_to_buffer) X(protobuf_c_message_unpack)

struct ng {
#define NG_MEMBER(name) __typeof__(name) *name;
    NG_CALLS(NG_MEMBER)
#undef NG_MEMBER
};

struct pb {
#define PB_MEMBER(name) __typeof__(name) *name;
    PB_CALLS(PB_MEMBER)
#undef PB_MEMBER
};

/* The calls; written once, by etcd_load(). */
extern struct ng ng;
extern struct pb pb;

/* Loads both if they are not loaded yet.  Returns 0, or a code with *err filled.  Any thread. */
int etcd_load(tenure_error *err);

#endif
