/*
 * doctor: checks the socket, the daemon, its masters and its limits, and says of each thing that is wrong
 * why it matters, and which command mends it.
 *
 * It asks the daemon alone: INFO, FLEET, SESSIONS and one lock of a new name, and if a client waits for long
 * for which lock. The daemon sees the masters as locks do,
 * with its own login; a person who may read the daemon needs no password of a master.
 */
#include "client/doctor/doctor.h"

#include "client/doctor/doctor_clients.h"
#include "client/doctor/doctor_masters.h"
#include "client/fleet.h"
#include "client/lock.h"
#include "client/message.h"
#include "client/options.h"
#include "client/output.h"
#include "client/process.h"
#include "client/wire/hello.h"
#include "client/wire/wire.h"
#include "daemon/base/tls.h"
#include "proto/escape.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* ---- findings ---- */

static void
tell_line(const char *head, const char *part, const char *text)
{
	char line[DOCTOR_TEXT_MAX * 2];

	(void)escape_text(line, sizeof(line), slice_of(text), ESCAPE_PLAIN);
	(void)printf("%-8s%-10s%s\n", head, part, line);
}

void
tell_run(struct doctor *d, enum grade grade, const char *part, const char *what, const char *why,
	const char *mend, const char *run)
{
	static const char *const words[] = {"ok", "warning", "error"};

	d->worst = grade > d->worst ? grade : d->worst;
	d->seen = d->seen || grade != GRADE_OK;
	if (d->o->json) {
		(void)json_array_append_new(d->json,
			json_pack("{s:s, s:s, s:o, s:s, s:o, s:o}", "part", part, "grade", words[grade],
				"what", json_output_text(slice_of(what)), "why", why, "do",
				json_output_text(slice_of(mend)), "run", json_output_text(slice_of(run))));
		return;
	}
	if (grade != GRADE_OK || !d->o->quiet) {
		tell_line(words[grade], part, what);
	}
	if (grade != GRADE_OK) {
		tell_line("", "why", why);
		tell_line("", "do", mend);
	}
	if (grade != GRADE_OK && run[0] != '\0') {
		tell_line("", "run", run);
	}
}

void
tell(struct doctor *d, enum grade grade, const char *part, const char *what, const char *why,
	const char *mend)
{
	tell_run(d, grade, part, what, why, mend, "");
}

const char *
text_print(char out[DOCTOR_TEXT_MAX], const char *format, ...)
{
	va_list list;

	va_start(list, format);
	(void)vsnprintf(out, DOCTOR_TEXT_MAX, format, list);
	va_end(list);
	return out;
}

const char *
run_print(char out[DOCTOR_TEXT_MAX], const char *format, ...)
{
	va_list list;
	int n;

	va_start(list, format);
	n = vsnprintf(out, DOCTOR_TEXT_MAX, format, list);
	va_end(list);
	if (n < 0 || n >= DOCTOR_TEXT_MAX) {
		out[0] = '\0';
	}
	return out;
}

const char *
shell_word(char out[DOCTOR_TEXT_MAX], struct slice text)
{
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:@%+,-=";
	char word[DOCTOR_TEXT_MAX];
	size_t n = 0;
	bool quoted = text.n == 0 || text.p[0] == '=';

	out[0] = '\0';
	for (size_t i = 0; i < text.n; i++) {
		unsigned char c = (unsigned char)text.p[i];

		if (c < ' ' || c == 0x7f || n + 5 > sizeof(word)) {
			return out;
		}
		quoted |= memchr(plain, c, sizeof(plain) - 1) == NULL;
		if (c == '\'') {
			memcpy(word + n, "'\\'", 3);
			n += 3;
		}
		word[n++] = (char)c;
	}
	word[n] = '\0';
	return run_print(out, "%s%s%s", quoted ? "'" : "", word, quoted ? "'" : "");
}

/* ---- what the daemon says ---- */

int64_t
info_number(const struct doctor *d, const char *key, int64_t absent)
{
	int64_t n;

	return number_parse(answer_info(d->info, key), INT64_MIN, INT64_MAX, &n) ? n : absent;
}

bool
says(struct slice text, const char *words)
{
	return text.n > 0 && memmem(text.p, text.n, words, strlen(words)) != NULL;
}

/* ---- the socket ---- */

/* This user may not use the socket. The message of a refusal to connect ends with the command that mends it,
 * if there is a group that may. */
static void
check_rights(struct doctor *d, const char *why)
{
	const char *command = strstr(why, "sudo usermod");
	char what[DOCTOR_TEXT_MAX];
	size_t n = command == NULL ? strlen(why) : (size_t)(command - why);

	text_print(what, "%.*s", (int)(command != NULL && n > 2 ? n - 2 : n), why);
	tell(d, GRADE_ERROR, "socket", what, "no lock can be had by this user",
		command != NULL
			? command
			: "give the socket a `group:` and `mode: \"0660\"` under `listen:`, or TCP clients a "
			  "login in HOLDFAST_URL");
}

static void
check_absence(struct doctor *d, const struct wire *w)
{
	if (w->denied) {
		check_rights(d, w->why);
	} else if (w->foreign) {
		tell(d, GRADE_ERROR, "socket", w->why, "what answers there is no lock service",
			"set HOLDFAST_URL to the socket of holdfastd, by default "
			"/run/holdfast/holdfast.sock");
	} else if (w->peer_bytes > 0 && !w->away) {
		tell(d, GRADE_ERROR, "daemon", w->why, "no lock can be had on this host",
			"systemctl status holdfastd; if it is active and does not answer: systemctl restart "
			"holdfastd; what it did last: journalctl -u holdfastd -n 50");
	} else {
		tell(d, GRADE_ERROR, "daemon", w->why, "no lock can be had on this host",
			"systemctl start holdfastd, and see why it ended: journalctl -u holdfastd -n 50");
	}
}

/* The daemon takes no further client. */
static void
check_crowd(struct doctor *d, struct slice text)
{
	char what[DOCTOR_TEXT_MAX];
	const char *run, *mend = limit_mend(text, &run);

	text_print(what, "the daemon takes no further client: %.*s", SLICE_ARG(text));
	tell_run(d, GRADE_ERROR, "limits", what,
		says(text, "too many logins")
			? "all clients of that address wait, also those with the right password"
			: "programs that connect now are refused; those that are connected keep their locks",
		mend, run);
}

/* The daemon does not let this user ask. */
static void
check_refusal(struct doctor *d, const struct answer *answer)
{
	struct slice rest;
	enum code code = answer_code(answer, &rest);
	char what[DOCTOR_TEXT_MAX];

	if (code == CODE_LIMIT) {
		check_crowd(d, answer->text);
		return;
	}
	text_print(what, "the daemon refuses this user: %.*s", SLICE_ARG(answer->text));
	tell(d, GRADE_ERROR, "login", what, "no lock can be had with this login",
		code == CODE_WRONGPASS || code == CODE_NOAUTH
			? "compare user and password of HOLDFAST_URL with `users:` in holdfast.yml and the "
			  "password-file there, then: systemctl reload holdfastd"
		: code == CODE_NOPERM
			? "add what the text names to `may:` of this user in holdfast.yml, then: "
			  "systemctl reload holdfastd"
			: "do what the text says, and check again");
}

/* ---- the daemon ---- */

static void
check_drain(struct doctor *d)
{
	int64_t left = info_number(d, "grants", 0) + info_number(d, "withheld", 0);
	char what[DOCTOR_TEXT_MAX], holds[64];

	(void)snprintf(holds, sizeof(holds), "%" PRId64 " hold%s", left, left == 1 ? "" : "s");
	text_print(what, "the daemon is being drained, and waits for %s: it takes no new locks, and ends",
		holds);
	tell(d, GRADE_ERROR, "daemon", what, "no new lock can be had on this host until it is started again",
		"the holders: holdfast ls --here; end it without waiting: holdfast drain; once it has "
		"ended: systemctl start holdfastd; who began it: journalctl -u holdfastd -g daemon.drain");
}

static void
check_daemon(struct doctor *d, const struct address *a)
{
	struct slice version = answer_info(d->info, "holdfast_version");
	struct slice pending = answer_info(d->info, "config_pending");
	char what[DOCTOR_TEXT_MAX];

	slice_text(d->version, sizeof(d->version), version);
	slice_text(d->daemon, sizeof(d->daemon), answer_info(d->info, "run_id"));
	d->seen = false;
	if (!slice_equal(version, slice_of(HOLDFAST_VERSION))) {
		text_print(what, "the daemon is holdfastd %.*s, this is holdfast %s", SLICE_ARG(version),
			HOLDFAST_VERSION);
		tell_run(d, GRADE_WARNING, "daemon", what,
			"the daemon that runs is not the one that is installed",
			"hand it over to the one that is installed: no client notices", "holdfast restart");
	}
	if (info_number(d, "draining", 0) != 0) {
		check_drain(d);
	}
	if (pending.n > 0) {
		text_print(what, "the configuration says otherwise than what is in effect: %.*s",
			SLICE_ARG(pending));
		tell(d, GRADE_WARNING, "daemon", what,
			"these keys need a restart; a rule's key or interop that differs between hosts lets "
			"two "
			"programs hold one lock",
			"all daemons that share the masters: systemctl stop holdfastd, and then: systemctl "
			"start "
			"holdfastd; for other keys than those of rules: holdfast restart");
	}
	if (!d->seen) {
		tell(d, GRADE_OK, "daemon",
			text_print(what, "holdfastd %.*s serves at %s", SLICE_ARG(version), a->text), "", "");
	}
}

static void
check_descriptors(struct doctor *d)
{
	int64_t limit = info_number(d, "descriptors", -1), wanted = info_number(d, "descriptors_wanted", 0);
	int64_t used = info_number(d, "descriptors_used", -1);
	char what[DOCTOR_TEXT_MAX], mend[DOCTOR_TEXT_MAX], run[DOCTOR_TEXT_MAX];

	if (limit < 0 || (limit >= wanted && used <= NEARLY(limit))) {
		return;
	}
	if (limit < wanted) {
		text_print(what,
			"the process may have %" PRId64 " descriptors, its limits need %" PRId64 "; %" PRId64
			" are open",
			limit, wanted, used);
	} else {
		text_print(what, "%" PRId64 " of the %" PRId64 " descriptors of the process are open", used,
			limit);
		wanted = 2 * limit;
	}
	text_print(mend,
		"systemctl edit holdfastd, with LimitNOFILE=%" PRId64
		" under [Service], for the next start, and for now this; or lower limits.clients and "
		"limits.bound-sessions",
		wanted);
	tell_run(d, GRADE_WARNING, "limits", what,
		"without a descriptor clients are refused, whatever limits.clients says", mend,
		run_print(run, "prlimit --pid %" PRId64 " --nofile=%" PRId64, info_number(d, "process_id", 0),
			wanted));
}

static void
check_limits(struct doctor *d)
{
	int64_t clients = info_number(d, "connected_clients", 0),
		most = info_number(d, "maxclients", INT64_MAX);
	int64_t memory = info_number(d, "used_memory_rss", 0), room = info_number(d, "maxmemory", 0);
	char what[DOCTOR_TEXT_MAX];

	d->seen = false;
	check_descriptors(d);
	if (clients > NEARLY(most)) {
		text_print(what, "%" PRId64 " of %" PRId64 " clients are connected", clients, most);
		tell_run(d, GRADE_WARNING, "limits", what, "further clients are refused",
			"see who they are with `holdfast sessions`, or raise limits.clients, and have it "
			"read",
			RELOAD_RUN);
	}
	if (info_number(d, "memory_full", 0) != 0 || (room > 0 && memory > NEARLY(room))) {
		text_print(what, "the daemon has %" PRId64 " of %" PRId64 " bytes", memory, room);
		tell_run(d, GRADE_WARNING, "limits", what,
			"past that there are no new clients, locks and latches",
			"raise limits.memory, and have it read", RELOAD_RUN);
	}
	if (!d->seen) {
		tell(d, GRADE_OK, "limits", "descriptors, clients and memory suffice", "", "");
	}
}

/* How full the disk of this file is, as far as this user can see: " (the disk is full)" or "". */
static const char *
disk_text(const struct address *a, struct slice file)
{
	char path[4096];
	char *slash;
	struct statvfs disk;

	if (a->tcp || file.n >= sizeof(path)) {
		return "";
	}
	slice_text(path, sizeof(path), file);
	slash = strrchr(path, '/');
	if (slash != NULL) {
		slash[slash == path ? 1 : 0] = '\0';
	}
	return statvfs(path, &disk) == 0 && disk.f_bavail == 0 ? ": the disk is full" : "";
}

static void
check_files(struct doctor *d, const struct address *a)
{
	struct slice ledger = answer_info(d->info, "ledger_file");
	int64_t dropped = info_number(d, "log_dropped", 0);
	char what[DOCTOR_TEXT_MAX], mend[DOCTOR_TEXT_MAX];

	d->seen = false;
	if (ledger.n > 0 && info_number(d, "ledger_kept", 0) == 0) {
		text_print(
			what, "the ledger %.*s cannot be written%s", SLICE_ARG(ledger), disk_text(a, ledger));
		text_print(mend,
			"free space there (df -h %.*s), or give `ledger:` another place; the daemon tries "
			"again by "
			"itself, and its log has the error: journalctl -u holdfastd -g ledger",
			SLICE_ARG(ledger));
		tell(d, GRADE_ERROR, "ledger", what,
			"sessions with a grace do not survive a crash of the daemon", mend);
	}
	if (dropped > 0) {
		text_print(what, "%" PRId64 " lines of the log were dropped", dropped);
		tell(d, GRADE_WARNING, "log", what, "what happened meanwhile cannot be read any more",
			"free space on the disk of the log: df -h /var/log; journalctl --vacuum-size=500M");
	}
	if (!d->seen) {
		tell(d, GRADE_OK, "files",
			ledger.n > 0 ? "the ledger and the log are written"
				     : "the log is written, no ledger is kept",
			"", "");
	}
}

/* ---- certificates ---- */

#define ENDING_S (14 * 86400) /* as the alert of monitoring/alerts.yml */

static void
check_certificates(struct doctor *d)
{
	struct slice fault = answer_info(d->info, "certificate_fault");
	int64_t faults = info_number(d, "certificate_faults", 0);
	int64_t end_s = info_number(d, "certificates_end_in_s", INT64_MAX);
	char what[DOCTOR_TEXT_MAX], more[64] = "", left[DURATION_TEXT_MAX];

	if (faults > 0) {
		if (faults > 1) {
			(void)snprintf(more, sizeof(more), "; %" PRId64 " more are not valid", faults - 1);
		}
		text_print(what, "%.*s%s", SLICE_ARG(fault), more);
		tell(d, GRADE_WARNING, "tls", what, "peers that check it refuse the connection",
			TLS_DATES_DO);
	} else if (info_number(d, "certificates", 0) > 0 && end_s < ENDING_S) {
		text_print(what, "a certificate of the configuration ends in %s",
			duration_text(left, end_s * 1000));
		tell_run(d, GRADE_WARNING, "tls", what,
			"peers that check it refuse new connections from then on",
			"replace its file, and have it read; of each file: openssl x509 -enddate -noout -in "
			"FILE",
			RELOAD_RUN);
	} else if (info_number(d, "certificates", 0) > 0) {
		tell(d, GRADE_OK, "tls", "all certificates of the configuration are valid now", "", "");
	}
}

/* ---- secrets ---- */

static void
check_secrets(struct doctor *d)
{
	struct slice path = answer_info(d->info, "open_secret");
	struct slice mode = answer_info(d->info, "open_secret_mode");
	int64_t open = info_number(d, "open_secrets", 0);
	char what[DOCTOR_TEXT_MAX], word[DOCTOR_TEXT_MAX], run[DOCTOR_TEXT_MAX], more[64] = "";

	if (open == 0) {
		return;
	}
	if (open > 1) {
		(void)snprintf(more, sizeof(more), "; %" PRId64 " more are open", open - 1);
	}
	text_print(what, "%.*s has a secret, and its mode is %.*s%s", SLICE_ARG(path), SLICE_ARG(mode), more);
	tell_run(d, GRADE_WARNING, "secrets", what, "every user of this host may read or write it",
		"take the rights of others away, and change the secret if somebody may have read it",
		shell_word(word, path)[0] != '\0' ? run_print(run, "chmod o= %s", word) : "");
}

/* ---- a lock ---- */

static void
check_lock(struct doctor *d)
{
	char out[DOCTOR_TEXT_MAX], run[DOCTOR_TEXT_MAX];
	const char *mend = lock_mend(d, slice_of(d->probe.text), out, run);

	switch (d->probe.grade) {
	case PROBE_OK:
	case PROBE_WARNING:
		tell(d, GRADE_OK, "lock", d->probe.text, "", "");
		break;
	case PROBE_CRITICAL:
		tell_run(d, GRADE_ERROR, "lock", d->probe.text, "programs that want a lock now wait, or fail",
			mend, run);
		break;
	case PROBE_UNKNOWN:
		tell(d, GRADE_WARNING, "lock", d->probe.text, "whether a lock can be had now is not known",
			"let this user take locks of the names \"" PROBE_NAMES "\", with may: and names: "
			"under `users:`, then: systemctl reload holdfastd");
		break;
	}
}

/* ---- processes ---- */

/* A daemon in a container serves locks, and may not see the processes of its clients. It is asked to tie the
 * session of this connection to this process, as run and lock have it do. */
static void
check_processes(struct doctor *d, struct wire *w)
{
	const struct answer *answer = NULL;
	const char *run;
	char what[DOCTOR_TEXT_MAX];
	int pidfd = w->local ? descendants_pidfd(getpid()) : -1;

	if (pidfd < 0) {
		return;
	}
	if (wire_bind(w, pidfd)) {
		answer = wire_answer(w);
	}
	(void)close(pidfd);
	if (answer == NULL || answer->type != ANSWER_ERROR) {
		if (answer != NULL) {
			tell(d, GRADE_OK, "process", "the daemon sees the processes of its clients", "", "");
		}
		return;
	}
	text_print(what, "the end of a process is not seen: %.*s", SLICE_ARG(answer->text));
	tell(d, GRADE_ERROR, "process", what,
		"run and lock are refused, and what a killed program held is not free at once",
		says(answer->text, "PID namespace this daemon")
			? "docker or podman: run the daemon with --pid=host; Kubernetes: hostPID: true for a "
			  "daemon of the node, shareProcessNamespace: true for a sidecar"
		: says(answer->text, "/proc hides")
			? "give the daemon a /proc of its own PID namespace, without hidepid"
		: says(answer->text, "LIMIT") ? limit_mend(answer->text, &run)
					      : "do what the text says, and check again");
}

/* ---- the fleet ---- */

/* who: names the other daemon. */
static void
check_silence(struct doctor *d, const char *who, struct slice host)
{
	char what[DOCTOR_TEXT_MAX], mend[DOCTOR_TEXT_MAX];

	text_print(what, "%s does not answer", who);
	text_print(mend, "on %.*s: holdfast doctor, and systemctl status holdfastd", SLICE_ARG(host));
	tell(d, GRADE_WARNING, "fleet", what,
		"its locks may stay held without a client, and show and ls do not have them", mend);
}

/* "lease, retain" of "lease,retain". */
static const char *
keys_text(char out[SETTINGS_TEXT_MAX], struct slice keys)
{
	size_t n = 0;

	for (size_t i = 0; i < keys.n && n + 3 < SETTINGS_TEXT_MAX; i++) {
		out[n++] = keys.p[i];
		if (keys.p[i] == ',') {
			out[n++] = ' ';
		}
	}
	out[n] = '\0';
	return out;
}

static void
check_settings(struct doctor *d, const char *who, const struct answer *other, struct slice ours)
{
	struct slice host = answer_get_text(other, "host"), differs = answer_get_text(other, "differs");
	char what[DOCTOR_TEXT_MAX], mend[DOCTOR_TEXT_MAX], values[SETTINGS_TEXT_MAX];
	char keys[SETTINGS_TEXT_MAX];

	/* If the masters refuse this daemon, it differs from the daemons that they serve. */
	if (d->excluded) {
		host = SLICE("this host");
	}
	text_print(
		what, "%s has other settings than this host's: %s", who, settings_text(values, other, ours));
	text_print(mend,
		"compare holdfastd --print-config of both hosts, make %s in holdfast.yml the same on %.*s, "
		"then "
		"there: holdfast restart",
		keys_text(keys, differs), SLICE_ARG(host));
	tell(d, GRADE_WARNING, "fleet", what,
		"a lock behaves otherwise on that host, and guards may be too short", mend);
}

static void
check_version(struct doctor *d, const char *who, struct slice host, struct slice version)
{
	char what[DOCTOR_TEXT_MAX], mend[DOCTOR_TEXT_MAX], theirs[sizeof(d->version)];
	struct slice older;

	slice_text(theirs, sizeof(theirs), version);
	older = strverscmp(theirs, d->version) < 0 ? host : SLICE("this host");
	text_print(what, "%s is holdfastd %s, the one of this host is %s", who, theirs, d->version);
	text_print(mend, "on %.*s: install the newer package, then: holdfast restart", SLICE_ARG(older));
	tell(d, GRADE_WARNING, "fleet", what, "what is new in the newer version does not work between them",
		mend);
}

/* Masters refuse the other daemon: what it may do, and what has to agree. */
static void
check_exclusion(struct doctor *d, const char *who, const struct answer *other)
{
	struct slice host = answer_get_text(other, "host"), why = answer_get_text(other, "refused");
	bool answers = answer_get_int(other, "answers", 0) != 0;
	char what[DOCTOR_TEXT_MAX], mend[DOCTOR_TEXT_MAX];

	text_print(what, "%s is refused by the masters: %.*s", who, SLICE_ARG(why));
	if (says(why, "format ")) {
		text_print(mend,
			"install the same release of holdfast on all hosts, here on %.*s, then: holdfast "
			"restart",
			SLICE_ARG(host));
	} else {
		text_print(mend,
			"make what is named the same in holdfast.yml on %.*s as on the other hosts, then "
			"there: "
			"holdfast restart",
			SLICE_ARG(host));
	}
	tell(d, GRADE_WARNING, "fleet", what,
		answers ? "it goes on without them, as long as the others are a majority"
			: "clients of that host get no lock; one that has ended is listed for 30 s more",
		mend);
}

static void
check_other(struct doctor *d, const struct answer *other, struct slice ours)
{
	struct slice host = answer_get_text(other, "host"), address = answer_get_text(other, "address"),
		     differs = answer_get_text(other, "differs"), version = answer_get_text(other, "version"),
		     refused = answer_get_text(other, "refused");
	char who[DOCTOR_TEXT_MAX];

	if (slice_equal(answer_get_text(other, "daemon"), slice_of(d->daemon))) {
		return;
	}
	text_print(who, "the daemon of %.*s (%.*s, pid %" PRId64 ")", SLICE_ARG(host), SLICE_ARG(address),
		answer_get_int(other, "pid", 0));
	if (refused.n > 0) {
		check_exclusion(d, who, other);
	} else if (answer_get_int(other, "answers", 0) == 0) {
		check_silence(d, who, host);
	}
	if (differs.n > 0 && refused.n == 0) {
		check_settings(d, who, other, ours);
	}
	if (version.n > 0 && !slice_equal(version, slice_of(d->version))) {
		check_version(d, who, host, version);
	}
}

/* answer: to FLEET. An error of it is no finding: this user may not ask, or the masters are away, which other
 * lines say. */
static void
check_fleet(struct doctor *d, const struct answer *answer)
{
	char what[DOCTOR_TEXT_MAX];
	bool unknown = false;

	d->seen = false;
	if (answer == NULL || answer->type != ANSWER_ARRAY) {
		return;
	}
	for (size_t i = 0; i < answer->count; i++) {
		const struct answer *one = &answer->items[i];

		/* Of this daemon: whether a master has told which daemons there are. */
		unknown |= slice_equal(answer_get_text(one, "daemon"), slice_of(d->daemon)) &&
			   answer_get_int(one, "asked", 1) == 0;
		check_other(d, one, settings_here(answer));
	}
	if (unknown) {
		tell(d, GRADE_WARNING, "fleet",
			"which other daemons share the masters is not known: no master has answered",
			"show, ls and break may leave out what other hosts hold",
			d->masters
				? "mend the masters first, and check again"
				: "check again; if this stays, a master is slow: holdfast info masters has "
				  "masterN_round_trip_us");
	}
	if (!d->seen) {
		tell(d, GRADE_OK, "fleet",
			answer->count == 1
				? "no other daemon shares the masters"
				: text_print(what, "all %zu daemons answer, with the same settings",
					  answer->count),
			"", "");
	}
}

/* Takes the lock, and then asks: what the daemon knows of its masters may be older than what the lock shows.
 * NULL or an error: it does not serve this user. */
static const struct answer *
ask(struct doctor *d, struct wire *w, const struct address *a)
{
	struct wire other = {.fd = -1};
	const struct answer *answer;

	wire_hello(w, a, "holdfast-doctor");
	(void)wire_flush(w);
	answer = wire_welcomed(w, a, wire_answer(w));
	if (answer == NULL || answer->type == ANSWER_ERROR) {
		return answer;
	}
	probe_run(&d->probe, &other, a, PROBE_MS);
	wire_close(&other);
	wire_ask(w, "INFO");
	return wire_answer(w);
}

/* How many locks a session may hold, by the lower one of two limits. */
static void
learn_limit(struct doctor *d)
{
	int64_t session = info_number(d, "grants_per_session", INT64_MAX);
	int64_t user = info_number(d, "locks_per_user", INT64_MAX);

	d->locks_max = session < user ? session : user;
	d->user_locks = user;
	d->locks_key = session < user ? "limits.grants-per-session" : "limits.locks-per-user";
}

int
task_doctor(const struct options *o, const struct address *a)
{
	static const int statuses[] = {STATUS_DONE, STATUS_NO, STATUS_CRITICAL};
	struct doctor d = {.o = o, .json = o->json ? json_array() : NULL};
	struct wire wire = {.fd = -1};
	const struct answer *answer = NULL;
	int status = STATUS_DONE;

	if (wire_open(&wire, a)) {
		answer = ask(&d, &wire, a);
	}
	if (answer == NULL) {
		check_absence(&d, &wire);
	} else if (answer->type == ANSWER_ERROR) {
		check_refusal(&d, answer);
	} else if (answer->type != ANSWER_TEXT) {
		status = take_refusal(&wire, answer, "cannot ask for INFO");
	} else {
		d.info = answer->text;
		check_daemon(&d, a);
		doctor_check_masters(&d);
		check_lock(&d);
		check_limits(&d);
		check_files(&d, a);
		check_certificates(&d);
		check_secrets(&d);
		d.wait_ms = info_number(&d, "longest_wait_ms", 0);
		d.excluded = says(answer_info(d.info, "masters_missing"), "other limits");
		learn_limit(&d);
		/* What is asked now overwrites the text of INFO. */
		d.info = SLICE("");
		check_processes(&d, &wire);
		wire_ask(&wire, "FLEET");
		check_fleet(&d, wire_answer(&wire));
		doctor_check_clients(&d, &wire);
	}
	wire_close(&wire);
	if (status == STATUS_DONE && o->json) {
		status = json_output_print_json(d.json);
	} else {
		json_decref(d.json);
	}
	return status == STATUS_DONE && fflush(stdout) == 0 ? statuses[d.worst] : status;
}
