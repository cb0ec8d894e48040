/*
 * ledger_file: the file in which a daemon keeps its ledger (core/ledger.h says what that is).
 *
 *     header and marks, one page | entries up to `committed` | room
 *
 * The file is mapped, and its room is allocated before it is used. So an entry costs a copy and a store, and
 * no system call; and a full file system is an error of ledger_file_append() and no signal. An entry counts
 * when `committed` includes it: a process that is killed while it writes leaves a whole ledger.
 *
 * The process that keeps a ledger has a lock on it (flock), also while the daemon is handed over. A ledger is
 * used once: the process that goes on from it writes a new one, puts that in its place, and marks the old one
 * as void. It is refused if it is of another boot or user, if it is a copy (the header says which inode it
 * was written to), if it is void, or if a part of it is missing.
 *
 * The driver is the only user. Nothing here knows what entries mean.
 */
#ifndef DAEMON_LEDGER_FILE_H
#define DAEMON_LEDGER_FILE_H

#include "proto/slice.h"

#include <stdbool.h>
#include <stddef.h>

struct ledger_file;

/* Bytes in the header that are for its writer, all zero at first. */
#define LEDGER_MARK_BYTES 2048

/* Why there is no ledger, for people: one clause. */
#define LEDGER_WHY_MAX 256

enum ledger_found {
	LEDGER_NONE,    /* there is no file */
	LEDGER_TAKEN,   /* it can be used, and is locked */
	LEDGER_REFUSED, /* it is a ledger that no process can use; a new one may take its place */
	LEDGER_LEFT     /* it is not ours, or cannot be opened: it must stay as it is */
};

/* Takes the ledger that a process has left at this path. *out is set if it was taken; else why says why not,
 * unless there is none. */
enum ledger_found ledger_file_take(const char *path, struct ledger_file **out, char why[LEDGER_WHY_MAX])
	__attribute__((warn_unused_result));

/* Whether another process still has a lock on the ledger at this path, or on one that would have replaced it.
 */
bool ledger_file_is_held(const char *path);

/* Goes on with the ledger that the process before has handed over as this descriptor, which it owns from now
 * on. NULL: it cannot. */
struct ledger_file *ledger_file_adopt(const char *path, int fd, char why[LEDGER_WHY_MAX])
	__attribute__((warn_unused_result));

/* Begins an empty ledger beside this path; it takes its place when it is published. NULL: it cannot. */
struct ledger_file *ledger_file_new(const char *path, char why[LEDGER_WHY_MAX])
	__attribute__((warn_unused_result));

/*
 * Whether the file still has all its bytes. One that another program has cut is none any more: its memory
 * stays readable and writable, and belongs to no other process; it has to be removed, or closed. Between a
 * check and the use of the memory it can be cut as well: that is SIGBUS, which main reports.
 */
bool ledger_file_whole(struct ledger_file *file);

/* Appends these entries, all or none. False, with errno: there is no room; EIO: the file is not whole. */
bool ledger_file_append(struct ledger_file *file, const void *entries, size_t n)
	__attribute__((warn_unused_result));

/*
 * The ledger is whole: puts it in its place, and until then no process can use it. What it replaces is marked
 * as void: `past`, the ledger that this process has had so far (NULL: none), which stays open. False: the
 * file in its place is not ours, or the file system refuses; nothing has changed.
 */
bool ledger_file_publish(struct ledger_file *file, struct ledger_file *past, char why[LEDGER_WHY_MAX])
	__attribute__((warn_unused_result));

/* No process can use it any more. */
void ledger_file_void(struct ledger_file *file);

/*
 * A ledger that has been replaced is retained for the next one: to allocate memory costs more than to write
 * to it. ledger_file_shrink() gives back a part of what is too much, as all of it would take milliseconds; it
 * returns false when nothing is left to give back. ledger_file_again() begins an empty ledger in the file,
 * and returns false if the file cannot be used again.
 */
bool ledger_file_shrink(struct ledger_file *file);
bool ledger_file_again(struct ledger_file *file) __attribute__((warn_unused_result));

/* Closes it, and leaves it for the next process; if it was never published, it is removed. NULL: nothing
 * happens. */
void ledger_file_close(struct ledger_file *file);
/* Marks it as void, removes it, and closes it. NULL: nothing happens. */
void ledger_file_remove(struct ledger_file *file);

/* The entries, until the next change of the file. */
struct slice ledger_file_entries(const struct ledger_file *file);
/* Bytes of entries, and how many it had when it was published. */
size_t ledger_file_bytes(const struct ledger_file *file);
size_t ledger_file_begun(const struct ledger_file *file);
/* LEDGER_MARK_BYTES, which stay at this address until the file is closed. */
unsigned char *ledger_file_marks(const struct ledger_file *file);
const char *ledger_file_path(const struct ledger_file *file);
/* To pass it on. */
int ledger_file_descriptor(const struct ledger_file *file);

#endif
