/*
 * check_conf_print: what is printed loads back, what changed is told, and no key is missing from a document.
 */
#include "conf/conf.h"
#include "conf/loader.h"
#include "conf/printer.h"
#include "conf/schema.h"
#include "conf/value.h"

#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct conf_errors errors;

static const char rich[] =
	"listen:\n"
	"  - { unix: '/tmp/a \"b\\c', mode: 0600, group: root }\n"
	"  - { tcp: '0.0.0.0:5625', on-close: release, insecure: yes }\n"
	"  - { tcp: '0.0.0.0:5627', tls: { certificate: /d.pem, key: /d.key, client-ca: /c.pem, client-crl: "
	"/r.pem,\n"
	"                                  client-login: yes } }\n"
	"http:\n"
	"  - { unix: /run/h.sock, mode: 0666, group: root }\n"
	"  - { tcp: '0.0.0.0:5626', names: yes, insecure: yes }\n"
	"namespace: site-a\n"
	"masters:\n"
	"  - redis://us%40er:hunter2@[fd00::1]:7000/3\n"
	"  - sentinel: { name: mymaster, sentinels: [ 10.0.0.7, '[::1]:1', a.example:26380 ], user: "
	"watcher,\n"
	"                password-env: CHECK_CONF_SECRET, replicas-ack: no,\n"
	"                tls: { ca: /s.pem } }\n"
	"    tls: { ca: /c.pem, certificate: /a.pem, key: /a.key, name: m.example }\n"
	"    user: holdfast\n"
	"    database: 4\n"
	"  - unix:///run/r.sock\n"
	"  - { cluster: { name: c, nodes: [ 10.0.0.8, '[::1]:2' ], replicas-ack: no }, user: hf }\n"
	"  - redis://h\n"
	"pool: 2\nlease: 90s\nclock-margin: 1500ms\nhandoff: { streak: 1, time: 2s }\nrestart-guard: off\n"
	"rules:\n"
	"  - { match: \"\\xe9t\\xe9/#*\", lease: 1h, wait: 0ms, max-hold: 24h, metrics: yes, key: "
	"'{site-a}%' }\n"
	"  - match: '*'\n"
	"limits: { request-bytes: 1025b, output-bytes: 16k }\n"
	"users:\n"
	"  - { name: deploy, password-env: CHECK_CONF_SECRET, admin: yes }\n"
	"  - { name: 'yes', password-file: /dev/shm/none }\n"
	"  - { name: cron, unix-user: 61001, names: [ 'cron/*', 'a\\\"*' ], may: [ shared, see ] }\n"
	"  - { name: others, unix-user: '*', unix-group: 7, may: [] }\n"
	"  - { name: hashed, password-hash: '$5$rounds=1000$hunter$hunter2' }\n"
	"log: { level: error, to: /var/log/h.log }\n"
	"embedded: { directory: /d, redis-server: /usr/bin/valkey-server }\n";

static void
environment_set(void)
{
	unsetenv("XDG_RUNTIME_DIR");
	unsetenv("STATE_DIRECTORY");
	unsetenv("RUNTIME_DIRECTORY");
	unsetenv("HOLDFAST_MASTER_PASSWORD");
	setenv("CHECK_CONF_SECRET", "hunter3", 1);
	setenv("CHECK_CONF_OTHER", "hunter4", 1);
}

static struct conf *
good(const char *text)
{
	struct conf *conf = conf_parse("f.yml", text, strlen(text), &errors);

	ck_assert_msg(conf != NULL, "%s", errors.text[0]);
	return conf;
}

/* The file above without the user whose password is nowhere. */
static struct conf *
rich_conf(void)
{
	char text[sizeof(rich)];
	char *cut;

	strcpy(text, rich);
	cut = strstr(text, "  - { name: 'yes'");
	ck_assert_ptr_nonnull(cut);
	memmove(cut, strchr(cut, '\n') + 1, strlen(strchr(cut, '\n')));
	return good(text);
}

static char *
printed(const struct conf *conf)
{
	char *text = NULL;
	size_t n = 0;
	FILE *to = open_memstream(&text, &n);

	ck_assert_ptr_nonnull(to);
	ck_assert_int_eq(conf_print(conf, to), 0);
	fclose(to);
	return text;
}

static char *
file_text(const char *path)
{
	FILE *from = fopen(path, "r");
	char *text = calloc(1, 1 << 20);

	ck_assert_msg(from != NULL, "%s is not there; tests run at the top of the tree", path);
	ck_assert_ptr_nonnull(text);
	ck_assert_uint_gt(fread(text, 1, (1 << 20) - 1, from), 0);
	fclose(from);
	return text;
}

START_TEST(what_is_printed_loads_back_to_the_same)
{
	struct conf *conf = rich_conf();
	char *first = printed(conf);
	struct conf *again = good(first);
	char *second = printed(again);
	const char *password = "; the password is not shown";
	char *line = strstr(first, password);

	/* The password in the URL is the one thing that gets lost. */
	ck_assert_ptr_nonnull(line);
	memmove(line, line + strlen(password), strlen(line + strlen(password)) + 1);
	ck_assert_str_eq(first, second);
	ck_assert_str_eq(again->listeners[0].path, "/tmp/a \"b\\c");
	ck_assert_int_eq(again->listeners[0].mode, 0600);
	ck_assert_str_eq(again->listeners[2].tls.client_crl, "/r.pem");
	ck_assert(again->listeners[2].tls.client_login);
	ck_assert_str_eq(again->masters[0].url.user, "us@er");
	ck_assert_int_eq(again->masters[0].url.database, 3);
	ck_assert_str_eq(again->masters[1].sentinel.name, "mymaster");
	ck_assert_uint_eq(again->masters[1].sentinel.sentinels.count, 3);
	ck_assert_str_eq(again->masters[1].sentinel.sentinels.list[1].host, "::1");
	ck_assert_int_eq(again->masters[1].sentinel.sentinels.list[2].port, 26380);
	ck_assert_str_eq(again->masters[1].sentinel.password, "hunter3");
	ck_assert(!again->masters[1].sentinel.replicas_ack);
	ck_assert_int_eq(again->masters[1].database, 4);
	ck_assert_str_eq(again->masters[1].sentinel.tls.ca, "/s.pem");
	ck_assert_str_eq(again->masters[1].tls.ca, "/c.pem");
	ck_assert_str_eq(again->masters[1].tls.name, "m.example");
	ck_assert_str_eq(again->masters[2].sentinel.name, "");
	ck_assert_str_eq(again->masters[3].cluster.name, "c");
	ck_assert_int_eq(again->masters[3].cluster.nodes.list[0].port, 6379);
	ck_assert_int_eq(again->masters[3].cluster.nodes.list[1].port, 2);
	ck_assert(!again->masters[3].cluster.replicas_ack);
	ck_assert_str_eq(again->masters[3].user, "hf");
	ck_assert_uint_eq(again->masters[4].cluster.nodes.count, 0);
	ck_assert_str_eq(again->rules[0].match, "\xc3\xa9t\xc3\xa9/#*");
	ck_assert_int_eq(again->rules[0].wait_ms, 0);
	ck_assert_int_eq(again->rules[1].wait_ms, CONF_WAIT_FOREVER);
	ck_assert_int_eq(again->limits.request_bytes, 1025);
	free(first);
	free(second);
	conf_free(conf);
	conf_free(again);
}
END_TEST

/* Adds the text in quotes, as a file can have any. */
static void
quote(char *out, const char *text)
{
	char *end = out + strlen(out);

	*end++ = '\'';
	for (; *text != '\0'; text++) {
		if (*text == '\'')
			*end++ = '\'';
		*end++ = *text;
	}
	strcpy(end, "'");
}

START_TEST(what_yaml_would_take_for_something_else_is_in_quotes)
{
	static const char *const odd[] = {"yes", "no", "true", "null", "~", "0x10", "0660", "1e3", ".5", "&a",
		"!a", "a:", ":a", "#a", "a,b", "{a}", "-", "--", "|", ">", "%a", "@a", "`a", "'", "\"a\"",
		"a\\\\b", "=", "<<", "[a]", "2026-11-30", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x94\x92", "?",
		"*a", "*"};
	char text[4096] = "rules:\n";
	struct conf *conf, *again;
	char *first, *second;

	for (size_t i = 0; i < sizeof(odd) / sizeof(*odd); i++) {
		strcat(text, "- match: ");
		quote(text, odd[i]);
		strcat(text, "\n");
	}
	conf = good(text);
	first = printed(conf);
	again = good(first);
	second = printed(again);
	ck_assert_str_eq(first, second);
	ck_assert_uint_eq(again->rule_count, sizeof(odd) / sizeof(*odd));
	for (size_t i = 0; i < again->rule_count; i++)
		ck_assert_str_eq(again->rules[i].match, odd[i]);
	free(first);
	free(second);
	conf_free(conf);
	conf_free(again);
}
END_TEST

/* Behind blanks libyaml would fold a line, if it were told a width. */
START_TEST(a_long_text_stays_on_its_line)
{
	char path[2048] = "/", text[2 * sizeof(path)] = "", line[2 * sizeof(path)];
	struct conf *conf, *again;
	char *first;

	while (strlen(path) < 1024)
		strcat(path, "a: b  # c, \xc3\xa9 ");
	strcat(text, "log: { to: ");
	quote(text, path);
	strcat(text, " }\n");
	conf = good(text);
	first = printed(conf);
	again = good(first);
	ck_assert_str_eq(again->log.to, path);
	snprintf(line, sizeof(line), "\n  to: \"%s\"  # ", path);
	ck_assert_ptr_nonnull(strstr(first, line));
	free(first);
	conf_free(conf);
	conf_free(again);
}
END_TEST

/* No file can hold one. */
START_TEST(a_newline_is_printed_as_an_escape)
{
	struct conf *conf = good("");
	char *text;

	free(conf->log.to);
	conf->log.to = strdup("/a\n\tb");
	text = printed(conf);
	ck_assert_ptr_nonnull(strstr(text, "\n  to: \"/a\\n\\tb\""));
	ck_assert_ptr_null(conf_parse("f.yml", text, strlen(text), &errors));
	ck_assert_uint_eq(errors.count, 1);
	ck_assert_ptr_nonnull(strstr(errors.text[0], "log.to: \"/a\\n\\tb\" has a control character"));
	free(text);
	conf_free(conf);
}
END_TEST

START_TEST(the_environment_has_to_be_text_too)
{
	static const char *const wrong[] = {"/tmp/\xe9", "/tmp/a\nb"};

	for (size_t i = 0; i < 2; i++) {
		setenv("XDG_RUNTIME_DIR", wrong[i], 1);
		ck_assert_ptr_null(conf_parse("f.yml", "", 0, &errors));
		ck_assert_uint_eq(errors.count, 3);
		ck_assert_ptr_nonnull(strstr(errors.text[0],
			i == 0 ? "is not UTF-8; set it in the file" : "has a control character; set it"));
	}
}
END_TEST

START_TEST(a_full_disk_is_told)
{
	struct conf *conf = good("");

	for (int mode = 0; mode < 2; mode++) {
		FILE *full = fopen("/dev/full", "w");

		ck_assert_ptr_nonnull(full);
		setvbuf(full, NULL, mode == 0 ? _IOFBF : _IONBF, BUFSIZ);
		errno = 0;
		ck_assert_int_eq(conf_print(conf, full), -1);
		ck_assert_int_eq(errno, ENOSPC);
		fclose(full);
	}
	conf_free(conf);
}
END_TEST

/* Daemons tell each other these. */
START_TEST(one_key_is_printed_without_help)
{
	static const struct {
		const char *key, *value;
	} rows[] = {
		{"lease", "90s\n"},
		{"namespace", "\"site-a\"\n"},
		{"http", "[]\n"},
		{"handoff", "streak: 1\ntime: 2s\n"},
		{"masters",
			"- url: \"redis://h:6379/0\"\n- cluster:\n    name: \"c\"\n    nodes: [\"a:6379\", "
			"\"b:2\"]\n    replicas-ack: yes\n- url: \"redis://i:6379/0\"\n"},
	};
	struct conf *conf = good("namespace: site-a\nlease: 90s\nhandoff: { streak: 1, time: 2s }\n"
				 "masters: [ 'redis://h', cluster: { name: c, nodes: [ a, 'b:2' ] }, "
				 "'redis://:hunter2@i' ]\n");

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		char *text = conf_print_key(conf, rows[i].key);

		ck_assert_ptr_nonnull(text);
		ck_assert_str_eq(text, rows[i].value);
		free(text);
	}
	conf_free(conf);
}
END_TEST

START_TEST(no_password_is_printed)
{
	struct conf *conf = rich_conf();
	char *text = printed(conf);

	ck_assert_str_eq(conf->masters[0].password, "hunter2");
	ck_assert_str_eq(conf->masters[1].sentinel.password, "hunter3");
	ck_assert_str_eq(conf->users[0].password, "hunter3");
	ck_assert_ptr_null(strstr(text, "hunter"));
	free(text);
	conf_free(conf);
}
END_TEST

/* The length of the line. */
static int
line_length(const char *line)
{
	return (int)strcspn(line, "\n");
}

/* Two configurations as they are printed: says the first line in which the file differs. */
static void
has_the_values_of(const char *file, const char *printed_file, const char *expected)
{
	while (*printed_file != '\0' && *expected != '\0') {
		int n = line_length(printed_file), m = line_length(expected);

		ck_assert_msg(n == m && strncmp(printed_file, expected, (size_t)n) == 0,
			"%s has \"%.*s\", and the default in conf/schema.def is \"%.*s\"", file, n,
			printed_file, m, expected);
		printed_file += n + (printed_file[n] == '\n');
		expected += m + (expected[m] == '\n');
	}
	ck_assert_msg(*printed_file == *expected, "%s has more or fewer lines than the defaults", file);
}

/* The one that explains all, and the short one that is installed to be edited, which serves HTTP besides. */
START_TEST(the_shipped_files_are_the_defaults)
{
	static const struct {
		const char *file;
		const char *same; /* a file with the same values */
	} files[] = {
		{"conf/holdfast.yml", ""},
		{"packaging/holdfast.yml", "http: [ { unix: /run/holdfast/http.sock } ]\n"},
	};

	for (size_t i = 0; i < 2; i++) {
		struct conf *shipped = conf_load(files[i].file, true, &errors);
		struct conf *same = good(files[i].same);
		char *a, *b;

		ck_assert_msg(shipped != NULL, "%s", errors.text[0]);
		a = printed(shipped);
		b = printed(same);
		has_the_values_of(files[i].file, a, b);
		free(a);
		free(b);
		conf_free(shipped);
		conf_free(same);
	}
}
END_TEST

/* "\nkey: ", or "# key: " or "- key: " in front of it: as a key, not as a word in passing. */
static bool
has_key(const char *text, const char *name)
{
	char key[64];

	snprintf(key, sizeof(key), "%s:", name);
	for (const char *at = strstr(text, key); at != NULL; at = strstr(at + 1, key)) {
		const char *line = at;

		while (line > text && line[-1] != '\n')
			line--;
		if (strspn(line, "# -") == (size_t)(at - line))
			return true;
	}
	return false;
}

START_TEST(every_key_is_in_the_shipped_file)
{
	char *text = file_text("conf/holdfast.yml");

	for (size_t i = 0; i < schema_key_count; i++)
		ck_assert_msg(has_key(text, schema_keys[i].name), "conf/holdfast.yml says nothing of: %s",
			schema_keys[i].name);
	ck_assert(!has_key(text, "no-such-key"));
	free(text);
}
END_TEST

START_TEST(the_shipped_file_with_every_comment_taken_off_is_good_too)
{
	char *text = file_text("conf/holdfast.yml");
	char *out = calloc(1, 1 << 20);

	ck_assert_ptr_nonnull(out);
	for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
		/* "#  - key: ..." or "#    key: ..."; prose has one space. */
		const char *word = line + 1 + strspn(line + 1, " -");
		size_t length = strspn(word, "abcdefghijklmnopqrstuvwxyz-");
		bool example = strncmp(line, "#  ", 3) == 0 && length > 0 && word[length] == ':';

		if (strstr(line, "password-env") != NULL || strstr(line, "password-hash") != NULL)
			example = false;
		/* `key: []` opens the list whose items follow. */
		if (line[0] != '#' && strstr(line, ": []") != NULL)
			*strstr(line, "[]") = '\0';
		strcat(out, line + (example ? 1 : 0));
		strcat(out, "\n");
	}
	/* The password files of the examples, of a master, of its sentinels and of a user, are not here. */
	conf_free(conf_parse("holdfast.yml", out, strlen(out), &errors));
	for (size_t i = 0; i < errors.count; i++)
		ck_assert_msg(
			strstr(errors.text[i], "cannot be read: No such file") != NULL, "%s", errors.text[i]);
	ck_assert_uint_eq(errors.count, 3);
	free(text);
	free(out);
}
END_TEST

/* The key whose value is this mapping, or a list of it; NULL: the root. */
static const struct schema_key *
key_around(enum schema_scope scope)
{
	for (size_t i = 0; i < schema_key_count; i++) {
		if (schema_keys[i].inner == scope && schema_keys[i].scope != scope)
			return &schema_keys[i];
	}
	return NULL;
}

#define ITEM_MAX 8192

/* Finds the next item of the manual about a key of this name: a copy, which ends with the item. */
static const char *
item_next(const char *from, const char *name, char item[ITEM_MAX])
{
	static const char *const ends[] = {"\n.It Ic ", "\n.Ss ", "\n.Sh "};
	char head[80];
	const char *at;
	size_t n;

	snprintf(head, sizeof(head), "\n.It Ic %s\n", name);
	at = strstr(from, head);
	if (at == NULL)
		return NULL;
	at += strlen(head) - 1;
	n = strlen(at);
	for (size_t i = 0; i < 3; i++) {
		const char *end = strstr(at, ends[i]);

		if (end != NULL && (size_t)(end - at) < n)
			n = (size_t)(end - at);
	}
	ck_assert_uint_lt(n, ITEM_MAX);
	memcpy(item, at, n);
	item[n] = '\0';
	return at;
}

static bool
item_restarts(const char *item)
{
	return strstr(item, ".Em restart") != NULL || strstr(item, ".Em ( restart )") != NULL;
}

/* Whether the items of this name say that what is in it needs a restart. One that is inside an item of a list
 * follows that list. */
static bool
mapping_restarts(const char *text, const struct schema_key *mapping)
{
	char item[ITEM_MAX];

	if (mapping == NULL)
		return false;
	for (const char *at = text; (at = item_next(at, mapping->name, item)) != NULL;) {
		if (item_restarts(item))
			return true;
	}
	return mapping_restarts(text, key_around(mapping->scope));
}

/* Whether the value that is written there is this bound of the key. */
static bool
is_bound(const struct schema_key *key, const char *word, size_t n, int64_t bound)
{
	char text[32], why[VALUE_WHY_MAX];
	int64_t value = -1;

	if (n == 0 || n >= sizeof(text))
		return false;
	memcpy(text, word, n);
	text[n] = '\0';
	return value_parse(key, text, &value, why) && value == bound;
}

/* Whether the item has "LOW to HIGH", in whatever units; of a value that has no bounds, true. */
static bool
item_has_range(const char *item, const struct schema_key *key)
{
	static const char to[] = " to ";
	const char *at = item;

	if (schema_storage(key) != STORAGE_NUMBER || key->type == TYPE_MODE)
		return true;
	while ((at = strstr(at, to)) != NULL) {
		const char *low = at, *high = at + strlen(to);

		while (low > item && strchr(" \n", low[-1]) == NULL)
			low--;
		if (is_bound(key, low, (size_t)(at - low), key->low) &&
			is_bound(key, high, strspn(high, "0123456789bdhkms"), key->high))
			return true;
		at++;
	}
	return false;
}

/* The manual is made from holdfast.yml: what no item of it says truly of the key. NULL: one says all. */
static const char *
manual_lacks(const char *text, const struct schema_key *key)
{
	bool marked = mapping_restarts(text, key_around(key->scope));
	const char *lacks = "that there is such a key";
	char item[ITEM_MAX];

	for (const char *at = text; (at = item_next(at, key->name, item)) != NULL;) {
		if (strstr(item, key->fallback) == NULL)
			lacks = "its default";
		else if ((item_restarts(item) || (marked && key->restart)) != key->restart)
			lacks = key->restart ? "[restart], as a reload does not take it up"
					     : "that a reload takes it up: without [restart]";
		else if (!item_has_range(item, key))
			lacks = "its bounds, as in \"1 to 10\"";
		else
			return NULL;
	}
	return lacks;
}

START_TEST(every_key_is_in_the_manual)
{
	const char *build = getenv("HOLDFAST_BUILD");
	char path[4096];
	char *text;

	(void)snprintf(path, sizeof(path), "%s/man/holdfast.yml.5", build != NULL ? build : "build");
	text = file_text(path);

	for (size_t i = 0; i < schema_key_count; i++) {
		const struct schema_key *key = &schema_keys[i];
		const char *lacks = NULL;

		if (key->type != TYPE_LIST && key->type != TYPE_MAP)
			lacks = manual_lacks(text, key);
		ck_assert_msg(lacks == NULL, "conf/holdfast.yml does not say of %s: %s", key->name, lacks);
	}
	free(text);
}
END_TEST

START_TEST(every_key_is_printed)
{
	struct conf *conf = rich_conf();
	struct conf *defaults = conf_default(&errors);
	char *text = printed(conf);

	for (size_t i = 0; i < schema_key_count; i++) {
		/* What an item does not have, it does not show. */
		if (strcmp(schema_keys[i].name, "password-file") == 0)
			continue;
		ck_assert_msg(has_key(text, schema_keys[i].name), "--print-config leaves out %s",
			schema_keys[i].name);
	}
	free(text);
	conf_free(conf);
	conf_free(defaults);
}
END_TEST

static char told[4096];

static void
tell(void *arg, const struct conf_change *change)
{
	(void)arg;
	snprintf(told + strlen(told), sizeof(told) - strlen(told), "%s: %s -> %s%s\n", change->path,
		change->from, change->to, change->restart ? " (restart)" : "");
}

/* From boot by way of now. */
static void
reloads(const char *boot, const char *now, const char *to, int restarts, const char *expected)
{
	struct conf *a = good(boot);
	struct conf *b = good(now);
	struct conf *c = good(to);

	told[0] = '\0';
	ck_assert_int_eq(conf_diff(a, b, c, tell, NULL), restarts);
	ck_assert_str_eq(told, expected);
	conf_free(a);
	conf_free(b);
	conf_free(c);
}

static void
differs(const char *from, const char *to, int restarts, const char *expected)
{
	reloads(from, from, to, restarts, expected);
}

START_TEST(nothing_changed_is_no_change)
{
	differs("", "", 0, "");
	differs("lease: 60s\n", "lease: 1m\n", 0, "");
}
END_TEST

START_TEST(a_change_is_told_with_both_values)
{
	differs("limits: { clients: 5 }\n", "limits: { clients: 6 }\n", 0, "limits.clients: 5 -> 6\n");
	differs("log: { level: debug }\n", "", 0, "log.level: debug -> info\n");
	differs("pool: 2\n", "", 1, "pool: 2 -> 1 (restart)\n");
	differs("rules: [ { match: a, wait: 1s } ]\n", "rules: [ { match: a, wait: 2s } ]\n", 0,
		"rules[0].wait: 1s -> 2s\n");
	differs("masters: [ 'redis://h' ]\n", "masters: [ 'redis://h/1' ]\n", 1,
		"masters[0].url: \"redis://h:6379/0\" -> \"redis://h:6379/1\" (restart)\n");
	differs("masters: [ sentinel: { name: m, sentinels: [ a ] } ]\n",
		"masters: [ { sentinel: { name: m, sentinels: [ a, b ], replicas-ack: no }, user: u } ]\n", 3,
		"masters[0].sentinel.sentinels: [\"a:26379\"] -> [\"a:26379\", \"b:26379\"] (restart)\n"
		"masters[0].sentinel.replicas-ack: yes -> no (restart)\n"
		"masters[0].user: \"\" -> \"u\" (restart)\n");
	differs("masters: [ sentinel: { name: m, sentinels: [ a ] } ]\n", "masters: [ 'redis://h' ]\n", 3,
		"masters[0].url: \"\" -> \"redis://h:6379/0\" (restart)\n"
		"masters[0].sentinel.name: \"m\" -> \"\" (restart)\n"
		"masters[0].sentinel.sentinels: [\"a:26379\"] -> [] (restart)\n");
	differs("", "listen: [ { unix: /run/holdfast/holdfast.sock }, { tcp: '127.0.0.1:1' } ]\n", 0,
		"listen: 1 items -> 2 items\n");
	differs("", "http: [ { tcp: '127.0.0.1:1' } ]\n", 0, "http: 0 items -> 1 items\n");
	differs("http: [ { tcp: '127.0.0.1:1' } ]\n", "http: [ { tcp: '127.0.0.1:2', names: yes } ]\n", 0,
		"http[0].tcp: \"127.0.0.1:1\" -> \"127.0.0.1:2\"\nhttp[0].names: no -> yes\n");
}
END_TEST

START_TEST(a_lease_may_become_longer_or_shorter_without_a_restart)
{
	differs("rules: [ { match: a, lease: 1m } ]\n", "lease: 5s\nrules: [ { match: a, lease: 1m } ]\n", 0,
		"lease: 10s -> 5s\n");
	differs("", "lease: 20s\n", 0, "lease: 10s -> 20s\n");
	differs("", "lease: 5s\n", 0, "lease: 10s -> 5s\n");
	differs("rules: [ { match: a } ]\n", "rules: [ { match: a, lease: 1m, wait: 1s } ]\n", 0,
		"rules[0].lease: 10s -> 1m\nrules[0].wait: forever -> 1s\n");
}
END_TEST

START_TEST(rules_come_and_go_but_their_layout_needs_a_restart)
{
	differs("", "rules: [ { match: a, lease: 5s } ]\n", 0, "rules: 0 items -> 1 items\n");
	differs("rules: [ { match: a }, { match: b } ]\n", "rules: [ { match: b } ]\n", 0,
		"rules: 2 items -> 1 items\nrules[0].match: \"a\" -> \"b\"\n");
	differs("rules: [ { match: a } ]\n", "rules: [ { match: b } ]\n", 0,
		"rules[0].match: \"a\" -> \"b\"\n");
	differs("rules: [ { match: a, key: 'x:%' } ]\n", "rules: [ { match: b, key: 'x:%' } ]\n", 1,
		"rules[0].match: \"a\" -> \"b\" (restart)\n");
	differs("rules: [ { match: a }, { match: c, key: 'x:%' }, { match: e } ]\n",
		"rules: [ { match: b }, { match: c, key: 'x:%' }, { match: f } ]\n", 1,
		"rules[0].match: \"a\" -> \"b\" (restart)\nrules[2].match: \"e\" -> \"f\"\n");
	differs("rules: [ { match: a } ]\n", "rules: [ { match: a, key: 'x:%' } ]\n", 1,
		"rules[0].key: \"\" -> \"x:%\" (restart)\n");
	differs("rules: [ { match: a, key: 'x:%' }, { match: b } ]\n", "rules: [ { match: b } ]\n", 2,
		"rules: 2 items -> 1 items\nrules[0].match: \"a\" -> \"b\" (restart)\n"
		"rules[0].key: \"x:%\" -> \"\" (restart)\n");
	differs("rules: [ { match: a, key: 'x:%' } ]\n", "", 2,
		"rules: 1 items -> 0 items\nrules[0].match: \"a\" -> \"\" (restart)\n"
		"rules[0].key: \"x:%\" -> \"\" (restart)\n");
}
END_TEST

START_TEST(what_waits_for_a_restart_is_told_at_each_reload)
{
	reloads("", "namespace: b\nlease: 5s\n", "namespace: b\nlease: 5s\n", 1,
		"namespace: \"holdfast\" -> \"b\" (restart)\n");
	reloads("", "lease: 1m\n", "lease: 1m\n", 0, "");
	reloads("", "namespace: b\nlease: 5s\n", "", 0, "lease: 5s -> 10s\n");
}
END_TEST

START_TEST(a_changed_password_is_told_without_showing_it)
{
	differs("masters: [ 'redis://u:one@h' ]\n", "masters: [ 'redis://u:two@h' ]\n", 0,
		"masters[0] password: (secret) -> (secret)\n");
	differs("masters: [ sentinel: { name: m, sentinels: [ a ] } ]\n",
		"masters: [ sentinel: { name: m, sentinels: [ a ], password-env: CHECK_CONF_SECRET } ]\n", 0,
		"masters[0].sentinel.password-env: \"\" -> \"CHECK_CONF_SECRET\"\n"
		"masters[0].sentinel password: (secret) -> (secret)\n");
	differs("users: [ { name: a, password-env: CHECK_CONF_SECRET } ]\n",
		"users: [ { name: a, password-env: CHECK_CONF_OTHER } ]\n", 0,
		"users[0].password-env: \"CHECK_CONF_SECRET\" -> \"CHECK_CONF_OTHER\"\n"
		"users[0] password: (secret) -> (secret)\n");
	differs("users: [ { name: a, password-hash: '$5$abcdefgh$one' } ]\n",
		"users: [ { name: a, password-hash: '$5$abcdefgh$two' } ]\n", 0,
		"users[0] password: (secret) -> (secret)\n");
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("conf_print");
	TCase *tcase = tcase_create("conf_print");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tcase, environment_set, NULL);
	tcase_add_test(tcase, what_is_printed_loads_back_to_the_same);
	tcase_add_test(tcase, what_yaml_would_take_for_something_else_is_in_quotes);
	tcase_add_test(tcase, a_long_text_stays_on_its_line);
	tcase_add_test(tcase, a_newline_is_printed_as_an_escape);
	tcase_add_test(tcase, the_environment_has_to_be_text_too);
	tcase_add_test(tcase, a_full_disk_is_told);
	tcase_add_test(tcase, one_key_is_printed_without_help);
	tcase_add_test(tcase, no_password_is_printed);
	tcase_add_test(tcase, the_shipped_files_are_the_defaults);
	tcase_add_test(tcase, every_key_is_in_the_shipped_file);
	tcase_add_test(tcase, the_shipped_file_with_every_comment_taken_off_is_good_too);
	tcase_add_test(tcase, every_key_is_in_the_manual);
	tcase_add_test(tcase, every_key_is_printed);
	tcase_add_test(tcase, nothing_changed_is_no_change);
	tcase_add_test(tcase, a_change_is_told_with_both_values);
	tcase_add_test(tcase, a_lease_may_become_longer_or_shorter_without_a_restart);
	tcase_add_test(tcase, rules_come_and_go_but_their_layout_needs_a_restart);
	tcase_add_test(tcase, what_waits_for_a_restart_is_told_at_each_reload);
	tcase_add_test(tcase, a_changed_password_is_told_without_showing_it);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
