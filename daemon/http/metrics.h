/*
 * metrics: the numbers, in the format of OpenMetrics, or in the older text format of Prometheus. Each family
 * of metrics is written as a whole: its type, its unit, its help, its samples.
 */
#ifndef HTTP_METRICS_H
#define HTTP_METRICS_H

#include <stdbool.h>

struct buffer;
struct context;
struct named;

/* What stats.def lists is written from there; the rest is a view of the core, of the masters, and of the
 * process. The number of lines depends on the number of masters and on the names that are counted one by one
 * (named.h), and not on the number of locks or clients. */
void metrics_write(
	const struct context *context, const struct named *named, struct buffer *out, bool openmetrics);

#endif
