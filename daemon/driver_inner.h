/*
 * driver_inner: the driver, as its parts know it, and what driver.c has for them; no other file includes it.
 */
#ifndef DAEMON_DRIVER_INNER_H
#define DAEMON_DRIVER_INNER_H

#include "daemon/apply.h"
#include "daemon/base/fdstore.h"
#include "daemon/base/hour.h"
#include "daemon/base/memory.h"
#include "daemon/base/open_files.h"
#include "daemon/base/random.h"
#include "daemon/driver.h"
#include "daemon/handover.h"
#include "daemon/net/admission.h"
#include "daemon/net/listener.h"
#include "daemon/net/listeners.h"
#include "daemon/net/process.h"

struct closer;
struct fleet;
struct http;
struct ledger_file;

/* The ledger of this daemon; see driver_ledger.c. All zero at first, but for entries. */
struct ledger_keeper {
	const char *path;         /* NULL: none is written */
	struct buffer entries;    /* of the running step; or between steps, of a part of the scan */
	struct ledger_file *file; /* the one that counts; NULL: there is none now */
	struct ledger_file *next; /* is being written, to take its place; NULL: none */
	struct ledger_file *past; /* was replaced, and is retained to become the next one; NULL: none */
	bool shrinks;             /* past has more memory than is retained */
	bool grew;                /* file, in this turn */
	bool ours;                /* this daemon writes file; else it has only been taken */
	uint64_t cursor;          /* of the scan for next */
	int64_t again_ms;         /* the next one is not begun before */
	bool reported;            /* the log has said what is wrong since the latest one was whole */
	bool recovered;           /* this daemon goes on from one */
};

/* Whether there is something to write. */
static inline bool
ledger_has_entries(const struct ledger_keeper *k)
{
	return buffer_length(&k->entries) > 0 || k->entries.failed;
}

/* Whether a turn has something to do for the ledger. */
static inline bool
ledger_works(const struct ledger_keeper *k)
{
	return ledger_has_entries(k) || k->next || k->shrinks || k->grew || (k->path && !k->ours);
}

struct driver {
	struct loop *loop;
	struct log *log;
	struct stats *stats;
	struct hour hour;
	const struct notify *notify;
	struct core *core;
	struct actions actions;
	struct masters *masters;
	struct closer *closer;
	struct connections *connections;
	struct processes *processes;
	struct context context;
	struct apply apply;
	struct admission admission;
	struct random random;
	struct now now; /* of the last event; its random numbers are still unused */
	struct listeners listeners;
	struct http *http;
	struct service service;
	struct memory memory;
	struct open_files open_files;
	struct ledger_keeper ledger;
	struct fdstore fdstore;  /* of the sockets of connections */
	int64_t store_again_ms;  /* the service manager did not listen: it gets the rest then */
	int64_t store_pause_ms;  /* after so long; 0: it listens */
	struct buffer returning; /* records of those that a crash has left, until driver_return() */
	int64_t fleet_wake_ms;   /* requests for the fleet need a turn then */
	/* Memory, masters and the word to the service manager are checked in the first turn at or after
	 * check_at_ms (INT64_MAX: nothing has happened since the last check), and by check_by_ms without one.
	 */
	int64_t check_at_ms;
	int64_t check_by_ms;
	int (*reload)(void *arg, char *text, size_t room);
	bool (*prepare)(void *arg, char *why, size_t room);
	void (*relied_on)(void *arg, int64_t until_ms);
	int (*find_master)(void *arg, struct slice name, struct master_address *out, char *why, size_t room);
	bool (*reach_master)(void *arg, struct slice address, struct slice way,
		struct pool_settings *settings, char *why, size_t room);
	pid_t (*save_master)(void *arg, struct record *r, struct descriptors *given);
	void (*load_master)(void *arg, struct record *r, struct descriptors *given);
	const struct handover_program *program;
	void *main_arg;       /* of these hooks */
	struct child *trial;  /* of the program, before the hand-over begins; NULL: none */
	struct buffer askers; /* the conn_id of each connection that waits for its end, while there is one */
	int64_t drain_until_ms;
	bool lingers; /* see driver_settings */
	int64_t linger_until_ms;
	bool waits; /* nothing new is granted, and holders may finish, until waits_until_ms */
	int64_t waits_until_ms;
	bool draining;   /* the wait for holders is over */
	bool rests;      /* it is being handed over: no client is served, and calls are waited for */
	bool to_manager; /* rests: to the service manager, not by exec */
	bool arrives;    /* it was handed over, and serves no client before its masters can be used */
	bool returns; /* the service manager did not take it: it ends by a drain once it has its masters again
		       */
	bool handed_over;       /* the service manager has everything; this process ends */
	int64_t rests_until_ms; /* or arrives_until */
	size_t rest_calls;      /* rests: votes that are waited for before the next check */
	unsigned rest_rounds;   /* and how many times more */
	int64_t silent_ms;      /* since when no client is served */
	conn_id asked_by;       /* the connection that waits for the answer to RESTART; 0: none */
	bool stopped;
	bool failed;   /* the daemon ends by itself, with an error */
	bool stepping; /* core_step() or its actions are being carried out */
};

/* Whether a hand-over is under way, in either process: no client is served. */
static inline bool
driver_hands_over(const struct driver *d)
{
	return d->rests || d->arrives || d->returns;
}

/* Whether the service manager has to be notified of a descriptor, or was too busy for it. */
static inline bool
driver_has_store_turn(const struct driver *d)
{
	return d->fdstore.leaving > 0 || d->fdstore.behind || d->store_pause_ms > 0;
}

/* Time and random numbers for the next event; driver_draw() replaces the first n numbers once they were used.
 */
struct now driver_now(struct driver *driver);
void driver_draw(struct driver *driver, unsigned n);
/* For driver_start() and driver_take_over(): notes the hooks, and makes what needs no masters. False: out of
 * memory. */
bool driver_prepare(struct driver *driver, const struct driver_settings *settings)
	__attribute__((warn_unused_result));

/* Steps the core with the timers that are due, then with this event, and carries out the actions. */
void driver_event(struct driver *driver, const struct event *event);

/* The time at which a daemon that ends stops at the latest. */
int64_t driver_end_ms(const struct driver *driver);

#endif
