/*
 * main_about: what this daemon writes about itself at its masters, for people who inspect the fleet
 * (PROTOCOL.md 6.23): host, version, pid, start, settings and address; and behind them, for other daemons,
 * the secret of its messages, which no report shows. A part of main.c.
 *
 * The settings are those that all daemons of a namespace should share. A short value is written as it is, any
 * other as a hash, so that two daemons can be compared key by key.
 */
#include "daemon/main_about.h"

#include "conf/printer.h"
#include "daemon/base/clock.h"
#include "daemon/base/tls_dates.h"
#include "daemon/main_inner.h"
#include "daemon/main_listen.h"
#include "proto/slice.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A longer value is written as a hash. */
#define VALUE_MAX 12

/* The keys of the configuration that all daemons should share. */
static const char *const shared_keys[] = {
	"lease", "clock-margin", "restart-guard", "retain", "handoff", "masters", "rules"};

/* The words of `about` are separated by spaces, and a script takes them apart. */
static void
word_make(char *word)
{
	for (char *p = word; *p != '\0'; p++) {
		if (*p <= ' ' || *p > '~') {
			*p = '?';
		}
	}
}

/* FNV-1a. */
static uint32_t
hash_byte(uint32_t hash, char byte)
{
	return (hash ^ (unsigned char)byte) * 16777619U;
}

/* A short value in one line as it is, any other as a hash of its lines, indented as below their key. */
static void
value_describe(const char *text, char out[VALUE_MAX + 1])
{
	size_t n = strcspn(text, "\n");
	uint32_t hash = 2166136261U;
	slice_text(out, VALUE_MAX + 1, (struct slice){text, n});
	if (n > 0 && n <= VALUE_MAX && strlen(text) == n + 1 && !strpbrk(out, " ,=")) {
		return;
	}
	for (const char *p = text; *p != '\0'; p++) {
		if (p == text || p[-1] == '\n') {
			hash = hash_byte(hash_byte(hash, ' '), ' ');
		}
		if (*p != '\n') {
			hash = hash_byte(hash, *p);
		}
	}
	snprintf(out, VALUE_MAX + 1, "%08x", hash);
}

/* "lease=10s,rules=1a2b3c4d,...". */
static void
settings_describe(const struct main *m, char *out, size_t room)
{
	char value[VALUE_MAX + 1];
	size_t n = 0;
	out[0] = '\0';
	for (size_t i = 0; i < sizeof shared_keys / sizeof *shared_keys && n < room; i++) {
		char *text = conf_print_key(m->conf, shared_keys[i]);
		if (!text) {
			continue;
		}
		value_describe(text, value);
		free(text);
		n += (size_t)snprintf(out + n, room - n, "%s%s=%s", n > 0 ? "," : "", shared_keys[i], value);
	}
	/* What other hosts have to see is that this one does not do what its file says. */
	if (m->pending[0] != '\0' && n < room) {
		snprintf(out + n, room - n, "%srestart=needed", n > 0 ? "," : "");
	}
	word_make(out);
}

/* Where clients of other hosts reach this daemon; "unix" if they do not. */
static void
address_describe(const struct conf *conf, char *out, size_t room)
{
	snprintf(out, room, "unix");
	for (size_t i = 0; i < conf->listener_count; i++) {
		if (conf->listeners[i].path[0] == '\0') {
			const struct conf_address *tcp = &conf->listeners[i].tcp;
			bool six = strchr(tcp->host, ':');
			snprintf(
				out, room, "%s%s%s:%d", six ? "[" : "", tcp->host, six ? "]" : "", tcp->port);
			break;
		}
	}
	word_make(out);
}

void
dates_make(struct main *m)
{
	char text[TLS_DATES_TEXT_MAX], line[TLS_DATES_TEXT_MAX + sizeof TLS_DATES_DO + 2];
	settings_tls_dates(m->conf, &m->dates);
	for (size_t i = 0; i < m->dates.n; i++) {
		if (tls_date_fault(&m->dates.list[i], clock_wall_us() / 1000000, text)) {
			snprintf(line, sizeof line, "%s: %s", text, TLS_DATES_DO);
			LOG_EVENT(&m->log, LOG_WARNING_LEVEL, "tls.certificate", log_text("text", line));
		}
	}
}

void
secrets_make(struct main *m)
{
	char line[2 * SECRETS_TEXT_MAX];
	settings_secrets(m->conf, &m->secrets);
	for (size_t i = 0; i < m->secrets.n; i++) {
		const struct secret_file *file = &m->secrets.list[i];
		snprintf(line, sizeof line, SECRETS_WHAT ": " SECRETS_DO, file->path, file->mode, file->path);
		LOG_EVENT(&m->log, LOG_WARNING_LEVEL, "secret.open", log_text("text", line));
	}
}

void
about_make(struct main *m)
{
	char settings[256], address[SETTINGS_WHERE_MAX];
	int64_t begun_s = (clock_wall_us() / 1000 - (clock_ms() - m->settings.facts.started_ms)) / 1000;
	if (gethostname(m->host, sizeof m->host - 1) != 0 || m->host[0] == '\0') {
		snprintf(m->host, sizeof m->host, "?");
	}
	word_make(m->host);
	settings_describe(m, settings, sizeof settings);
	address_describe(m->conf, address, sizeof address);
	snprintf(m->about, sizeof m->about, "%s %s %lld %lld %s %s %s", m->host, HOLDFAST_VERSION,
		(long long)getpid(), (long long)begun_s, settings[0] ? settings : "?", address, m->secret);
}
