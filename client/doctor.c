/*
 * doctor: looks at the socket, the daemon, its masters and its limits, and says of each thing that is wrong
 * why it matters, and which command mends it.
 *
 * It asks the daemon alone: INFO, FLEET and one lock of a new name. The daemon sees the masters as locks do,
 * with its own login; a person who may look at the daemon needs no password of a master.
 */
#include "client/lock.h"
#include "client/message.h"
#include "client/options.h"
#include "client/output.h"
#include "client/probe.h"
#include "client/wire.h"
#include "proto/escape.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define TEXT_MAX  640
#define MASTERS   16
#define SLOW_US   50000 /* of a command at a master: a renewal has a third of a lease */
#define CLOCK_MS  1000  /* unless the daemon tells its clock-margin */
#define NEARLY(n) ((n) / 10 * 9)
#define PLACE_MAX 320

enum grade { GRADE_OK, GRADE_WARNING, GRADE_ERROR };

struct doctor {
	const struct options *o;
	struct slice info; /* of the daemon; n == 0: it was not reached */
	enum grade worst;
	bool seen;    /* something was wrong with the part that is looked at */
	json_t *json; /* NULL: lines, or out of memory */
};

/* ---- what is told ---- */

static void
tell_line(const char *head, const char *part, const char *text)
{
	char line[TEXT_MAX * 2];

	(void)escape_text(line, sizeof(line), slice_of(text), ESCAPE_PLAIN);
	(void)printf("%-8s%-10s%s\n", head, part, line);
}

static void
tell(struct doctor *d, enum grade grade, const char *part, const char *what, const char *why,
	const char *mend)
{
	static const char *const words[] = {"ok", "warning", "error"};

	d->worst = grade > d->worst ? grade : d->worst;
	d->seen = d->seen || grade != GRADE_OK;
	if (d->o->json) {
		(void)json_array_append_new(
			d->json, json_pack("{s:s, s:s, s:o, s:s, s:o}", "part", part, "grade", words[grade],
					 "what", json_output_text(slice_of(what)), "why", why, "do",
					 json_output_text(slice_of(mend))));
		return;
	}
	if (grade != GRADE_OK || !d->o->quiet) {
		tell_line(words[grade], part, what);
	}
	if (grade != GRADE_OK) {
		tell_line("", "why", why);
		tell_line("", "do", mend);
	}
}

__attribute__((format(printf, 2, 3))) static const char *
text_print(char out[TEXT_MAX], const char *format, ...)
{
	va_list list;

	va_start(list, format);
	(void)vsnprintf(out, TEXT_MAX, format, list);
	va_end(list);
	return out;
}

/* ---- what the daemon says ---- */

static int64_t
info_number(const struct doctor *d, const char *key, int64_t absent)
{
	int64_t n;

	return number_parse(answer_info(d->info, key), INT64_MIN, INT64_MAX, &n) ? n : absent;
}

/* A field of one master. */
static struct slice
master_text(const struct doctor *d, unsigned i, const char *field)
{
	char key[64];

	(void)snprintf(key, sizeof(key), "master%u_%s", i, field);
	return answer_info(d->info, key);
}

static int64_t
master_number(const struct doctor *d, unsigned i, const char *field)
{
	char key[64];

	(void)snprintf(key, sizeof(key), "master%u_%s", i, field);
	return info_number(d, key, 0);
}

static bool
says(struct slice text, const char *words)
{
	return text.n > 0 && memmem(text.p, text.n, words, strlen(words)) != NULL;
}

/* ---- the socket ---- */

/* This user may not use the socket. The message of a refusal to connect ends with the command that mends it,
 * if there is a group that may. */
static void
look_at_rights(struct doctor *d, const char *why)
{
	const char *command = strstr(why, "sudo usermod");
	char what[TEXT_MAX];
	size_t n = command == NULL ? strlen(why) : (size_t)(command - why);

	text_print(what, "%.*s", (int)(command != NULL && n > 2 ? n - 2 : n), why);
	tell(d, GRADE_ERROR, "socket", what, "no lock can be had by this user",
		command != NULL
			? command
			: "give the socket a `group:` and `mode: \"0660\"` under `listen:`, or TCP clients a "
			  "login in HOLDFAST_URL");
}

static void
look_at_absence(struct doctor *d, const struct wire *w)
{
	if (w->denied) {
		look_at_rights(d, w->why);
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

/* The daemon does not let this user ask. */
static void
look_at_refusal(struct doctor *d, const struct answer *answer)
{
	struct slice rest;
	enum code code = answer_code(answer, &rest);
	char what[TEXT_MAX];

	text_print(what, "the daemon refuses this user: %.*s", SLICE_ARG(answer->text));
	tell(d, GRADE_ERROR, "login", what, "no lock can be had with this login",
		code == CODE_WRONGPASS || code == CODE_NOAUTH
			? "compare user and password of HOLDFAST_URL with `users:` in holdfast.yml and the "
			  "password-file there, then: systemctl reload holdfastd"
		: code == CODE_NOPERM
			? "add what the text names to `may:` of this user in holdfast.yml, then: "
			  "systemctl reload holdfastd"
			: "do what the text says, and look again");
}

/* ---- masters ---- */

/* What a master is refused for, by words of the reason. In mend, @ stands for the redis-cli that reaches it.
 */
static const struct cure {
	const char *words;
	const char *why;
	const char *mend;
} cures[] = {
	{"maxmemory-policy", "a lease that the master evicts can be granted to a second client",
		"@ CONFIG SET maxmemory-policy noeviction, and the same in its redis.conf"},
	{"is a replica", "a replica takes no leases",
		"name its master under `masters:` (@ INFO replication shows it) and restart the daemon; if "
		"it should "
		"be the master: @ REPLICAOF NO ONE"},
	{"cluster mode", "leases need a server that has all keys",
		"name a standalone server under `masters:`"},
	{"WRONGPASS", "the daemon cannot log in, and takes no leases there",
		"write the password into the password-file of this master, then: systemctl reload holdfastd"},
	{"invalid password", "the daemon cannot log in, and takes no leases there",
		"write the password into the password-file of this master, then: systemctl reload holdfastd"},
	{"NOAUTH", "the daemon cannot log in, and takes no leases there",
		"name a password-file for this master, then: systemctl reload holdfastd"},
	{"NOPERM", "the login of the daemon may not do what leases need",
		"@ ACL SETUSER USER resetchannels '~holdfast:*' '&holdfast:*' '&__redis__:invalidate' +@read "
		"+@write "
		"+@connection +@pubsub +@scripting +info +time +wait, with the USER and namespace of the "
		"daemon"},
	{"MISCONF", "the master cannot write its data, and takes no leases",
		"free space on the disk of the master; @ INFO persistence shows what failed"},
	{"OOM", "the master has no memory left for leases", "@ INFO memory, then raise its maxmemory"},
	{"LOADING", "the master still reads its data", "wait; @ INFO persistence shows how long"},
	{"other limits", "daemons that disagree would not exclude each other",
		"make clock-margin, restart-guard and the rules with keys agree on all hosts, or upgrade the "
		"older ones"},
};

/* "redis-cli -h 10.0.0.1 -p 6379" */
static const char *
master_client(char out[PLACE_MAX], struct slice address)
{
	const char *blank = address.n > 0 ? memrchr(address.p, ' ', address.n) : NULL;
	struct slice host, port;

	if (blank != NULL) {
		address.n -= (size_t)(blank + 1 - address.p);
		address.p = blank + 1;
	}
	if (address.n > 0 && address.p[0] == '/') {
		(void)snprintf(out, PLACE_MAX, "redis-cli -s %.*s", SLICE_ARG(address));
	} else if (slice_endpoint(address, &host, &port) == NULL && port.p != NULL) {
		(void)snprintf(out, PLACE_MAX, "redis-cli -h %.*s -p %.*s", SLICE_ARG(host), SLICE_ARG(port));
	} else {
		(void)snprintf(out, PLACE_MAX, "redis-cli");
	}
	return out;
}

/* mend, with the client in place of each @ */
static const char *
mend_text(char out[TEXT_MAX], const char *mend, const char *client)
{
	size_t n = 0;

	for (; *mend != '\0' && n + 1 < TEXT_MAX; mend++) {
		if (*mend != '@' || mend[1] != ' ') {
			out[n++] = *mend;
			continue;
		}
		n += (size_t)snprintf(out + n, TEXT_MAX - n, "%s", client);
		n = n < TEXT_MAX ? n : TEXT_MAX - 1;
	}
	out[n] = '\0';
	return out;
}

static void
tell_refused(struct doctor *d, struct slice address, struct slice state, struct slice reason)
{
	const struct cure *cure = NULL;
	char what[TEXT_MAX], mend[TEXT_MAX], client[PLACE_MAX];

	for (size_t i = 0; cure == NULL && i < sizeof(cures) / sizeof(*cures); i++) {
		cure = says(reason, cures[i].words) ? &cures[i] : NULL;
	}
	text_print(what, "%.*s is %.*s%s%.*s", SLICE_ARG(address), SLICE_ARG(state), reason.n > 0 ? ": " : "",
		SLICE_ARG(reason));
	mend_text(mend,
		cure != NULL ? cure->mend
			     : "start the server, and see whether it answers from this host: @ PING",
		master_client(client, address));
	tell(d, GRADE_ERROR, "master", what, cure != NULL ? cure->why : "it grants no leases", mend);
}

/* A master that is in use: whether it will stay so. */
static void
look_at_health(struct doctor *d, unsigned i, struct slice address)
{
	int64_t us = master_number(d, i, "round_trip_us"), clock_ms = master_number(d, i, "clock_ms");
	int64_t margin_ms = info_number(d, "clock_margin_ms", CLOCK_MS);
	char what[TEXT_MAX], mend[TEXT_MAX], client[PLACE_MAX];

	(void)master_client(client, address);
	if (us > SLOW_US) {
		text_print(what, "%.*s takes %" PRId64 " ms for a command", SLICE_ARG(address), us / 1000);
		text_print(mend,
			"see whether the server or the network is slow: %s --latency, %s SLOWLOG GET 10",
			client, client);
		tell(d, GRADE_WARNING, "master", what,
			"each lock that is not passed on within this host waits for it, and a renewal that "
			"takes too "
			"long loses the lock",
			mend);
	}
	if (clock_ms >= margin_ms || clock_ms <= -margin_ms) {
		text_print(what, "the clock of %.*s is %" PRId64 " ms %s that of this host",
			SLICE_ARG(address), clock_ms < 0 ? -clock_ms : clock_ms,
			clock_ms < 0 ? "behind" : "ahead of");
		tell(d, GRADE_WARNING, "master", what,
			"when a clock that is wrong is set, leases end early or nothing new is granted for a "
			"guard; "
			"and the tokens of a master that forgot begin at its clock",
			"let both hosts set their clocks from the same source: timedatectl set-ntp true, "
			"chronyc "
			"tracking");
	}
}

/* Other daemons wake this one through the master, over a connection that its ACL may refuse. */
static void
look_at_inbox(struct doctor *d, unsigned i, struct slice address)
{
	struct slice reason = master_text(d, i, "inbox_reason"),
		     namespace = answer_info(d->info, "namespace");
	char what[TEXT_MAX], mend[TEXT_MAX], client[PLACE_MAX];

	if (master_number(d, i, "inbox") != 0 || reason.n == 0) {
		return;
	}
	(void)master_client(client, address);
	text_print(what, "wake-ups of other hosts do not arrive through %.*s: %.*s", SLICE_ARG(address),
		SLICE_ARG(reason));
	if (says(reason, "NOPERM")) {
		text_print(mend,
			"%s ACL SETUSER USER '&%.*s:*' '&__redis__:invalidate', with the USER of the daemon: "
			"`default` "
			"if `masters:` names none",
			client, SLICE_ARG(namespace));
	} else {
		text_print(mend, "see what the server does: %s CLIENT LIST", client);
	}
	tell(d, GRADE_WARNING, "master", what,
		"a lock that another host releases is seen late, and daemons do not answer for the fleet",
		mend);
}

static void
look_at_master(struct doctor *d, unsigned i)
{
	struct slice address = master_text(d, i, "address"), state = master_text(d, i, "state");
	struct slice reason = master_text(d, i, "reason");
	char what[TEXT_MAX], mend[TEXT_MAX], left[DURATION_TEXT_MAX];
	int64_t guard_ms = master_number(d, i, "guard_ms");

	d->seen = false;
	if (!slice_equal(state, SLICE("admitted")) && !slice_equal(state, SLICE("guarded"))) {
		tell_refused(d, address, state, reason);
		return;
	}
	if (guard_ms > 0) {
		text_print(what, "%.*s grants nothing new for %s: it may have forgotten leases",
			SLICE_ARG(address), duration_text(left, guard_ms));
		tell(d, GRADE_WARNING, "master", what, "two clients could hold one lock otherwise",
			text_print(mend,
				"wait; if its data is lost at each restart, three masters need no pause"));
	}
	if (master_number(d, i, "down") != 0) {
		tell_refused(d, address, SLICE("silent"), SLICE(""));
	}
	if (master_text(d, i, "sentinel").n > 0 && master_number(d, i, "replicated") == 0) {
		text_print(what, "too few replicas of %.*s acknowledge", SLICE_ARG(address));
		tell(d, GRADE_ERROR, "master", what, "what only the master knows is lost in a failover",
			"start the replicas; SENTINEL RESET forgets those that are gone for good");
	}
	look_at_health(d, i, address);
	look_at_inbox(d, i, address);
	if (!d->seen) {
		tell(d, GRADE_OK, "master", text_print(what, "%.*s is in full use", SLICE_ARG(address)), "",
			"");
	}
}

static void
look_at_masters(struct doctor *d)
{
	struct slice missing = answer_info(d->info, "masters_missing");
	struct slice agreement = answer_info(d->info, "masters_agreement");
	int64_t count = info_number(d, "masters", 0);
	char what[TEXT_MAX];
	bool seen = false;

	for (unsigned i = 0; (int64_t)i < count && i < MASTERS; i++) {
		look_at_master(d, i);
		seen = seen || d->seen;
	}
	if (missing.n > 0 && !seen) {
		text_print(what, "agreement is %.*s: %.*s", SLICE_ARG(agreement), SLICE_ARG(missing));
		tell(d, GRADE_ERROR, "masters", what, "no new lock can be had",
			"compare `masters:` with the set that the masters store: holdfast masters status");
	}
}

/* ---- the daemon ---- */

static void
look_at_daemon(struct doctor *d, const struct address *a)
{
	struct slice version = answer_info(d->info, "holdfast_version");
	char what[TEXT_MAX];

	d->seen = false;
	if (!slice_equal(version, slice_of(HOLDFAST_VERSION))) {
		text_print(what, "the daemon is holdfastd %.*s, this is holdfast %s", SLICE_ARG(version),
			HOLDFAST_VERSION);
		tell(d, GRADE_WARNING, "daemon", what,
			"the daemon that runs is not the one that is installed", "holdfast restart");
	}
	if (info_number(d, "draining", 0) != 0) {
		tell(d, GRADE_ERROR, "daemon", "the daemon is ending", "no new lock can be had",
			"start it again when it has ended: systemctl start holdfastd");
	}
	if (!d->seen) {
		tell(d, GRADE_OK, "daemon",
			text_print(what, "holdfastd %.*s serves at %s", SLICE_ARG(version), a->text), "", "");
	}
}

static void
look_at_limits(struct doctor *d)
{
	int64_t limit = info_number(d, "descriptors", -1), wanted = info_number(d, "descriptors_wanted", 0);
	int64_t clients = info_number(d, "connected_clients", 0),
		most = info_number(d, "maxclients", INT64_MAX);
	int64_t memory = info_number(d, "used_memory_rss", 0), room = info_number(d, "maxmemory", 0);
	char what[TEXT_MAX], mend[TEXT_MAX];

	d->seen = false;
	if (limit >= 0 && limit < wanted) {
		text_print(what, "the process may have %" PRId64 " descriptors, its limits need %" PRId64,
			limit, wanted);
		text_print(mend,
			"systemctl edit holdfastd, with LimitNOFILE=%" PRId64
			" under [Service], then: systemctl restart "
			"holdfastd; or lower limits.clients and limits.bound-sessions",
			wanted);
		tell(d, GRADE_WARNING, "limits", what, "clients are refused before limits.clients is reached",
			mend);
	}
	if (clients > NEARLY(most)) {
		text_print(what, "%" PRId64 " of %" PRId64 " clients are connected", clients, most);
		tell(d, GRADE_WARNING, "limits", what, "further clients are refused",
			"see who they are with `holdfast sessions`, or raise limits.clients, then: systemctl "
			"reload "
			"holdfastd");
	}
	if (info_number(d, "memory_full", 0) != 0 || (room > 0 && memory > NEARLY(room))) {
		text_print(what, "the daemon has %" PRId64 " of %" PRId64 " bytes", memory, room);
		tell(d, GRADE_WARNING, "limits", what,
			"past that there are no new clients, locks and latches",
			"raise limits.memory, then: systemctl reload holdfastd");
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
look_at_files(struct doctor *d, const struct address *a)
{
	struct slice ledger = answer_info(d->info, "ledger_file");
	int64_t dropped = info_number(d, "log_dropped", 0);
	char what[TEXT_MAX], mend[TEXT_MAX];

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

/* ---- a lock ---- */

/* What the daemon says of its masters may be seconds old: a lock shows what clients get now. */
static void
look_at_lock(struct doctor *d, const struct address *a)
{
	struct wire wire = {.fd = -1};
	struct probe probe;

	probe_look(&probe, &wire, a, PROBE_MS);
	wire_close(&wire);
	switch (probe.grade) {
	case PROBE_OK:
	case PROBE_WARNING:
		tell(d, GRADE_OK, "lock", probe.text, "", "");
		break;
	case PROBE_CRITICAL:
		tell(d, GRADE_ERROR, "lock", probe.text, "programs that want a lock now wait, or fail",
			"see whether each master answers from this host, with redis-cli PING, and what the "
			"daemon "
			"says: journalctl -u holdfastd -n 50");
		break;
	case PROBE_UNKNOWN:
		tell(d, GRADE_WARNING, "lock", probe.text, "whether a lock can be had now is not known",
			"let this user take locks of the names \"" PROBE_NAMES "\", with may: and names: "
			"under `users:`, then: systemctl reload holdfastd");
		break;
	}
}

/* ---- the fleet ---- */

static void
look_at_other(struct doctor *d, const struct answer *other)
{
	struct slice host = answer_get_text(other, "host"), address = answer_get_text(other, "address");
	char what[TEXT_MAX], mend[TEXT_MAX];

	if (answer_get_int(other, "answers", 0) != 0) {
		return;
	}
	text_print(what, "the daemon of %.*s (%.*s, pid %" PRId64 ") does not answer", SLICE_ARG(host),
		SLICE_ARG(address), answer_get_int(other, "pid", 0));
	text_print(mend, "on %.*s: holdfast doctor, and systemctl status holdfastd", SLICE_ARG(host));
	tell(d, GRADE_WARNING, "fleet", what,
		"it may hold locks that nobody releases, and show and ls do not see them", mend);
}

/* answer: to FLEET. An error of it is no finding: this user may not ask, or the masters are away, which other
 * lines say. */
static void
look_at_fleet(struct doctor *d, const struct answer *answer)
{
	char what[TEXT_MAX];

	d->seen = false;
	if (answer == NULL || answer->type != ANSWER_ARRAY) {
		return;
	}
	for (size_t i = 0; i < answer->count; i++) {
		look_at_other(d, &answer->items[i]);
	}
	if (!d->seen) {
		tell(d, GRADE_OK, "fleet",
			answer->count == 1 ? "no other daemon shares the masters"
					   : text_print(what, "all %zu daemons answer", answer->count),
			"", "");
	}
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
		wire_greet(&wire, a, "holdfast-doctor");
		wire_ask(&wire, "INFO");
		answer = wire_welcomed(&wire, a, wire_answer(&wire));
		if (answer != NULL && answer->type != ANSWER_ERROR) {
			answer = wire_answer(&wire);
		}
	}
	if (answer == NULL) {
		look_at_absence(&d, &wire);
	} else if (answer->type == ANSWER_ERROR) {
		look_at_refusal(&d, answer);
	} else if (answer->type != ANSWER_TEXT) {
		status = take_refusal(&wire, answer, "cannot ask for INFO");
	} else {
		d.info = answer->text;
		look_at_daemon(&d, a);
		look_at_masters(&d);
		look_at_lock(&d, a);
		look_at_limits(&d);
		look_at_files(&d, a);
		wire_ask(&wire, "FLEET");
		look_at_fleet(&d, wire_answer(&wire)); /* the text of INFO is gone */
	}
	wire_close(&wire);
	if (status == STATUS_DONE && o->json) {
		status = json_output_print_json(d.json);
	} else {
		json_decref(d.json);
	}
	return status == STATUS_DONE && fflush(stdout) == 0 ? statuses[d.worst] : status;
}
