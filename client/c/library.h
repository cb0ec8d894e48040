/*
 * library: the inside of libholdfast. One handle is one session at one daemon, over one connection.
 *
 *     callers                  handle, under its mutex                       thread of the handle
 *     holdfast_lock()   ──▶  lock ─┬─ part: a name ──▶ requests ──▶ wire  ──▶  poll(2)
 *     holdfast_unlock()            └─ part              sent ◀── answers, pushes
 *            ▲                                            │
 *            └── eventfd, condition ◀── granted, lost ────┘
 *
 * handle.c has the public functions of a handle, lock.c those of a lock. engine.c is the thread and the
 * connection, part.c the requests and answers about one name. Callers send, too: engine_step() does what is
 * due, in whatever thread. Only the thread of the handle connects and reads. queue.c has the parts that wait
 * for the same name, seen.c the holder of a name, and events for the program.
 */
#ifndef CLIENT_C_LIBRARY_H
#define CLIENT_C_LIBRARY_H

#include "client/c/holdfast.h"
#include "client/deadline.h"
#include "client/session.h"
#include "client/wire.h"
#include "proto/command.h"

#include <bsd/sys/queue.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define TAG_MAX 144

/* What the daemon knows of a name. */
enum part_state {
	PART_NEW,   /* nothing: its turn has not come */
	PART_WAITS, /* LOCK is under way, or due */
	PART_HELD,  /* granted */
	PART_ENDS,  /* to be given back, whether it waits or is held */
	PART_DONE   /* nothing more */
};

/*
 * One name of a lock. Its tag is the OWNER and the ASYNC id of its requests, and no other part has it. So
 * each request can be repeated, and a grant whose answer was lost can be given back.
 */
struct part {
	struct holdfast_lock *lock;
	char *name;
	char tag[TAG_MAX];
	enum part_state state;
	struct queue *queue; /* WAITS: the queue of its name */
	TAILQ_ENTRY(part) next_behind;
	bool behind;        /* WAITS: not sent, because another part waits for the name at the daemon */
	int64_t entered_ms; /* WAITS: since when */
	int64_t asked_ms;   /* LOCK was sent first */
	int64_t lock_ms;    /* and last: from then on counts the time that its grant tells */
	bool sent;          /* over this connection: the request of its state */
	bool begun;         /* LOCK was sent */
	bool repeated;      /* LOCK was sent more than once */
	bool sure;          /* the grant or CHECK has told a deadline */
	int64_t look_ms;    /* WAITS: when to ask for the holder of the name */
	bool looks;         /* that is under way */
	int64_t base;       /* the position of its queue's front, as the daemon says */
	int64_t late_ms; /* WAITS: when the wait timed out, and the daemon was asked for the holder; 0: it has
			    not */
	int64_t token;   /* 0: not granted yet */
	int64_t granted_ms; /* when that was known, with its deadline */
	int64_t due_ms;     /* do not send LOCK before; CLOCK_BOOTTIME, as all times here */
	int64_t trouble_ms; /* since when LOCK is refused for a moment; 0: it is not */
	struct deadline deadline;
};

enum lock_state { LOCK_WAITS, LOCK_HELD, LOCK_OVER };

struct holdfast_lock {
	TAILQ_ENTRY(holdfast_lock) next;
	struct holdfast *hf;
	enum lock_state state;
	struct holdfast_error error; /* OVER: why */
	int fd;                      /* wakeup_open(): there is news for the caller; -1: dropped */
	bool dropped;                /* no caller has it any more: it is freed when all its parts are done */
	pthread_cond_t changed;
	struct holdfast_options options;
	char *why, *owner;
	bool watched;                  /* a thread is in holdfast_wait(), and calls on_wait */
	bool news;                     /* for it: */
	struct holdfast_holder holder; /* of the name that it waits for */
	int64_t position;
	int64_t begun_ms;
	int64_t until_ms;               /* the end of the wait; INT64_MAX: none of the caller's own */
	unsigned extending;             /* answers to EXTEND or DOWNGRADE that are missing */
	struct holdfast_error extended; /* the first that failed */
	size_t count;
	size_t *order;       /* the indices of parts, in the order of their names */
	size_t at;           /* how many of these are granted */
	struct part parts[]; /* in the order of the call */
};

enum asked {
	ASKED_BIND,
	ASKED_GRACE,
	ASKED_PUSH,
	ASKED_PING,
	ASKED_LOCK,
	ASKED_CHECK,
	ASKED_EXTEND,
	ASKED_DOWNGRADE,
	ASKED_INSPECT,
	ASKED_FLEET,
	ASKED_CANCEL,
	ASKED_UNLOCK
};

/* A request that was sent over this connection and has no answer yet. */
struct request {
	STAILQ_ENTRY(request) next;
	enum asked what;
	struct part *part; /* NULL: about the session */
	int64_t sent_ms;
};

enum link_state {
	LINK_NONE,    /* no connection, and none that could come back */
	LINK_OPENING, /* the thread connects, without the mutex */
	LINK_UP       /* `session` says whether the connection is there */
};

/* For the function of holdfast_watch(). */
struct event {
	STAILQ_ENTRY(event) next;
	struct holdfast_event event;
	struct holdfast_holder holder;
	char *text;
	char name[]; /* and the text behind it */
};

struct holdfast {
	pid_t pid;              /* of the process that it belongs to */
	struct address address; /* under the mutex as long as `chooses` */
	bool chooses;           /* no address was given: handle_choose() until a daemon has served */
	char runtime[sizeof(((struct address *)0)->path)]; /* chooses: $XDG_RUNTIME_DIR; "": none */
	char label[WIRE_LABEL_MAX];
	char prefix[TAG_MAX / 2]; /* of all tags; random: a process may have the session of another program */

	pthread_mutex_t mutex; /* of all below */
	pthread_t thread;
	bool running;
	int64_t close_ms; /* holdfast_close(): the thread ends by then; 0: not called */
	int wake;         /* wakeup_open(): ends the thread's poll(2) */
	int timer;        /* wakeup_open(): the same */
	int64_t wakes_ms; /* when `timer` ends the poll; INT64_MAX: never; 0: the thread is not in it */
	uint64_t serial;  /* of tags */
	TAILQ_HEAD(locks, holdfast_lock) locks;
	LIST_HEAD(queues, queue) queues;

	enum link_state link;
	struct wire wire;
	struct session session;
	char secret[SECRET_BYTES_MAX + 1]; /* "": none */
	bool ready;                        /* requests about locks may be sent */
	bool untold;                       /* this daemon tells with a grant no time for which it is good */
	bool came;                         /* a daemon has served this handle */
	int64_t away_ms;                   /* since when there is none; 0: there is one */
	int64_t retry_ms;                  /* NONE: when to try again */
	int64_t pause_ms;                  /* NONE: between attempts */
	int64_t heard_ms;                  /* the last bytes */
	STAILQ_HEAD(requests, request) requests;
	STAILQ_HEAD(events, event) events;
	holdfast_told told; /* holdfast_watch() */
	void *context;
	bool telling; /* the thread is in it */
	pthread_cond_t told_changed;
	struct holdfast_error trouble; /* of the last attempt to connect; status OK: none */
	bool final;                    /* trying again will not help */
};

/* ---- handle.c ---- */

/* Sets *error, which may be NULL, and returns the status. code "": none. The text is escaped, and so one
 * line. */
int error_set(struct holdfast_error *error, enum holdfast_status status, const char *code, const char *format,
	...) __attribute__((format(printf, 4, 5)));

/* Copies *from to *to, which may be NULL, and returns the status. */
int error_copy(struct holdfast_error *to, const struct holdfast_error *from);

/* Chooses the default place that has a socket now. False: why, which has room for ADDRESS_TEXT_MAX bytes. */
bool handle_choose(struct holdfast *hf, char *why) __attribute__((warn_unused_result));

/* Wakes the thread. */
void handle_wake(struct holdfast *hf);

/* False, and *error: this process is a child of the one that has the handle. */
bool handle_is_ours(const struct holdfast *hf, struct holdfast_error *error)
	__attribute__((warn_unused_result));

/* ---- lock.c; the mutex is locked ---- */

/* The wait is over, the lock was lost, or it was given back. Only the first call counts. */
void lock_over(struct holdfast_lock *lock, const struct holdfast_error *error);

/* One more part of a lock that waits is held for sure. */
void lock_granted(struct holdfast_lock *lock);

/* No caller has the lock any more. It is freed when all its parts are done, perhaps now. */
void lock_drop(struct holdfast_lock *lock);

/* Whether the daemon has nothing of the lock. */
bool lock_is_done(const struct holdfast_lock *lock);

/* Takes the lock from its handle. */
void lock_free(struct holdfast_lock *lock);

/* ---- queue.c; the mutex is locked ---- */

/* The part waits from now on: as the front of its name, at the daemon, or behind that. */
void queue_enter(struct part *part);

/* The part waits no more. all: those behind are to ask by themselves, else the next one when it is the front.
 */
void queue_leave(struct part *part, bool all);

/* A part behind the front becomes one itself. */
void queue_step_out(struct part *part);

/* The daemon's rule for the name bounds each wait without a bound of its own: also for those behind. */
void queue_bound(struct part *part, int64_t wait_ms);

/* How many parts are before this one behind the front, and itself; 0: it is the front. */
int64_t queue_place(const struct part *part);

/* The next part behind that of the same queue; of a front the first; NULL: there is none. */
struct part *queue_next(const struct part *part);

/* Frees what is left. The parts are not there any more. */
void queue_forget(struct holdfast *hf);

/* ---- part.c; the mutex is locked ---- */

/* Its turn among the names of its lock has come. */
void part_begin(struct part *part, int64_t now_ms);

/* Does what is due. Requests are sent if the connection is there. */
void part_step(struct part *part, int64_t now_ms);

/* When part_step() has to be called again; INT64_MAX: after an event. */
int64_t part_next(const struct part *part, int64_t now_ms);

/* Begins to give it back, unless that has begun. */
void part_end(struct part *part);

/* The connection is gone. */
void part_cut(struct part *part, int64_t now_ms);

/* An answer to a request about the part; and a push, which names it. */
void part_answer(
	struct part *part, enum asked what, int64_t sent_ms, const struct answer *answer, int64_t now_ms);
void part_push(struct holdfast *hf, const struct answer *push, int64_t now_ms);

/* Asks for another end of the hold; 0: to share it. */
void part_extend(struct part *part, int64_t lease_ms, int64_t now_ms);

/* The part of this handle with the tag; NULL: there is none. */
struct part *part_find(struct holdfast *hf, struct slice tag);

/* Another locker had the name until the end of the wait; the holder may be unknown. */
void part_timeout(struct part *part, const struct holdfast_holder *holder);

/* ---- seen.c; the mutex is locked ---- */

/* The wait begins. */
void seen_begin(struct part *part, int64_t now_ms);

/* Asks the daemon for the holder of the name, if that is due. */
void seen_step(struct part *part, int64_t now_ms);

/* When seen_step() has to be called again; INT64_MAX: after an event. */
int64_t seen_next(const struct part *part);

/* The answer to INSPECT, or to that of all daemons. */
void seen_answer(struct part *part, enum asked what, const struct answer *answer, int64_t now_ms);

/* Asks the daemon for the holder of the name: the wait has timed out. */
void seen_late(struct part *part, int64_t now_ms);

/* Something has happened to a part, or, with NULL, to the connection. */
void seen_tell(struct holdfast *hf, const struct part *part, enum holdfast_event_kind kind, int64_t ms,
	const char *text);

/* The thread calls the function of holdfast_watch(), without the mutex. False: there was nothing to tell. */
bool seen_deliver(struct holdfast *hf);

/* Frees what was not told. */
void seen_forget(struct holdfast *hf);

/* ---- engine.c; the mutex is locked ---- */

/* How long the daemon may be away, or silent when a connection is made. */
#define PATIENCE_MS 5000
/* How long it keeps the session after a connection was lost. */
#define GRACE_MS    10000
/* While there are locks, the interval between two checks of the descriptors: a program may close them, and
 * poll() on a closed descriptor does not return. */
#define LOOK_MS     1000

/* Appends a request. */
void engine_ask(struct holdfast *hf, struct part *part, enum asked what, size_t n, const char *const *words,
	int64_t now_ms);

/* Makes the thread of the handle, if there is none yet. False: it cannot be made. */
bool engine_start(struct holdfast *hf) __attribute__((warn_unused_result));

/* Does what is due now, in any thread, and sends. */
void engine_step(struct holdfast *hf, int64_t now_ms);

#endif
