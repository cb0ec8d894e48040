/*
 * change: one name's exclusion while the set of masters is changed under load. No daemon does that: a set
 * gives way when its daemons are gone (making.c). Here is what it would take.
 *
 * The members of the old set and of the new one each keep a *record*: the old set; joint (old and new); then
 * switched (new) or aborted (old), and after an abort perhaps a second change of the same kind. Operators, as
 * many as there are, write records at one master after the other, and may die between any two of them. How
 * they agree is left out: it is taken for granted that switched and aborted are never both chosen. A record
 * is chosen when a majority of the old set has it, switched when a majority of the new set has it, too; it
 * may be written as soon as joint has been chosen for L + J.
 *
 * A daemon that calls a master has to know that master's record: otherwise the call is refused, the daemon
 * learns, and calls again, which is one step here. It then counts
 *     by the old set     before it knows of joint, or once it knows that aborted is chosen,
 *     by both sets       as soon as it has seen anything of a change whose outcome it does not know,
 *     by the new set     once it knows that switched is chosen.
 * What it had been promised before it learned of joint is good to its end.
 *
 * A master may lose its memory, one at a time: its keys and its record. After its guard it is given the
 * record of N - majority + 1 others of the set that the daemon knows which admits it, and of a set of one
 * member that of this daemon. The seats that it gave are counted on until they end: nobody need notice.
 *
 * Time goes by in ticks; clocks are right here, and calls take no time (leases.c has both). A lost answer is
 * a key without a seat, which only keeps others away until it ends, and a lost call is none: both are left
 * out.
 *
 * Promised: two daemons never hold the lease at the same time (OVERLAP).
 */
#include "tests/model/explorer.h"

#include <assert.h>
#include <string.h>

#define OVERLAP "two daemons hold the lease"

#define SERVERS_MAX 5
#define DAEMONS     2
#define LEASE       2 /* ticks */

/* What a master has stored. */
enum record {
	RECORD_OLD = 0,
	RECORD_JOINT,
	RECORD_SWITCHED,
	RECORD_ABORTED,
	RECORD_JOINT_AGAIN,
	RECORD_SWITCHED_AGAIN,
	RECORD_LOST,
};

/* What a daemon knows, in the order in which it may learn it. */
enum knowledge {
	KNOWS_OLD = 0,
	KNOWS_CHANGE,
	KNOWS_SWITCHED,
	KNOWS_ABORTED,
	KNOWS_CHANGE_AGAIN,
	KNOWS_SWITCHED_AGAIN,
};

enum tag {
	TAG_RECORD = 0,
	TAG_GENERATION, /* a call is refused by who has switched, but not by who is joint */
	TAG_NONE,       /* no call is refused for what its daemon knows */
};

struct change_rules {
	uint8_t kept;   /* masters in both sets, */
	uint8_t left;   /* in the old one alone, */
	uint8_t joined; /* and in the new one alone */
	bool aborts;
	bool again;        /* a second change after an abort */
	bool forgetful;    /* masters lose their memory */
	bool lone_forgets; /* so may the one member of the old set after the switch */
	enum tag tag;
	bool old_counts;     /* in joint votes count by the old set alone */
	bool hurried;        /* switched a tick too early */
	bool wait_once;      /* a second change counts the first one's wait */
	bool joint_minority; /* switched when joint is stored anywhere */
	bool one_believed;   /* switched is believed of one master that has it */
	bool both_chosen;    /* compare and swap without ballots: one operator switches, another one aborts */
	bool own_record;     /* a master that forgot gets the record of the daemon that admits it */
	bool no_guard;
	bool left_forgets; /* who left is told to forget the set, and a majority without memory is admitted */
	bool extended;     /* what was promised before joint is renewed by the old set */
};

struct seat {
	uint8_t left; /* ticks that it counts, */
	uint8_t pre;  /* and that what was promised by the old set alone counts on it */
};

struct server {
	uint8_t record;
	uint8_t guard; /* ticks left; only while RECORD_LOST */
	uint8_t owner; /* of the key: the daemon + 1; 0: free */
	struct seat seat[DAEMONS];
};

struct change_state {
	struct server server[SERVERS_MAX];
	uint8_t knows[DAEMONS];
	uint8_t chosen; /* bits of enum record */
	uint8_t waited; /* ticks since joint was chosen, at most LEASE */
};

struct turn {
	const struct change_rules *rules;
	const struct change_state *from;
	struct change_state next;
	struct explorer *ex;
};

/* --- the two sets -----------------------------------------------------------------------------------------
 */

static unsigned
servers(const struct change_rules *r)
{
	return (unsigned)r->kept + r->left + r->joined;
}

static bool
in_old(const struct change_rules *r, unsigned m)
{
	return m < (unsigned)r->kept + r->left;
}

static bool
in_new(const struct change_rules *r, unsigned m)
{
	return m < r->kept || (m >= (unsigned)r->kept + r->left && m < servers(r));
}

static unsigned
old_size(const struct change_rules *r)
{
	return (unsigned)r->kept + r->left;
}

static unsigned
new_size(const struct change_rules *r)
{
	return (unsigned)r->kept + r->joined;
}

static bool
chosen(const struct change_state *s, enum record record)
{
	return s->chosen & (1u << record);
}

/* Whether a majority of one set has the record. */
static bool
stored(const struct change_rules *r, const struct change_state *s, enum record record, bool of_new)
{
	unsigned count = 0;
	for (unsigned m = 0; m < servers(r); m++)
		count += (of_new ? in_new(r, m) : in_old(r, m)) && s->server[m].record == record;
	return count > (of_new ? new_size(r) : old_size(r)) / 2;
}

/* --- what a daemon counts ---------------------------------------------------------------------------------
 */

static bool
counts_joint(unsigned knows)
{
	return knows == KNOWS_CHANGE || knows == KNOWS_CHANGE_AGAIN;
}

static bool
counts_new(unsigned knows)
{
	return knows == KNOWS_SWITCHED || knows == KNOWS_SWITCHED_AGAIN;
}

static bool
majority(const struct change_rules *r, const struct change_state *s, unsigned d, bool of_new, bool pre)
{
	unsigned count = 0;
	for (unsigned m = 0; m < servers(r); m++) {
		const struct seat *seat = &s->server[m].seat[d];
		count += (of_new ? in_new(r, m) : in_old(r, m)) && (pre ? seat->pre : seat->left) > 0;
	}
	return count > (of_new ? new_size(r) : old_size(r)) / 2;
}

static bool
holds(const struct change_rules *r, const struct change_state *s, unsigned d)
{
	unsigned knows = s->knows[d];
	if (!counts_joint(knows) && !counts_new(knows))
		return majority(r, s, d, false, false);
	if (majority(r, s, d, false, true))
		return true;
	if (counts_joint(knows) && !majority(r, s, d, false, false))
		return false;
	return (counts_joint(knows) && r->old_counts) || majority(r, s, d, true, false);
}

static unsigned
taught_by(const struct change_rules *r, enum record record)
{
	switch (record) {
	case RECORD_OLD:
	case RECORD_LOST:
		return KNOWS_OLD;
	case RECORD_JOINT:
	case RECORD_ABORTED:
		return KNOWS_CHANGE;
	case RECORD_SWITCHED:
		return r->one_believed ? KNOWS_SWITCHED : KNOWS_CHANGE;
	case RECORD_JOINT_AGAIN:
		return KNOWS_CHANGE_AGAIN;
	case RECORD_SWITCHED_AGAIN:
		return r->one_believed ? KNOWS_SWITCHED_AGAIN : KNOWS_CHANGE_AGAIN;
	}
	return KNOWS_OLD;
}

static void
learn(const struct change_rules *r, struct change_state *s, unsigned d, unsigned knows)
{
	if (knows <= s->knows[d])
		return;
	s->knows[d] = (uint8_t)knows;
	/* What counted jointly counts for the old set as well. */
	for (unsigned m = 0; knows == KNOWS_ABORTED && m < servers(r); m++)
		s->server[m].seat[d].pre = s->server[m].seat[d].left;
}

/* --- what daemons do --------------------------------------------------------------------------------------
 */

static bool
refused_first(const struct change_rules *r, enum record record)
{
	bool over = record != RECORD_JOINT && record != RECORD_JOINT_AGAIN;
	return r->tag == TAG_RECORD || (r->tag == TAG_GENERATION && over);
}

static void
move_ask(struct turn *t, unsigned m, unsigned d)
{
	const struct change_rules *r = t->rules;
	const struct server *was = &t->from->server[m];
	struct server *server = &t->next.server[m];
	if (was->record == RECORD_LOST)
		return;
	if (refused_first(r, was->record))
		learn(r, &t->next, d, taught_by(r, was->record));
	unsigned knows = t->next.knows[d];
	bool old_counts = !counts_new(knows);
	bool new_counts = counts_joint(knows) || counts_new(knows);
	bool member = (old_counts && in_old(r, m)) || (new_counts && in_new(r, m));
	if (member && (was->owner == 0 || was->owner == d + 1)) {
		server->owner = (uint8_t)(d + 1);
		server->seat[d].left = LEASE;
		server->seat[d].pre = !new_counts || r->extended ? LEASE : server->seat[d].pre;
	}
	OFFER(t, "%c asks m%u%s", 'A' + d, m + 1,
		knows != t->from->knows[d] ? ", which tells of its record first" : "");
}

static void
move_hear(struct turn *t, unsigned m, unsigned d)
{
	if (t->from->server[m].record == RECORD_LOST)
		return;
	learn(t->rules, &t->next, d, taught_by(t->rules, t->from->server[m].record));
	OFFER(t, "m%u tells %c of its record", m + 1, 'A' + d);
}

/* Of the operator, or of any daemon or master that was told. */
static void
move_outcome(struct turn *t, unsigned d)
{
	static const uint8_t told[] = {RECORD_SWITCHED, KNOWS_SWITCHED, RECORD_ABORTED, KNOWS_ABORTED,
		RECORD_SWITCHED_AGAIN, KNOWS_SWITCHED_AGAIN};
	for (unsigned i = 0; i < sizeof told; i += 2) {
		if (!chosen(t->from, told[i]) || t->from->knows[d] >= told[i + 1])
			continue;
		learn(t->rules, &t->next, d, told[i + 1]);
		OFFER(t, "%c is told that the change was %s", 'A' + d,
			told[i] == RECORD_ABORTED ? "aborted" : "made");
	}
}

/* --- what operators do ------------------------------------------------------------------------------------
 */

static void
choose(struct turn *t, enum record record)
{
	const struct change_rules *r = t->rules;
	bool switches = record == RECORD_SWITCHED || record == RECORD_SWITCHED_AGAIN;
	bool ok = !switches || stored(r, &t->next, record, true);
	if (!ok || !stored(r, &t->next, record, false) || chosen(&t->next, record))
		return;
	t->next.chosen |= (uint8_t)(1u << record);
	bool fresh = record == RECORD_JOINT || (record == RECORD_JOINT_AGAIN && !r->wait_once);
	if (fresh)
		t->next.waited = 0;
}

static void
write(struct turn *t, unsigned m, enum record record)
{
	static const char *const words[] = {
		"the old set", "joint", "switched", "aborted", "joint again", "switched again"};
	t->next.server[m].record = record;
	choose(t, record);
	OFFER(t, "m%u stores: %s%s", m + 1, words[record],
		t->next.chosen != t->from->chosen ? ", which is chosen with that" : "");
}

static bool
may_switch(const struct turn *t, enum record joint)
{
	const struct change_rules *r = t->rules;
	unsigned least = r->hurried ? LEASE - 1 : LEASE;
	for (unsigned m = 0; m < servers(r) && r->joint_minority; m++) {
		if (t->from->server[m].record == joint)
			return true;
	}
	return chosen(t->from, joint) && t->from->waited >= least;
}

/* Each record that some operator may still write here. */
static void
move_write(struct turn *t, unsigned m)
{
	const struct change_rules *r = t->rules;
	const struct change_state *s = t->from;
	enum record record = s->server[m].record;
	bool free = r->both_chosen;
	if (record == RECORD_LOST)
		return;
	if (record == RECORD_OLD && in_old(r, m))
		write(t, m, RECORD_JOINT);
	bool switches = record < RECORD_SWITCHED || record == RECORD_ABORTED;
	if (switches && may_switch(t, RECORD_JOINT) && (free || !chosen(s, RECORD_ABORTED)))
		write(t, m, RECORD_SWITCHED);
	if (!r->aborts || !in_old(r, m))
		return;
	if (record < RECORD_ABORTED && chosen(s, RECORD_JOINT) && (free || !chosen(s, RECORD_SWITCHED)))
		write(t, m, RECORD_ABORTED);
}

static void
move_write_again(struct turn *t, unsigned m)
{
	const struct change_rules *r = t->rules;
	enum record record = t->from->server[m].record;
	if (!r->again || record == RECORD_LOST || !chosen(t->from, RECORD_ABORTED))
		return;
	if (record < RECORD_JOINT_AGAIN && in_old(r, m))
		write(t, m, RECORD_JOINT_AGAIN);
	if (record < RECORD_SWITCHED_AGAIN && may_switch(t, RECORD_JOINT_AGAIN))
		write(t, m, RECORD_SWITCHED_AGAIN);
}

/* --- what masters lose, and get back ----------------------------------------------------------------------
 */

static bool
may_forget(const struct turn *t, unsigned m)
{
	const struct change_rules *r = t->rules;
	if (!r->forgetful || t->from->server[m].record == RECORD_LOST)
		return false;
	for (unsigned other = 0; other < servers(r); other++) {
		bool left = r->left_forgets && !in_new(r, other);
		if (t->from->server[other].record == RECORD_LOST && !left)
			return false;
	}
	bool switched = chosen(t->from, RECORD_SWITCHED) || chosen(t->from, RECORD_SWITCHED_AGAIN);
	if (in_old(r, m) && old_size(r) == 1 && switched && !r->lone_forgets)
		return false;
	return true;
}

static void
move_forget(struct turn *t, unsigned m)
{
	t->next.server[m].record = RECORD_LOST;
	t->next.server[m].guard = t->rules->no_guard ? 0 : LEASE;
	t->next.server[m].owner = 0;
	/* A set of one has nobody else who would know: its change begins anew. */
	if (in_old(t->rules, m) && old_size(t->rules) == 1)
		t->next.chosen = t->next.waited = 0;
	OFFER(t, "m%u loses its memory", m + 1);
}

static void
move_retire(struct turn *t, unsigned m)
{
	bool left = in_old(t->rules, m) && !in_new(t->rules, m);
	if (!t->rules->left_forgets || !left || !chosen(t->from, RECORD_SWITCHED) ||
		t->from->server[m].record == RECORD_LOST)
		return;
	t->next.server[m].record = RECORD_LOST;
	t->next.server[m].guard = LEASE;
	t->next.server[m].owner = 0;
	OFFER(t, "m%u is told to forget the set", m + 1);
}

/* The record that a daemon would write by what it knows. */
static enum record
own_record(unsigned knows)
{
	static const uint8_t records[] = {RECORD_OLD, RECORD_JOINT, RECORD_SWITCHED, RECORD_ABORTED,
		RECORD_JOINT_AGAIN, RECORD_SWITCHED_AGAIN};
	return records[knows];
}

static void
admit(struct turn *t, unsigned m, unsigned d, enum record record, const char *source)
{
	t->next.server[m].record = record;
	choose(t, record);
	OFFER(t, "%c admits m%u with the record of %s", 'A' + d, m + 1, source);
}

/* Of what these others have, that of the highest ballot: of switched and aborted that is the one which is
 * chosen, and while none is, either. */
static void
admit_by(struct turn *t, unsigned m, unsigned d, unsigned others)
{
	unsigned seen = 0;
	for (unsigned other = 0; other < servers(t->rules); other++) {
		if (others & (1u << other))
			seen |= 1u << t->from->server[other].record;
	}
	unsigned rival = (1u << RECORD_SWITCHED) | (1u << RECORD_ABORTED);
	enum record last = RECORD_OLD;
	for (unsigned record = RECORD_OLD; record < RECORD_LOST; record++)
		last = seen & (1u << record) ? record : last;
	if (last == RECORD_ABORTED && (seen & rival) == rival && !chosen(t->from, RECORD_ABORTED))
		admit(t, m, d, RECORD_SWITCHED, "others");
	if (last == RECORD_ABORTED && (seen & rival) == rival && chosen(t->from, RECORD_SWITCHED))
		return;
	admit(t, m, d, last, "others");
}

static void
move_admit(struct turn *t, unsigned m, unsigned d)
{
	const struct change_rules *r = t->rules;
	unsigned knows = t->from->knows[d];
	bool by_new = counts_new(knows);
	unsigned size = by_new ? new_size(r) : old_size(r);
	unsigned need = size - (size / 2 + 1) + 1, lost = 0, remember = 0;
	bool member = by_new ? in_new(r, m) : in_old(r, m) || (counts_joint(knows) && in_new(r, m));
	if (!member || t->from->server[m].guard > 0)
		return;
	for (unsigned other = 0; other < servers(r); other++) {
		if (!(by_new ? in_new(r, other) : in_old(r, other)))
			continue;
		if (t->from->server[other].record == RECORD_LOST)
			lost++;
		else
			remember |= 1u << other;
	}
	if (r->own_record || lost > size / 2)
		admit(t, m, d, own_record(knows), "its own");
	for (unsigned others = 1; others < 1u << servers(r); others++) {
		if ((others & ~remember) == 0 && (unsigned)__builtin_popcount(others) == need)
			admit_by(t, m, d, others);
	}
}

static void
move_tick(struct turn *t)
{
	struct change_state *s = &t->next;
	for (unsigned m = 0; m < servers(t->rules); m++) {
		struct server *server = &s->server[m];
		server->guard = (uint8_t)(server->guard - (server->guard > 0));
		for (unsigned d = 0; d < DAEMONS; d++) {
			struct seat *seat = &server->seat[d];
			seat->pre = (uint8_t)(seat->pre - (seat->pre > 0));
			if (seat->left == 0 || --seat->left > 0)
				continue;
			server->owner = server->owner == d + 1 ? 0 : server->owner;
		}
	}
	bool waits = chosen(s, RECORD_JOINT) && s->waited < LEASE;
	s->waited = (uint8_t)(s->waited + waits);
	OFFER(t, "a tick");
}

/* --- the model --------------------------------------------------------------------------------------------
 */

static void
change_begin(const void *rules, void *state)
{
	(void)rules;
	(void)state;
}

static void
change_moves(const void *rules, unsigned depth, const void *state, struct explorer *ex)
{
	const struct change_rules *r = rules;
	struct turn t = {.rules = r, .from = state, .ex = ex};
	(void)depth;
	assert(servers(r) <= SERVERS_MAX);
	t.next = *t.from;
	move_tick(&t);
	for (unsigned m = 0; m < servers(r); m++) {
		bool lost = t.from->server[m].record == RECORD_LOST;
		for (unsigned d = 0; d < DAEMONS; d++) {
			move_ask(&t, m, d);
			if (r->tag != TAG_RECORD)
				move_hear(&t, m, d);
			if (lost)
				move_admit(&t, m, d);
		}
		move_write(&t, m);
		move_write_again(&t, m);
		move_retire(&t, m);
		if (may_forget(&t, m))
			move_forget(&t, m);
	}
	for (unsigned d = 0; d < DAEMONS; d++)
		move_outcome(&t, d);
}

static const char *
change_broken(const void *rules, const void *state)
{
	return holds(rules, state, 0) && holds(rules, state, 1) ? OVERLAP : NULL;
}

static void
change_sort(const struct change_rules *r, struct change_state *s)
{
	explorer_sort(s->server, r->kept, sizeof s->server[0]);
	explorer_sort(s->server + r->kept, r->left, sizeof s->server[0]);
	explorer_sort(s->server + r->kept + r->left, r->joined, sizeof s->server[0]);
}

static void
change_normalize(const void *rules, void *state)
{
	struct change_state *least = state;
	struct change_state other = *least;
	for (unsigned m = 0; m < servers(rules); m++) {
		struct server *server = &other.server[m];
		server->owner = server->owner == 0 ? 0 : (uint8_t)(3 - server->owner);
		server->seat[0] = least->server[m].seat[1];
		server->seat[1] = least->server[m].seat[0];
	}
	other.knows[0] = least->knows[1];
	other.knows[1] = least->knows[0];
	change_sort(rules, least);
	change_sort(rules, &other);
	if (memcmp(&other, least, sizeof other) < 0)
		*least = other;
}

enum landmark {
	LANDMARK_OLD = 1,
	LANDMARK_JOINT = 2,
	LANDMARK_NEW = 4,
	LANDMARK_KEPT = 8,
	LANDMARK_STALE = 16,
	LANDMARK_ABORTED = 32,
	LANDMARK_AGAIN = 64,
	LANDMARK_LOST = 128,
};

static unsigned
change_landmark(const void *rules, const void *state)
{
	const struct change_rules *r = rules;
	const struct change_state *s = state;
	unsigned met = 0;
	for (unsigned d = 0; d < DAEMONS; d++) {
		unsigned knows = s->knows[d];
		if (!holds(r, s, d))
			continue;
		bool pre = majority(r, s, d, false, true);
		bool switched = chosen(s, RECORD_SWITCHED) || chosen(s, RECORD_SWITCHED_AGAIN);
		met |= knows == KNOWS_OLD ? LANDMARK_OLD : 0;
		met |= counts_joint(knows) && !pre ? LANDMARK_JOINT : 0;
		met |= counts_joint(knows) && pre && !majority(r, s, d, true, false) ? LANDMARK_KEPT : 0;
		met |= counts_new(knows) ? LANDMARK_NEW : 0;
		met |= counts_joint(knows) && switched ? LANDMARK_STALE : 0;
		met |= knows == KNOWS_ABORTED ? LANDMARK_ABORTED : 0;
		met |= knows == KNOWS_SWITCHED_AGAIN ? LANDMARK_AGAIN : 0;
		for (unsigned m = 0; m < servers(r); m++)
			met |= s->server[m].record == RECORD_LOST && counts_new(knows) ? LANDMARK_LOST : 0;
	}
	return met;
}

static unsigned
change_landmarks_due(const void *rules)
{
	const struct change_rules *r = rules;
	return LANDMARK_OLD | LANDMARK_JOINT | LANDMARK_NEW | LANDMARK_STALE |
	       (r->joined > 0 ? LANDMARK_KEPT : 0) | (r->aborts ? LANDMARK_ABORTED : 0) |
	       (r->again ? LANDMARK_AGAIN : 0) | (r->forgetful && new_size(r) > 1 ? LANDMARK_LOST : 0);
}

static const struct variant variants[] = {
#define CHANGE(name, breaks, depth, rule, ...)                                                               \
	{name, breaks, rule, depth, &(const struct change_rules){__VA_ARGS__}},
#include "tests/model/variants.def"
#undef CHANGE
};

const struct model change_model = {
	.name = "change",
	.state_bytes = sizeof(struct change_state),
	.begin = change_begin,
	.moves = change_moves,
	.broken = change_broken,
	.normalize = change_normalize,
	.landmark = change_landmark,
	.landmarks_due = change_landmarks_due,
	.landmarks = (const char *const[]){"a lease of the old set", "a lease of both sets",
		"a lease of the new set", "a promise older than the change", "a daemon that knows less",
		"a lease after an abort", "a lease after the second change", "a member that forgot"},
	.variants = variants,
	.variant_count = sizeof variants / sizeof variants[0],
};
