/*
 * tls_dates: from when until when the certificates in the files of the configuration are valid. holdfastd -t,
 * the start and a reload warn of those that are not; INFO shows them, and so holdfast doctor does.
 *
 * A file that cannot be read is none of its matters: tls_context_load() says so.
 */
#ifndef BASE_TLS_DATES_H
#define BASE_TLS_DATES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TLS_DATES_MAX      64 /* certificates; further ones are not looked at */
#define TLS_DATES_PATH     256
#define TLS_DATES_WHO      96
#define TLS_DATES_TEXT_MAX 512
#define TLS_DATES_DO                                                                                         \
	"put a valid one there, or set the clock of this host (timedatectl), then: systemctl reload "        \
	"holdfastd"

struct tls_date {
	char path[TLS_DATES_PATH];
	char who[TLS_DATES_WHO]; /* its common name; "": none */
	int64_t begins_s;        /* since 1970 */
	int64_t ends_s;
};

/* Zeroed: none. */
struct tls_dates {
	size_t n;
	struct tls_date list[TLS_DATES_MAX];
};

/* Adds the certificates of a file, unless it is there. path NULL, "" or "system": none. */
void tls_dates_add(struct tls_dates *dates, const char *path);

/* Reads the same files again: some need no reload. */
void tls_dates_refresh(struct tls_dates *dates);

/* How many are not valid at a time; text: the first of them, as tls_date_fault(), "" if there is none. */
size_t tls_dates_faults(const struct tls_dates *dates, int64_t now_s, char text[TLS_DATES_TEXT_MAX]);

/* Whether this one is not valid at a time; then text says which, and since or until when. */
bool tls_date_fault(const struct tls_date *date, int64_t now_s, char text[TLS_DATES_TEXT_MAX]);

#endif
