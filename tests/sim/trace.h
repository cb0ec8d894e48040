/*
 * trace: what happened, one line each, and the hash of all that.
 *
 *     [    12.345] c3 > d1   LOCK a WAIT 500
 *
 * The hash is always made, of what goes into a line, so that the same seed can be shown to give the same run;
 * lines are written and kept only when asked for, which takes most of the time of a run.
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

void trace_init(struct trace *trace, bool keep);

/* Conversions: d u x s, l, precision. */
void trace_line(struct trace *trace, int64_t at_us, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* In two parts, where the text is not there without work: the numbers that make it, and, when they are kept,
 * the line. */
void trace_numbers(struct trace *trace, int64_t at_us, size_t n, const int64_t *numbers);
void trace_kept(struct trace *trace, int64_t at_us, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

void trace_done(struct trace *trace);

#endif
