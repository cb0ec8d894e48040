/*
 * doctor_masters: what is wrong with a master, as the daemon sees it; see doctor.h. doctor.c calls it.
 */
#include "client/doctor/doctor_masters.h"

#include "client/doctor/doctor.h"
#include "client/message.h"
#include "client/options.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#define DESCRIPTORS_MEND                                                                                     \
	"systemctl edit holdfastd, with a larger LimitNOFILE= under [Service], for the next start, and for " \
	"now this, which a container may refuse; what uses them: ls -l /proc/$(pidof holdfastd)/fd, and, "   \
	"once there is room, holdfast sessions"
/* As the unit has it. */
#define DESCRIPTORS_MORE DESCRIPTORS_RUN "65536"

#define MASTERS    16
#define SLOW_US    50000 /* of a command at a master: a renewal has a third of a lease */
#define CLOCK_MS   1000  /* unless the daemon tells its clock-margin */
#define PLACE_MAX  320
#define CLIENT_MAX 640 /* a PLACE_MAX, and the files of TLS if there is room */
#define NO_MASTER  UINT_MAX

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

/* A -GUARD, and what the health of the daemon says of it. */
#define GUARDED                                                                                              \
	"two clients could hold one lock otherwise",                                                         \
		"wait: nothing shortens it; if it begins again and again: "                                  \
		"journalctl -u holdfastd -g 'master\\.'"

/* A guard for a clock. */
#define CLOCK_JUMPED                                                                                         \
	"leases may have ended at the master before their time, so that two clients could hold one lock",    \
		"wait: nothing shortens it; let NTP slew the clock of the host of the master, not step it "  \
		"(there: chronyc tracking), and look for what set it; if this host was suspended or "        \
		"moved, that is the jump; when: journalctl -u holdfastd -g master.clock_jump"

#define REPLICA_MEND                                                                                         \
	"name its master (@ INFO replication shows it) under `masters:` on all hosts, stop all "             \
	"daemons, then start them; or, if it should be the master itself, run this"
#define LOGIN_MEND "write the right password into the password-file of this master, and have it read"
/* A login with all keys and channels takes no further patterns: each of these adds what one refusal names. */
#define RIGHTS_WHY "the login of the daemon may not do what leases need"
#define RIGHTS_MEND                                                                                          \
	"give it that, and check again, since more may be missing; keep it in the users.acl or redis.conf "  \
	"of the server; holdfastd(8) has all of it"

/* The reasons for which a master is not used, or grants nothing, by their words: one of them in each line. In
 * mend and run, @ is the redis-cli that reaches the master, and in run % the key that the reason names, ^ the
 * login of the daemon, and # what keys and channels begin with. */
static const struct cure {
	const char *words;
	const char *why;
	const char *mend;
	const char *run; /* NULL: no command alone mends it */
} cures[] = {
	{"Too many open files\nout of file descriptors",
		"the daemon itself has no descriptor left for a connection to the master", DESCRIPTORS_MEND,
		DESCRIPTORS_MORE},
	{"no answer \nhas not answered\ndoes not answer",
		"the server takes connections, and answers nothing: it stands still, or the network "
		"loses its answers",
		"at its host: see whether the process runs (state T or D in ps), what it does (@ SLOWLOG GET "
		"10, @ CLIENT LIST), and whether it swaps; restart it if @ PING does not answer from there",
		NULL},
	{"maxmemory-policy", "a lease that the master evicts can be granted to a second client",
		"let it evict nothing, and write the same into its redis.conf",
		"@ CONFIG SET maxmemory-policy noeviction"},
	{"is a replica", "a replica takes no leases", REPLICA_MEND, "@ REPLICAOF NO ONE"},
	{"several servers in turn", "each connection reaches another memory, so leases exclude nobody",
		"name one server, a Sentinel or a cluster under `masters:` on all hosts in place of a name "
		"or a load "
		"balancer that leads to several servers, stop all daemons, then start them",
		NULL},
	{"as a copy of its data", "two servers with one id would count as one, so the copy grants nothing",
		"delete its copy of the id: it is guarded as a master that lost its memory, and gets its own "
		"id back",
		"@ DEL %"},
	{"belongs to another set", "daemons of two sets do not exclude each other, so nothing new is granted",
		"make `masters:` the same on all hosts; or, if the data of this server was copied from "
		"another master, run this",
		"@ DEL %"},
	{"lost its memory",
		"while it had none, the others may have agreed on a set without it: more of them have to say "
		"that they did not",
		"start the masters that are away; if one is gone for good, start an empty server at its "
		"address",
		NULL},
	{"has a clock", "tokens and leases begin at the clock of the master",
		"set the clock of its host, there with this; it is guarded then", "timedatectl set-ntp true"},
	{"cluster mode", "the owner of a slot moves, and a URL does not follow it",
		"name nodes of the cluster in place of the url under `masters:`: - cluster: { nodes: "
		"[HOST:PORT, HOST:PORT] }, and restart the daemon",
		NULL},
	{"cluster|nodes", "the login of the daemon may not ask for the owner of its slot",
		"give it that, at each node", "@ ACL SETUSER ^ '+cluster|nodes'"},
	{"CLUSTERDOWN", "the cluster serves no slot, or not this one",
		"@ CLUSTER INFO, and redis-cli --cluster check HOST:PORT", NULL},
	{"TRYAGAIN", "no lease can be had or renewed while only some keys of the slot have moved",
		"end the move: redis-cli --cluster fix HOST:PORT", NULL},
	{"ASK ", "no lease can be had or renewed while only some keys of the slot have moved",
		"end the move: redis-cli --cluster fix HOST:PORT", NULL},
	{"WRONGPASS", "the daemon cannot log in, and takes no leases there", LOGIN_MEND, RELOAD_RUN},
	{"invalid password", "the daemon cannot log in, and takes no leases there", LOGIN_MEND, RELOAD_RUN},
	{"NOAUTH", "the daemon cannot log in, and takes no leases there",
		"name a password-file for this master under `masters:`, and have it read", RELOAD_RUN},
	{"access a key\nof the keys", RIGHTS_WHY, RIGHTS_MEND, "@ ACL SETUSER ^ '~#:*'"},
	{"access a channel\nof the channels", RIGHTS_WHY, RIGHTS_MEND,
		"@ ACL SETUSER ^ '&#:*' '&__redis__:invalidate'"},
	{"NOPERM\nmay not run\npermissions to\nThe user executing the script", RIGHTS_WHY, RIGHTS_MEND,
		"@ ACL SETUSER ^ +@read +@write +@connection +@pubsub +@scripting +info +time +wait"},
	{"MISCONF", "the master cannot write its data, and takes no leases",
		"free space on the disk of the master (@ INFO persistence shows what failed), and let it "
		"save",
		"@ BGSAVE"},
	{"OOM", "the master has no memory left for leases",
		"delete what nobody needs there (@ INFO memory shows what it has), or raise its maxmemory, "
		"here and in "
		"its redis.conf; 0 is no limit",
		"@ CONFIG SET maxmemory 0"},
	{"replicas acknowledge", "what only the master knows is lost in a failover, so it is not counted",
		"start the replicas; a member of masterN_group (holdfast info masters) that is gone for "
		"good: "
		"holdfast masters forget HOST:PORT, and SENTINEL RESET or CLUSTER FORGET",
		NULL},
	{"NOREPLICAS\nNot enough good replicas",
		"the master takes no writes while too few of its replicas are connected",
		"start the replicas; @ INFO replication shows those that are connected, and @ CONFIG GET "
		"min-replicas-to-write how many it wants",
		NULL},
	{"BUSY\nscript is still running\nbusy running",
		"a script of another program keeps the master from answering",
		"end it, or with @ FUNCTION KILL if it is a function; @ SLOWLOG GET 10 shows it afterwards",
		"@ SCRIPT KILL"},
	{"READONLY", "the server has become a replica, and takes no leases", REPLICA_MEND,
		"@ REPLICAOF NO ONE"},
	{"MASTERDOWN", "the server is a replica without its master, and takes no leases", REPLICA_MEND,
		"@ REPLICAOF NO ONE"},
	{"max number of clients", "the server takes no more connections",
		"@ CONFIG GET maxclients, and raise it; @ CLIENT LIST shows who has them", NULL},
	{"protected mode", "the server takes connections from its own host only",
		"give it a password, or `bind` and `protected-mode no` in its redis.conf", NULL},
	{"without any password configured", "the server has no such login, and a login is configured here",
		"@ ACL SETUSER USER ..., or take the password of this master out of the configuration", NULL},
	{"unknown command\nunsupported command\nunknown subcommand\nnot allowed from script\ncommand not "
	 "found",
		"the daemon needs this command, and a proxy or a renamed command is in its way",
		"name the server itself under `masters:` in place of a proxy that rewrites commands, or take "
		"its `rename-command` back; doc/MASTERS.md has what is needed",
		NULL},
	{"closed the connection", "the server, or a proxy before it, takes the connection and ends it",
		"see why: @ PING, and the log of the server; a proxy that does not know CLIENT, SCRIPT or "
		"SUBSCRIBE ends connections like this, and so does a server that wants TLS; doc/MASTERS.md "
		"has what was tried",
		NULL},
	{"none that our scripts give", "leases cannot be had there",
		"name a Redis or Valkey itself under `masters:`; doc/MASTERS.md has what was tried", NULL},
	{"tells no run_id", "two servers would count as one, and a restart would not be noticed",
		"name a Redis or Valkey itself under `masters:`; doc/MASTERS.md has what was tried", NULL},
	{"certificate of the peer is refused",
		"the daemon does not trust the server, and takes no leases there",
		"give the server a certificate that is valid, or name its authority with `ca:` under "
		"`tls:` of this master; what the server has: openssl s_client -connect HOST:PORT",
		NULL},
	{"alert certificate", "the server does not trust the daemon, and grants no leases to it",
		"renew the files `certificate:` and `key:` under `tls:` of this master: the next "
		"connection reads them",
		NULL},
	{"cannot resolve", "no address is known for the name of the master",
		"see whether this host knows the name: getent hosts HOST; mend DNS or /etc/hosts, or the "
		"name under `masters:`, and restart the daemon",
		NULL},
	{"DRAINING", "the daemon is ending", "do what is said of the daemon above", NULL},
	{"its clock jumped\nclock that jumped", CLOCK_JUMPED, NULL},
	{"new leases resume", GUARDED, NULL},
	{"grants nothing new", GUARDED, NULL},
	{"LOADING", "the master still reads its data", "wait; @ INFO persistence shows how long", NULL},
	{"other limits", "daemons that disagree would not exclude each other",
		"make clock-margin, restart-guard and the rules with keys agree on all hosts, or upgrade the "
		"older ones; where they were changed, then: holdfast restart",
		NULL},
	{"no node knows", "no lease can be had until the owner of the slot is found",
		"see what the nodes say: redis-cli -h HOST -p PORT CLUSTER NODES", NULL},
	{"no sentinel knows", "no lease can be had until the master is found",
		"see what the sentinels say: redis-cli -h HOST -p PORT SENTINEL MASTER NAME", NULL},
	{"too few sentinels agree",
		"a master is followed where a majority of the sentinels under `masters:` names it, those "
		"that are "
		"away included",
		"start those that are away; if they name different servers, see which is right: redis-cli -h "
		"HOST "
		"-p PORT SENTINEL MASTER NAME; name those that exist under `sentinels:`",
		NULL},
	{"too few nodes agree",
		"the owner of the slot is followed where a majority of the nodes under `masters:` names it, "
		"those "
		"that are away included",
		"start those that are away; if they name different servers, see which is right: redis-cli -h "
		"HOST "
		"-p PORT CLUSTER NODES; name those that exist under `nodes:`",
		NULL},
};

/* Appends an option of redis-cli with the file that this field of the master names. False: no room, or no
 * word. */
static bool
client_file(const struct doctor *d, unsigned i, char out[CLIENT_MAX], size_t *n, const char *option,
	const char *field)
{
	struct slice file = master_text(d, i, field);
	char word[DOCTOR_TEXT_MAX];

	if (file.n == 0) {
		return true;
	}
	if (*shell_word(word, file) != '\0') {
		*n += (size_t)snprintf(out + *n, CLIENT_MAX - *n, " %s %s", option, word);
		return *n < CLIENT_MAX;
	}
	return false;
}

/* Appends how redis-cli reaches a master that speaks TLS, as the daemon does. */
static void
client_tls(const struct doctor *d, unsigned i, char out[CLIENT_MAX])
{
	size_t n = strlen(out), begin;

	if (master_number(d, i, "tls") == 0) {
		return;
	}
	n += (size_t)snprintf(out + n, CLIENT_MAX - n, " --tls");
	begin = n;
	if (!client_file(d, i, out, &n, "--cacert", "tls_ca") ||
		!client_file(d, i, out, &n, "--cert", "tls_certificate") ||
		!client_file(d, i, out, &n, "--key", "tls_key")) {
		out[begin] = '\0';
	}
}

/* "redis-cli -h 10.0.0.1 -p 6379"; of NO_MASTER "redis-cli". */
static const char *
master_client(const struct doctor *d, unsigned i, char out[CLIENT_MAX])
{
	struct slice address = i != NO_MASTER ? master_text(d, i, "address") : SLICE("");
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
	if (i != NO_MASTER) {
		client_tls(d, i, out);
	}
	return out;
}

/* The key that the reason says to delete. */
static struct slice
reason_key(struct slice reason)
{
	const char *at = reason.n > 0 ? memmem(reason.p, reason.n, "DEL ", 4) : NULL;
	const char *blank = at != NULL ? memchr(at + 4, ' ', reason.n - (size_t)(at + 4 - reason.p)) : NULL;

	return blank != NULL ? (struct slice){at + 4, (size_t)(blank - at - 4)} : SLICE("NAMESPACE:node");
}

/* What a text about a master is made with. */
struct words {
	char client[CLIENT_MAX]; /* redis-cli that reaches it; "": none is known */
	char login[DOCTOR_TEXT_MAX];
	char prefix[PLACE_MAX];
	struct slice key;
};

/* text, with the words in place of @ and ^ # % before a blank or at the end; the latter three in a command
 * only. "": there is no room. */
static const char *
words_print(char out[DOCTOR_TEXT_MAX], const char *text, const struct words *words, bool command)
{
	size_t n = 0;

	for (; *text != '\0' && n + 1 < DOCTOR_TEXT_MAX; text++) {
		struct slice word = *text == '@' && text[1] == ' ' ? slice_of(words->client)
				    : command && *text == '^'      ? slice_of(words->login)
				    : command && *text == '#'      ? slice_of(words->prefix)
				    : command && *text == '%'      ? words->key
								   : (struct slice){text, 1};

		n += (size_t)snprintf(out + n, DOCTOR_TEXT_MAX - n, "%.*s", SLICE_ARG(word));
	}
	out[n < DOCTOR_TEXT_MAX || !command ? (n < DOCTOR_TEXT_MAX ? n : DOCTOR_TEXT_MAX - 1) : 0] = '\0';
	return out;
}

/* What the keys and channels at this master begin with: in a cluster it is a hash tag. */
static const char *
master_prefix(const struct doctor *d, unsigned i, char out[PLACE_MAX])
{
	struct slice namespace = answer_info(d->info, "namespace");
	bool cluster = master_text(d, i, "cluster").n > 0;

	(void)snprintf(
		out, PLACE_MAX, "%s%.*s%s", cluster ? "{" : "", SLICE_ARG(namespace), cluster ? "}" : "");
	return out;
}

/* i: the master; or NO_MASTER, if it is not known which one. */
static void
words_make(struct words *words, const struct doctor *d, unsigned i, struct slice reason)
{
	struct slice login = i != NO_MASTER ? master_text(d, i, "user") : SLICE("");

	(void)master_client(d, i, words->client);
	(void)shell_word(words->login, login.n > 0 ? login : SLICE("default"));
	(void)master_prefix(d, i != NO_MASTER ? i : 0, words->prefix);
	words->key = reason_key(reason);
}

/* The command of the cure; "": it has none, or it is not known for which master. */
static const char *
cure_run(char run[DOCTOR_TEXT_MAX], const struct cure *cure, const struct words *words, unsigned i)
{
	run[0] = '\0';
	if (cure == NULL || cure->run == NULL || (cure->run[0] == '@' && i == NO_MASTER)) {
		return run;
	}
	return words_print(run, cure->run, words, true);
}

/* Whether the reason has one of the words; one in each line. */
static bool
says_one_of(struct slice reason, const char *words)
{
	for (;;) {
		size_t n = strcspn(words, "\n");
		char word[64];

		(void)snprintf(word, sizeof(word), "%.*s", (int)n, words);
		if (says(reason, word)) {
			return true;
		}
		if (words[n] == '\0') {
			return false;
		}
		words += n + 1;
	}
}

/* NULL: none is known. */
static const struct cure *
cure_of(struct slice reason)
{
	const struct cure *cure = NULL;

	for (size_t i = 0; cure == NULL && i < sizeof(cures) / sizeof(*cures); i++) {
		cure = says_one_of(reason, cures[i].words) ? &cures[i] : NULL;
	}
	return cure;
}

const char *
limit_mend(struct slice error, const char **run)
{
	static const struct {
		const char *words, *mend, *run;
	} mends[] = {
		{"descriptors", DESCRIPTORS_MEND, DESCRIPTORS_MORE},
		{"limits.memory",
			"find the largest sessions with `holdfast sessions`, or raise limits.memory, and "
			"have it read",
			RELOAD_RUN},
		{"limits.clients",
			"list the clients with `holdfast sessions` once there is room, or raise "
			"limits.clients, and "
			"have it read",
			RELOAD_RUN},
		{"this user has as many clients",
			"end clients of this user, or raise its limit that the text names, and have it read",
			RELOAD_RUN},
		{"too many logins", "wait, and see which client sends wrong passwords",
			"journalctl -u holdfastd -g client.wrongpass"},
		{"locks-per-user",
			"find the program of this user that does not give back: its clients, the one with "
			"most locks first, are listed by this; a user that needs so many wants a higher "
			"limits.locks-per-user, or locks: of its own under `users:`",
			"holdfast ls --here --by client"},
		{"sessions", "raise limits.bound-sessions or limits.sessions-per-user, and have it read",
			RELOAD_RUN},
	};

	for (size_t i = 0; i < sizeof(mends) / sizeof(*mends); i++) {
		if (says(error, mends[i].words)) {
			*run = mends[i].run;
			return mends[i].mend;
		}
	}
	*run = RELOAD_RUN;
	return "raise the limit that the text names, and have it read";
}

const char *
lock_mend(const struct doctor *d, struct slice error, char out[DOCTOR_TEXT_MAX], char run[DOCTOR_TEXT_MAX])
{
	const struct cure *cure = cure_of(error);
	unsigned i = info_number(d, "masters", 0) == 1 ? 0 : NO_MASTER;
	const char *limit, *mend;
	struct words words;

	run[0] = '\0';
	if (says(error, "LIMIT")) {
		mend = limit_mend(error, &limit);
		(void)run_print(run, "%s", limit);
		return mend;
	}
	if (cure == NULL && d->masters) {
		return "do what is said of the master above";
	}
	if (cure == NULL) {
		return "see whether each master answers from this host, with redis-cli PING, and what the "
		       "daemon says: journalctl -u holdfastd -n 50";
	}
	words_make(&words, d, i, error);
	(void)cure_run(run, cure, &words, i);
	return words_print(out, cure->mend, &words, false);
}

static void
tell_refused(struct doctor *d, unsigned i, struct slice state, struct slice reason)
{
	const struct cure *cure = cure_of(reason);
	bool registering = slice_equal(state, SLICE("registering"));
	bool answered = slice_equal(state, SLICE("refused")) || slice_equal(state, SLICE("failing"));
	char what[DOCTOR_TEXT_MAX], mend[DOCTOR_TEXT_MAX], run[DOCTOR_TEXT_MAX];
	struct slice address = master_text(d, i, "address");
	struct words words;
	bool granted = d->probe.grade == PROBE_OK || d->probe.grade == PROBE_WARNING;

	d->masters = true;
	text_print(what, "%.*s is %.*s%s%.*s", SLICE_ARG(address), SLICE_ARG(state), reason.n > 0 ? ": " : "",
		SLICE_ARG(reason));
	words_make(&words, d, i, reason);
	words_print(mend,
		cure != NULL ? cure->mend
		: answered
			? "see what is there: @ INFO server; doc/MASTERS.md says which servers and proxies "
			  "work, and what they need"
		: registering ? "check again in a moment; the first start needs all masters at once: start "
				"those that are missing"
			      : "start the server, and see whether it answers from this host: @ PING",
		&words, false);
	/* With the others a majority grants: no program suffers yet, as health says. */
	tell_run(d, granted ? GRADE_WARNING : GRADE_ERROR, "master", what,
		cure != NULL ? cure->why
		: granted    ? "the other masters grant locks now, and another loss may end that"
			     : "it grants no leases",
		mend, cure_run(run, cure, &words, i));
}

static void
tell_jump(struct doctor *d, const char *what)
{
	static const char *const texts[] = {CLOCK_JUMPED};

	tell(d, GRADE_WARNING, "master", what, texts[0], texts[1]);
}

/* A master that is in use: whether it will stay so. */
static void
check_health(struct doctor *d, unsigned i, struct slice address)
{
	int64_t us = master_number(d, i, "round_trip_us"), clock_ms = master_number(d, i, "clock_ms");
	int64_t margin_ms = info_number(d, "clock_margin_ms", CLOCK_MS);
	char what[DOCTOR_TEXT_MAX], mend[DOCTOR_TEXT_MAX], run[DOCTOR_TEXT_MAX], client[CLIENT_MAX];

	(void)master_client(d, i, client);
	if (us > SLOW_US) {
		text_print(what, "%.*s takes %" PRId64 " ms for a command", SLICE_ARG(address), us / 1000);
		text_print(mend,
			"see whether the server is slow, with this, or the network: %s --latency; "
			"a client of the server that sends slow commands is ended with %s CLIENT KILL ADDR "
			"HOST:PORT",
			client, client);
		tell_run(d, GRADE_WARNING, "master", what,
			"each lock that is not passed on within this host waits for it, and a renewal that "
			"takes too "
			"long loses the lock",
			mend, run_print(run, "%s SLOWLOG GET 10", client));
	}
	if (clock_ms >= margin_ms || clock_ms <= -margin_ms) {
		text_print(what, "the clock of %.*s is %" PRId64 " ms %s that of this host",
			SLICE_ARG(address), clock_ms < 0 ? -clock_ms : clock_ms,
			clock_ms < 0 ? "behind" : "ahead of");
		tell_run(d, GRADE_WARNING, "master", what,
			"when a clock that is wrong is set, leases end early or nothing new is granted for a "
			"guard; "
			"and the tokens of a master that forgot begin at its clock",
			"let both hosts set their clocks from the same source, on the one that is wrong "
			"(chronyc "
			"tracking says which) with this",
			"timedatectl set-ntp true");
	}
}

/* Other daemons wake this one through the master, over a connection that its ACL may refuse. */
static void
check_inbox(struct doctor *d, unsigned i, struct slice address)
{
	struct slice reason = master_text(d, i, "inbox_reason");
	const struct cure *cure = cure_of(reason);
	char what[DOCTOR_TEXT_MAX], mend[DOCTOR_TEXT_MAX], run[DOCTOR_TEXT_MAX];
	struct words words;

	if (master_number(d, i, "inbox") != 0 || reason.n == 0) {
		return;
	}
	words_make(&words, d, i, reason);
	text_print(what, "wake-ups of other hosts do not arrive through %.*s: %.*s", SLICE_ARG(address),
		SLICE_ARG(reason));
	tell_run(d, GRADE_WARNING, "master", what,
		"a lock that another host releases is seen late, and daemons do not answer for the fleet",
		words_print(mend, cure != NULL ? cure->mend : "see what the server does: @ CLIENT LIST",
			&words, false),
		cure_run(run, cure, &words, i));
}

static void
check_replicas(struct doctor *d, unsigned i, struct slice address)
{
	bool cluster = master_text(d, i, "cluster").n > 0;
	char what[DOCTOR_TEXT_MAX];

	if ((!cluster && master_text(d, i, "sentinel").n == 0) || master_number(d, i, "replicated") != 0) {
		return;
	}
	text_print(what, "too few replicas of %.*s acknowledge", SLICE_ARG(address));
	tell(d, GRADE_ERROR, "master", what, "what only the master knows is lost in a failover",
		"start the replicas, and the master before if there was a failover; holdfast masters forget "
		"declares one gone for good, which has to be off");
}

static void
check_master(struct doctor *d, unsigned i)
{
	struct slice address = master_text(d, i, "address"), state = master_text(d, i, "state");
	struct slice reason = master_text(d, i, "reason");
	char what[DOCTOR_TEXT_MAX], mend[DOCTOR_TEXT_MAX], left[DURATION_TEXT_MAX];
	int64_t guard_ms = master_number(d, i, "guard_ms");

	d->seen = false;
	if (master_number(d, i, "failing") != 0) {
		tell_refused(d, i, SLICE("failing"), reason);
		return;
	}
	if (!slice_equal(state, SLICE("admitted")) && !slice_equal(state, SLICE("guarded"))) {
		tell_refused(d, i, state, reason);
		return;
	}
	if (guard_ms > 0 && slice_equal(state, SLICE("admitted"))) {
		text_print(what,
			"%.*s grants nothing new for %s: its clock jumped, or that of this host stood still",
			SLICE_ARG(address), duration_text(left, guard_ms));
		tell_jump(d, what);
	} else if (guard_ms > 0) {
		text_print(what, "%.*s grants nothing new for %s: it may have forgotten leases",
			SLICE_ARG(address), duration_text(left, guard_ms));
		tell(d, GRADE_WARNING, "master", what, "two clients could hold one lock otherwise",
			text_print(mend,
				"wait; if its data is lost at each restart, three masters need no pause"));
	}
	if (master_number(d, i, "down") != 0) {
		tell_refused(d, i, SLICE("silent"), SLICE("it does not answer"));
	}
	check_replicas(d, i, address);
	check_health(d, i, address);
	check_inbox(d, i, address);
	if (!d->seen) {
		tell(d, GRADE_OK, "master", text_print(what, "%.*s is in full use", SLICE_ARG(address)), "",
			"");
	}
}

/* The only master of the configuration is not the one that the daemon uses, also after a restart. */
static void
check_aside(struct doctor *d)
{
	struct slice aside = answer_info(d->info, "masters_aside");
	struct slice used = answer_info(d->info, "masters_set_places");
	char what[DOCTOR_TEXT_MAX], mend[DOCTOR_TEXT_MAX];

	if (aside.n == 0) {
		return;
	}
	text_print(what, "the configuration names %.*s, the daemon uses %.*s", SLICE_ARG(aside),
		SLICE_ARG(used));
	text_print(mend,
		"the same server under another address: holdfast masters replace %.*s %.*s; another server: "
		"stop "
		"all daemons that share it, and then start them; else write %.*s into masters:",
		SLICE_ARG(used), SLICE_ARG(aside), SLICE_ARG(used));
	tell(d, GRADE_WARNING, "masters", what,
		"neither a reload nor a restart moves the only master: other daemons may still use it", mend);
}

void
doctor_check_masters(struct doctor *d)
{
	struct slice missing = answer_info(d->info, "masters_missing");
	struct slice agreement = answer_info(d->info, "masters_agreement");
	int64_t count = info_number(d, "masters", 0);
	char what[DOCTOR_TEXT_MAX];
	bool seen = false;

	for (unsigned i = 0; (int64_t)i < count && i < MASTERS; i++) {
		check_master(d, i);
		seen = seen || d->seen;
	}
	check_aside(d);
	if (missing.n > 0 && !seen && info_number(d, "draining", 0) == 0) {
		text_print(what, "agreement is %.*s: %.*s", SLICE_ARG(agreement), SLICE_ARG(missing));
		tell(d, GRADE_ERROR, "masters", what, "no new lock can be had",
			"compare `masters:` with the set that the masters store: holdfast masters status");
	}
}
