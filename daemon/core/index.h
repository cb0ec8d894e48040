/*
 * index: finds one of the many things of a session, by a hash of what clients chose; holds.c and asyncs.c.
 *
 * Open addressing: a thing stands at the place of its hash, or at the next one that was free. An index owns
 * nothing of what is in it. The hash has to stay what it is for as long as the thing is there.
 */
#ifndef CORE_INDEX_H
#define CORE_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct index;

typedef uint64_t index_hash(const uint64_t secret[2], const void *thing);
typedef bool index_same(const void *thing, const void *key);

/* With room for count things and as many more. NULL: out of memory. secret: as long as the index. */
struct index *index_new(const uint64_t secret[2], index_hash *hash, size_t count);
void index_free(struct index *index);

size_t index_count(const struct index *index);

/* It is not there yet. False: there is no room for it. */
bool index_put(struct index *index, void *thing) __attribute__((warn_unused_result));
/* It is there. */
void index_remove(struct index *index, const void *thing);

/* The thing of this hash that is the same as key says; NULL: not there. */
void *index_find(const struct index *index, uint64_t hash, index_same *same, const void *key);

#endif
