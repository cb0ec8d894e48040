/*
 * conf: the configuration as a plain struct.
 *
 * conf_load() reads it. Only daemon/main*.c reads its fields, and maps them onto the settings of each room.
 * Every key is in schema.def, with its range and default. Nothing in conf/ logs, and nothing prints a secret.
 *
 * Units: *_ms milliseconds, *_bytes bytes. Text is NUL-terminated, never NULL ("" if absent), without control
 * characters, and owned by its struct conf.
 */
#ifndef CONF_CONF_H
#define CONF_CONF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define CONF_FILE_DEFAULT "/etc/holdfast/holdfast.yml"

#define CONF_WAIT_FOREVER INT64_C(-1)
#define CONF_HOLD_NONE    INT64_C(0)

#define CONF_LEDGER_OFF "off"

#define CONF_RULES_MAX 256

/* The address of a socket: host and port; port == 0: absent. */
#define CONF_HOST_MAX 256
struct conf_address {
	char host[CONF_HOST_MAX]; /* without the brackets of [::1] */
	int port;
};

enum conf_on_close { CONF_ON_CLOSE_AUTO, CONF_ON_CLOSE_WITHHOLD, CONF_ON_CLOSE_RELEASE };

/* Exactly one of path and tcp is set. */
struct conf_listener {
	char *path;              /* Unix socket */
	int64_t mode;            /* Unix socket: permission bits */
	char *group;             /* Unix socket; "": the group of the process */
	int64_t gid;             /* of group, if group is set */
	struct conf_address tcp; /* numeric address to bind to */
	int on_close;  /* enum conf_on_close, what a close does to holds; AUTO: RELEASE on a Unix socket,
			  WITHHOLD on TCP */
	bool insecure; /* tcp: may listen to other hosts although there are no users */
};

#define CONF_MASTERS_MAX 7

enum conf_url_kind { CONF_URL_NONE, CONF_URL_TCP, CONF_URL_UNIX };

struct conf_url {
	enum conf_url_kind kind;
	struct conf_address address; /* TCP: a name or a numeric address */
	char *path;                  /* UNIX */
	char *user;                  /* "": Redis's default user */
	char *password;              /* from the URL; use conf_master.password instead */
	int database;
};

/* Hosts, each a name or a numeric address. */
struct conf_places {
	struct conf_address *list;
	size_t count;
};

/* The Redis Sentinel that names the master. */
struct conf_sentinel {
	char *name; /* of the master, at the sentinels; "": no sentinel */
	struct conf_places sentinels;
	char *user; /* at the sentinels; "": Redis's default user */
	char *password_file;
	char *password_env;
	char *password; /* at the sentinels, from either source; "": none */
	bool replicas_ack;
};

/* Exactly one of url and sentinel is set. */
struct conf_master {
	struct conf_url url;
	struct conf_sentinel sentinel;
	char *user;       /* with sentinel, at the master; "": Redis's default user */
	int64_t database; /* with sentinel */
	char *password_file;
	char *password_env;
	char *password; /* at the master, from any source; "": none */
};

/* The other library that locks the names of a rule. */
enum conf_interop { CONF_INTEROP_OFF, CONF_INTEROP_STRING, CONF_INTEROP_REDISSON };

struct conf_rule {
	char *match;            /* glob over names */
	int64_t lease_ms;       /* L; the root's lease if the rule has none */
	int64_t wait_ms;        /* CONF_WAIT_FOREVER or >= 0 */
	int64_t max_hold_ms;    /* CONF_HOLD_NONE or > 0 */
	int64_t crash_delay_ms; /* >= 0 */
	char *key;              /* key template with one '%'; "": namespace:{%} */
	int interop;            /* enum conf_interop */
};

struct conf_user {
	char *name;
	char *password_file;
	char *password_env;
	char *password; /* never empty */
	bool admin;
};

struct conf_handoff {
	int64_t streak;
	int64_t time_ms;
};

struct conf_limits {
	int64_t clients;
	int64_t login_ms;
	int64_t sessions_per_user;
	int64_t bound_sessions;
	int64_t grace_sessions;
	int64_t grace_ms;
	int64_t locks_per_user;
	int64_t latches_per_user;
	int64_t grants_per_session;
	int64_t waiters_per_session;
	int64_t lost_per_session;
	int64_t name_bytes;
	int64_t request_bytes;
	int64_t arguments;
	int64_t output_bytes;
	int64_t buffer_bytes;
	int64_t memory;
};

enum conf_level { CONF_LEVEL_DEBUG, CONF_LEVEL_INFO, CONF_LEVEL_WARNING, CONF_LEVEL_ERROR };

struct conf_log {
	int level; /* enum conf_level */
	char *to;  /* "stderr" or an absolute path */
};

/* Used if there is no master: a private redis-server, a child process of the daemon. */
struct conf_embedded {
	char *directory;    /* absolute; for its socket and its data */
	char *redis_server; /* path or name of the program; "": redis-server, else valkey-server */
};

enum conf_guard { CONF_GUARD_AUTO, CONF_GUARD_OFF };

struct conf {
	char *files; /* the files in the order they were read: "a.yml, a.d/b.yml" */
	struct conf_listener *listeners;
	size_t listener_count; /* >= 1 */
	char *namespace;
	struct conf_master *masters;
	size_t master_count; /* 0: embedded; 1, 3, 5 or 7 */
	bool masters_follow; /* if masters names an older set: adopt the newer one */
	int64_t pool;        /* connections to each master */
	int64_t lease_ms;    /* L, for names without a rule */
	int64_t margin_ms;   /* J */
	int64_t retain_ms;   /* 0: an unused lease is released at once */
	struct conf_handoff handoff;
	int restart_guard; /* enum conf_guard */
	char *ledger;      /* CONF_LEDGER_OFF, or an absolute path */
	struct conf_rule *rules;
	size_t rule_count;
	struct conf_limits limits;
	struct conf_user *users;
	size_t user_count;
	struct conf_log log;
	struct conf_embedded embedded;
};

/* Errors: "file:line:column: key: what was read; what is allowed". Errors of the YAML come first. */
#define CONF_ERRORS_MAX     20
#define CONF_ERROR_TEXT_MAX 480
struct conf_errors {
	size_t count;   /* kept in text[] */
	size_t dropped; /* found after the list was full */
	char text[CONF_ERRORS_MAX][CONF_ERROR_TEXT_MAX];
};

/*
 * Each of these returns NULL on failure, with at least one error in *errors; otherwise a conf for
 * conf_free(). conf_load() reads the file, which must exist only if `needed`. If its name ends in .yml,
 * conf_load() also reads each *.yml in the directory with .d in place of .yml, in the order of their names: a
 * later value replaces an earlier one, and items of a list are appended. conf_parse() parses a text, and file
 * is its name in errors. conf_default() parses an empty file. All three also read password files and the
 * environment.
 */
struct conf *conf_load(const char *file, bool needed, struct conf_errors *errors)
	__attribute__((warn_unused_result));
struct conf *conf_parse(const char *file, const char *text, size_t n, struct conf_errors *errors)
	__attribute__((warn_unused_result));
struct conf *conf_default(struct conf_errors *errors) __attribute__((warn_unused_result));

/* Wipes the secrets; NULL is allowed. */
void conf_free(struct conf *conf);

/* The longest lease of any name, in ms. A guard has to be longer. */
int64_t conf_longest_lease_ms(const struct conf *conf);

/* The number of rules, from the first on, that determine the keys of a name at the master: up to the last
 * rule with a key or an interop of its own. A reload must not change these. */
size_t conf_layout_rules(const struct conf *conf);

/*
 * Prints the effective values as YAML with every key and its help. The output loads to the same values,
 * except for passwords, which are never printed. -1 and errno if writing failed.
 */
int conf_print(const struct conf *conf, FILE *to) __attribute__((warn_unused_result));

/* One key whose effective value differs. The texts are valid during the callback. */
struct conf_change {
	const char *path; /* "limits.clients", "rules[0].lease" */
	const char *from; /* in the form of conf_print(); passwords: "(secret)" */
	const char *to;
	bool restart; /* a running daemon cannot adopt it */
};

/*
 * Calls each for every difference, in the order of schema.def. For keys that a running daemon can adopt, it
 * compares from (the values now) with to; for the others, boot (the values at the start) with to. Returns how
 * many differences need a restart; -1: out of memory, and each was not called.
 */
int conf_diff(const struct conf *boot, const struct conf *from, const struct conf *to,
	void (*each)(void *arg, const struct conf_change *change), void *arg)
	__attribute__((warn_unused_result));

#endif
