/*
 * options: reads argv by the tables of options.def.
 *
 *     holdfast [option]... VERB [option | positional]... [-- command...]
 *
 * Options may come before the verb, and before and after NAME. After the first word of a command they belong
 * to the command.
 */
#include "client/options.h"

#include "client/help.h"
#include "client/message.h"
#include "proto/command.h"
#include "proto/escape.h"
#include "proto/name.h"

#include <assert.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The state of the parser. */
struct reader {
	struct options *o;
	char **next;  /* the next argument; ends with NULL */
	char **verb;  /* the verb in argv; NULL: there is none */
	bool closed;  /* "--" was seen: no more options */
	bool command; /* next is the first word of the command */
	char *why;
};

static bool
reader_fail(struct reader *r, const char *format, const char *what, const char *more)
{
	(void)snprintf(r->why, OPTIONS_TEXT_MAX, format, what, more);
	return false;
}

const struct option_entry *
options_list(void)
{
	static const struct option_entry list[] = {
#define OPTION(field, kind, letter, word, argument, least, most, tasks, help)                                \
	{OPTION_##kind, letter, word, argument, least, most, tasks, help, offsetof(struct options, field)},
#include "client/options.def"
#undef OPTION
		{OPTION_FLAG, 0, NULL, NULL, 0, 0, 0, NULL, 0}};

	return list;
}

const struct task_entry *
options_task(enum task task)
{
	static const struct task_entry list[TASK_COUNT] = {
#define TASK(id, word, arguments, summary, about) {#word, arguments, summary, about},
#include "client/options.def"
#undef TASK
	};

	assert(task < TASK_COUNT);
	return &list[task];
}

static int64_t
unit_ms(const char *unit)
{
	static const struct {
		const char *unit;
		int64_t ms;
	} units[] = {{"", 1000}, {"ms", 1}, {"s", 1000}, {"m", 60 * 1000}, {"h", 60 * 60 * 1000},
		{"d", 24 * 60 * 60 * 1000}};

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(unit, units[i].unit) == 0) {
			return units[i].ms;
		}
	}
	return 0;
}

/* What is longer counts as this, which is more than any option allows. */
#define SECONDS_END_MS 9e15

bool
options_seconds(const char *text, int64_t *ms)
{
	size_t digits = strspn(text, "0123456789.");
	int64_t unit = unit_ms(text + digits);
	char *end;
	double number = strtod(text, &end);

	/* strtod() alone would also accept "inf", "0x10", "1e3" and leading blanks. */
	if (digits == 0 || end != text + digits || unit == 0) {
		return false;
	}
	number *= (double)unit;
	*ms = (int64_t)((number < SECONDS_END_MS ? number : SECONDS_END_MS) + 0.5);
	/* A wait of 0.0001 is a short wait, not WAIT 0. */
	if (*ms == 0 && number > 0) {
		*ms = 1;
	}
	return true;
}

/* musl has no sigabbrev_np(). */
#define SIGNAL(word)                                                                                         \
	{                                                                                                    \
#word, SIG##word                                                                             \
	}

static int
signal_number(const char *text)
{
	static const struct {
		const char *word;
		int number;
	} signals[] = {SIGNAL(HUP), SIGNAL(INT), SIGNAL(QUIT), SIGNAL(ILL), SIGNAL(TRAP), SIGNAL(ABRT),
		SIGNAL(BUS), SIGNAL(FPE), SIGNAL(KILL), SIGNAL(USR1), SIGNAL(SEGV), SIGNAL(USR2),
		SIGNAL(PIPE), SIGNAL(ALRM), SIGNAL(TERM), SIGNAL(STKFLT), SIGNAL(CHLD), SIGNAL(CONT),
		SIGNAL(STOP), SIGNAL(TSTP), SIGNAL(TTIN), SIGNAL(TTOU), SIGNAL(URG), SIGNAL(XCPU),
		SIGNAL(XFSZ), SIGNAL(VTALRM), SIGNAL(PROF), SIGNAL(WINCH), SIGNAL(POLL), SIGNAL(PWR),
		SIGNAL(SYS)};
	int64_t n;

	if (number_parse(slice_of(text), 1, SIGRTMAX, &n)) {
		return (int)n;
	}
	if (strncmp(text, "SIG", 3) == 0) {
		text += 3;
	}
	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++) {
		if (strcmp(signals[i].word, text) == 0) {
			return signals[i].number;
		}
	}
	return 0;
}

static bool
loss_parse(const char *text, struct loss *loss)
{
	static const char *const words[] = {[LOSS_TERM] = "term", [LOSS_KILL] = "kill", [LOSS_WARN] = "warn"};

	for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcmp(text, words[i]) == 0) {
			*loss = (struct loss){(enum loss_way)i, 0};
			return true;
		}
	}
	if (strncmp(text, "signal:", 7) == 0 && signal_number(text + 7) > 0) {
		*loss = (struct loss){LOSS_SIGNAL, signal_number(text + 7)};
		return true;
	}
	return false;
}

static bool
fail_range(struct reader *r, const struct option_entry *e, const char *value)
{
	if (e->kind == OPTION_SECONDS || e->kind == OPTION_WAIT) {
		(void)snprintf(r->why, OPTIONS_TEXT_MAX,
			"--%s %.64s: a time from %s to %lld seconds (or with a unit: 500ms, 10s, 5m, 2h, "
			"1.5d) is "
			"allowed",
			e->word, value, e->least > 0 ? "0.001" : "0", (long long)e->most / 1000);
	} else {
		(void)snprintf(r->why, OPTIONS_TEXT_MAX, "--%s %.64s: a number from %lld to %lld is allowed",
			e->word, value, (long long)e->least, (long long)e->most);
	}
	return false;
}

static bool
also_add(struct reader *r, struct also *also, const char *name)
{
	if (also->count == OPTION_ALSO_MAX) {
		return reader_fail(r, "--also %.64s: no more than 64 names%s", name, "");
	}
	also->names[also->count++] = name;
	return true;
}

/* Sets the field of e to value; the value of a flag is NULL. */
static bool
option_set(struct reader *r, const struct option_entry *e, const char *value)
{
	char *field = (char *)r->o + e->offset;
	int64_t n = 0;

	assert(e->kind == OPTION_FLAG || value != NULL);
	switch (e->kind) {
	case OPTION_FLAG:
		*(bool *)field = true;
		return true;
	case OPTION_TEXT:
		*(const char **)field = value;
		return true;
	case OPTION_ALSO:
		return also_add(r, (struct also *)field, value);
	case OPTION_LOSS:
		return loss_parse(value, (struct loss *)field) ||
		       reader_fail(
			       r, "--%s %.64s: term, kill, warn or signal:NAME is allowed", e->word, value);
	case OPTION_SECONDS:
	case OPTION_WAIT:
		if (!options_seconds(value, &n) || n < e->least || (n > e->most && e->kind != OPTION_WAIT)) {
			return fail_range(r, e, value);
		}
		n = n < e->most ? n : e->most;
		break;
	case OPTION_NUMBER:
		if (!number_parse(slice_of(value), e->least, e->most, &n)) {
			return fail_range(r, e, value);
		}
		break;
	}
	*(int64_t *)field = n;
	return true;
}

static bool
option_allowed(struct reader *r, const struct option_entry *e)
{
	enum task task = r->o->task;

	if (task == TASK_COUNT) {
		return true; /* the error is the missing verb */
	}
	return (e->tasks & (1u << task)) != 0 ||
	       reader_fail(r, "--%s is not an option of holdfast %s", e->word, options_task(task)->word);
}

/* The entry of that word, of several that of the verb; the last entry of the list if there is none. */
static const struct option_entry *
word_find(const char *text, size_t n, enum task task)
{
	const struct option_entry *e = options_list(), *found = NULL;

	for (; e->word != NULL; e++) {
		bool fits = task != TASK_COUNT && (e->tasks & (1u << task)) != 0;

		if (strlen(e->word) == n && memcmp(e->word, text, n) == 0 && (found == NULL || fits)) {
			found = e;
		}
	}
	return found != NULL ? found : e;
}

static bool
fail_word(struct reader *r, const char *text, size_t n)
{
	struct guess guess = guess_begin((struct slice){text, n});

	for (const struct option_entry *e = options_list(); e->word != NULL; e++) {
		if (r->o->task == TASK_COUNT || (e->tasks & (1u << r->o->task)) != 0) {
			guess_try(&guess, e->word);
		}
	}
	if (guess.best != NULL) {
		return reader_fail(
			r, "--%.64s: there is no such option; did you mean --%s?", text, guess.best);
	}
	return reader_fail(r, "--%.64s: there is no such option; holdfast %s--help lists them", text,
		r->o->task == TASK_COUNT ? "VERB " : "");
}

/* --word, --word=value, --word value */
static bool
read_word(struct reader *r, const char *text)
{
	size_t n = strcspn(text, "=");
	const char *value = text[n] == '=' ? text + n + 1 : NULL;
	const struct option_entry *e = word_find(text, n, r->o->task);

	if (e->word == NULL) {
		return fail_word(r, text, n);
	}
	if (!option_allowed(r, e)) {
		return false;
	}
	if (e->argument == NULL) {
		return value == NULL ? option_set(r, e, NULL)
				     : reader_fail(r, "--%s takes no value%s", e->word, "");
	}
	if (value == NULL) {
		value = *r->next;
		if (value == NULL) {
			return reader_fail(r, "--%s needs a value: %s", e->word, e->argument);
		}
		r->next++;
	}
	return option_set(r, e, value);
}

const struct option_entry *
options_letter(char letter, enum task task)
{
	const struct option_entry *found = NULL;

#define ALIAS(alias, other) letter = letter == (alias) ? (other) : letter;
#include "client/options.def"
#undef ALIAS
	for (const struct option_entry *e = options_list(); e->word != NULL; e++) {
		bool fits = task != TASK_COUNT && (e->tasks & (1u << task)) != 0;

		if (e->letter == letter && (found == NULL || fits)) {
			found = e;
		}
	}
	return found;
}

/* -n, -w5, -w 5, -nq */
static bool
read_letters(struct reader *r, const char *text)
{
	for (; *text != '\0'; text++) {
		const struct option_entry *e = options_letter(*text, r->o->task);
		const char *value = text + 1;

		if (e == NULL) {
			return reader_fail(
				r, "-%.1s: there is no such option; holdfast --help lists them%s", text, "");
		}
		if (!option_allowed(r, e)) {
			return false;
		}
		if (e->argument == NULL) {
			if (!option_set(r, e, NULL)) {
				return false;
			}
			continue;
		}
		if (*value == '\0') {
			value = *r->next;
			if (value == NULL) {
				return reader_fail(r, "--%s needs a value: %s", e->word, e->argument);
			}
			r->next++;
		}
		return option_set(r, e, value);
	}
	return true;
}

static bool
read_task(struct reader *r, const char *text)
{
	struct guess guess = guess_begin(slice_of(text));

	for (unsigned i = 0; i < TASK_COUNT; i++) {
		if (strcmp(text, options_task((enum task)i)->word) == 0) {
			r->o->task = (enum task)i;
			return true;
		}
	}
	for (unsigned i = 0; i < TASK_COUNT; i++) {
		guess_try(&guess, options_task((enum task)i)->word);
	}
	if (guess.best != NULL) {
		return reader_fail(r, "%.64s: there is no such verb; did you mean %s?", text, guess.best);
	}
	return reader_fail(r, "%.64s: there is no such verb; holdfast --help lists them%s", text, "");
}

/* How many arguments an option takes: itself, and a value in the next argument. 0: unknown option. */
static int
option_width(const char *text)
{
	const struct option_entry *e;

	if (text[1] == '-') {
		size_t n = strcspn(text + 2, "=");

		e = word_find(text + 2, n, TASK_COUNT);
		return e->word == NULL ? 0 : e->argument != NULL && text[2 + n] == '\0' ? 2 : 1;
	}
	for (text++; *text != '\0'; text++) {
		e = options_letter(*text, TASK_COUNT);
		if (e == NULL) {
			return 0;
		}
		if (e->argument != NULL) {
			return text[1] == '\0' ? 2 : 1;
		}
	}
	return 1;
}

/* Options may come before the verb, but the verb determines which ones are valid. */
static bool
find_verb(struct reader *r)
{
	char **at = r->next;

	while (*at != NULL && (*at)[0] == '-' && (*at)[1] != '\0') {
		bool last = strcmp(*at, "--") == 0;
		int width = last ? 1 : option_width(*at);

		if (width == 0 || (width == 2 && at[1] == NULL)) {
			return true; /* reported later as an error */
		}
		at += width;
		if (last) {
			break;
		}
	}
	if (*at == NULL) {
		return true;
	}
	r->verb = at;
	return read_task(r, *at);
}

static bool
read_positional(struct reader *r, const char *text)
{
	if (r->o->name == NULL && options_task(r->o->task)->arguments[0] != '\0') {
		r->o->name = text;
		return true;
	}
	for (size_t i = 0; (ON(LATCH) | ON(MASTERS)) >> r->o->task & 1 && i < 2; i++) {
		if (r->o->words[i] == NULL) {
			r->o->words[i] = text;
			return true;
		}
	}
	if (r->o->task == TASK_RUN) {
		r->next--;
		r->command = true;
		return true;
	}
	return reader_fail(
		r, "%.64s: one argument too many for holdfast %s", text, options_task(r->o->task)->word);
}

static bool
read_argument(struct reader *r)
{
	const char *text = *r->next++;

	if (r->next - 1 == r->verb) {
		return true;
	}
	if (r->verb != NULL && r->next <= r->verb && strcmp(text, "--") == 0) {
		return true;
	}
	if (!r->closed && strcmp(text, "--") == 0) {
		r->closed = true;
		r->command = r->o->task == TASK_RUN && r->o->name != NULL;
		return true;
	}
	if (r->closed || text[0] != '-' || text[1] == '\0') {
		return read_positional(r, text);
	}
	return text[1] == '-' ? read_word(r, text + 2) : read_letters(r, text + 1);
}

/* latch NAME [set N | down [N]] */
static bool
latch_complete(struct reader *r)
{
	const char *verb = r->o->words[0], *steps = r->o->words[1];
	bool set = verb != NULL && strcmp(verb, "set") == 0;
	int64_t n;

	if (verb != NULL && !set && strcmp(verb, "down") != 0) {
		return reader_fail(
			r, "holdfast latch %.64s %.64s: set N or down [N] is allowed", r->o->name, verb);
	}
	if (set && steps == NULL) {
		return reader_fail(
			r, "holdfast latch %.64s set: the number of steps is missing%s", r->o->name, "");
	}
	if (steps != NULL && !number_parse(slice_of(steps), 1, OPTION_STEPS_MAX, &n)) {
		return reader_fail(
			r, "holdfast latch %.64s: %.64s: 1 to 1000000 steps are allowed", r->o->name, steps);
	}
	if (r->o->lease_ms > 0 && !set) {
		return reader_fail(r, "holdfast latch %.64s: --lease goes with set%s", r->o->name, "");
	}
	return true;
}

/* masters [status | replace OLD NEW | add NEW NEW | abort | forget SERVER] */
static bool
masters_complete(struct reader *r)
{
	static const struct {
		const char *verb, *wants;
		size_t words;
	} verbs[] = {{"status", "no argument", 0}, {"replace", "OLD NEW", 2}, {"add", "NEW NEW", 2},
		{"abort", "no argument", 0}, {"forget", "SERVER", 1}};
	const char *verb = r->o->name;
	size_t words = r->o->words[0] == NULL ? 0 : r->o->words[1] == NULL ? 1 : 2;

	for (size_t i = 0; verb != NULL && i < sizeof(verbs) / sizeof(verbs[0]); i++) {
		if (strcmp(verb, verbs[i].verb) == 0) {
			return words == verbs[i].words ||
			       reader_fail(r, "holdfast masters %s takes %s", verb, verbs[i].wants);
		}
	}
	if (verb != NULL && strcmp(verb, "remove") == 0) {
		return reader_fail(r,
			"holdfast masters remove%s: the set shrinks only while all daemons are stopped, see "
			"Several "
			"masters in holdfastd(8)%s",
			"", "");
	}
	return verb == NULL ||
	       reader_fail(r,
		       "holdfast masters %.64s: status, replace OLD NEW, add NEW NEW or abort is allowed%s",
		       verb, "");
}

/* run NAME COMMAND; run --command LINE NAME; run --unlock NAME */
static bool
run_complete(struct reader *r)
{
	struct options *o = r->o;
	const char *word = o->shell != NULL ? o->shell : *o->command;

	if (o->unlock) {
		o->task = TASK_UNLOCK;
		return word == NULL || reader_fail(r,
					       "holdfast run --unlock %.64s gives a lock back: no command is "
					       "allowed (%.64s)",
					       o->name, word);
	}
	if (o->shell != NULL && *o->command != NULL) {
		return reader_fail(r,
			"holdfast run %.64s: --command LINE or COMMAND is allowed, not both (%.64s)", o->name,
			*o->command);
	}
	return word != NULL ||
	       reader_fail(r, "holdfast run %.64s: the command to run is missing%s", o->name, "");
}

/* kill SESSION */
static bool
kill_complete(struct reader *r)
{
	struct options *o = r->o;

	assert(o->name != NULL);
	return number_parse(slice_of(o->name), 1, INT64_MAX, &o->token) ||
	       reader_fail(r,
		       "holdfast kill %.64s: the number of a session is needed, as holdfast sessions prints "
		       "it%s",
		       o->name, "");
}

/* A text that no daemon takes is refused at once, even if no daemon is there. */
static bool
text_complete(struct reader *r, const char *what, const char *text, const char *fault)
{
	char shown[OPTIONS_TEXT_MAX / 2];

	if (fault == NULL) {
		return true;
	}
	(void)escape_text(shown, sizeof(shown), slice_of(text), ESCAPE_PLAIN);
	(void)snprintf(r->why, OPTIONS_TEXT_MAX, "bad %s '%s': %s", what, shown, fault);
	return false;
}

static bool
name_complete(struct reader *r, const char *name)
{
	return text_complete(r, "name", name, name_check(slice_of(name), NAME_BYTES_MAX));
}

/* Checks the texts that go into the request for a lock or a latch. */
static bool
texts_complete(struct reader *r)
{
	const struct options *o = r->o;

	if (((ASKERS >> o->task) & 1) == 0) {
		return true;
	}
	for (size_t i = 0; i < o->also.count; i++) {
		if (!name_complete(r, o->also.names[i])) {
			return false;
		}
	}
	return name_complete(r, o->name) &&
	       (o->why == NULL ||
		       text_complete(r, "--why", o->why, name_check_text(slice_of(o->why), WHY_BYTES_MAX)));
}

/* Checks arguments against each other. */
static bool
options_complete(struct reader *r)
{
	struct options *o = r->o;
	const struct task_entry *task;

	if (o->help || o->version) {
		return true;
	}
	if (o->task == TASK_COUNT) {
		return reader_fail(r, "a verb is missing; holdfast --help lists them%s%s", "", "");
	}
	task = options_task(o->task);
	if (o->name == NULL && task->arguments[0] != '\0' && task->arguments[0] != '[') {
		return reader_fail(r, "holdfast %s needs %s", task->word, task->arguments);
	}
	if (o->task == TASK_BREAK && o->token == 0) {
		return reader_fail(r,
			"holdfast break needs --token N: holdfast show %.64s prints the token of the "
			"holder%s",
			o->name, "");
	}
	if ((o->task == TASK_KILL && !kill_complete(r)) || (o->task == TASK_RUN && !run_complete(r)) ||
		(o->task == TASK_LATCH && !latch_complete(r)) ||
		(o->task == TASK_MASTERS && !masters_complete(r))) {
		return false;
	}
	if (o->critical_ms >= 0 && o->critical_ms < o->warning_ms) {
		return reader_fail(
			r, "--critical is less than --warning: no time would be a warning%s%s", "", "");
	}
	if (o->exclusive + o->shared + (o->slots > 0) > 1) {
		return reader_fail(
			r, "--exclusive, --shared and --slots exclude each other: choose one%s%s", "", "");
	}
	if (o->also.count > 0 && o->slots > 0) {
		return reader_fail(
			r, "--slots is for one name: leave --also %.64s out%s", o->also.names[0], "");
	}
	if (o->nonblock) {
		o->wait_ms = 0;
	}
	return texts_complete(r);
}

bool
options_parse(struct options *o, int argc, char **argv, char *why)
{
	struct reader r = {.o = o, .next = argv + (argc > 0 ? 1 : 0), .why = why};

	*o = (struct options){.task = TASK_COUNT,
		.wait_ms = -1,
		.warning_ms = -1,
		.critical_ms = -1,
		.long_wait_ms = OPTION_LONG_WAIT_MS,
		.busy_status = STATUS_BUSY,
		.master_wait_ms = 30 * 1000,
		.kill_after_ms = 5 * 1000,
		.clients = 64,
		.bench_ms = 1000};
	if (!find_verb(&r)) {
		return false;
	}
	while (*r.next != NULL && !r.command) {
		if (!read_argument(&r)) {
			return false;
		}
	}
	o->command = r.next;
	return options_complete(&r);
}
