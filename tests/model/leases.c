/*
 * leases: exclusion of one name, with clocks that are not the same everywhere.
 *
 * A daemon asks every master for the key; each that is free, or the asker's own, becomes its own for TTL = L
 * + J. What a master confirmed is a vote that counts for L - D from before the asking, and the daemon holds
 * the lease as long as a majority of its votes count. In other words the lease is valid until L - D after the
 * k-th latest of the masters' last confirmed sendings, k being a majority. It may ask again at any time: of a
 * lease that it holds that is a renewal where the key is there, and a repair where it is not.
 *
 * Time goes by in ticks, and so that nothing need be drawn by chance every clock is as bad as it may be:
 * within a lease a daemon's clock that measures validity loses R, which D is for, and one that measures a
 * guard gains R. A master's clock may step forward by up to J while a key lives. Calls arrive in any order
 * and however late; exclusion needs no deadline for them (undo.c does).
 *
 * A master may restart, a minority at a time, and remember nothing, or somebody's key of old. It is guarded
 * then for L + J: it grants nothing, but who holds the lease may reclaim the key; the first to do so keeps
 * it. That is a vote with one master only: with several, another daemon may still count a vote of the lost
 * memory, and with that and another one have a majority beside the reclaimer's.
 *
 * Where leases are retained there are users: one is granted the lock on a lease, and when it has given it
 * back the lease stays for the next one, who is granted it without a word to the masters.
 *
 * Promised: two daemons never hold the lease at the same time, and no two of them have a user (OVERLAP).
 *
 * Left out, since they only keep others away: keys of attempts that were given up (they go at once, as
 * holders may hold on as long as they like), and answers that are lost.
 */
#include "tests/model/explorer.h"

#include <assert.h>
#include <string.h>

#define OVERLAP "two daemons hold the lease"

#define MASTERS_MAX 3
#define DAEMONS_MAX 3

enum validity {
	VALIDITY_KTH = 0,
	VALIDITY_LARGEST,     /* until L - D after the latest confirmed sending, once a majority granted */
	VALIDITY_MEAN,        /* after the mean of a majority's */
	VALIDITY_KEPT,        /* a vote whose master forgets counts on until that master says otherwise */
	VALIDITY_FROM_ANSWER, /* each vote counts from its answer */
};

enum release {
	RELEASE_OWN = 0,
	RELEASE_ANY,    /* deletes the key whoever's it is */
	RELEASE_DAEMON, /* deletes the daemon's key, of whichever attempt */
};

enum retain {
	RETAIN_NOT = 0, /* without users: whoever holds the lease uses it */
	RETAIN_WHILE_GOOD,
	RETAIN_BLINDLY, /* who comes next is granted it without a look at the lease */
};

struct lease_rules {
	uint8_t masters;
	uint8_t daemons;
	uint8_t calls;  /* under way at a time, at depth 1; each depth adds one */
	uint8_t lease;  /* L */
	uint8_t drift;  /* D */
	uint8_t rate;   /* R */
	uint8_t margin; /* J */
	uint8_t step;   /* by how much a master's clock may step */
	uint8_t guard;  /* 0: masters do not restart */
	uint8_t votes;  /* that make a lease; 0: a majority */
	uint8_t lost;   /* masters that may be without memory at a time; 0: a minority */
	enum validity validity;
	enum release release;
	enum retain retain;
	bool travels; /* answers take their time too */
	bool reclaim_votes;
	bool reclaim_late;   /* also after the guard */
	bool guarded_renews; /* a guarded master confirms what was reclaimed */
};

enum call {
	CALL_NONE = 0,
	CALL_ASK,
	CALL_RECLAIM,
	CALL_ANSWER, /* yes */
};

/* What a daemon has at a master. */
struct vote {
	uint8_t call;    /* what is under way between them */
	uint8_t left;    /* ticks that its confirmation would still count */
	uint8_t counts;  /* ticks that the last confirmation still counts */
	uint8_t release; /* an older attempt's release is under way as well */
};

struct master {
	uint8_t owner; /* of the key: the daemon + 1; 0: free */
	uint8_t ttl;
	uint8_t stepped; /* its clock stepped while this key lived */
	uint8_t guard;   /* ticks left; 0: admitted */
	uint8_t reclaimer;
	struct vote vote[DAEMONS_MAX];
};

struct lease_state {
	struct master master[MASTERS_MAX];
	uint8_t holds[DAEMONS_MAX];
	uint8_t uses[DAEMONS_MAX]; /* it has a user, */
	uint8_t idle[DAEMONS_MAX]; /* or keeps the lease for the next one */
};

struct turn {
	const struct lease_rules *rules;
	unsigned calls_max;
	const struct lease_state *from;
	struct lease_state next;
	struct explorer *ex;
};

static unsigned
majority(const struct lease_rules *rules)
{
	return rules->masters / 2u + 1;
}

/* What a daemon takes for L - D. */
static uint8_t
validity_full(const struct lease_rules *rules)
{
	return (uint8_t)(rules->lease - rules->drift + rules->rate);
}

/* Whether what the votes say makes a lease, or keeps one. */
static bool
lease_good(const struct lease_rules *rules, const struct lease_state *s, unsigned d)
{
	unsigned counting = 0, sum = 0;
	for (unsigned m = 0; m < rules->masters; m++) {
		counting += s->master[m].vote[d].counts > 0;
		sum += s->master[m].vote[d].counts;
	}
	if (s->holds[d] && rules->validity == VALIDITY_LARGEST)
		return sum > 0;
	if (s->holds[d] && rules->validity == VALIDITY_MEAN)
		return sum >= majority(rules);
	return counting >= (rules->votes > 0 ? rules->votes : majority(rules));
}

/* Given up, released, or lost. */
static void
attempt_end(const struct lease_rules *rules, struct lease_state *s, unsigned d)
{
	for (unsigned m = 0; m < rules->masters; m++) {
		struct master *master = &s->master[m];
		struct vote *vote = &master->vote[d];
		bool release = vote->release || master->owner == d + 1 || vote->call != CALL_NONE;
		*vote = (struct vote){.release = release && rules->release != RELEASE_OWN};
		if (master->owner == d + 1)
			master->owner = master->ttl = master->stepped = 0;
	}
	s->holds[d] = s->uses[d] = s->idle[d] = false;
}

/* Users know how long they may rely on it. */
static void
lease_run_out(const struct lease_rules *rules, struct lease_state *s, unsigned d)
{
	bool unnoticed = s->idle[d] && rules->retain == RETAIN_BLINDLY;
	attempt_end(rules, s, d);
	s->idle[d] = unnoticed;
}

/* Completes the step: who has enough votes holds the lease, who has no longer, does not. */
static const char *
leases_settle(struct turn *t)
{
	const char *change = "";
	for (unsigned d = 0; d < t->rules->daemons; d++) {
		bool good = lease_good(t->rules, &t->next, d);
		if (!good && t->next.holds[d]) {
			lease_run_out(t->rules, &t->next, d);
			change = ": a lease has run out";
		} else if (good && !t->next.holds[d]) {
			t->next.holds[d] = true;
			change = ": it holds the lease";
		}
	}
	return change;
}

static void
key_set(struct turn *t, unsigned m, unsigned d)
{
	struct master *master = &t->next.master[m];
	master->owner = (uint8_t)(d + 1);
	master->ttl = (uint8_t)(t->rules->lease + t->rules->margin);
	master->stepped = 0;
}

/* The master's yes, which may take its time. */
static void
vote_confirm(struct turn *t, struct vote *vote)
{
	if (t->rules->travels) {
		vote->call = CALL_ANSWER;
		return;
	}
	vote->counts = vote->left > vote->counts ? vote->left : vote->counts;
	vote->call = CALL_NONE;
	vote->left = 0;
}

/* --- what daemons do --------------------------------------------------------------------------------------
 */

static unsigned
calls_count(const struct turn *t)
{
	unsigned count = 0;
	for (unsigned m = 0; m < t->rules->masters; m++) {
		for (unsigned d = 0; d < t->rules->daemons; d++)
			count += t->from->master[m].vote[d].call != CALL_NONE;
	}
	return count;
}

static void
move_send(struct turn *t, unsigned m, unsigned d)
{
	struct vote *vote = &t->next.master[m].vote[d];
	if (calls_count(t) >= t->calls_max)
		return;
	*vote = (struct vote){CALL_ASK, validity_full(t->rules), vote->counts, vote->release};
	OFFER(t, "%c asks m%u", 'A' + d, m + 1);
	if (t->from->master[m].guard == 0 || !t->from->holds[d])
		return;
	*vote = (struct vote){CALL_RECLAIM, validity_full(t->rules), vote->counts, vote->release};
	OFFER(t, "%c reclaims at m%u", 'A' + d, m + 1);
}

static void
move_end(struct turn *t, unsigned d)
{
	bool begun = t->from->holds[d];
	for (unsigned m = 0; m < t->rules->masters; m++) {
		const struct master *master = &t->from->master[m];
		begun |= master->owner == d + 1 || master->vote[d].call != CALL_NONE ||
			 master->vote[d].counts > 0;
	}
	if (!begun)
		return;
	attempt_end(t->rules, &t->next, d);
	OFFER(t, "%c %s", 'A' + d, t->from->holds[d] ? "releases the lease" : "gives up");
}

static void
move_use(struct turn *t, unsigned d)
{
	bool may = t->from->holds[d] || t->from->idle[d];
	if (t->rules->retain == RETAIN_NOT || t->from->uses[d] || !may)
		return;
	t->next.uses[d] = true;
	t->next.idle[d] = false;
	OFFER(t, "%c grants it", 'A' + d);
}

static void
move_retain(struct turn *t, unsigned d)
{
	if (!t->from->uses[d])
		return;
	t->next.uses[d] = false;
	t->next.idle[d] = true;
	OFFER(t, "%c's user gives it back, and the lease is kept", 'A' + d);
}

static void
move_answer(struct turn *t, unsigned m, unsigned d)
{
	struct vote *vote = &t->next.master[m].vote[d];
	bool from_answer = t->rules->validity == VALIDITY_FROM_ANSWER;
	uint8_t counts = from_answer ? validity_full(t->rules) : vote->left;
	vote->counts = counts > vote->counts ? counts : vote->counts;
	vote->call = CALL_NONE;
	vote->left = 0;
	const char *change = leases_settle(t);
	OFFER(t, "m%u's yes reaches %c%s", m + 1, 'A' + d, change);
}

/* --- what masters do --------------------------------------------------------------------------------------
 */

static void
move_ask(struct turn *t, unsigned m, unsigned d)
{
	const struct master *was = &t->from->master[m];
	bool renews = t->rules->guarded_renews && was->reclaimer == d + 1;
	if ((was->guard > 0 && !renews) || (was->owner != 0 && was->owner != d + 1))
		return;
	key_set(t, m, d);
	vote_confirm(t, &t->next.master[m].vote[d]);
	const char *change = leases_settle(t);
	OFFER(t, "m%u gives %c the key%s", m + 1, 'A' + d, change);
}

static void
move_reclaim(struct turn *t, unsigned m, unsigned d)
{
	const struct master *was = &t->from->master[m];
	struct vote *vote = &t->next.master[m].vote[d];
	if ((was->guard == 0 && !t->rules->reclaim_late) || (was->reclaimer != 0 && was->reclaimer != d + 1))
		return;
	key_set(t, m, d);
	t->next.master[m].reclaimer = was->guard > 0 ? (uint8_t)(d + 1) : 0;
	if (t->rules->masters == 1 || t->rules->reclaim_votes)
		vote_confirm(t, vote);
	else
		vote->call = vote->left = 0;
	const char *change = leases_settle(t);
	OFFER(t, "m%u lets %c have the key back%s", m + 1, 'A' + d, change);
}

static void
move_release(struct turn *t, unsigned m, unsigned d)
{
	struct master *master = &t->next.master[m];
	master->vote[d].release = 0;
	if (t->rules->release == RELEASE_ANY || master->owner == d + 1)
		master->owner = master->ttl = master->stepped = 0;
	OFFER(t, "a release of %c reaches m%u late", 'A' + d, m + 1);
}

static void
move_step(struct turn *t, unsigned m)
{
	struct master *master = &t->next.master[m];
	if (master->owner == 0 || master->stepped || t->rules->step == 0)
		return;
	master->stepped = 1;
	master->ttl = master->ttl > t->rules->step ? (uint8_t)(master->ttl - t->rules->step) : 0;
	if (master->ttl == 0)
		master->owner = master->stepped = 0;
	OFFER(t, "m%u's clock steps forward by %u", m + 1, t->rules->step);
}

static bool
may_restart(const struct turn *t, unsigned m)
{
	unsigned most = t->rules->masters == 1 ? 1 : t->rules->masters - majority(t->rules);
	unsigned guarded = 1;
	for (unsigned other = 0; other < t->rules->masters; other++)
		guarded += other != m && t->from->master[other].guard > 0;
	return t->rules->guard > 0 && guarded <= (t->rules->lost > 0 ? t->rules->lost : most);
}

/* What was under way may still arrive (its incarnation refuses that; here it need not), and the daemons count
 * their votes as before. */
static void
move_restart(struct turn *t, unsigned m)
{
	for (unsigned owner = 0; owner <= t->rules->daemons; owner++) {
		struct master *master = &t->next.master[m];
		master->guard = (uint8_t)(t->rules->guard - t->rules->rate);
		master->reclaimer = 0;
		master->stepped = 0;
		master->owner = (uint8_t)owner;
		master->ttl = owner > 0 ? (uint8_t)(t->rules->lease + t->rules->margin) : 0;
		if (owner == 0)
			OFFER(t, "m%u restarts empty", m + 1);
		else
			OFFER(t, "m%u restarts with an old key of %c", m + 1, '@' + owner);
	}
}

static void
count_down(uint8_t *ticks)
{
	*ticks = (uint8_t)(*ticks - (*ticks > 0));
}

static void
move_tick(struct turn *t)
{
	for (unsigned m = 0; m < t->rules->masters; m++) {
		struct master *master = &t->next.master[m];
		bool kept = t->rules->validity == VALIDITY_KEPT && master->guard > 0;
		count_down(&master->ttl);
		if (master->ttl == 0)
			master->owner = master->stepped = 0;
		count_down(&master->guard);
		if (master->guard == 0)
			master->reclaimer = 0;
		for (unsigned d = 0; d < t->rules->daemons; d++) {
			count_down(&master->vote[d].left);
			if (!kept)
				count_down(&master->vote[d].counts);
		}
	}
	const char *change = leases_settle(t);
	OFFER(t, "a tick%s", change);
}

static void
vote_moves(struct turn *t, unsigned m, unsigned d)
{
	const struct vote *vote = &t->from->master[m].vote[d];
	switch ((enum call)vote->call) {
	case CALL_NONE:
		move_send(t, m, d);
		break;
	case CALL_ASK:
		move_ask(t, m, d);
		break;
	case CALL_RECLAIM:
		move_reclaim(t, m, d);
		break;
	case CALL_ANSWER:
		move_answer(t, m, d);
		break;
	}
	if (vote->release)
		move_release(t, m, d);
}

/* --- the model --------------------------------------------------------------------------------------------
 */

static void
leases_begin(const void *rules, void *state)
{
	(void)rules;
	(void)state;
}

static void
leases_moves(const void *rules, unsigned depth, const void *state, struct explorer *ex)
{
	const struct lease_rules *r = rules;
	struct turn t = {.rules = r, .calls_max = r->calls + depth - 1, .from = state, .ex = ex};
	t.next = *t.from;
	move_tick(&t);
	for (unsigned m = 0; m < r->masters; m++) {
		for (unsigned d = 0; d < r->daemons; d++)
			vote_moves(&t, m, d);
		move_step(&t, m);
		if (may_restart(&t, m))
			move_restart(&t, m);
	}
	for (unsigned d = 0; d < r->daemons; d++) {
		move_end(&t, d);
		move_use(&t, d);
		move_retain(&t, d);
	}
}

static const char *
leases_broken(const void *rules, const void *state)
{
	const struct lease_rules *r = rules;
	const struct lease_state *s = state;
	unsigned holders = 0, users = 0;
	for (unsigned d = 0; d < r->daemons; d++) {
		holders += s->holds[d];
		users += s->uses[d];
	}
	return holders > 1 || users > 1 ? OVERLAP : NULL;
}

static void
leases_relabel(const struct lease_rules *rules, const struct lease_state *from, const uint8_t *order,
	struct lease_state *to)
{
	assert(rules->daemons <= DAEMONS_MAX);
	*to = *from;
	for (unsigned d = 0; d < rules->daemons; d++) {
		to->holds[d] = from->holds[order[d]];
		to->uses[d] = from->uses[order[d]];
		to->idle[d] = from->idle[order[d]];
		for (unsigned m = 0; m < rules->masters; m++) {
			to->master[m].vote[d] = from->master[m].vote[order[d]];
			if (from->master[m].owner == order[d] + 1)
				to->master[m].owner = (uint8_t)(d + 1);
			if (from->master[m].reclaimer == order[d] + 1)
				to->master[m].reclaimer = (uint8_t)(d + 1);
		}
	}
	explorer_sort(to->master, rules->masters, sizeof to->master[0]);
}

static void
leases_normalize(const void *rules, void *state)
{
	const struct lease_rules *r = rules;
	const struct lease_state from = *(const struct lease_state *)state;
	struct lease_state *least = state;
	uint8_t order[DAEMONS_MAX] = {0, 1, 2};

	leases_relabel(r, &from, order, least);
	while (explorer_permute(order, r->daemons)) {
		struct lease_state other;
		leases_relabel(r, &from, order, &other);
		if (memcmp(&other, least, sizeof other) < 0)
			*least = other;
	}
}

enum landmark {
	LANDMARK_HOLD = 1,
	LANDMARK_RIVAL = 2,
	LANDMARK_LATE = 4,
	LANDMARK_RECLAIM = 8,
	LANDMARK_IDLE = 16,
};

static unsigned
leases_landmark(const void *rules, const void *state)
{
	const struct lease_rules *r = rules;
	const struct lease_state *s = state;
	unsigned met = 0;
	for (unsigned d = 0; d < r->daemons; d++) {
		met |= s->holds[d] ? LANDMARK_HOLD : 0;
		met |= s->holds[d] && s->idle[d] ? LANDMARK_IDLE : 0;
		for (unsigned m = 0; m < r->masters; m++) {
			const struct master *master = &s->master[m];
			bool rival = s->holds[d] && master->owner != 0 && master->owner != d + 1;
			met |= rival ? LANDMARK_RIVAL : 0;
			met |= master->vote[d].call == CALL_ASK && master->vote[d].left == 0 ? LANDMARK_LATE
											     : 0;
			met |= s->holds[d] && master->reclaimer == d + 1 ? LANDMARK_RECLAIM : 0;
		}
	}
	return met;
}

static unsigned
leases_landmarks_due(const void *rules)
{
	const struct lease_rules *r = rules;
	return LANDMARK_HOLD | LANDMARK_LATE | (r->masters > 1 ? LANDMARK_RIVAL : 0) |
	       (r->guard > 0 ? LANDMARK_RECLAIM : 0) | (r->retain != RETAIN_NOT ? LANDMARK_IDLE : 0);
}

static const struct variant variants[] = {
#define LEASES(name, breaks, depth, rule, ...)                                                               \
	{name, breaks, rule, depth, &(const struct lease_rules){__VA_ARGS__}},
#include "tests/model/variants.def"
#undef LEASES
};

const struct model leases_model = {
	.name = "leases",
	.state_bytes = sizeof(struct lease_state),
	.begin = leases_begin,
	.moves = leases_moves,
	.broken = leases_broken,
	.normalize = leases_normalize,
	.landmark = leases_landmark,
	.landmarks_due = leases_landmarks_due,
	.landmarks = (const char *const[]){"a lease", "a rival's key", "a late call", "a reclaimed key",
		"an idle lease"},
	.variants = variants,
	.variant_count = sizeof variants / sizeof variants[0],
};
