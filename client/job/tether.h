/*
 * tether: what every descendant of the command inherits, see run.h. run.c makes one before it starts the
 * supervisor, which watches it; client/process.c finds the processes that have it.
 */
#ifndef CLIENT_TETHER_H
#define CLIENT_TETHER_H

#include <stdbool.h>

struct grant;
struct taking;
struct tether;

/*
 * Makes one, unless -o is given, and connects its anchor, for as long as the hold is good. All descriptors
 * are close-on-exec. Returns STATUS_DONE, also if the daemon is one that does not know of anchors; else an
 * exit code, after a message.
 */
int tether_make(struct tether *t, const struct taking *taking, const struct grant *g, bool nested)
	__attribute__((warn_unused_result));

/* In the command's process, before exec: passes the tether on. Its parent is the supervisor. */
void tether_inherit(const struct tether *t);

/* The wrapper has started the supervisor, and has no part in the tether any more, but for that of the outer
 * run. */
void tether_leave(struct tether *t);

/* Whether a process has the pipe whose writing end this is; -1: none has. */
bool tether_holds(int watch);

void tether_close(struct tether *t);

#endif
