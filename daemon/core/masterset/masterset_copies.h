/*
 * masterset_copies: a server with the data of another master tells that master's id. Only the copy is
 * refused, so that a majority of the others goes on. Without the copied node it is a member that lost its
 * memory: it is guarded, and gets its own id back.
 */
#ifndef CORE_MASTERSET_COPIES_H
#define CORE_MASTERSET_COPIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct core;
struct master;
struct members;
struct vote;

/* To be called with the id that a master tells, before it is believed. theirs: the set that it tells, which
 * counts if none is agreed on here. True: the master is a copy. */
bool masterset_copied(
	struct core *core, struct master *m, const struct vote *vote, const struct members *theirs);

/* The key under which a server has what it remembers as a master: without it, it is one that lost its memory.
 */
void masterset_node_key(const struct core *core, const struct master *m, char *out, size_t room);

/* Whose id the copy has, and the command that mends it. */
void masterset_why_copied(
	const struct core *core, const struct master *m, uint64_t id, char *out, size_t room);

#endif
