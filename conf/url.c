/*
 * url: parses and formats the addresses of listeners and of masters, and reads passwords.
 *
 * Called by the value parsers, the printer and verify.c. It must never put a password, or a possible password
 * of a URL, into a message, and never block: a password in a FIFO is refused.
 */
#include "conf/url.h"

#include "conf/value.h"
#include "proto/slice.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define REDIS_PORT    6379
#define UNIX_PATH_MAX 106 /* of 108 in sun_path; hiredis 0.14 leaves the last one as it finds it */
#define PART_MAX      256 /* a user, a password */

static bool
refuse(char why[WHY_MAX], const char *text)
{
	snprintf(why, WHY_MAX, "%s", text);
	return false;
}

static bool
refuse_database(char why[WHY_MAX], int64_t most, const char *after)
{
	snprintf(why, WHY_MAX, "has no database number from 0 to %lld after %s", (long long)most, after);
	return false;
}

/* A new text with %xx decoded; NULL: it is malformed, is too long or has a control character, or out of
 * memory. */
static char *
part_decode(struct slice part)
{
	char text[PART_MAX + 1];
	ptrdiff_t n = slice_decode(text, sizeof(text), part);
	char *copy;

	for (ptrdiff_t i = 0; i < n; i++)
		if ((unsigned char)text[i] < ' ' || text[i] == 127)
			n = -1;
	copy = n < 0 ? NULL : strdup(text);
	explicit_bzero(text, sizeof(text)); /* it may be a password */
	return copy;
}

static bool
host_is_good(struct slice host, bool brackets)
{
	char text[CONF_HOST_MAX];
	struct in6_addr address;

	if (host.n == 0 || host.n >= sizeof(text))
		return false;
	slice_text(text, sizeof(text), host);
	if (brackets)
		return inet_pton(AF_INET6, text, &address) == 1;
	return strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_") ==
	       strlen(text);
}

/* host, host:port, [v6] or [v6]:port; the port may be absent if fallback > 0. */
static bool
endpoint_parse(struct slice text, int fallback, struct conf_address *out)
{
	struct slice host, port;
	int64_t n = fallback;

	if (slice_endpoint(text, &host, &port) != NULL || !host_is_good(host, text.p[0] == '['))
		return false;
	if ((port.p != NULL && !number_parse(port, 1, 65535, &n)) || n == 0)
		return false;
	memset(out, 0, sizeof(*out));
	slice_text(out->host, sizeof(out->host), host);
	out->port = (int)n;
	return true;
}

static bool
userinfo_parse(struct slice text, struct conf_url *out, char why[WHY_MAX])
{
	const char *colon = text.n == 0 ? NULL : memchr(text.p, ':', text.n);
	size_t n = colon != NULL ? (size_t)(colon - text.p) : text.n;

	free(out->user);
	out->user = part_decode((struct slice){text.p, n});
	if (colon != NULL) {
		free(out->password);
		out->password = part_decode((struct slice){colon + 1, text.n - n - 1});
	}
	if (out->user == NULL || out->password == NULL)
		return refuse(why, "has a user or password that cannot be read: write %xx for special bytes, "
				   "at most 256 of them");
	return true;
}

static bool
tcp_parse(const char *text, int64_t database_most, struct conf_url *out, char why[WHY_MAX])
{
	const char *at = strrchr(text, '@');
	const char *endpoint = at != NULL ? at + 1 : text;
	size_t n = strcspn(endpoint, "/");
	int64_t database = 0;

	if (endpoint[n] == '/' && endpoint[n + 1] != '\0' &&
		!number_parse(slice_of(endpoint + n + 1), 0, database_most, &database))
		return refuse_database(why, database_most, "the slash");
	if (!endpoint_parse((struct slice){endpoint, n}, REDIS_PORT, &out->address))
		return refuse(why,
			"names no host and port from 1 to 65535, such as 10.0.0.1:6379 or [fd00::1]:6379");
	out->kind = CONF_URL_TCP;
	out->database = (int)database;
	return at == NULL || userinfo_parse((struct slice){text, (size_t)(at - text)}, out, why);
}

/* One of db=n and user=name. */
static bool
option_read(struct slice text, int64_t database_most, struct conf_url *out, char why[WHY_MAX])
{
	int64_t database = 0;

	if (text.n > 3 && memcmp(text.p, "db=", 3) == 0) {
		if (!number_parse((struct slice){text.p + 3, text.n - 3}, 0, database_most, &database))
			return refuse_database(why, database_most, "db=");
		out->database = (int)database;
		return true;
	}
	if (text.n > 5 && memcmp(text.p, "user=", 5) == 0) {
		free(out->user);
		out->user = part_decode((struct slice){text.p + 5, text.n - 5});
		return out->user != NULL || refuse(why, "has a user that cannot be read");
	}
	return refuse(why, "has an option other than db=n and user=name; a password goes into password-file");
}

static bool
unix_parse(const char *text, int64_t database_most, struct conf_url *out, char why[WHY_MAX])
{
	size_t n = strcspn(text, "?");

	free(out->path);
	out->path = part_decode((struct slice){text, n});
	if (out->path == NULL || out->path[0] != '/' || strlen(out->path) < 2 ||
		strlen(out->path) > UNIX_PATH_MAX)
		return refuse(
			why, "names no absolute path of at most 106 bytes: unix:///run/redis/redis.sock");
	out->kind = CONF_URL_UNIX;
	while (text[n] != '\0') {
		text += n + 1;
		n = strcspn(text, "&");
		if (!option_read((struct slice){text, n}, database_most, out, why))
			return false;
	}
	return true;
}

static bool
scheme_parse(const char *text, int64_t database_most, struct conf_url *out, char why[WHY_MAX])
{
	if (strncmp(text, "redis://", 8) == 0)
		return tcp_parse(text + 8, database_most, out, why);
	if (strncmp(text, "unix://", 7) == 0)
		return unix_parse(text + 7, database_most, out, why);
	out->tls = strncmp(text, "rediss://", 9) == 0;
	if (out->tls)
		return tcp_parse(text + 9, database_most, out, why);
	return refuse(why, "is no URL of a master");
}

bool
url_parse(const char *text, int64_t database_most, struct conf_url *out, char why[WHY_MAX])
{
	struct conf_url url = {.user = strdup(""), .password = strdup(""), .path = strdup("")};

	if (url.user == NULL || url.password == NULL || url.path == NULL) {
		url_free(&url);
		return refuse(why, "does not fit into memory");
	}
	if (!scheme_parse(text, database_most, &url, why)) {
		url_free(&url);
		return false;
	}
	url_free(out);
	*out = url;
	return true;
}

void
url_free(struct conf_url *url)
{
	if (url->password != NULL)
		explicit_bzero(url->password, strlen(url->password));
	free(url->password);
	free(url->user);
	free(url->path);
	memset(url, 0, sizeof(*url));
}

/* Appends the text with all but plain characters as %xx; out remains NUL-terminated. */
static void
text_encode(char *out, size_t room, const char *text, const char *also)
{
	size_t n = strlen(out);

	for (; *text != '\0' && n + 4 < room; text++) {
		unsigned char c = (unsigned char)*text;
		bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');

		if (letter || strchr(also, c) != NULL)
			out[n++] = (char)c;
		else
			n += (size_t)snprintf(out + n, room - n, "%%%02x", c);
	}
	out[n] = '\0';
}

void
url_format(char out[URL_TEXT_MAX], const struct conf_url *url)
{
	char part[3 * PART_MAX + 1] = "";
	char address[CONF_HOST_MAX + 16];

	out[0] = '\0';
	if (url->kind == CONF_URL_NONE)
		return;
	text_encode(part, sizeof(part), url->kind == CONF_URL_UNIX ? url->path : url->user, "-._/");
	if (url->kind == CONF_URL_TCP) {
		address_format(address, &url->address);
		snprintf(out, URL_TEXT_MAX, "%s://%s%s%s/%d", url->tls ? "rediss" : "redis", part,
			part[0] != '\0' ? "@" : "", address, url->database);
	} else if (url->kind == CONF_URL_UNIX) {
		snprintf(out, URL_TEXT_MAX, "unix://%s?db=%d", part, url->database);
		if (url->user[0] != '\0') {
			strcat(out, "&user=");
			text_encode(out, URL_TEXT_MAX, url->user, "-._");
		}
	}
}

bool
address_parse(const char *text, struct conf_address *out)
{
	struct conf_address address;
	struct in_addr four;
	struct in6_addr six;

	if (!endpoint_parse(slice_of(text), 0, &address))
		return false;
	if (inet_pton(AF_INET, address.host, &four) != 1 && inet_pton(AF_INET6, address.host, &six) != 1)
		return false;
	*out = address;
	return true;
}

bool
server_parse(const char *text, int fallback, struct conf_address *out)
{
	struct conf_address address;

	if (!endpoint_parse(slice_of(text), fallback, &address))
		return false;
	*out = address;
	return true;
}

void
address_format(char out[CONF_HOST_MAX + 16], const struct conf_address *address)
{
	bool six = strchr(address->host, ':') != NULL;

	snprintf(out, CONF_HOST_MAX + 16, "%s%s%s:%d", six ? "[" : "", address->host, six ? "]" : "",
		address->port);
}

bool
address_is_loopback(const struct conf_address *address)
{
	struct in_addr four;
	struct in6_addr six;

	if (inet_pton(AF_INET, address->host, &four) == 1)
		return (ntohl(four.s_addr) >> 24) == 127;
	if (inet_pton(AF_INET6, address->host, &six) != 1)
		return false;
	if (IN6_IS_ADDR_V4MAPPED(&six))
		return six.s6_addr[12] == 127;
	return IN6_IS_ADDR_LOOPBACK(&six);
}

/* ---- passwords ---- */

static bool
secret_take(const char *text, char **out, char why[WHY_MAX])
{
	char *copy;

	if (text[0] == '\0')
		return refuse(why, "holds no password");
	if (strlen(text) > SECRET_TEXT_MAX)
		return refuse(why, "holds a password of more than 512 bytes");
	copy = strdup(text);
	if (copy == NULL)
		return refuse(why, "does not fit into memory");
	secret_free(*out);
	*out = copy;
	return true;
}

/* Line ends as on any system become one newline between two passwords. */
static bool
secret_take_lines(char *text, char **out, char why[WHY_MAX])
{
	char joined[2 * SECRET_TEXT_MAX + 2] = "";
	size_t before = 0; /* the length of the first line */
	size_t count = 0;
	bool good = text[0] != '\0' || refuse(why, "holds no password");

	while (good && text[0] != '\0') {
		size_t n = strcspn(text, "\n");
		size_t next = n + (text[n] == '\n');

		if (n > 0 && text[n - 1] == '\r')
			n--;
		if (n == 0)
			good = refuse(why, "has an empty line; allowed: one or two passwords, one a line");
		else if (count == 2)
			good = refuse(
				why, "has more than two lines; allowed: one or two passwords, one a line");
		else if (n > SECRET_TEXT_MAX)
			good = refuse(why, "holds a password of more than 512 bytes");
		else if (count == 1 && n == before && memcmp(joined, text, n) == 0)
			good = refuse(why, "has the same password in both lines; leave one out");
		else {
			if (count == 1)
				joined[before++] = '\n';
			memcpy(joined + before, text, n);
			before += count == 0 ? n : 0;
			count++;
		}
		text += next;
	}
	if (good) {
		char *copy = strdup(joined);

		good = copy != NULL || refuse(why, "does not fit into memory");
		if (good) {
			secret_free(*out);
			*out = copy;
		}
	}
	explicit_bzero(joined, sizeof(joined));
	return good;
}

/* Reads the start of a regular file; -1 and errno. */
static ssize_t
file_read(const char *path, char *buffer, size_t room)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	ssize_t n = -1;
	int saved;

	if (fd < 0)
		return -1;
	if (fstat(fd, &st) == 0) {
		errno = EINVAL;
		if (S_ISREG(st.st_mode))
			n = read(fd, buffer, room);
	}
	saved = errno;
	close(fd);
	errno = saved;
	return n;
}

bool
secret_read_file(const char *path, enum secret_lines lines, char **out, char why[WHY_MAX])
{
	char buffer[2 * (SECRET_TEXT_MAX + 2) + 3];
	ssize_t n = file_read(path, buffer, sizeof(buffer) - 1);
	bool good;

	if (n < 0) {
		snprintf(why, WHY_MAX, "cannot be read: %s",
			errno == EINVAL ? "not a regular file" : strerror(errno));
		return false;
	}
	if (memchr(buffer, '\0', (size_t)n) != NULL)
		good = refuse(why, "has a NUL byte");
	else {
		buffer[n] = '\0';
		if (lines == SECRET_ONE)
			buffer[strcspn(buffer, "\r\n")] = '\0';
		good = lines == SECRET_ONE ? secret_take(buffer, out, why)
					   : secret_take_lines(buffer, out, why);
	}
	explicit_bzero(buffer, sizeof(buffer));
	return good;
}

bool
secret_read_env(const char *variable, enum secret_lines lines, char **out, char why[WHY_MAX])
{
	char *text = getenv(variable);

	if (text == NULL)
		return refuse(why, "is not set in the environment");
	return lines == SECRET_ONE ? secret_take(text, out, why) : secret_take_lines(text, out, why);
}

void
secret_free(char *secret)
{
	if (secret == NULL)
		return;
	explicit_bzero(secret, strlen(secret));
	free(secret);
}
