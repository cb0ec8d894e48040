/* key: see key.h. Every LOCK and every name of an MLOCK passes key_refuses() before it gets a waiter. */
#include "daemon/core/lock/key.h"

#include "daemon/core/base/base.h"
#include "daemon/core/base/settings.h"
#include "daemon/core/lease/leases.h"
#include "daemon/core/lease/rules.h"
#include "proto/escape.h"
#include "proto/name.h"
#include "proto/reply.h"
#include "proto/slice.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define KEY_BYTES_MAX (NAME_BYTES_MAX + RULE_KEY_MAX)

/* A rule makes the key before + NAME + after. */
struct template
{
	struct slice before;
	struct slice after;
};

/* False: the rule has no template; the keys are NAMESPACE:{NAME}. */
static bool
template_of(const struct rule *rule, struct template *out)
{
	const char *key = rule->interop == INTEROP_REDISSON ? "%" : rule->key;
	const char *percent;

	if (key == NULL)
		return false;
	percent = strchr(key, '%');
	assert(percent != NULL && strlen(key) <= RULE_KEY_MAX);
	out->before = (struct slice){key, (size_t)(percent - key)};
	out->after = slice_of(percent + 1);
	return true;
}

static size_t
append(char *key, size_t n, struct slice text)
{
	assert(text.n <= KEY_BYTES_MAX - n);
	if (text.n > 0)
		memcpy(key + n, text.p, text.n);
	return n + text.n;
}

static bool
begins(struct slice text, struct slice with)
{
	return text.n >= with.n && memcmp(text.p, with.p, with.n) == 0;
}

/* The name from which the template makes this key; false: there is none. */
static bool
template_name(const struct template *t, struct slice key, struct slice *name)
{
	size_t around = t->before.n + t->after.n;

	if (key.n <= around || !begins(key, t->before) ||
		memcmp(key.p + key.n - t->after.n, t->after.p, t->after.n) != 0)
		return false;
	*name = (struct slice){key.p + t->before.n, key.n - around};
	return name_check(*name, NAME_BYTES_MAX) == NULL;
}

/* The keys in the table of GUARANTEES.md, and the counter of RFencedLock, which interop: redisson writes. A
 * script deletes and writes those of other programs without a check of what they are. */
static bool
key_reserved(const struct core *core, struct slice key)
{
	struct slice namespace = slice_of(core->settings.namespace_), rest;

	if (begins(key, SLICE("redisson_lock_token:")) || begins(key, SLICE("lock-signal:")))
		return true;
	if (!begins(key, namespace))
		return false;
	rest = (struct slice){key.p + namespace.n, key.n - namespace.n};
	return begins(rest, SLICE(":{")) || slice_equal(rest, SLICE(":node")) ||
	       slice_equal(rest, SLICE(":reclaimed"));
}

static void
why_taken(struct slice key, struct slice name, const struct rule *rule, struct reply *why)
{
	char text[56], of[56], match[28];

	(void)escape_text(text, sizeof(text), key, ESCAPE_PLAIN);
	(void)escape_text(of, sizeof(of), name, ESCAPE_PLAIN);
	(void)escape_text(match, sizeof(match), slice_of(rule->match), ESCAPE_PLAIN);
	reply_error(why, CODE_ERR,
		"bad name: its key at the master, %s, belongs to %s by the rule that matches %s: LOCK that "
		"name",
		text, of, match);
}

static void
why_reserved(struct slice key, struct reply *why)
{
	char text[112];

	(void)escape_text(text, sizeof(text), key, ESCAPE_PLAIN);
	reply_error(why, CODE_ERR,
		"bad name: its key at the master, %s, is one of holdfast's own: take another name", text);
}

bool
key_refuses(const struct core *core, struct slice name, const struct rule *rule, struct reply *why)
{
	const struct rule *other;
	char bytes[KEY_BYTES_MAX];
	struct template t;
	struct slice key = {bytes, 0}, found;

	if (!template_of(rule, &t))
		return false;
	key.n = append(bytes, append(bytes, append(bytes, 0, t.before), name), t.after);
	if (key_reserved(core, key)) {
		why_reserved(key, why);
		return true;
	}
	for (other = rules_first(&core->leases->rules); other != rule; other++) {
		if (!template_of(other, &t) || !template_name(&t, key, &found) ||
			rules_find(&core->leases->rules, found) != other)
			continue;
		why_taken(key, found, other, why);
		return true;
	}
	return false;
}
