/*
 * text: which texts the keys of each type take. A part of value.c.
 */
#include "conf/text.h"

#include "conf/value_inner.h"
#include "proto/escape.h"
#include "proto/glob.h"
#include "proto/name.h"

#include <stdlib.h>
#include <string.h>

const char *
text_fault(const char *text)
{
	struct slice rest = slice_of(text);
	uint32_t c;

	while (rest.n > 0) {
		size_t n = utf8_next(rest.p, rest.n, &c);

		if (n == 0)
			return "is not UTF-8";
		if (c < ' ' || (c >= 127 && c < 0xa0))
			return "has a control character";
		if (c == 0x2028 || c == 0x2029)
			return "has a line separator";
		if (c == 0xfeff || c == 0xfffe || c == 0xffff)
			return "has a character that is not text";
		rest = (struct slice){rest.p + n, rest.n - n};
	}
	return NULL;
}

static bool
text_is_of(const char *text, const char *also)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

	for (; *text != '\0'; text++)
		if (strchr(letters, *text) == NULL && strchr(also, *text) == NULL)
			return false;
	return true;
}

static size_t
count_char(const char *text, char c)
{
	size_t n = 0;

	for (; *text != '\0'; text++)
		n += *text == c;
	return n;
}

/* Why this type refuses a text that is not empty; NULL: it does not. */
static const char *
text_type_fault(enum value_type type, const char *text)
{
	switch (type) {
	case TYPE_PATH:
	case TYPE_FILE:
	case TYPE_DIRECTORY:
		return text[0] == '/' ? NULL : "is not absolute: it must begin with /";
	case TYPE_SINK:
		return text[0] == '/' || strcmp(text, "stderr") == 0 ? NULL : "is neither";
	case TYPE_CA:
		return text[0] == '/' || strcmp(text, CONF_CA_SYSTEM) == 0 ? NULL : "is neither";
	case TYPE_AUDIT:
		return text[0] == '/' || strcmp(text, CONF_AUDIT_LOG) == 0 ? NULL : "is neither";
	case TYPE_LEDGER:
		return text[0] == '/' || strcmp(text, CONF_LEDGER_OFF) == 0 ? NULL : "is neither";
	case TYPE_PROGRAM:
		return text[0] == '/' || strchr(text, '/') == NULL ? NULL : "is not absolute";
	case TYPE_GROUP:
		return text_is_of(text, "._-") ? NULL : "is no group name";
	case TYPE_ACCOUNT:
		return strcmp(text, "*") == 0 || text_is_of(text, "._-") ? NULL : "is no user name";
	case TYPE_VARIABLE:
		return text_is_of(text, "_") && (text[0] < '0' || text[0] > '9') ? NULL : "is no name of one";
	case TYPE_NAMESPACE:
		return text_is_of(text, "._:/-") ? NULL : "has other characters";
	case TYPE_USERNAME:
	case TYPE_GLOB:
	case TYPE_GLOBS:
		return strchr(text, ' ') == NULL ? NULL : "has a space";
	case TYPE_TEMPLATE:
		if (strchr(text, ' ') != NULL)
			return "has a space";
		return count_char(text, '%') == 1 ? NULL : "has not exactly one %";
	default:
		return NULL;
	}
}

char *
text_copy(const struct schema_key *key, const char *text, int64_t low, int64_t high, char why[VALUE_WHY_MAX])
{
	size_t length = strlen(text);
	const char *fault = text_fault(text);
	bool glob = key->type == TYPE_GLOB || key->type == TYPE_GLOBS;
	char wrong[96];
	char *copy;

	if (fault == NULL && length > 0)
		fault = text_type_fault(key->type, text);
	/* A malformed glob matches nothing, so its rule would apply to no name. */
	if (fault == NULL && glob && glob_check(slice_of(text)) != NULL) {
		snprintf(wrong, sizeof(wrong), "has %s", glob_check(slice_of(text)));
		fault = wrong;
	}
	if (fault == NULL && ((int64_t)length > high || ((int64_t)length < low && length > 0))) {
		snprintf(wrong, sizeof(wrong), "has %zu bytes; its length is %lld to %lld bytes", length,
			(long long)low, (long long)high);
		fault = wrong;
	}
	if (fault == NULL && length == 0 && key->fallback[0] != '\0')
		fault = "is empty";
	copy = fault == NULL ? strdup(text) : NULL;
	if (copy == NULL)
		(void)value_refuse(why, key, text, fault != NULL ? fault : "does not fit into memory");
	return copy;
}
