/*
 * model: what a model is made of. A model is a protocol in miniature: a state, the moves that lead from it to
 * others, and what may never be true of a state. Its variants are the same protocol under other rules, the
 * right ones and those that are known to be wrong (variants.def).
 *
 * Nobody but tests/model includes this.
 */
#ifndef MODEL_MODEL_H
#define MODEL_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct explorer;

struct variant {
	const char *name;
	const char *
		breaks; /* the promise that a wrong variant breaks, as broken() words it; NULL: it is right */
	const char *rule;  /* what is special about it, in a line */
	unsigned depth;    /* left out below this depth: too large for every day */
	const void *rules; /* the model's own record */
};

struct model {
	const char *name;

	/* A plain record, compared and hashed byte by byte: no padding, no pointers, unused parts zero. */
	size_t state_bytes;

	/* The state in which everything begins; it comes zeroed. */
	void (*begin)(const void *rules, void *state);

	/* Calls explorer_offer() for each state that one step leads to. Must not depend on anything else. */
	void (*moves)(const void *rules, unsigned depth, const void *state, struct explorer *ex);

	/* The promise broken here, or NULL. */
	const char *(*broken)(const void *rules, const void *state);

	/* NULL, or: makes equal all states that differ only in which of several like things is called what.
	 */
	void (*normalize)(const void *rules, void *state);

	/* What a right variant has to come across, or its verdict is worth nothing: the landmarks (as bits)
	 * that this state is one of, and those that must be met under these rules. Names in landmarks[]. */
	unsigned (*landmark)(const void *rules, const void *state);
	unsigned (*landmarks_due)(const void *rules);
	const char *const *landmarks;

	const struct variant *variants;
	size_t variant_count;
};

extern const struct model change_model;
extern const struct model jugs_model;
extern const struct model latch_model;
extern const struct model leases_model;
extern const struct model making_model;
extern const struct model permits_model;
extern const struct model tokens_model;
extern const struct model undo_model;

#endif
