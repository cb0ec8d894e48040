/*
 * printer: prints a struct conf as YAML with every key and its help, and tells what a reload would change.
 *
 * Called by daemon/main*.c. What is printed loads to the same values. Passwords are compared, and never
 * printed or told. libyaml's emitter writes the YAML. It knows no comments, so the help is put behind the
 * lines afterwards: it folds no value, and each key has one line.
 */
#include "conf/printer.h"

#include "conf/conf.h"
#include "conf/loader.h"
#include "conf/schema.h"
#include "conf/value.h"
#include "conf/verify.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#define HELP_COLUMN 44 /* where the help of a key begins */

struct printer {
	yaml_emitter_t emitter;
	FILE *help;  /* takes a line for each line of the YAML; NULL: no help is wanted */
	bool failed; /* memory is short; nothing is emitted from then on */
};

/* Emits the event, if it was made. */
static void
put(struct printer *p, int made, yaml_event_t *event)
{
	if (made && p->failed)
		yaml_event_delete(event);
	else
		p->failed = p->failed || !made || !yaml_emitter_emit(&p->emitter, event);
}

static void
scalar_put(struct printer *p, const char *text, bool quoted)
{
	yaml_event_t event;

	put(p,
		yaml_scalar_event_initialize(&event, NULL, NULL, (const yaml_char_t *)text, -1, 1, 1,
			quoted ? YAML_DOUBLE_QUOTED_SCALAR_STYLE : YAML_PLAIN_SCALAR_STYLE),
		&event);
}

/* Whether the item has a password that is in no file or variable. */
static bool
hides_secret(enum schema_scope scope, const void *item)
{
	const struct schema_key *file = schema_find(scope, "password-file");
	const struct schema_key *variable = schema_find(scope, "password-env");
	char **secret = scope_secret(scope, (void *)item);

	return secret != NULL && (*secret)[0] != '\0' && value_is_absent(file, scope_value(file, item)) &&
	       value_is_absent(variable, scope_value(variable, item));
}

static void mapping_put(struct printer *p, enum schema_scope scope, const void *base);

/* base: the mapping that contains the key */
static void
value_put(struct printer *p, const struct schema_key *key, const void *base)
{
	const void *field = scope_value(key, base);
	bool items = schema_storage(key) == STORAGE_LIST, list = items || value_is_list(key);
	size_t n = items ? scope_list_count(key, base) : value_count(key, field);
	char text[VALUE_TEXT_MAX];
	yaml_event_t event;

	if (list)
		put(p,
			yaml_sequence_start_event_initialize(&event, NULL, NULL, 1,
				items ? YAML_BLOCK_SEQUENCE_STYLE : YAML_FLOW_SEQUENCE_STYLE),
			&event);
	for (size_t i = 0; i < n; i++) {
		if (items)
			mapping_put(p, key->inner, scope_list_item(key, base, i));
		else if (schema_storage(key) == STORAGE_MAP)
			mapping_put(p, key->inner, field);
		else
			scalar_put(p, text, value_text(text, key, field, i));
	}
	if (list)
		put(p, yaml_sequence_end_event_initialize(&event), &event);
}

/* Whether an item of a list has no value for this key. */
static bool
is_left_out(const struct schema_key *key, const void *item)
{
	return !verify_applies(key, item) || value_is_absent(key, scope_value(key, item));
}

static void
mapping_put(struct printer *p, enum schema_scope scope, const void *base)
{
	bool item = strchr(schema_scope_path(scope), '[') != NULL;
	bool hides = hides_secret(scope, base);
	const char *note = hides ? "; the password is not shown" : "";
	yaml_event_t event;

	put(p, yaml_mapping_start_event_initialize(&event, NULL, NULL, 1, YAML_BLOCK_MAPPING_STYLE), &event);
	for (size_t i = 0; i < schema_key_count; i++) {
		const struct schema_key *key = &schema_keys[i];
		bool hash = hides && key->type == TYPE_HASH; /* a user needs some */

		if (key->scope != scope || (item && !hash && is_left_out(key, base)))
			continue;
		scalar_put(p, key->name, false);
		if (p->help != NULL)
			fprintf(p->help, "%s%s\n", key->help, note);
		note = "";
		if (hash)
			scalar_put(p, "*", true);
		else
			value_put(p, key, base);
	}
	put(p, yaml_mapping_end_event_initialize(&event), &event);
}

/* The YAML of this value, or with key NULL of all, for free(). NULL: out of memory. */
static char *
yaml_of(const struct schema_key *key, const void *base, FILE *help)
{
	struct printer p = {.help = help};
	yaml_event_t event;
	char *text = NULL;
	size_t n = 0;
	FILE *to = open_memstream(&text, &n);

	if (to == NULL)
		return NULL;
	p.failed = !yaml_emitter_initialize(&p.emitter);
	yaml_emitter_set_output_file(&p.emitter, to);
	yaml_emitter_set_unicode(&p.emitter, 1);
	yaml_emitter_set_width(&p.emitter, -1);
	put(&p, yaml_stream_start_event_initialize(&event, YAML_UTF8_ENCODING), &event);
	put(&p, yaml_document_start_event_initialize(&event, NULL, NULL, NULL, 1), &event);
	if (key != NULL)
		value_put(&p, key, base);
	else
		mapping_put(&p, SCOPE_ROOT, base);
	put(&p, yaml_document_end_event_initialize(&event, 1), &event);
	put(&p, yaml_stream_end_event_initialize(&event), &event);
	yaml_emitter_delete(&p.emitter);
	if (fclose(to) == 0 && !p.failed)
		return text;
	free(text);
	return NULL;
}

int
conf_print(const struct conf *conf, FILE *to)
{
	char *helps = NULL;
	size_t n = 0;
	FILE *help = open_memstream(&helps, &n);
	char *text = help != NULL ? yaml_of(NULL, conf, help) : NULL;
	bool good = help != NULL && fclose(help) == 0 && text != NULL;
	char *line = text, *said = helps;

	if (!good)
		errno = ENOMEM;
	while (good && line[0] != '\0')
		good = fprintf(to, "%-*s  # %s\n", HELP_COLUMN - 2, strsep(&line, "\n"),
			       strsep(&said, "\n")) >= 0;
	free(text);
	free(helps);
	return good && fflush(to) == 0 ? 0 : -1;
}

char *
conf_print_key(const struct conf *conf, const char *name)
{
	return yaml_of(schema_find(SCOPE_ROOT, name), conf, NULL);
}

/*
 * ---- what a reload would change, and what of it needs a restart ----
 *
 * What can change is compared with what it is now; what cannot, with what it was at the start and still is.
 * Values are compared as texts, so that no type needs a comparison of its own.
 */

struct differ {
	const struct conf *boot;
	const struct conf *from;
	const struct conf *to;
	void (*each)(void *arg, const struct conf_change *change);
	void *arg;
	size_t layout; /* those that decide how a name lies at the master */
	int restarts;
	bool failed; /* memory was short */
};

/* A mapping as it was at the start, as it is now, and as it would be. from NULL: it is new. */
struct three {
	const void *boot;
	const void *from;
	const void *to;
};

static void
change_tell(struct differ *d, const char *path, const char *from, const char *to, bool restart)
{
	struct conf_change change = {path, from, to, restart};

	d->restarts += restart;
	d->each(d->arg, &change);
}

static bool
value_restarts(const struct differ *d, const struct schema_key *key, size_t item)
{
	return key->restart || (key->type == TYPE_GLOB && item < d->layout);
}

static bool
values_equal(const struct schema_key *key, const void *was, const void *is)
{
	char a[VALUE_TEXT_MAX], b[VALUE_TEXT_MAX];
	size_t n = value_count(key, was);
	bool equal = n == value_count(key, is);

	for (size_t i = 0; equal && i < n; i++) {
		(void)value_text(a, key, was, i);
		(void)value_text(b, key, is, i);
		equal = strcmp(a, b) == 0;
	}
	return equal;
}

/* In one line, for free(). NULL: out of memory. */
static char *
value_line(const struct schema_key *key, const void *base)
{
	char *text = yaml_of(key, base, NULL);

	if (text != NULL)
		text[strcspn(text, "\n")] = '\0';
	return text;
}

/* item: < 0: of no list */
static void
value_compare(struct differ *d, const struct schema_key *key, const struct three *of, long item)
{
	char path[SCHEMA_PATH_MAX];
	bool restart = value_restarts(d, key, item < 0 ? 0 : (size_t)item);
	const void *base = restart ? of->boot : of->from;
	char *was, *is;

	if (base == NULL || values_equal(key, scope_value(key, base), scope_value(key, of->to)))
		return;
	was = value_line(key, base);
	is = value_line(key, of->to);
	schema_path(path, key, item);
	if (was != NULL && is != NULL)
		change_tell(d, path, was, is, restart);
	else
		d->failed = true;
	free(was);
	free(is);
}

static bool
count_compare(struct differ *d, const struct schema_key *list, size_t was, size_t is)
{
	char from[32];
	char to[32];

	if (was == is)
		return true;
	snprintf(from, sizeof(from), "%zu items", was);
	snprintf(to, sizeof(to), "%zu items", is);
	change_tell(d, list->name, from, to, list->restart);
	return false;
}

static void list_compare(struct differ *d, const struct schema_key *list);
static void rules_compare(struct differ *d, const struct schema_key *list);

static void
secret_compare(struct differ *d, enum schema_scope scope, const struct three *of, long item)
{
	const struct schema_key *file = schema_find(scope, "password-file");
	const char *scope_path = schema_scope_path(scope);
	const void *base = file != NULL && file->restart ? of->boot : of->from;
	char **was = base == NULL ? NULL : scope_secret(scope, (void *)base);
	char **is = scope_secret(scope, (void *)of->to);
	char path[SCHEMA_PATH_MAX];

	if (was == NULL || strcmp(*was, *is) == 0)
		return;
	snprintf(path, sizeof(path), "%.*s[%ld]%s password", (int)strcspn(scope_path, "["), scope_path, item,
		strchr(scope_path, ']') + 1);
	change_tell(d, path, "(secret)", "(secret)", file != NULL && file->restart);
}

/* The fields of a mapping are found in what could also be written; they are only read. */
static const void *
field(const struct schema_key *key, const void *mapping)
{
	return mapping == NULL ? NULL : scope_field(key, (void *)mapping);
}

static void
scope_compare(struct differ *d, enum schema_scope scope, const struct three *of, long item)
{
	for (size_t i = 0; i < schema_key_count; i++) {
		const struct schema_key *key = &schema_keys[i];

		if (key->scope != scope)
			continue;
		if (schema_storage(key) == STORAGE_LIST && key->inner == SCOPE_RULE)
			rules_compare(d, key);
		else if (schema_storage(key) == STORAGE_LIST)
			list_compare(d, key);
		else if (schema_storage(key) == STORAGE_MAP)
			scope_compare(d, key->inner,
				&(struct three){
					field(key, of->boot), field(key, of->from), field(key, of->to)},
				item);
		else
			value_compare(d, key, of, item);
	}
	secret_compare(d, scope, of, item);
}

/* All of a list needs a restart, or nothing of it does. */
static void
list_compare(struct differ *d, const struct schema_key *list)
{
	const struct conf *base = list->restart ? d->boot : d->from;
	size_t n = scope_list_count(list, base);

	if (!count_compare(d, list, n, scope_list_count(list, d->to)))
		return;
	for (size_t i = 0; i < n; i++) {
		void *was = scope_list_item(list, base, i);
		void *is = scope_list_item(list, d->to, i);

		scope_compare(d, list->inner, &(struct three){was, was, is}, (long)i);
	}
}

/* Rules may come and go, all but those that decide which key a name has. */
static void
rules_compare(struct differ *d, const struct schema_key *list)
{
	char nothing[] = "";
	const struct conf_rule none = {.match = nothing,
		.key = nothing,
		.lease_ms = d->boot->lease_ms,
		.wait_ms = CONF_WAIT_FOREVER};
	size_t boot = d->boot->rule_count;
	size_t was = d->from->rule_count;
	size_t is = d->to->rule_count;

	(void)count_compare(d, list, was, is);
	for (size_t i = 0; i < is || i < d->layout; i++) {
		struct three of = {i < boot ? &d->boot->rules[i] : &none,
			i < was && i < is ? &d->from->rules[i] : NULL, i < is ? &d->to->rules[i] : &none};

		scope_compare(d, SCOPE_RULE, &of, (long)i);
	}
}

int
conf_diff(const struct conf *boot, const struct conf *from, const struct conf *to,
	void (*each)(void *arg, const struct conf_change *change), void *arg)
{
	struct differ d = {.boot = boot, .from = from, .to = to, .each = each, .arg = arg};

	d.layout = conf_layout_rules(boot) > conf_layout_rules(to) ? conf_layout_rules(boot)
								   : conf_layout_rules(to);
	scope_compare(&d, SCOPE_ROOT, &(struct three){boot, from, to}, -1);
	return d.failed ? -1 : d.restarts;
}
