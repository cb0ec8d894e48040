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
#include "client/wire/deadline.h"
#include "client/wire/session.h"
#include "client/wire/wire.h"
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
	PART_LOST,  /* the program has been told, and may work under it still */
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
	int64_t inspect_ms; /* WAITS: when to ask for the holder of the name */
	bool inspects;      /* that is under way */
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
	bool unannounced;                  /* this daemon tells with a grant no time for which it is good */
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

/* How long the daemon may be away, or silent when a connection is made. */
#define PATIENCE_MS 5000
/* How long it keeps the session after a connection was lost. */
#define GRACE_MS    10000
/* While there are locks, the interval between two checks of the descriptors: a program may close them, and
 * poll() on a closed descriptor does not return. */
#define LOOK_MS     1000

#endif
