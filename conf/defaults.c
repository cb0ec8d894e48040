/*
 * defaults: values that a configuration leaves out and that follow from others or from the environment.
 *
 * Called by the loader's verify. What is always the same is in schema.def.
 */
#include "conf/defaults.h"

#include "conf/schema.h"
#include "conf/source.h"
#include "conf/text.h"
#include "conf/value.h"
#include "proto/slice.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SOCKET_NAME        "holdfast.sock"
#define RUNTIME_DIRECTORY  "/run/holdfast"
#define EMBEDDED_DIRECTORY "redis"
#define LEDGER_NAME        "holdfast"
#define LEDGER_SUFFIX      ".ledger"
#define DIRECTORY_MAX      90 /* leaves room for "/" and a socket's name in sun_path */

/* The directory for the sockets of this user's programs. */
static const char *
runtime_directory(char *out, size_t room)
{
	const char *home = getenv("XDG_RUNTIME_DIR");

	if (home == NULL || home[0] != '/')
		return RUNTIME_DIRECTORY;
	snprintf(out, room, "%s/holdfast", home);
	return out;
}

static void
text_set(const struct verify *v, char **out, const char *text, size_t most, const char *what)
{
	const char *fault = text_fault(text);
	char *copy = strdup(text);

	if (copy == NULL) {
		errors_add(v->errors, (struct position){v->file, 0, 0}, "out of memory");
		return;
	}
	free(*out);
	*out = copy;
	if (strlen(text) > most)
		errors_add(v->errors, (struct position){v->file, 0, 0},
			"%s: %s, taken from the environment, has more than %zu bytes; set it in the file",
			what, text, most);
	if (fault != NULL)
		errors_add(v->errors, (struct position){v->file, 0, 0},
			"%s: %s, taken from the environment, %s; set it in the file", what, text, fault);
}

static void
listener_fill(const struct verify *v, struct conf *conf)
{
	const struct schema_key *list = schema_find(SCOPE_ROOT, "listen");
	char directory[4096];
	char path[4200];
	struct conf_listener *listener;

	if (conf->listener_count > 0)
		return;
	listener = scope_list_append(list, conf);
	if (listener == NULL) {
		errors_add(v->errors, (struct position){v->file, 0, 0}, "out of memory");
		return;
	}
	snprintf(path, sizeof(path), "%s/%s", runtime_directory(directory, sizeof(directory)), SOCKET_NAME);
	text_set(v, &listener->path, path, (size_t)schema_find(SCOPE_LISTEN, "unix")->high, "listen");
}

/* A directory that the service manager made for the service. systemd separates several directories with
 * colons; the first one is ours. n == 0: there is none. */
static struct slice
service_directory(const char *variable)
{
	const char *paths = getenv(variable);

	if (paths == NULL || paths[0] != '/')
		return (struct slice){NULL, 0};
	return (struct slice){paths, strcspn(paths, ":")};
}

static void
embedded_fill(const struct verify *v, struct conf *conf)
{
	struct slice state = service_directory("STATE_DIRECTORY");
	char directory[4096];
	char path[4200];

	if (conf->embedded.directory[0] != '\0')
		return;
	if (state.n > 0)
		snprintf(path, sizeof(path), "%.*s/%s", (int)state.n, state.p, EMBEDDED_DIRECTORY);
	else
		snprintf(path, sizeof(path), "%s/%s", runtime_directory(directory, sizeof(directory)),
			EMBEDDED_DIRECTORY);
	text_set(v, &conf->embedded.directory, path, DIRECTORY_MAX, "embedded.directory");
}

/* Where systemd removes it with a stop, if it made such a directory; else beside the first Unix socket, with
 * .ledger in place of .sock: two daemons never share a socket. */
static void
ledger_fill(const struct verify *v, struct conf *conf)
{
	static const char ending[] = ".sock";
	struct slice run = service_directory("RUNTIME_DIRECTORY");
	char directory[4096];
	char path[4200];
	const char *socket = NULL;
	size_t n;

	if (conf->ledger[0] != '\0')
		return;
	for (size_t i = 0; i < conf->listener_count && socket == NULL; i++)
		socket = conf->listeners[i].path[0] != '\0' ? conf->listeners[i].path : NULL;
	n = socket != NULL ? strlen(socket) : 0;
	if (n > sizeof(ending) - 1 && strcmp(socket + n - (sizeof(ending) - 1), ending) == 0)
		n -= sizeof(ending) - 1;
	if (run.n > 0)
		snprintf(path, sizeof(path), "%.*s/" LEDGER_NAME LEDGER_SUFFIX, (int)run.n, run.p);
	else if (socket != NULL)
		snprintf(path, sizeof(path), "%.*s" LEDGER_SUFFIX, (int)n, socket);
	else
		snprintf(path, sizeof(path), "%s/" LEDGER_NAME LEDGER_SUFFIX,
			runtime_directory(directory, sizeof(directory)));
	text_set(v, &conf->ledger, path, (size_t)schema_find(SCOPE_ROOT, "ledger")->high, "ledger");
}

void
defaults_fill(const struct verify *v, struct conf *conf)
{
	listener_fill(v, conf);
	ledger_fill(v, conf);
	embedded_fill(v, conf);
	for (size_t i = 0; i < conf->rule_count; i++)
		if (conf->rules[i].lease_ms == 0)
			conf->rules[i].lease_ms = conf->lease_ms;
}
