/*
 * driver_inner: what driver.c, driver_context.c and driver_handover.c share; no other file includes it.
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
	const char *path;         /* NULL: none is kept */
	struct buffer entries;    /* of the running step; or between steps, of a part of the scan */
	struct ledger_file *file; /* the one that counts; NULL: there is none now */
	struct ledger_file *next; /* is being written, to take its place; NULL: none */
	struct ledger_file *past; /* was replaced, and is kept to become the next one; NULL: none */
	bool shrinks;             /* past has more memory than is kept */
	bool ours;                /* this daemon writes file; else it has only been taken */
	uint64_t cursor;          /* of the scan for next */
	int64_t again_ms;         /* the next one is not begun before */
	bool told;                /* the log has said what is wrong since the latest one was whole */
	bool recovered;           /* this daemon goes on from one */
};

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
	int64_t kept_again_ms;   /* the service manager did not listen: it is told the rest then */
	int64_t kept_pause_ms;   /* after so long; 0: it listens */
	struct buffer returning; /* records of those that a crash has left, until driver_return() */
	int64_t fleet_wake_ms;   /* requests for the fleet need a turn then */
	int64_t memory_looked_ms;
	int64_t memory_wake_ms; /* it must be looked at again then */
	int (*reload)(void *arg, char *text, size_t room);
	bool (*prepare)(void *arg, char *why, size_t room);
	void (*relied_on)(void *arg, int64_t until_ms);
	int (*find_master)(void *arg, struct slice name, struct master_place *out, char *why, size_t room);
	bool (*reach_master)(void *arg, struct slice place, struct slice way, struct pool_settings *settings,
		char *why, size_t room);
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
	size_t rest_calls;      /* rests: so many votes are waited for before it is looked again */
	unsigned rest_rounds;   /* and so many times more */
	int64_t silent_ms;      /* since when no client is served */
	conn_id asked_by;       /* the connection that waits for the answer to RESTART; 0: none */
	bool stopped;
	bool failed;   /* the daemon ends by itself, with an error */
	bool stepping; /* core_step() or its actions are being carried out */
};

/* Time and random numbers for the next event; driver_draw() replaces the first n numbers once they were used.
 */
struct now driver_now(struct driver *driver);
void driver_draw(struct driver *driver, unsigned n);
/* For driver_start() and driver_take_over(): notes the hooks, and makes what needs no masters. False: out of
 * memory. */
bool driver_prepare(struct driver *driver, const struct driver_settings *settings)
	__attribute__((warn_unused_result));

/*
 * driver_handover.c
 */

struct refusal {
	enum code code;
	const char *why; /* NULL: none */
};

#define DRIVER_ENDING "this daemon is ending"

/* Why a hand-over cannot begin now. */
struct refusal driver_refusal(const struct driver *driver);
/* With CODE_DRAINING this process ends, else it goes on. */
void driver_log_failed(struct driver *driver, struct refusal refusal);
/* Tells who asked for a hand-over that there is none; asked_by may be 0, or have been closed. */
void driver_not_handed_over(struct driver *driver, conn_id asked_by, struct refusal refusal);
/* The first record of a state. */
struct handover_daemon driver_daemon(const struct driver *driver);
/* Begins the hand-over: serves no client from now on. */
void driver_rest(struct driver *driver, bool to_manager, conn_id asked_by);
/* Hands the daemon to the service manager, if that keeps descriptors. False: it does not, or this daemon
 * cannot be handed over so. */
bool driver_hand_to_manager(struct driver *driver);
/* Whether no client is served in this turn; goes on with the hand-over. */
bool driver_is_still(struct driver *driver, int64_t now_ms);

/*
 * driver_trial.c
 */

/* For the verb RESTART and for SIGUSR2, with the driver as arg: tries the program, and then hands the daemon
 * over to a new process of it. c waits for the answer, from either process (admin_restarted(),
 * admin_not_restarted()); NULL: none does. It may have been closed before that. */
void driver_hand_over(void *arg, struct connection *c);
/* Ends the trial, if there is one, as this process ends; who asked for the hand-over is told. */
void driver_stop_trial(struct driver *driver);

/*
 * driver_ledger.c: the ledger.
 */

/* A core that goes on from the ledger of the process before. NULL: there is none that can be used. */
struct core *driver_recover(struct driver *driver, const struct driver_settings *settings)
	__attribute__((warn_unused_result));
/* Watches the processes that its sessions are bound to. False: out of memory. */
bool driver_watch_again(struct driver *driver) __attribute__((warn_unused_result));
/* Keeps the ledger from now on: goes on with the one that was handed over, or writes a new one as a whole. */
void driver_keep_ledger(struct driver *driver);
/* Says until when clients may rely on what they hold, before any answer tells of it: in a step that is
 * written to the ledger before that, and once in a turn. */
void driver_rely(struct driver *driver);
/* After each step, before its actions are carried out. */
void driver_write_ledger(struct driver *driver);
/* Once in a turn, before anything of it is used: whether another program has cut the ledger. */
void driver_ledger_look(struct driver *driver);
/* Once in a turn: writes a part of a new ledger, if the old one has grown too much or there is none. */
void driver_ledger_turn(struct driver *driver, int64_t now_ms);
/* When it has to be called again at the latest. */
int64_t driver_ledger_wake_at(const struct driver *driver, int64_t now_ms);
void driver_save_ledger(struct driver *driver, struct record *r, struct descriptors *given);
void driver_load_ledger(struct driver *driver, struct record *r, struct descriptors *given);
/* Leaves it for the next process. */
void driver_leave_ledger(struct driver *driver);

/*
 * driver_kept.c: connections that outlive a crash.
 */

/* ACTION_KEEP; arg is the driver. */
void driver_keep(void *arg, conn_id id);
/* See connections_hooks. */
bool driver_rests(void *arg, conn_id id);
/* A request of the connection has been served: it may have changed who its client is. */
void driver_served(struct driver *driver, struct connection *c);
/* Before the entries of a step are written: its actions are about to tell clients something. */
void driver_touch_told(struct driver *driver);
/* A new ledger is begun: appends the entries of all that are kept. */
void driver_enter_kept(struct driver *driver);
/* A ledger is kept again: gives the service manager those that may outlive a crash from now on. */
void driver_keep_all(struct driver *driver);
/* The marks are in this ledger from now on; NULL: there is none. */
void driver_mark_in(struct driver *driver, const struct ledger_file *file);
/* Once in a turn. Returns when it has to be called again at the latest. */
int64_t driver_kept_turn(struct driver *driver, int64_t now_ms);
/* Notes which connections the ledger of the process before leaves to this one. */
void driver_find_kept(struct driver *driver);

/* Steps the core with the timers that are due, then with this event, and carries out the actions. */
void driver_event(struct driver *driver, const struct event *event);
/* A session begins. arg is the driver. */
void driver_open(void *arg, struct connection *connection);

/* The user of the connection has limits of its own from now on, or has none any more. */
void driver_limit_user(struct driver *driver, struct connection *connection);

/* See masters_hooks: for the fleet. arg is the driver. */
void driver_asked(void *arg, unsigned master, bool answer, struct slice text);
void driver_looked(void *arg, unsigned master, uint64_t id, const struct master_look *look);
/* ACTION_WHOSE. */
void driver_whose(void *arg, const struct whose *whose);

/* For the handlers of verbs; arg is the driver. */
extern const struct context_hooks driver_context_hooks;
/* An http_entered. */
void driver_page_entered(void *arg, const struct peer *peer, const char *user);
/* A process that a session is bound to has ended, or cannot be seen (process_gone). */
void driver_on_exit(void *arg, struct process process, enum process_sight sight);
void driver_set_context(struct driver *driver, const struct context_facts *facts);
/* For the verb DRAIN, with the driver as arg, and for signals. */
void driver_drain(void *arg, struct connection *c, int64_t wait_ms);
/* Ends the wait of a drain if no lock is held any more, or if the time is over. */
void driver_drain_turn(struct driver *driver);
/* The time at which a daemon that ends stops at the latest. */
int64_t driver_end_ms(const struct driver *driver);
int driver_reload(void *arg, char *text, size_t room);
/* The connection of this number ends, or leaves its session. A session that is bound to a process goes on
 * without it, and reports show this label as its owner. NULL: the connection had no label. */
void driver_keep_label(struct driver *driver, conn_id id, const char *label);

#endif
