/*
 * metrics: the page /metrics, in the format of OpenMetrics or the older text format of Prometheus.
 *
 * What stats.def lists is written from there; the rest is a view of the core, of the masters, and of the
 * process. The number of lines depends on the number of masters and on the names that are counted one
 * by one (named.h), and not on the number of locks or clients.
 */
#ifndef HTTP_METRICS_H
#define HTTP_METRICS_H

#include "proto/buffer.h"

#include <stdbool.h>

struct context;
struct named;

void metrics_write(
	const struct context *context, const struct named *named, struct buffer *out, bool openmetrics);

#endif
