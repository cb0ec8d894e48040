/*
 * named: see named.h.
 */
#include "daemon/http/named.h"

#include "proto/glob.h"
#include "proto/name.h"

#include <stdlib.h>
#include <string.h>

static void
matches_free(struct named_match *matches, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		glob_free(matches[i].glob);
	}
	free(matches);
}

static bool
named_wants(const struct named *named, struct slice name)
{
	for (size_t i = 0; i < named->match_count; i++) {
		if (glob_takes(named->matches[i].glob, name)) {
			return named->matches[i].metrics;
		}
	}
	return false;
}

static void
named_drop(struct named *named, size_t i)
{
	free(named->entries[i].name);
	named->count--;
	named->entries[i] = named->entries[named->count];
	named->hashes[i] = named->hashes[named->count];
}

bool
named_set(struct named *named, const struct named_rule *rules, size_t count)
{
	while (count > 0 && !rules[count - 1].metrics) {
		count--;
	}
	struct named_match *matches = calloc(count + 1, sizeof *matches);
	for (size_t i = 0; matches && i < count; i++) {
		matches[i].glob = glob_new(slice_of(rules[i].match));
		matches[i].metrics = rules[i].metrics;
		if (!matches[i].glob) {
			matches_free(matches, i);
			return false;
		}
	}
	if (!matches) {
		return false;
	}
	matches_free(named->matches, named->match_count);
	named->matches = matches;
	named->match_count = count;
	for (size_t i = named->count; i-- > 0;) {
		if (!named_wants(named, (struct slice){named->entries[i].name, named->entries[i].n})) {
			named_drop(named, i);
		}
	}
	return true;
}

void
named_done(struct named *named)
{
	while (named->count > 0) {
		named_drop(named, named->count - 1);
	}
	matches_free(named->matches, named->match_count);
	*named = (struct named){0};
}

/* The entry of a name; NULL: the name is not counted. */
static struct named_entry *
named_find(struct named *named, struct slice name)
{
	uint32_t hash = slice_hash(name);
	for (size_t i = 0; i < named->count; i++) {
		struct named_entry *entry = &named->entries[i];
		if (named->hashes[i] == hash && slice_equal((struct slice){entry->name, entry->n}, name)) {
			return entry;
		}
	}
	if (!named_wants(named, name)) {
		return NULL;
	}
	char *copy = named->count < NAMED_MAX ? malloc(name.n) : NULL;
	if (!copy) {
		named->uncounted++;
		return NULL;
	}
	memcpy(copy, name.p, name.n);
	named->hashes[named->count] = hash;
	named->entries[named->count] = (struct named_entry){.name = copy, .n = name.n};
	return &named->entries[named->count++];
}

static bool
is_counted(enum note_type type)
{
	return type == NOTE_GRANTED || type == NOTE_RELEASED || type == NOTE_LOST || type == NOTE_WITHHELD ||
	       type == NOTE_TIMEOUT;
}

void
named_note(struct named *named, const struct note *note)
{
	if (named->match_count == 0 || note->name.n == 0 || !is_counted(note->type)) {
		return;
	}
	struct named_entry *entry = named_find(named, note->name);
	if (!entry) {
		return;
	}
	int64_t span_ms = note->span_ms > 0 ? note->span_ms : 0;
	entry->granted += note->type == NOTE_GRANTED;
	entry->lost += note->type == NOTE_LOST;
	entry->timed_out += note->type == NOTE_TIMEOUT;
	if (note->type == NOTE_GRANTED || note->type == NOTE_TIMEOUT) {
		entry->waited_ms += note->type == NOTE_GRANTED ? span_ms : note->ms;
	} else {
		entry->held_ms += span_ms;
	}
}
