/*
 * Tests of the groups of daemon/redis/batch.h: which calls share a command, and that those about one name
 * never overtake each other.
 */
#include "daemon/redis/batch.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What was closed, as "ACQUIRE a b; RELEASE a;". */
struct sent {
	char text[4096];
	size_t commands;
	size_t calls;
};

static struct groups groups;
static struct sent sent;

static void
on_close(void *arg, struct group *group)
{
	struct sent *s = arg;
	const struct call *calls = group_calls(group);
	size_t at = strlen(s->text);

	ck_assert_uint_gt(group->n, 0);
	at += (size_t)snprintf(s->text + at, sizeof(s->text) - at, "%s", scripts[script_of(&calls[0])].name);
	for (size_t i = 0; i < group->n; i++) {
		ck_assert(i == 0 || call_groups(&calls[0], &calls[i]));
		at += (size_t)snprintf(s->text + at, sizeof(s->text) - at, " %.*s", (int)calls[i].name.n,
			calls[i].name.n > 0 ? calls[i].name.p : "");
	}
	snprintf(s->text + at, sizeof(s->text) - at, "; ");
	s->commands++;
	s->calls += group->n;
	group_clear(group);
}

static void
setup(void)
{
	sent = (struct sent){0};
}

static void
teardown(void)
{
	groups_done(&groups);
}

static void
add_kind(enum call_op op, enum kind kind, const char *name)
{
	char text[32]; /* gone afterwards: names are copied */
	struct call call = {.op = op, .kind = kind, .name = {text, strlen(name)}};

	snprintf(text, sizeof(text), "%s", name);
	groups_add(&groups, &call, on_close, &sent);
	memset(text, 'x', sizeof(text));
}

static void
add(enum call_op op, const char *name)
{
	add_kind(op, KIND_EXCLUSIVE, name);
}

static const char *
all(void)
{
	groups_close(&groups, on_close, &sent);
	ck_assert(groups_empty(&groups));
	return sent.text;
}

START_TEST(operations_that_take_turns_share_two_commands)
{
	add(CALL_RELEASE, "a");
	add(CALL_ACQUIRE, "b");
	add(CALL_RELEASE, "c");
	add(CALL_ACQUIRE, "d");
	ck_assert(!groups_empty(&groups));
	ck_assert_uint_eq(sent.commands, 0);
	ck_assert_str_eq(all(), "acquire b d; release a c; ");
}
END_TEST

START_TEST(calls_about_a_name_leave_in_the_order_in_which_they_came)
{
	add(CALL_RELEASE, "x");
	add(CALL_RELEASE, "a");
	add(CALL_ACQUIRE, "b");
	add(CALL_ACQUIRE, "a"); /* not before its release */
	add(CALL_RELEASE, "a"); /* and this one behind it */
	add(CALL_RENEW, "a");
	ck_assert_str_eq(all(), "release x a; acquire b a; release a; renew a; ");
}
END_TEST

START_TEST(a_call_about_no_name_overtakes_nothing_and_is_not_overtaken)
{
	add(CALL_ACQUIRE, "a");
	add(CALL_RECLAIM, "b");
	add(CALL_HELLO, "");
	add(CALL_HELLO, "");
	add(CALL_ACQUIRE, "c");
	add(CALL_ADMIT, "");
	add(CALL_RELEASE, "d");
	ck_assert_str_eq(all(), "acquire a; reclaim b; hello ; hello ; acquire c; admit ; release d; ");
}
END_TEST

START_TEST(a_group_that_is_full_leaves)
{
	char name[16];

	for (int i = 0; i < 2 * CALL_GROUP_MAX + 1; i++) {
		snprintf(name, sizeof(name), "n%d", i);
		add(CALL_ACQUIRE, name);
	}
	ck_assert_uint_eq(sent.commands, 2);
	(void)all();
	ck_assert_uint_eq(sent.commands, 3);
	ck_assert_uint_eq(sent.calls, 2 * CALL_GROUP_MAX + 1);
}
END_TEST

static void
add_permits(const char *name, int64_t permits)
{
	groups_add(&groups,
		&(struct call){
			.op = CALL_RENEW, .kind = KIND_PERMITS, .permits = permits, .name = slice_of(name)},
		on_close, &sent);
}

START_TEST(so_many_permits_leave_together_or_one_call_alone)
{
	add_permits("a", CALL_GROUP_PERMITS - 1);
	add_permits("b", 1);
	add_permits("c", CALL_GROUP_PERMITS + 1);
	add_permits("d", 1);
	add_permits("e", CALL_GROUP_PERMITS);
	add_permits("f", CALL_GROUP_PERMITS);
	ck_assert_str_eq(
		all(), "group_renew a b; group_renew c; group_renew d; group_renew e; group_renew f; ");
}
END_TEST

static void
add_queued(const char *name, int64_t queue_ms)
{
	groups_add(&groups, &(struct call){.op = CALL_ACQUIRE, .queue_ms = queue_ms, .name = slice_of(name)},
		on_close, &sent);
}

START_TEST(names_whose_queue_is_here_stand_together)
{
	add_queued("a", CALL_QUEUELESS);
	add_queued("b", 5000);
	add_queued("c", CALL_QUEUELESS);
	add_queued("d", 0);
	add_queued("e", CALL_QUEUELESS);
	add_queued("f", 5000);
	/* The texts and the hashes move with their names. */
	add(CALL_RELEASE, "a");
	add_queued("g", CALL_QUEUELESS);
	ck_assert_str_eq(all(), "acquire b d f a c e; acquire g; release a; ");
}
END_TEST

START_TEST(a_call_whose_queue_is_here_passes_none_about_its_name)
{
	add_queued("a", CALL_QUEUELESS);
	add_queued("b", CALL_QUEUELESS);
	add_queued("a", 5000);
	add_queued("c", 5000);
	ck_assert_str_eq(all(), "acquire c a b a; ");
}
END_TEST

START_TEST(another_memory_of_the_master_needs_another_command)
{
	struct call call = {.op = CALL_RENEW, .name = SLICE("a"), .incarnation = 1};

	groups_add(&groups, &call, on_close, &sent);
	call.name = SLICE("b");
	call.incarnation = 2;
	groups_add(&groups, &call, on_close, &sent);
	ck_assert_str_eq(all(), "renew a; renew b; ");
}
END_TEST

START_TEST(readers_and_permits_travel_together_and_apart_from_exclusive_leases)
{
	add_kind(CALL_ACQUIRE, KIND_SHARED, "a");
	add(CALL_ACQUIRE, "b");
	add_kind(CALL_ACQUIRE, KIND_PERMITS, "c");
	add_kind(CALL_ACQUIRE, KIND_PERMITS, "c"); /* two leases of one name */
	add_kind(CALL_RELEASE, KIND_SHARED, "d");
	ck_assert_uint_eq(sent.commands, 0);
	ck_assert_str_eq(all(), "acquire b; group_acquire a c c; group_release d; ");
}
END_TEST

START_TEST(calls_about_a_name_keep_their_order_whatever_their_kind)
{
	add(CALL_ACQUIRE, "a");
	add_kind(CALL_RENEW, KIND_SHARED, "a"); /* it is shared from now on */
	add_kind(CALL_RELEASE, KIND_SHARED, "a");
	add(CALL_ACQUIRE, "a");
	add(CALL_LEAVE, "a");
	add_kind(CALL_ACQUIRE, KIND_SHARED, "a");
	ck_assert_str_eq(
		all(), "acquire a; group_renew a; group_release a; acquire a; leave a; group_acquire a; ");
}
END_TEST

/* What a closed group's calls name, gathered for the test below. */
static void
on_close_slots(void *arg, struct group *group)
{
	const struct call *calls = group_calls(group);
	char *text = arg;

	for (size_t i = 0; i < group->n; i++)
		sprintf(text + strlen(text), "%.*s=%.*s ", (int)calls[i].name.n, calls[i].name.p,
			(int)calls[i].slots.n, calls[i].slots.n > 0 ? calls[i].slots.p : "");
	group_clear(group);
}

START_TEST(slots_are_copied_with_the_names)
{
	char text[256] = "";

	for (int i = 0; i < 20; i++) {
		char name[16], slots[32];
		struct call call = {.op = CALL_RENEW, .kind = KIND_PERMITS, .limit = 50, .permits = 2};

		snprintf(name, sizeof(name), "n%d", i);
		snprintf(slots, sizeof(slots), "%d,%d", i, i + 9);
		call.name = slice_of(name);
		call.slots = i % 2 == 0 ? slice_of(slots) : SLICE("");
		groups_add(&groups, &call, on_close_slots, text);
	}
	groups_close(&groups, on_close_slots, text);
	ck_assert_str_eq(text, "n0=0,9 n1= n2=2,11 n3= n4=4,13 n5= n6=6,15 n7= n8=8,17 n9= n10=10,19 n11= "
			       "n12=12,21 n13= n14=14,23 n15= n16=16,25 n17= n18=18,27 n19= ");
}
END_TEST

START_TEST(random_calls_of_a_name_keep_their_order)
{
	static const enum call_op ops[] = {CALL_ACQUIRE, CALL_RENEW, CALL_RECLAIM, CALL_RELEASE, CALL_LEAVE};
	char expected[4][4096] = {{0}};
	unsigned random = 1;

	for (int i = 0; i < 400; i++) {
		random = random * 1103515245U + 12345U;
		unsigned name = random >> 16 & 3, op = (random >> 20) % 5;
		char text[2] = {(char)('a' + name), '\0'};
		size_t at = strlen(expected[name]);

		snprintf(expected[name] + at, sizeof(expected[name]) - at, "%u", (unsigned)ops[op]);
		add(ops[op], text);
		if (strlen(sent.text) > sizeof(sent.text) - 512)
			break;
	}
	(void)all();
	for (unsigned name = 0; name < 4; name++) {
		char seen[4096] = "";
		char text[sizeof(sent.text)];
		char *rest = NULL;

		memcpy(text, sent.text, sizeof(text));
		for (char *command = strtok_r(text, ";", &rest); command != NULL;
			command = strtok_r(NULL, ";", &rest)) {
			const char *verb = command + strspn(command, " ");
			unsigned op = verb[0] == 'a'                ? CALL_ACQUIRE
				      : verb[0] == 'l'              ? CALL_LEAVE
				      : memcmp(verb, "ren", 3) == 0 ? CALL_RENEW
				      : memcmp(verb, "rec", 3) == 0 ? CALL_RECLAIM
								    : CALL_RELEASE;
			for (const char *p = strchr(verb, ' '); p != NULL; p = strchr(p + 1, ' '))
				if (p[1] == (char)('a' + name))
					snprintf(seen + strlen(seen), sizeof(seen) - strlen(seen), "%u", op);
		}
		ck_assert_str_eq(seen, expected[name]);
	}
}
END_TEST

START_TEST(a_hello_that_waits_keeps_all_that_it_told)
{
	static const char *const told[] = {
		"text", "run", "set", "places", "next", "next places", "unacknowledged", "lacks", "refused"};
	enum { TOLD = sizeof told / sizeof *told };
	const struct call call = {.op = CALL_HELLO};
	struct vote vote = {.op = CALL_HELLO, .outcome = OUTCOME_YES, .hello = HELLO_GOOD};
	struct slice *const from[TOLD] = {&vote.text, &vote.run, &vote.masterset, &vote.places,
		&vote.next.set, &vote.next.places, &vote.unacknowledged, &vote.lacks, &vote.refused};
	struct reserve reserve = {NULL};
	struct batch *batch;
	char reply[256]; /* overwritten when the votes are carried out */
	size_t n = 0;

	for (size_t i = 0; i < TOLD; i++) {
		*from[i] = (struct slice){reply + n, strlen(told[i])};
		n += (size_t)snprintf(reply + n, sizeof reply - n, "%s", told[i]);
	}
	ck_assert(reserve_fill(&reserve));
	batch = batch_of(&reserve, &call);
	batch_withhold(&reserve, batch, &vote);
	memset(reply, '!', sizeof reply);
	vote = batch->votes[0];
	for (size_t i = 0; i < TOLD; i++)
		ck_assert_msg(slice_equal(*from[i], slice_of(told[i])), "%s: %.*s", told[i], (int)from[i]->n,
			from[i]->p);
	batch_free(batch);
	reserve_free(&reserve);
}
END_TEST

int
main(void)
{
	return SUITE_RUN("group", setup, teardown, operations_that_take_turns_share_two_commands,
		calls_about_a_name_leave_in_the_order_in_which_they_came,
		a_call_about_no_name_overtakes_nothing_and_is_not_overtaken, a_group_that_is_full_leaves,
		so_many_permits_leave_together_or_one_call_alone, names_whose_queue_is_here_stand_together,
		a_call_whose_queue_is_here_passes_none_about_its_name,
		another_memory_of_the_master_needs_another_command,
		readers_and_permits_travel_together_and_apart_from_exclusive_leases,
		calls_about_a_name_keep_their_order_whatever_their_kind, slots_are_copied_with_the_names,
		random_calls_of_a_name_keep_their_order, a_hello_that_waits_keeps_all_that_it_told);
}
