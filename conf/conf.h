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
#define CONF_AUDIT_LOG  "log"
#define CONF_CA_SYSTEM  "system"

#define CONF_RULES_MAX 256
#define CONF_HTTP_MAX  8

/* The address of a socket: host and port; port == 0: absent. */
#define CONF_HOST_MAX 256
struct conf_address {
	char host[CONF_HOST_MAX]; /* without the brackets of [::1] */
	int port;
};

enum conf_url_kind { CONF_URL_NONE, CONF_URL_TCP, CONF_URL_UNIX };

struct conf_url {
	enum conf_url_kind kind;
	struct conf_address address; /* TCP: a name or a numeric address */
	char *path;                  /* UNIX */
	char *user;                  /* "": Redis's default user */
	char *password;              /* from the URL; use conf_master.password instead */
	int database;
	bool tls; /* rediss:// */
};

/* Hosts, each a name or a numeric address. */
struct conf_addresses {
	struct conf_address *list;
	size_t count;
};

/* Texts, each owned. */
struct conf_texts {
	char **list;
	size_t count;
};

#define CONF_MASTERS_MAX 7

/* The values of a CHOICE, in the order of its words. */
enum conf_on_close { CONF_ON_CLOSE_AUTO, CONF_ON_CLOSE_WITHHOLD, CONF_ON_CLOSE_RELEASE };
enum conf_interop {
	CONF_INTEROP_OFF,
	CONF_INTEROP_STRING,
	CONF_INTEROP_REDISSON,
	CONF_INTEROP_PYTHON_REDIS_LOCK
};
enum conf_level { CONF_LEVEL_DEBUG, CONF_LEVEL_INFO, CONF_LEVEL_WARNING, CONF_LEVEL_ERROR };
enum conf_guard { CONF_GUARD_AUTO, CONF_GUARD_OFF };

/* The bits of a SET, in the order of its words. */
enum conf_may {
	CONF_MAY_LOCK = 1,
	CONF_MAY_SHARED = 2,
	CONF_MAY_SEE = 4,
	CONF_MAY_BREAK = 8,
	CONF_MAY_ADMIN = 16
};

/* Values of the uid or gid of a user that are no number of an account. */
#define CONF_ID_NONE INT64_C(-1)
#define CONF_ID_ANY  INT64_C(-2)

/* How a struct holds a value of each storage. */
typedef char *storage_TEXT;
typedef int64_t storage_NUMBER;
typedef bool storage_FLAG;
typedef int storage_CHOICE; /* an enum of those above */
typedef unsigned storage_SET;
typedef struct conf_address storage_ADDRESS;
typedef struct conf_url storage_URL;
typedef struct conf_addresses storage_ADDRESSES;
typedef struct conf_texts storage_TEXTS;
typedef void *storage_LIST; /* no key has it: a LIST is an array of its scope */
typedef void *storage_MAP;  /* likewise */

#define TYPE(id, storage, allowed) typedef storage_##storage value_##id;
#include "conf/schema.def"

/*
 * The structs of all mappings: a field for each key, with its value or its default; schema.def says what is
 * allowed. After conf_load() this is sure as well:
 * - conf_listener, an item of listen or http: exactly one of path and tcp.port is set. on_close AUTO is
 * RELEASE on a Unix socket and WITHHOLD on TCP.
 * - conf_master: exactly one of url, sentinel.name and cluster.nodes is set.
 * - conf_rule: lease_ms is the root's if the rule has none. wait_ms may be CONF_WAIT_FOREVER, max_hold_ms
 *   CONF_HOLD_NONE.
 * - conf_user: it has a password, a uid or a gid. If admin is set, may has CONF_MAY_ADMIN; then names is
 *   empty.
 * - conf: listener_count is at least 1. master_count is 0 (embedded), 1, 3, 5 or 7. ledger is CONF_LEDGER_OFF
 *   or an absolute path.
 */
/* clang-format off */
#define SCOPE(id, path, tag)                                             typedef struct tag scope_##id; struct tag {
#define SCOPE_LIKE(id, path, of)                                         typedef scope_##of scope_##id;
#define KEY(scope, name, type, field, low, high, fallback, change, help) value_##type field;
#define KEY_LIKE(scope, name, type, field, low, high, fallback, change, help)
#define MAP(scope, id, name, field, help)                                scope_##id field;
#define MAP_LIKE(scope, id, name, field, help)
#define LIST(id, name, field, count, most, change, help)                 scope_##id *field; size_t count;
#define OTHER(scope, type, field, help)                                  type field;
#define END(id)                                                          };
#include "conf/schema.def"
/* clang-format on */

/* Errors: "file:line:column: key: what was read; what is allowed". Errors of the YAML come first. */
#define CONF_ERRORS_MAX     20
#define CONF_ERROR_TEXT_MAX 480
struct conf_errors {
	size_t count;   /* kept in text[] */
	size_t dropped; /* found after the list was full */
	char text[CONF_ERRORS_MAX][CONF_ERROR_TEXT_MAX];
};

/* One key whose effective value differs. The texts are valid during the callback. */
struct conf_change {
	const char *path; /* "limits.clients", "rules[0].lease" */
	const char *from; /* in the form of a file; passwords: "(secret)" */
	const char *to;
	bool restart; /* a running daemon cannot adopt it */
};

#endif
