/*
 * master_state: what a master can be used for.
 */
#ifndef CORE_MASTER_STATE_H
#define CORE_MASTER_STATE_H

/* The master's state as this daemon sees it: MASTER_STATE(name, word in INFO and INSPECT) */
#define MASTER_STATES(MASTER_STATE)                                                                          \
	MASTER_STATE(AWAY, "away")               /* no link */                                               \
	MASTER_STATE(REGISTERING, "registering") /* a link is up, HELLO is on its way */                     \
	MASTER_STATE(GUARDED, "guarded")         /* may have forgotten: reclaims only */                     \
	MASTER_STATE(ADMITTED, "admitted")       /* in full use */                                           \
	MASTER_STATE(REFUSED, "refused")         /* cannot be used as it is; asked again from time to time */

enum master_state {
#define MASTER_STATE(name, word) MASTER_##name,
	MASTER_STATES(MASTER_STATE)
#undef MASTER_STATE
		MASTER_STATE_COUNT
};

#endif
