/* tls_dates: the dates of certificates. main.c, info.c and the doctor ask for them. */
#ifndef BASE_TLS_DATES_H
#define BASE_TLS_DATES_H

#include "daemon/base/tls.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Adds the certificates of a file, unless it is there; first those of servers. path NULL, "" or "system":
 * none. */
void tls_dates_add(struct tls_dates *dates, enum tls_side side, const char *path);

/* Reads those files again that need no reload, unless that was a few minutes ago. now: also then. */
void tls_dates_refresh(struct tls_dates *dates, int64_t now_ms, bool now);

/* The next file from this position on, in *file, and when the first of its certificates ends, in *ends_s.
 * Returns the position after it; 0: there was none. */
size_t tls_dates_next(const struct tls_dates *dates, size_t at, const char **file, int64_t *ends_s);

/* How many are not valid at a time; text: the first of them, as tls_date_fault(), "" if there is none. */
size_t tls_dates_faults(const struct tls_dates *dates, int64_t now_s, char text[TLS_DATES_TEXT_MAX]);

/* Whether this one is not valid at a time; then text says which, and since or until when. */
bool tls_date_fault(const struct tls_date *date, int64_t now_s, char text[TLS_DATES_TEXT_MAX]);

#endif
