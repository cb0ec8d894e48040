/*
 * address: parses $HOLDFAST_URL. It resolves no names and makes no connections; it only checks whether a
 * default socket exists, and who could have put it there.
 */
#include "client/wire/address.h"

#include "client/wire/wire.h"
#include "proto/slice.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEFAULT_SOCKET "/run/holdfast/holdfast.sock"

__attribute__((format(printf, 2, 3))) static bool
address_fail(char *why, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	(void)vsnprintf(why, ADDRESS_TEXT_MAX, format, list);
	va_end(list);
	return false;
}

static bool
copy(char *out, size_t room, struct slice from)
{
	if (from.n >= room || memchr(from.p, '\0', from.n) != NULL) {
		return false;
	}
	memcpy(out, from.p, from.n);
	out[from.n] = '\0';
	return true;
}

static bool
parse_path(struct address *a, const char *path, char *why)
{
	if (path[0] == '\0') {
		return address_fail(why, "the path of the socket is empty");
	}
	if (!copy(a->path, sizeof(a->path), slice_of(path))) {
		return address_fail(why, "the path of a socket has at most %zu bytes", sizeof(a->path) - 1);
	}
	(void)snprintf(a->text, sizeof(a->text), "unix:%s", a->path);
	return true;
}

static bool
parse_port(struct address *a, struct slice port, char *why)
{
	int64_t n;

	if (!number_parse(port, 1, 65535, &n)) {
		return address_fail(why, "the port is a number from 1 to 65535");
	}
	return copy(a->port, sizeof(a->port), port);
}

static bool
parse_host(struct address *a, struct slice text, char *why)
{
	struct slice host, port;
	const char *fault = slice_endpoint(text, &host, &port);

	if (fault != NULL) {
		return address_fail(why, "%s", fault);
	}
	if (host.n == 0 || !copy(a->host, sizeof(a->host), host)) {
		return address_fail(why, "the host is missing or too long");
	}
	a->tcp = true;
	return parse_port(a, port.p != NULL ? port : SLICE(ADDRESS_PORT), why);
}

static bool
parse_login(struct address *a, struct slice login, char *why)
{
	const char *colon = memchr(login.p, ':', login.n);
	struct slice user = login;
	struct slice password = {login.p, 0};

	if (colon != NULL) {
		user.n = (size_t)(colon - login.p);
		password = (struct slice){colon + 1, login.n - user.n - 1};
	}
	if (slice_decode(a->user, sizeof(a->user), user) < 0 ||
		slice_decode(a->password, sizeof(a->password), password) < 0) {
		return address_fail(why, "the user or password is too long, or has a %% that is not %%XX");
	}
	if (a->password[0] == '\0') {
		return address_fail(why, "there is a user but no password: redis://user:password@host:port");
	}
	return true;
}

/* One of ca, certificate, key and name, after the question mark. */
static bool
parse_option(struct address *a, struct slice option, char *why)
{
	const struct {
		const char *key;
		char *out;
	} known[] = {{"ca=", a->ca}, {"certificate=", a->certificate}, {"key=", a->key}, {"name=", a->name}};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		size_t n = strlen(known[i].key);

		if (option.n <= n || memcmp(option.p, known[i].key, n) != 0) {
			continue;
		}
		if (slice_decode(known[i].out, ADDRESS_FILE_MAX, (struct slice){option.p + n, option.n - n}) <
			0) {
			return address_fail(why, "%s has more than %d bytes, or a %% that is not %%XX",
				known[i].key, ADDRESS_FILE_MAX - 1);
		}
		return true;
	}
	return address_fail(
		why, "after the ? only ca=, certificate=, key= and name= are known, with & between them");
}

static bool
parse_options(struct address *a, const char *text, char *why)
{
	while (*text != '\0') {
		size_t n = strcspn(text, "&");

		if (!parse_option(a, (struct slice){text, n}, why)) {
			return false;
		}
		text += n + (text[n] == '&');
	}
	if ((a->certificate[0] != '\0') != (a->key[0] != '\0')) {
		return address_fail(why, "certificate= and key= are needed together");
	}
	return true;
}

static bool parse_tcp(struct address *a, const char *text, char *why);

static bool
parse_tls(struct address *a, const char *text, char *why)
{
	size_t n = strcspn(text, "?");
	char place[ADDRESS_HOST_MAX + 2 * ADDRESS_SECRET_MAX + 64];

	if (n >= sizeof(place) || strlen(text + n) > (size_t)4 * ADDRESS_FILE_MAX) {
		return address_fail(why, "it is too long");
	}
	memcpy(place, text, n);
	place[n] = '\0';
	a->tls = true;
	if (!parse_tcp(a, place, why) || (text[n] == '?' && !parse_options(a, text + n + 1, why))) {
		explicit_bzero(place, sizeof(place));
		return false;
	}
	explicit_bzero(place, sizeof(place));
	(void)snprintf(a->text, sizeof(a->text),
		strchr(a->host, ':') != NULL ? "tls://[%s]:%s%s" : "tls://%s:%s%s", a->host, a->port,
		text + n);
	return true;
}

static bool
parse_tcp(struct address *a, const char *text, char *why)
{
	size_t n = strcspn(text, "/");
	const char *at = memrchr(text, '@', n);
	struct slice host = {text, n};

	if (text[n] == '/' && strcmp(text + n, "/") != 0 && strcmp(text + n, "/0") != 0) {
		return address_fail(why, "after the port only /0 is allowed: there is one space of names");
	}
	if (at != NULL) {
		if (!parse_login(a, (struct slice){text, (size_t)(at - text)}, why)) {
			return false;
		}
		host = (struct slice){at + 1, (size_t)(text + n - at) - 1};
	}
	if (!parse_host(a, host, why)) {
		return false;
	}
	(void)snprintf(a->text, sizeof(a->text),
		strchr(a->host, ':') != NULL ? "tcp://[%s]:%s" : "tcp://%s:%s", a->host, a->port);
	return true;
}

static bool
skip(const char **text, const char *start)
{
	size_t n = strlen(start);

	if (strncmp(*text, start, n) != 0) {
		return false;
	}
	*text += n;
	return true;
}

bool
address_parse(struct address *a, const char *url, char *why)
{
	memset(a, 0, sizeof(*a));
	if (skip(&url, "unix://") || skip(&url, "unix:")) {
		return parse_path(a, url, why);
	}
	if (skip(&url, "tcp://") || skip(&url, "redis://")) {
		return parse_tcp(a, url, why);
	}
	if (skip(&url, "tls://") || skip(&url, "rediss://")) {
		return parse_tls(a, url, why);
	}
	if (strstr(url, "://") != NULL) {
		return address_fail(why,
			"it begins with %.*s://, but only unix://, tcp://, redis://, tls:// and rediss:// "
			"are known",
			(int)(strstr(url, "://") - url) > 16 ? 16 : (int)(strstr(url, "://") - url), url);
	}
	if (url[0] == '/' || url[0] == '.') {
		return parse_path(a, url, why);
	}
	if (strchr(url, ':') == NULL) {
		/* With an @ it may be a URL without its scheme, and have a password. */
		bool secret = strchr(url, '@') != NULL;

		return address_fail(why,
			"%s%.80s%s is neither a path, which begins with / or ., nor unix:PATH, host:port or "
			"a URL",
			secret ? "" : "'", secret ? "it" : url, secret ? "" : "'");
	}
	return parse_tcp(a, url, why);
}

/* Nobody but root and this user made it or gave it away. */
static bool
is_trusted(const struct stat *st)
{
	return st->st_uid == 0 || st->st_uid == geteuid();
}

/* NULL: only root and this user decide what is in this directory, and what it is. Else why not. */
static const char *
directory_fault(const char *path)
{
	struct stat name, st;

	if (lstat(path, &name) != 0 || stat(path, &st) != 0 || !is_trusted(&name) || !is_trusted(&st)) {
		return "its directory belongs to another user";
	}
	if ((st.st_mode & (S_IWOTH | S_ISVTX)) == S_IWOTH) {
		return "everybody may write to its directory";
	}
	return NULL;
}

/*
 * NULL: the socket at path was put there by root or this user, so its daemon can be believed. The variable
 * outlives su and sudo -E, and may name the directory of another user, whose daemon could grant what is held
 * elsewhere. /run/holdfast needs no check: root alone makes it, for whatever user the daemon runs as.
 */
static const char *
own_fault(const char *runtime_dir, const char *path)
{
	char directory[sizeof(((struct address *)0)->path)];
	const char *fault = directory_fault(runtime_dir);
	struct stat st;

	if (fault == NULL) {
		(void)snprintf(directory, sizeof(directory), "%s/holdfast", runtime_dir);
		fault = directory_fault(directory);
	}
	if (fault == NULL && (lstat(path, &st) != 0 || !is_trusted(&st))) {
		fault = "it belongs to another user";
	}
	return fault;
}

static bool
choose_default(struct address *a, const char *runtime_dir, char *why)
{
	const char *fault = NULL;

	if (runtime_dir != NULL && runtime_dir[0] == '/') {
		char path[sizeof(a->path)];
		int n = snprintf(path, sizeof(path), "%s/holdfast/holdfast.sock", runtime_dir);

		if (n > 0 && (size_t)n < sizeof(path) && access(path, F_OK) == 0) {
			fault = own_fault(runtime_dir, path);
			if (fault == NULL) {
				if (!address_parse(a, path, why)) {
					return false;
				}
				a->other = access(DEFAULT_SOCKET, F_OK) == 0 ? DEFAULT_SOCKET : NULL;
				return true;
			}
		}
	}
	if (!address_parse(a, DEFAULT_SOCKET, why)) {
		return false;
	}
	a->passed = fault;
	return true;
}

bool
address_choose(struct address *a, const char *socket, const char *url, const char *runtime_dir, char *why)
{
	char what[ADDRESS_TEXT_MAX] = "";

	if (socket != NULL) {
		if (!address_parse(a, socket, what)) {
			return address_fail(why, "--socket: %.200s", what);
		}
		if (a->password[0] != '\0') {
			return address_fail(why,
				"--socket must not have a password, everybody can read it there: put it into "
				"HOLDFAST_URL");
		}
		return true;
	}
	if (url != NULL && url[0] != '\0') {
		return address_parse(a, url, what) || address_fail(why, "HOLDFAST_URL: %.200s", what);
	}
	return choose_default(a, runtime_dir, why);
}
