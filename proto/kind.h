/*
 * kind: the kinds of lock, with the same words in protocol, core, scripts, logs and manual.
 *
 * While a name is in use, it is either a lock with exclusive and shared holds, or a semaphore with counted
 * permits. A request for the other of these two is refused with WRONGKIND.
 */
#ifndef PROTO_KIND_H
#define PROTO_KIND_H

/* KIND(id, word) */
#define KINDS(KIND)                                                                                          \
	KIND(EXCLUSIVE, "exclusive") /* one holder */                                                        \
	KIND(SHARED, "shared")       /* any number of holders, and none that is exclusive */                 \
	KIND(PERMITS, "permits")     /* holders of k of n permits each */

enum kind {
#define KIND(id, word) KIND_##id,
	KINDS(KIND)
#undef KIND
		KIND_COUNT
};

const char *kind_word(enum kind kind);

#endif
