/*
 * recover_read: the entries of a ledger, the last one about each thing.
 */
#ifndef CORE_RECOVER_READ_H
#define CORE_RECOVER_READ_H

#include "proto/record.h"

struct recovery;
struct thing;

/* What an entry is about: NULL: no entry is about it. */
struct thing *recover_find(const struct recovery *v, enum record_type type, struct slice bytes);

/* Reads the ledger, and fails if it is not one that this process may go on from. */
void recover_read(struct recovery *v);

/* The types of entries about things, in the order in which these are loaded. */
#define RECOVER_KINDS 4
extern const enum record_type recover_kinds[RECOVER_KINDS];

#endif
