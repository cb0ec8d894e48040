/*
 * trace: what happened, one line each, and the hash of all lines.
 *
 *     [    12.345] c3 > d1   LOCK a WAIT 500
 *
 * The hash is always made, so that the same seed can be shown to give the same run; the lines are kept
 * only when asked for.
 */
#ifndef SIM_TRACE_H
#define SIM_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct trace {
	bool keep;
	uint64_t hash;
	char *text;
	size_t n;
	size_t room;
};

void trace_line(struct trace *trace, int64_t at_us, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void trace_done(struct trace *trace);

#endif
