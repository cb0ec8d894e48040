/*
 * trace: one line for each event of a run, and a hash of all lines.
 *
 *     [    12.345] c3 > d1   LOCK a WAIT 500
 *
 * The hash is always computed, from the values that go into the lines, and shows that a seed always gives the
 * same run. Lines are formatted and kept only on request, because that takes most of the time of a run.
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

/* The same in two parts, if the text is expensive: the numbers for the hash, and the line if lines are
 * kept. */
void trace_numbers(struct trace *trace, int64_t at_us, size_t n, const int64_t *numbers);
void trace_kept(struct trace *trace, int64_t at_us, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

void trace_done(struct trace *trace);

#endif
