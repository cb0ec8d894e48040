/*
 * kind: the kinds of lock, the same in protocol, core, scripts, logs and manual.
 *
 * A name is of one family at a time: exclusive and shared holds exclude each other by the usual rule, permits
 * are counted. The other family answers WRONGKIND while the name is in use.
 */
#ifndef PROTO_KIND_H
#define PROTO_KIND_H

/* KIND(id, word) */
#define KINDS(KIND)                                                                                          \
	KIND(EXCLUSIVE, "exclusive") /* one holder */                                                        \
	KIND(SHARED, "shared")       /* any number of holders, none of them exclusive */                     \
	KIND(PERMITS, "permits")     /* holders of k of n permits each */

enum kind {
#define KIND(id, word) KIND_##id,
	KINDS(KIND)
#undef KIND
		KIND_COUNT
};

const char *kind_word(enum kind kind);

#endif
