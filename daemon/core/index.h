/*
 * index: finds one of many objects of a session by a hash of bytes that clients chose. holds.c and asyncs.c
 * use it.
 *
 * Open addressing: an object is at the place of its hash, or at the next place that was free. An index owns
 * none of its objects. The hash of an object must not change while the object is in the index.
 */
#ifndef CORE_INDEX_H
#define CORE_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct index;

typedef uint64_t index_hash(const uint64_t secret[2], const void *thing);
typedef bool index_same(const void *thing, const void *key);

/* With room for count objects and as many more. NULL: out of memory. The secret must live as long as the
 * index. */
struct index *index_new(const uint64_t secret[2], index_hash *hash, size_t count);
void index_free(struct index *index);

size_t index_count(const struct index *index);

/* The object is not in it yet. False: no room. */
bool index_put(struct index *index, void *thing) __attribute__((warn_unused_result));
/* The object is in it. */
void index_remove(struct index *index, const void *thing);

/* The object with this hash that equals the key; NULL: none. */
void *index_find(const struct index *index, uint64_t hash, index_same *same, const void *key);

#endif
