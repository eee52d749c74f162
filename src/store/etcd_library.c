#include "store/etcd_library.h"

#include "os/library.h"

struct ng ng;
struct pb pb;

static const struct library_call ng_calls[] = {
#define NG_ENTRY(name) {#name, offsetof(struct ng, name)},
    NG_CALLS(NG_ENTRY)
#undef NG_ENTRY
};

static const struct library_call pb_calls[] = {
#define PB_ENTRY(name) {#name, offsetof(struct pb, name)},
    PB_CALLS(PB_ENTRY)
#undef PB_ENTRY
};

int etcd_load(tenure_error *err)
{
    static struct library nghttp2 = {
        "libnghttp2.so.14", "etcd: needs nghttp2 (Debian: libnghttp2-14)", ng_calls,
        sizeof ng_calls / sizeof ng_calls[0], &ng, false};
    static struct library protobuf = {
        "libprotobuf-c.so.1", "etcd: needs protobuf-c (Debian: libprotobuf-c1)", pb_calls,
        sizeof pb_calls / sizeof pb_calls[0], &pb, false};
    int code = library_need(&nghttp2, err);
    return code < 0 ? code : library_need(&protobuf, err);
}

/* What protoc-c generates refers to these by name.  They are not visible outside of the library. */
const char protobuf_c_empty_string[] = "";

size_t protobuf_c_message_get_packed_size(const ProtobufCMessage *message)
{
    return pb.protobuf_c_message_get_packed_size(message);
}

size_t protobuf_c_message_pack(const ProtobufCMessage *message, uint8_t *out)
{
    return pb.protobuf_c_message_pack(message, out);
}

size_t protobuf_c_message_pack_to_buffer(const ProtobufCMessage *message, ProtobufCBuffer *buffer)
{
    return pb.protobuf_c_message_pack_to_buffer(message, buffer);
}

ProtobufCMessage *protobuf_c_message_unpack(const ProtobufCMessageDescriptor *descriptor,
                                            ProtobufCAllocator *allocator, size_t len,
                                            const uint8_t *data)
{
    return pb.protobuf_c_message_unpack(descriptor, allocator, len, data);
}

void protobuf_c_message_free_unpacked(ProtobufCMessage *message, ProtobufCAllocator *allocator)
{
    pb.protobuf_c_message_free_unpacked(message, allocator);
}
