/* tls_dates: the dates of certificates; see tls.h. main.c, info.c and the doctor ask for them. */
#include "daemon/base/tls_dates.h"

#include "daemon/base/tls.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define DATE_TEXT_MAX  32
/* Certificates are replaced days before they end, and to read them takes a millisecond. */
#define DATES_FRESH_MS 300000

/* Seconds since 1970. */
static int64_t
time_of(const ASN1_TIME *when)
{
	struct tm tm = {0};
	return ASN1_TIME_to_tm(when, &tm) == 1 ? (int64_t)timegm(&tm) : 0;
}

static bool
is_known(const struct tls_dates *dates, const char *path)
{
	for (size_t i = 0; i < dates->n; i++) {
		if (strcmp(dates->list[i].path, path) == 0) {
			return true;
		}
	}
	return false;
}

/* INFO has a line for it. */
static void
one_line(char *text)
{
	for (; *text != '\0'; text++) {
		*text = (unsigned char)*text < ' ' ? '?' : *text;
	}
}

void
tls_dates_add(struct tls_dates *dates, enum tls_side side, const char *path)
{
	if (!path || path[0] == '\0' || strcmp(path, TLS_SYSTEM_CA) == 0 || is_known(dates, path)) {
		return;
	}
	FILE *file = fopen(path, "re");
	X509 *one;
	while (file && dates->n < TLS_DATES_MAX && (one = PEM_read_X509(file, NULL, NULL, NULL))) {
		struct tls_date *date = &dates->list[dates->n++];
		*date = (struct tls_date){.begins_s = time_of(X509_get0_notBefore(one)),
			.ends_s = time_of(X509_get0_notAfter(one)),
			.side = side};
		snprintf(date->path, sizeof date->path, "%s", path);
		(void)X509_NAME_get_text_by_NID(
			X509_get_subject_name(one), NID_commonName, date->who, sizeof date->who);
		one_line(date->who);
		X509_free(one);
	}
	/* The end of the file is an error of OpenSSL. */
	ERR_clear_error();
	if (file) {
		fclose(file);
	}
}

static const char *
date_text(char out[DATE_TEXT_MAX], int64_t at_s)
{
	time_t at = (time_t)at_s;
	struct tm tm;
	out[0] = '\0';
	if (gmtime_r(&at, &tm)) {
		strftime(out, DATE_TEXT_MAX, "%Y-%m-%d %H:%M:%S UTC", &tm);
	}
	return out;
}

bool
tls_date_fault(const struct tls_date *date, int64_t now_s, char text[TLS_DATES_TEXT_MAX])
{
	const char *who = date->who[0] ? date->who : "no name";
	char at[DATE_TEXT_MAX];
	if (now_s > date->ends_s) {
		snprintf(text, TLS_DATES_TEXT_MAX, "%s: the certificate of %s expired at %s", date->path, who,
			date_text(at, date->ends_s));
		return true;
	}
	if (now_s < date->begins_s) {
		snprintf(text, TLS_DATES_TEXT_MAX, "%s: the certificate of %s is not valid before %s",
			date->path, who, date_text(at, date->begins_s));
		return true;
	}
	return false;
}

size_t
tls_dates_faults(const struct tls_dates *dates, int64_t now_s, char text[TLS_DATES_TEXT_MAX])
{
	char other[TLS_DATES_TEXT_MAX] = "";
	size_t faults = 0;
	text[0] = '\0';
	for (size_t i = 0; i < dates->n; i++) {
		faults += tls_date_fault(&dates->list[i], now_s, faults == 0 ? text : other);
	}
	return faults;
}

void
tls_dates_refresh(struct tls_dates *dates, int64_t now_ms, bool now)
{
	if (!now && dates->refreshed_ms != 0 && now_ms - dates->refreshed_ms < DATES_FRESH_MS) {
		return;
	}
	const struct tls_dates before = *dates;
	dates->refreshed_ms = now_ms;
	dates->n = 0;
	for (size_t i = 0; i < before.n; i++) {
		if (before.list[i].side == TLS_SERVER) {
			dates->list[dates->n++] = before.list[i];
		}
	}
	bool stays = false;
	for (size_t i = 0; i < before.n; i++) {
		const struct tls_date *date = &before.list[i];
		if (date->side == TLS_SERVER) {
			continue;
		}
		if (!is_known(dates, date->path)) {
			tls_dates_add(dates, TLS_CLIENT, date->path);
			/* It is being replaced, perhaps. */
			stays = !is_known(dates, date->path);
		}
		if (stays && dates->n < TLS_DATES_MAX) {
			dates->list[dates->n++] = *date;
		}
	}
}

size_t
tls_dates_next(const struct tls_dates *dates, size_t at, const char **file, int64_t *ends_s)
{
	if (at >= dates->n) {
		return 0;
	}
	*file = dates->list[at].path;
	*ends_s = dates->list[at].ends_s;
	/* Those of one file follow each other. */
	while (++at < dates->n && strcmp(dates->list[at].path, *file) == 0) {
		if (dates->list[at].ends_s < *ends_s) {
			*ends_s = dates->list[at].ends_s;
		}
	}
	return at;
}
