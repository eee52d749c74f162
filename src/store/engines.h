/* store/engines.h - how store_open() reaches the engines; the table is in store/open.c. */
#ifndef STORE_ENGINES_H
#define STORE_ENGINES_H

#include "store/store.h"
#include "wire/url.h"

/* Opens the store that a URL with the engine's scheme names; see store_open(). */
typedef int store_open_fn(const struct url *url, const struct store_options *opt,
                          struct store **ret, tenure_error *err);

store_open_fn sqlite_store_open;
store_open_fn memory_store_open;
store_open_fn postgres_store_open;
store_open_fn etcd_store_open;

/* See store_raise(). */
int sqlite_store_raise(const struct url *url, uint64_t above, tenure_error *err);
int postgres_store_raise(const struct url *url, uint64_t above, tenure_error *err);
int etcd_store_raise(const struct url *url, uint64_t above, tenure_error *err);

/* See store_init(). */
int postgres_store_init(const struct url *url, tenure_error *err);

#endif
