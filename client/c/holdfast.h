/*
 * holdfast.h: locks of holdfastd, the lock coordinator of this host, for C and C++.
 *
 *     struct holdfast *hf = holdfast_open(NULL, &error);
 *     struct holdfast_lock *lock = holdfast_lock(hf, "deploy", NULL, &error);
 *
 *     if (lock != NULL)
 *         work(lock);
 *     holdfast_unlock(lock, NULL);
 *     holdfast_close(hf);
 *
 * A lock is held until holdfast_unlock(), or until the process ends. The daemon renews it. If the lock is
 * lost while it is held, holdfast_fd() becomes readable. If the connection to the daemon is lost, the library
 * connects again and goes on with the same session: locks and positions in queues are kept.
 *
 * Threads: each function may be called by any thread at any time. There are two exceptions.
 * holdfast_unlock() ends a lock and holdfast_close() ends a handle with all its locks: no other call may use
 * what has ended, at that moment or later. None may be called by a signal handler. Each lock is a locker of
 * its own: two threads of one process exclude each other as two processes do.
 *
 * A handle has one connection and one thread, which serves it. The thread blocks all signals, and begins
 * with the first lock. The library has no global variables, handles no signal,
 * and raises no SIGPIPE.
 *
 * A forked child has none of its parent's locks. There each function answers HOLDFAST_FORKED, and sends
 * nothing; holdfast_open() makes a handle of the child's own. holdfast_close() of the parent's handle closes
 * the child's copies of descriptors.
 *
 * Link with -lholdfast, or as `pkg-config --cflags --libs holdfast` says. The manual is holdfast(3).
 */
#ifndef HOLDFAST_H
#define HOLDFAST_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct holdfast;      /* a handle: what this process has at one daemon */
struct holdfast_lock; /* one lock, or several that were taken together */

enum holdfast_status {
	HOLDFAST_OK = 0,
	HOLDFAST_BUSY = 1,        /* HOLDFAST_TRY: another locker has the lock */
	HOLDFAST_TIMEOUT = 2,     /* another locker had it until the end of the wait */
	HOLDFAST_CANCELLED = 3,   /* cancel_fd became readable */
	HOLDFAST_LOST = 4,        /* it was held, and is not any more */
	HOLDFAST_REFUSED = 5,     /* the daemon answered an error; code is its first word */
	HOLDFAST_UNREACHABLE = 6, /* no daemon answers */
	HOLDFAST_INVALID = 7,     /* an argument is wrong, and nothing was sent */
	HOLDFAST_FORKED = 8,      /* the handle belongs to the parent process */
	HOLDFAST_SYSTEM = 9       /* no memory, descriptor or thread could be had */
};

/* Who has a lock, as the daemon says: of several the oldest. What is not known is "" or 0, and uid -1. */
struct holdfast_holder {
	int known;     /* 0: nobody has the lock, or this user may not see who; then all is empty */
	char host[64]; /* whose daemon has the lock, if it is not the one of this handle; it may be all that
			  is known */
	char client[128]; /* the name of its connection, as deploy:4711 */
	char address[72]; /* over TCP */
	char owner[136];  /* its tag */
	char why[264];    /* its remark */
	int64_t pid;      /* on the host of the daemon */
	int64_t uid;      /* its user there */
	int64_t token;    /* its fencing token */
	int64_t held_ms;  /* for so long when the daemon was asked */
};

/* Why a call failed. A call that succeeds sets status 0 and empty texts. */
struct holdfast_error {
	int status;     /* enum holdfast_status */
	int transient;  /* 1: the same call may succeed later, so a program may try again */
	char code[16];  /* REFUSED: as NOMASTER; LOST: the reason, as expired or broken; else "" */
	char text[488]; /* for people: what failed, where, and what to do; one line, without a line feed */
	struct holdfast_holder holder; /* TIMEOUT: the holder of the lock */
};

enum holdfast_event_kind {
	HOLDFAST_CONNECTED = 1, /* to a daemon */
	HOLDFAST_CUT = 2,       /* the connection was lost; text: why */
	HOLDFAST_RESUMED = 3,   /* it is back, with the same session */
	HOLDFAST_WAITS = 4,     /* a wait lasts: after a second, and then about every five seconds */
	HOLDFAST_HELD = 5,      /* a lock was granted; ms: so long after it was asked for */
	HOLDFAST_RELEASED = 6,  /* it was given back; ms: so long after its grant */
	HOLDFAST_LOSS = 7       /* it was lost; ms: so long after its grant; text: why */
};

/* What has happened; it is valid during the call. */
struct holdfast_event {
	int kind;         /* enum holdfast_event_kind */
	const char *name; /* of the lock; "": it is about the connection */
	int64_t token;    /* HELD, RELEASED, LOSS */
	int64_t ms;
	int64_t position;                     /* WAITS: in the queue; 0: not known */
	const struct holdfast_holder *holder; /* WAITS */
	const char *text;                     /* for people; "": none */
};

typedef void (*holdfast_told)(const struct holdfast_event *event, void *context);

/* transient is 1 with BUSY, TIMEOUT and LOST; with UNREACHABLE, unless this user may not use the socket or
 * something else than holdfastd answers there; and with REFUSED if the code is NOMASTER, GUARD, MASTERERR,
 * DRAINING, LIMIT or DEADLOCK, but for a name that is too long. */

#define HOLDFAST_TRY (-1)

/* How a lock is taken. All zero: exclusive, and the daemon's rule for the name says how long to wait, for
 * ever if there is none, as long as a daemon answers. 0 is not "at once": pass HOLDFAST_TRY if nothing is
 * left of a deadline. Times are in ms, at most 31536000000 (365 days);
 * a longer wait counts as that. */
struct holdfast_options {
	int64_t wait_ms;  /* wait so long at most; 0: as the daemon's rule says; HOLDFAST_TRY: do not wait */
	int64_t lease_ms; /* the lock ends so long after its grant, unless holdfast_extend(); 0: it does not
			   */
	int64_t max_hold_ms; /* the lock ends so long after its grant in any case; 0: it does not */
	int64_t limit;       /* the name is a semaphore of so many permits, at most 10000; 0: it is a lock */
	int64_t permits;     /* takes so many of them, at most limit; 0: one */
	int shared;          /* 1: for reading, beside others that are shared; 0: exclusive */
	int cancel_fd;   /* the wait ends if this descriptor is readable; 0: none. Nothing is read from it */
	const char *why; /* a remark for `holdfast show`, at most 256 bytes; NULL: none. It is copied */
	/* A lock of this handle that is held, has this name and was taken with this owner is taken again: it
	 * is granted at once, with the same token, and given back by the last holdfast_unlock(). 1 to 96
	 * bytes without spaces; NULL: none. It is copied */
	const char *owner;
	/* Called with WAITS while the wait lasts, by the thread that is in holdfast_lock(),
	 * holdfast_lock_all() or holdfast_wait(); NULL: none */
	holdfast_told on_wait;
	void *context;       /* for on_wait */
	int64_t reserved[5]; /* 0 */
};

/*
 * url: the path of a Unix socket, which begins with / or ., unix:PATH, host:port, tcp://host:port or
 * redis://user:password@host:port; with TLS tls://host:port or rediss://..., and
 * ?ca=PATH&certificate=PATH&key=PATH&name=HOST. NULL: $HOLDFAST_URL, else
 * $XDG_RUNTIME_DIR/holdfast/holdfast.sock if root or this user put it there, else
 * /run/holdfast/holdfast.sock. Which of the two is chosen anew for each attempt to connect, until a daemon
 * has served the handle. It does not connect. NULL is returned: the URL has none of these forms, or there is
 * no memory or descriptor.
 *
 * Open one handle, and share it between all threads. A second handle for the same daemon has the same
 * session: the older one is told later of a loss, but always before another locker can have the lock.
 */
struct holdfast *holdfast_open(const char *url, struct holdfast_error *error);

/*
 * Has `told` called for what happens to the handle and to its locks, of several names for each; NULL: no
 * more. There is one such function for a handle. The thread of the handle calls it, which renews locks
 * meanwhile: it must return soon, and must not unlock, close or wait. After the call the one before is not
 * called any more.
 */
void holdfast_watch(struct holdfast *hf, holdfast_told told, void *context);

/* Gives back all locks of the handle, ends their waits, and frees all of them. It takes two seconds at most.
 * A program that ends need not call it. hf may be NULL. */
void holdfast_close(struct holdfast *hf);

/*
 * Takes the lock, or waits for it. options NULL: all zero. NULL: it was not granted; nothing is held, and
 * nothing waits. UNREACHABLE: no daemon answers for five seconds, or until the end of wait_ms if that is
 * earlier. A program that starts with the host tries again. If hf is NULL, *error is left as holdfast_open()
 * has set it.
 *
 * A signal that this thread handles does not end the wait. To end it from a handler or another thread, write
 * to an eventfd or a pipe that is cancel_fd; a signalfd does as well.
 */
struct holdfast_lock *holdfast_lock(struct holdfast *hf, const char *name,
	const struct holdfast_options *options, struct holdfast_error *error);

/* The same for several names, all or none. They are taken one after the other, in the order of their bytes,
 * so that such calls never wait for each other in a circle. wait_ms is for all together. */
struct holdfast_lock *holdfast_lock_all(struct holdfast *hf, const char *const *names, size_t count,
	const struct holdfast_options *options, struct holdfast_error *error);

/*
 * The same without blocking, for event loops. The lock that is returned waits. Its descriptor is readable as
 * soon as holdfast_wait() would not block. cancel_fd does not count. NULL: an argument is wrong, or there is
 * no memory or descriptor.
 */
struct holdfast_lock *holdfast_begin(struct holdfast *hf, const char *const *names, size_t count,
	const struct holdfast_options *options, struct holdfast_error *error);

/* Waits until the lock of holdfast_begin() is held or has failed, and returns the status. If cancel_fd (0:
 * none) becomes readable, the status is CANCELLED, and the lock still waits. holdfast_unlock() ends the wait,
 * and frees a lock that has failed, too. */
int holdfast_wait(struct holdfast_lock *lock, int cancel_fd, struct holdfast_error *error);

/* A descriptor for poll(2), select(2) or epoll(7). While the lock is held it is not readable. It becomes
 * readable when the lock is lost, and stays so until holdfast_unlock(), which closes it. Do not read from it.
 * -1 in a forked child. */
int holdfast_fd(const struct holdfast_lock *lock);

/*
 * Whether the lock is surely held now: OK, or LOST and why. Sends nothing: call it as often as you like. If
 * the process itself has stood still for too long to know (SIGSTOP, a suspended host), the call waits until
 * the daemon has answered, a second at most. BUSY: the lock of holdfast_begin() still waits; if its wait has
 * failed, the status says how.
 */
int holdfast_check(struct holdfast_lock *lock, struct holdfast_error *error);

/* For how many ms the lock is surely held, counted from the call; 0: it is not. Sends nothing. It waits as
 * holdfast_check() does. A lock that was handed on by another locker of this host begins with what is left of
 * the lease. */
int64_t holdfast_valid_ms(struct holdfast_lock *lock);

/* The fencing token: greater for each later holder of the name, from 1 to 2^53. Of several names that of the
 * first. 0: not held yet. */
int64_t holdfast_token(const struct holdfast_lock *lock);

/* The token of the name with this index in the call that took the lock; 0: there is none. */
int64_t holdfast_token_of(const struct holdfast_lock *lock, size_t index);

/* Lets a lock that was taken with lease_ms end so many ms from now, sooner or later than before. REFUSED:
 * without lease_ms there is nothing to extend. UNREACHABLE: no answer within two seconds; it may have been
 * extended. */
int holdfast_extend(struct holdfast_lock *lock, int64_t lease_ms, struct holdfast_error *error);

/* Makes an exclusive lock a shared one, without a moment in between; its token is as before. REFUSED: it is a
 * semaphore. UNREACHABLE: no answer within two seconds; it may be shared. */
int holdfast_downgrade(struct holdfast_lock *lock, struct holdfast_error *error);

/*
 * Gives the lock back, or ends its wait, and frees it. lock may be NULL: OK. LOST: it was lost before; what
 * it should have protected may have met the work of another holder. UNREACHABLE: the daemon has not confirmed
 * within two seconds; the library goes on trying.
 */
int holdfast_unlock(struct holdfast_lock *lock, struct holdfast_error *error);

#ifdef __cplusplus
}
#endif

#endif
