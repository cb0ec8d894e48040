/*
 * value: parses one scalar of the file into the field of its key, and formats it.
 *
 * Called by the loader (parse), the printer and the comparison (format). It must never print a password.
 */
#include "conf/value.h"

#include "conf/list.h"
#include "conf/text.h"
#include "conf/url.h"
#include "conf/value_inner.h"
#include "proto/name.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Bound on the digits of a fraction, as a power of ten. */
#define FRACTION_MOST 1000000

struct unit {
	const char *name;
	int64_t size;
};

/* Largest unit first: a value is written in the first unit that divides it. */
static const struct unit durations[] = {
	{"d", 86400000}, {"h", 3600000}, {"m", 60000}, {"s", 1000}, {"ms", 1}, {NULL, 0}};
static const struct unit sizes[] = {{"m", 1048576}, {"k", 1024}, {"b", 1}, {NULL, 0}};

/* Words of the CHOICE and SET types, in the order of their enums in conf.h. */
static const char *const on_close_words[] = {"auto", "withhold", "release", NULL};
static const char *const guard_words[] = {"auto", "off", NULL};
static const char *const interop_words[] = {"off", "string", "redisson", "python-redis-lock", NULL};
static const char *const level_words[] = {"debug", "info", "warning", "error", NULL};
static const char *const may_words[] = {"lock", "shared", "see", "break", "admin", NULL};

const char *const *
value_words(enum value_type type)
{
	switch (type) {
	case TYPE_ON_CLOSE:
		return on_close_words;
	case TYPE_GUARD:
		return guard_words;
	case TYPE_INTEROP:
		return interop_words;
	case TYPE_LEVEL:
		return level_words;
	case TYPE_RIGHTS:
		return may_words;
	default:
		return NULL;
	}
}

static const struct unit *
units_of(enum value_type type)
{
	switch (type) {
	case TYPE_DURATION:
	case TYPE_LEASE:
	case TYPE_WAIT:
	case TYPE_HOLD:
		return durations;
	case TYPE_SIZE:
		return sizes;
	default:
		return NULL;
	}
}

/* The word of a number type for a special value: forever, none. */
static const char *
word_of(enum value_type type, int64_t *value)
{
	*value = type == TYPE_WAIT ? CONF_WAIT_FOREVER : CONF_HOLD_NONE;
	if (type == TYPE_WAIT)
		return "forever";
	return type == TYPE_HOLD ? "none" : NULL;
}

static void
number_format(char *out, size_t room, enum value_type type, int64_t n)
{
	const struct unit *unit = units_of(type);
	int64_t special;
	const char *word = word_of(type, &special);

	if (word != NULL && n == special) {
		snprintf(out, room, "%s", word);
		return;
	}
	if (type == TYPE_MODE) {
		snprintf(out, room, "%04o", (unsigned)n);
		return;
	}
	if (unit == NULL || n < 0) {
		snprintf(out, room, "%lld", (long long)n);
		return;
	}
	while (unit->size > 1 && (n == 0 || n % unit->size != 0))
		unit++;
	snprintf(out, room, "%lld%s", (long long)(n / unit->size), unit->name);
}

bool
value_refuse(char why[VALUE_WHY_MAX], const struct schema_key *key, const char *text, const char *wrong)
{
	char quoted[QUOTE_MAX];
	char low[32];
	char high[32];
	bool ranged = schema_storage(key) == STORAGE_NUMBER && key->type != TYPE_MODE;

	errors_quote(quoted, text);
	number_format(low, sizeof(low), key->type, key->low);
	number_format(high, sizeof(high), key->type, key->high);
	snprintf(why, VALUE_WHY_MAX, "%s %s; allowed: %s%s%s%s%s", quoted, wrong, schema_allowed(key),
		ranged ? ", from " : "", ranged ? low : "", ranged ? " to " : "", ranged ? high : "");
	return false;
}

/* Reads leading digits; *rest is the text after them. False: none, or far too many. */
static bool
digits_read(const char *text, int64_t *out, const char **rest)
{
	int64_t n = 0;
	size_t count = 0;

	for (; *text >= '0' && *text <= '9'; text++) {
		if (++count > 12)
			return false;
		n = n * 10 + (*text - '0');
	}
	*out = n;
	*rest = text;
	return count > 0;
}

/* Reads the digits after a point, as parts of *of. False: none, or too many. */
static bool
fraction_read(const char *text, int64_t *parts, int64_t *of, const char **rest)
{
	*parts = 0;
	*of = 1;
	for (; *text >= '0' && *text <= '9' && *of < FRACTION_MOST; text++) {
		*parts = *parts * 10 + (*text - '0');
		*of *= 10;
	}
	*rest = text;
	return *of > 1 && !(*text >= '0' && *text <= '9');
}

static bool
measure_parse(const struct schema_key *key, const char *text, int64_t *out, char why[VALUE_WHY_MAX])
{
	const struct unit *unit = units_of(key->type);
	const char *rest;
	int64_t n, parts = 0, of = 1;
	char wrong[64];

	if (!digits_read(text, &n, &rest) || (*rest == '.' && !fraction_read(rest + 1, &parts, &of, &rest)))
		return value_refuse(why, key, text, "is not a number with a unit");
	if (*rest == '\0' && parts != 0)
		return value_refuse(why, key, text, "has no unit");
	if (*rest == '\0' && n != 0) {
		snprintf(wrong, sizeof(wrong), "has no unit: %lld%s or %lld%s?", (long long)n,
			key->type == TYPE_SIZE ? "b" : "ms", (long long)n,
			key->type == TYPE_SIZE ? "k" : "s");
		return value_refuse(why, key, text, wrong);
	}
	if (*rest != '\0') {
		while (unit->name != NULL && strcmp(unit->name, rest) != 0)
			unit++;
		if (unit->name == NULL)
			return value_refuse(why, key, text, "has an unknown unit");
		if (n > key->high)
			return value_refuse(why, key, text, "is out of range");
		if (parts * unit->size % of != 0)
			return value_refuse(why, key, text, "is finer than the smallest unit");
		n = n * unit->size + parts * unit->size / of;
	}
	if (n < key->low || n > key->high)
		return value_refuse(why, key, text, "is out of range");
	*out = n;
	return true;
}

static bool
mode_parse(const struct schema_key *key, const char *text, int64_t *out, char why[VALUE_WHY_MAX])
{
	char *end;
	unsigned long n;

	if (text[0] == '\0' || strspn(text, "01234567") != strlen(text) || strlen(text) > 6)
		return value_refuse(why, key, text, "is not octal");
	n = strtoul(text, &end, 8);
	if ((int64_t)n > key->high)
		return value_refuse(why, key, text, "has more than permission bits");
	*out = (int64_t)n;
	return true;
}

static bool
number_read(const struct schema_key *key, const char *text, int64_t *out, char why[VALUE_WHY_MAX])
{
	int64_t special;
	const char *word = word_of(key->type, &special);
	const char *rest;
	int64_t n;

	if (word != NULL && strcmp(text, word) == 0) {
		*out = special;
		return true;
	}
	if (key->type == TYPE_LEASE && text[0] == '\0') {
		*out = 0;
		return true;
	}
	if (key->type == TYPE_MODE)
		return mode_parse(key, text, out, why);
	if (units_of(key->type) != NULL)
		return measure_parse(key, text, out, why);
	if (!digits_read(text, &n, &rest) || *rest != '\0')
		return value_refuse(why, key, text, "is not a whole number");
	if (n < key->low || n > key->high)
		return value_refuse(why, key, text, "is out of range");
	*out = n;
	return true;
}

static bool
flag_parse(const struct schema_key *key, const char *text, bool *out, char why[VALUE_WHY_MAX])
{
	if (strcmp(text, "yes") == 0 || strcmp(text, "true") == 0) {
		*out = true;
		return true;
	}
	if (strcmp(text, "no") == 0 || strcmp(text, "false") == 0) {
		*out = false;
		return true;
	}
	return value_refuse(why, key, text, "is neither");
}

static bool
choice_parse(const struct schema_key *key, const char *text, int *out, char why[VALUE_WHY_MAX])
{
	const char *const *words = value_words(key->type);

	for (int i = 0; words[i] != NULL; i++) {
		if (strcmp(words[i], text) == 0) {
			*out = i;
			return true;
		}
	}
	return value_refuse(why, key, text, "is unknown");
}

static bool
text_parse(const struct schema_key *key, const char *text, char **out, char why[VALUE_WHY_MAX])
{
	char *copy = text_copy(key, text, key->low, key->high, why);

	if (copy == NULL)
		return false;
	free(*out);
	*out = copy;
	return true;
}

static bool
address_read(
	const struct schema_key *key, const char *text, struct conf_address *out, char why[VALUE_WHY_MAX])
{
	if (text[0] == '\0') {
		memset(out, 0, sizeof(*out));
		return true;
	}
	return address_parse(text, out) || value_refuse(why, key, text, "is no such address");
}

static bool
url_read(const struct schema_key *key, const char *text, struct conf_url *out, char why[VALUE_WHY_MAX])
{
	char wrong[WHY_MAX];
	const char *fault = text_fault(text);

	if (fault == NULL && url_parse(text, key->high, out, wrong))
		return true;
	snprintf(why, VALUE_WHY_MAX, "the URL %s; allowed: %s", fault != NULL ? fault : wrong,
		schema_allowed(key));
	return false;
}

bool
value_parse(const struct schema_key *key, const char *text, void *field, char why[VALUE_WHY_MAX])
{
	switch (schema_storage(key)) {
	case STORAGE_TEXT:
		return text_parse(key, text, field, why);
	case STORAGE_NUMBER:
		return number_read(key, text, field, why);
	case STORAGE_FLAG:
		return flag_parse(key, text, field, why);
	case STORAGE_CHOICE:
		return choice_parse(key, text, field, why);
	case STORAGE_ADDRESS:
		return address_read(key, text, field, why);
	case STORAGE_URL:
		return url_read(key, text, field, why);
	case STORAGE_ADDRESSES:
		return addresses_add(key, text, field, why);
	case STORAGE_TEXTS:
		return text_add(key, text, field, why);
	case STORAGE_SET:
		return set_add(key, text, field, why);
	default:
		/* A list or a mapping is not a scalar: the loader never calls this for one. */
		assert(schema_storage(key) < STORAGE_LIST);
		return false;
	}
}

bool
value_init(const struct schema_key *key, void *field)
{
	char why[VALUE_WHY_MAX];

	switch (schema_storage(key)) {
	case STORAGE_LIST:
	case STORAGE_MAP:
	case STORAGE_URL:
	case STORAGE_ADDRESSES:
	case STORAGE_TEXTS:
		return true;
	case STORAGE_SET:
		return set_read(key, key->fallback, field, why);
	default:
		/* Only memory can be the reason of a failure: the tests read every default. */
		return value_parse(key, key->fallback, field, why);
	}
}

void
value_begin_list(const struct schema_key *key, void *field)
{
	if (schema_storage(key) == STORAGE_SET)
		*(unsigned *)field = 0;
}

void
value_free(const struct schema_key *key, void *field)
{
	char *text;

	if (schema_storage(key) == STORAGE_TEXTS)
		texts_free(field);
	if (schema_storage(key) == STORAGE_URL)
		url_free(field);
	if (schema_storage(key) == STORAGE_ADDRESSES)
		free(((struct conf_addresses *)field)->list);
	if (schema_storage(key) != STORAGE_TEXT)
		return;
	memcpy(&text, field, sizeof(text));
	free(text);
	memset(field, 0, sizeof(text));
}

bool
value_is_list(const struct schema_key *key)
{
	enum value_storage storage = schema_storage(key);

	return storage == STORAGE_ADDRESSES || storage == STORAGE_TEXTS || storage == STORAGE_SET;
}

size_t
value_count(const struct schema_key *key, const void *field)
{
	switch (schema_storage(key)) {
	case STORAGE_ADDRESSES:
		return ((const struct conf_addresses *)field)->count;
	case STORAGE_TEXTS:
		return ((const struct conf_texts *)field)->count;
	case STORAGE_SET:
		return (size_t)__builtin_popcount(*(const unsigned *)field);
	default:
		return 1;
	}
}

bool
value_text(char out[VALUE_TEXT_MAX], const struct schema_key *key, const void *field, size_t i)
{
	out[0] = '\0';
	switch (schema_storage(key)) {
	case STORAGE_TEXT:
		snprintf(out, VALUE_TEXT_MAX, "%s", *(char *const *)field);
		return true;
	case STORAGE_NUMBER:
		number_format(out, VALUE_TEXT_MAX, key->type, *(const int64_t *)field);
		return key->type == TYPE_MODE;
	case STORAGE_FLAG:
		snprintf(out, VALUE_TEXT_MAX, "%s", *(const bool *)field ? "yes" : "no");
		return false;
	case STORAGE_CHOICE:
		snprintf(out, VALUE_TEXT_MAX, "%s", value_words(key->type)[*(const int *)field]);
		return false;
	case STORAGE_ADDRESS:
		if (!value_is_absent(key, field))
			address_format(out, field);
		return true;
	case STORAGE_URL:
		url_format(out, field);
		return true;
	case STORAGE_ADDRESSES:
		address_format(out, &((const struct conf_addresses *)field)->list[i]);
		return true;
	case STORAGE_TEXTS:
		snprintf(out, VALUE_TEXT_MAX, "%s", ((const struct conf_texts *)field)->list[i]);
		return true;
	case STORAGE_SET:
		snprintf(out, VALUE_TEXT_MAX, "%s", set_word(key->type, *(const unsigned *)field, i));
		return false;
	default:
		/* A list or a mapping has no text of its own. */
		assert(schema_storage(key) < STORAGE_LIST);
		return false;
	}
}

bool
value_is_absent(const struct schema_key *key, const void *field)
{
	switch (schema_storage(key)) {
	case STORAGE_TEXT:
		return (*(char *const *)field)[0] == '\0';
	case STORAGE_ADDRESS:
		return ((const struct conf_address *)field)->port == 0;
	case STORAGE_URL:
		return ((const struct conf_url *)field)->kind == CONF_URL_NONE;
	case STORAGE_ADDRESSES:
		return ((const struct conf_addresses *)field)->count == 0;
	case STORAGE_TEXTS:
		return ((const struct conf_texts *)field)->count == 0;
	default:
		return false;
	}
}
