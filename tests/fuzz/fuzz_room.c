/* Whatever is in the memory that processes share - what the store says of itself in the gate's
 * page, and the lines of the cache behind it - a store opens, decides and is read, or says why not.
 *
 * Input: pieces that are written over a gate that was right: 3 bytes that say where (little
 * endian), a length, and so many bytes; with a length of 0, one byte that fills the block to its
 * end, as a disk would that lost it.  What the gate needs to let anybody in is fuzz_gate's. */
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/gate.h"
#include "store/sqlite_engine.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

#define PATIENCE_MS 2000
#define BLOCK 4096
#define GATE_BYTES (GATE_PAGE_BYTES + SQLITE_CACHE_BYTES)
#define FIRST offsetof(struct gate_page, store_id)

/* Files of a store that nobody has open, and whose last user did not come to write them back. */
static struct file {
    const char *suffix;
    size_t len;
    unsigned char bytes[GATE_BYTES];
} file[] = {{.suffix = "-gate"}, {.suffix = ""}, {.suffix = "-wal"}};
enum { GATE, FILES = sizeof file / sizeof file[0] };

static char dir[64];
static tenure_error err;

static const char *path_of(const char *suffix)
{
    static char path[96];
    snprintf(path, sizeof path, "%s/s%s", dir, suffix);
    return path;
}

static void clean_up(void)
{
    static const char *const all[] = {"-gate", "", "-wal", "-shm", "-live"};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        remove(path_of(all[i]));
    rmdir(dir);
}

static int open_it(struct store **ret)
{
    char url[96];
    const struct store_options opt = {.patience = SPAN(PATIENCE_MS), .create = true};
    snprintf(url, sizeof url, "sqlite:%s/s", dir);
    return store_open(url, &opt, ret, &err);
}

/* Writes one byte more than there was, up to what is a little too much for a line. */
static int grow(void *arg, struct store_view *view)
{
    (void)arg;
    size_t len = view->in[0].len < SQLITE_LINE_RECORD_BYTES ? view->in[0].len + 1 : 1;
    memset(view->out[0].bytes, 'r', len);
    if (view->in[0].len > 0 && view->in[0].len < len)
        memcpy(view->out[0].bytes, view->in[0].bytes, view->in[0].len);
    view->out[0].len = len;
    view->out[0].what = STORE_PUT;
    view->facts.token_floor++;
    return 0;
}

static void update(struct store *s, const char *key, bool ephemeral)
{
    struct store_update op = {.count = 1, .key = {key}, .decide = grow, .ephemeral = ephemeral};
    store_update(s, &op);
    if (!op.op.done || (op.op.code < 0 && op.op.error.text[0] == '\0'))
        abort();
}

static bool see(void *arg, const struct store_record *record, struct facts *facts)
{
    unsigned *sum = arg;
    (void)facts;
    for (size_t i = 0; i < record->len; i++)
        *sum += ((const unsigned char *)record->bytes)[i];
    return strlen(record->key) <= NAME_BYTES_MAX;
}

static void use(struct store *s)
{
    static const char *const name[] = {"a", "b", "row"};
    unsigned sum = 0;
    struct store_read look = {.prefix = "", .fn = see, .arg = &sum};
    struct store_session_open open = {.ttl = SPAN(60000)};
    store_read(s, &look);
    store_session_open(s, &open);
    for (size_t i = 0; i < sizeof name / sizeof name[0]; i++)
        update(s, name[i], true);
    if (open.op.code == 0) {
        struct store_session_renew renew = {.session = open.session};
        store_session_renew(s, &renew);
    }
    update(s, "b", false);
    store_read(s, &look);
}

static void read_file(struct file *f)
{
    int fd = open(path_of(f->suffix), O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, f->bytes, sizeof f->bytes);
    if (n < 0)
        abort();
    f->len = (size_t)n;
    close(fd);
}

/* In its place: the gate knows its file again. */
static void write_file(const struct file *f)
{
    int fd = open(path_of(f->suffix), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, f->bytes, f->len) != (ssize_t)f->len)
        abort();
    close(fd);
}

static void make_store(void)
{
    struct store *s;
    snprintf(dir, sizeof dir, "/dev/shm/tenure-fuzz-room-%d", (int)getpid());
    if (mkdir(dir, 0700) != 0 || open_it(&s) < 0)
        abort();
    atexit(clean_up);
    update(s, "row", false);
    for (int i = 0; i < 3; i++) {
        update(s, "a", true);
        update(s, "b", true);
    }
    for (int i = 0; i < FILES; i++)
        read_file(&file[i]);
    s->ops->close(s);
}

static void write_over(struct file *gate, const unsigned char *data, size_t size)
{
    while (size >= 5) {
        size_t at = data[0] | (size_t)data[1] << 8 | (size_t)data[2] << 16;
        size_t len = data[3];
        at = FIRST + at % (gate->len - FIRST);
        data += 4;
        size -= 4;
        if (len == 0) {
            memset(gate->bytes + at, *data, BLOCK - at % BLOCK);
            len = 1;
        } else {
            len = len < size ? len : size;
            memcpy(gate->bytes + at, data, len < gate->len - at ? len : gate->len - at);
        }
        data += len;
        size -= len;
    }
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    static struct file gate;
    struct store *s;
    if (!dir[0])
        make_store();
    gate = file[GATE];
    write_over(&gate, data, size);
    unlink(path_of("-shm"));
    for (int i = 1; i < FILES; i++)
        write_file(&file[i]);
    write_file(&gate);
    if (open_it(&s) < 0) {
        if (err.text[0] == '\0')
            abort();
        return 0;
    }
    use(s);
    s->ops->close(s);
    return 0;
}
