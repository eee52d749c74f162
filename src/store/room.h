/* store/room.h - arrays that grow. */
#ifndef STORE_ROOM_H
#define STORE_ROOM_H

#include <stdbool.h>
#include <stddef.h>

/* Room for one more element of `size` bytes in *at, which has room for *cap and holds `count`.
 * False without memory: then nothing has changed. */
bool room_for_one_more(void **at, size_t count, size_t *cap, size_t size);

#endif
