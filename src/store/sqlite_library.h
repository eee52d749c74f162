/* store/sqlite_library.h - SQLite, loaded when the first store or guard in it is opened.
 *
 * It is larger than all of ours and brings the mathematics of libm along, and `tenure lock` opens
 * its store only when its guardian has been forked: whatever is loaded before would be copied.  So
 * no object of ours is linked to it. */
#ifndef STORE_SQLITE_LIBRARY_H
#define STORE_SQLITE_LIBRARY_H

#include <sqlite3.h>
#include <tenure/error.h>

/* X(name): every call that we use, in the engine and in guards/. */
#define SQ_CALLS(X)                                                                                \
    X(sqlite3_bind_blob) X(sqlite3_bind_int64) X(sqlite3_bind_text) X(sqlite3_busy_handler)        \
    X(sqlite3_busy_timeout) X(sqlite3_changes) X(sqlite3_close) X(sqlite3_column_blob)             \
    X(sqlite3_column_bytes) X(sqlite3_column_int) X(sqlite3_column_int64) X(sqlite3_column_text)   \
    X(sqlite3_column_type) X(sqlite3_db_config) X(sqlite3_db_filename) X(sqlite3_db_readonly)      \
    X(sqlite3_errmsg) X(sqlite3_errstr) X(sqlite3_exec) X(sqlite3_extended_errcode)                \
    X(sqlite3_file_control) X(sqlite3_filename_wal) X(sqlite3_finalize) X(sqlite3_free)            \
    X(sqlite3_get_autocommit) X(sqlite3_libversion) X(sqlite3_libversion_number) X(sqlite3_malloc) \
    X(sqlite3_mprintf) X(sqlite3_next_stmt) X(sqlite3_open) X(sqlite3_open_v2)                     \
    X(sqlite3_prepare_v2) X(sqlite3_prepare_v3) X(sqlite3_reset) X(sqlite3_snprintf)               \
    X(sqlite3_step) X(sqlite3_str_append) X(sqlite3_str_appendall) X(sqlite3_str_appendf)          \
    X(sqlite3_str_finish) X(sqlite3_str_new) X(sqlite3_stricmp) X(sqlite3_strnicmp)                \
    X(sqlite3_system_errno) X(sqlite3_vfs_find) X(sqlite3_vfs_register)                            \
    X(sqlite3_wal_autocheckpoint) X(sqlite3_wal_checkpoint_v2) X(sqlite3_wal_hook)

struct sq {
#define SQ_MEMBER(name) __typeof__(name) *name;
    SQ_CALLS(SQ_MEMBER)
#undef SQ_MEMBER
};

/* The calls; written once, by sqlite_load(). */
extern struct sq sq;

/* Loads SQLite if it is not loaded yet; it stays.  Returns 0, or a code with *err filled.  Any
 * thread. */
int sqlite_load(tenure_error *err);

#endif
