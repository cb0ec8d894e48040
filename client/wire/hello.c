/*
 * hello: what a client says first on a connection, and whether holdfastd answers it.
 */
#include "client/wire/hello.h"

#include "client/wire/wire.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

void
wire_label(char label[WIRE_LABEL_MAX], const char *command)
{
	const char *slash = strrchr(command, '/');
	char host[64] = "";
	size_t n = 0;

	(void)gethostname(host, sizeof(host) - 1);
	(void)snprintf(label, WIRE_LABEL_MAX, "%.60s@%s", slash == NULL ? command : slash + 1, host);
	for (; label[n] != '\0'; n++) {
		if (label[n] <= ' ' || label[n] > '~') {
			label[n] = '_';
		}
	}
}

void
wire_hello(struct wire *w, const struct address *a, const char *label)
{
	const char *user = a->user[0] != '\0' ? a->user : "default";

	if (a->password[0] != '\0') {
		wire_ask(w, "HELLO", "3", "AUTH", user, a->password, "SETNAME", label);
	} else {
		wire_ask(w, "HELLO", "3", "SETNAME", label);
	}
}

const struct answer *
wire_welcome(struct wire *w, const struct address *a)
{
	return wire_welcomed(w, a, wire_answer(w));
}

/* How a Redis-like server refuses HELLO: it requires a password, has no users, is protected, is not ready, or
 * is too old for HELLO. holdfastd has different texts for these cases. */
static bool
is_redis_refusal(const struct answer *answer)
{
	static const char *const begins[] = {"NOAUTH HELLO must be called", "NOAUTH Authentication required",
		"WRONGPASS invalid username-password", "ERR AUTH <password> called without",
		"ERR unknown command", "DENIED Redis", "LOADING ", "MASTERDOWN "};

	for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]); i++) {
		size_t n = strlen(begins[i]);

		if (answer->text.n >= n && memcmp(answer->text.p, begins[i], n) == 0) {
			return true;
		}
	}
	return false;
}

const struct answer *
wire_welcomed(struct wire *w, const struct address *a, const struct answer *answer)
{
	struct slice name = answer_get_text(answer, "server");

	if (answer == NULL || slice_equal(name, SLICE("holdfast"))) {
		return answer;
	}
	if (answer->type == ANSWER_ERROR) {
		if (!is_redis_refusal(answer)) {
			return answer;
		}
		name = answer->text;
	}
	w->foreign = true;
	w->ended = true;
	(void)snprintf(w->why, sizeof(w->why),
		"a server of Redis' kind answers at %.300s, and no holdfastd (%.*s): HOLDFAST_URL "
		"names the daemon; a Redis belongs under masters: in holdfast.yml",
		a->text, (int)(name.n > 48 ? 48 : name.n), name.p == NULL ? "" : name.p);
	return NULL;
}
