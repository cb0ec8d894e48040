/*
 * undo: what one daemon leaves behind at one master. A call whose outcome is unknown has to be undone: a
 * lease that nobody relies on must not stand in the way of others, nor come back when it was released.
 *
 *     daemon ──acquire──▶ (link) ──▶ master: takes the key, unless it is past the call's deadline
 *            ──release──▶ (the same link, behind it; or another one, perhaps overtaking) ──▶ deletes it
 *
 * When the link breaks, what was on it is lost, or lies at the master still and runs at any later time. A
 * release that follows its acquire on the same link needs one confirmation. On another link it is repeated
 * until it is confirmed at a time of the master past the acquire's deadline, after which the acquire refuses
 * itself. The master's clock and the daemon's run as they like.
 *
 * A holder that releases may have a call under way as well: a renewal, which creates nothing, or the repair
 * of a vote, which is an acquire with its own deadline and is undone like one.
 *
 * Promised: when the daemon is done with a lease, its key is not there and does not come back (BACK). The key
 * does not run out here; in truth it does, after TTL at the latest.
 */
#include "tests/model/explorer.h"

#define TIMEOUT 2 /* ticks from the sending of the acquire to its deadline */
#define BACK    "a lease that is over has its key"

enum confirm {
	CONFIRM_RIGHT = 0, /* behind the acquire: once; on another link: past the deadline */
	CONFIRM_FIRST,     /* once, on whichever link */
	CONFIRM_OWN_CLOCK, /* until the daemon's own clock says that the deadline is past */
	CONFIRM_NONE,      /* a release that was sent is as good as done */
};

struct undo_rules {
	bool breaks;     /* the link may break */
	bool apart;      /* the release takes another link even while this one is whole */
	bool held;       /* it begins with the lease held, and a repair or renewal under way */
	bool renewal;    /* the call under way is a renewal, which has no deadline */
	bool missing;    /* it begins without the key at this master */
	bool recreates;  /* a renewal sets the key when it is not there */
	bool timeless;   /* acquires have no deadline */
	bool steps_back; /* the master's clock may step back, once */
	enum confirm confirm;
};

/* Of the call, and of the release. */
enum way {
	WAY_NOWHERE = 0,
	WAY_LINK,
	WAY_APART, /* stranded by a broken link; or, for a release, on another one */
};

enum phase {
	PHASE_ASKED = 0,
	PHASE_UNDOING,
	PHASE_DONE,
};

struct undo_state {
	uint8_t phase;
	uint8_t call;
	uint8_t release;
	uint8_t broken;   /* the link that carried the call */
	uint8_t key;      /* ours is there */
	uint8_t deadline; /* ticks of the master's clock that the call has left */
	uint8_t patience; /* the same by the daemon's clock */
	uint8_t stepped;
};

struct turn {
	const struct undo_rules *rules;
	const struct undo_state *from;
	struct undo_state next;
	struct explorer *ex;
};

static void
move_clocks(struct turn *t)
{
	if (t->from->deadline > 0) {
		t->next.deadline--;
		OFFER(t, "the master's clock ticks");
	}
	if (t->from->patience > 0 && t->rules->confirm == CONFIRM_OWN_CLOCK) {
		t->next.patience--;
		OFFER(t, "the daemon's clock ticks");
	}
	if (t->rules->steps_back && !t->from->stepped) {
		t->next.stepped = 1;
		t->next.deadline++;
		OFFER(t, "the master's clock steps back");
	}
}

static void
move_call(struct turn *t)
{
	bool late = t->from->deadline == 0 && !t->rules->timeless;
	if (t->from->call == WAY_NOWHERE)
		return;
	t->next.call = WAY_NOWHERE;
	if (t->rules->renewal) {
		t->next.key |= t->rules->recreates;
		OFFER(t, "the renewal runs: %s", t->next.key ? "the key is there" : "no key of ours");
	} else {
		t->next.key |= !late;
		OFFER(t, "the acquire runs: %s", late ? "too late" : "the key is there");
	}
}

static void
move_break(struct turn *t)
{
	if (!t->rules->breaks || t->from->broken)
		return;
	t->next.broken = 1;
	if (t->from->release == WAY_LINK)
		t->next.release = WAY_NOWHERE;
	t->next.call = WAY_NOWHERE;
	OFFER(t, "the link breaks, what it carried is lost");
	if (t->from->call != WAY_LINK)
		return;
	t->next.broken = 1;
	t->next.call = WAY_APART;
	if (t->from->release == WAY_LINK)
		t->next.release = WAY_NOWHERE;
	OFFER(t, "the link breaks, the call lies at the master");
}

static void
move_release_send(struct turn *t)
{
	bool apart = t->rules->apart || t->from->broken;
	if (t->from->phase == PHASE_DONE || t->from->release != WAY_NOWHERE)
		return;
	t->next.phase = t->rules->confirm == CONFIRM_NONE ? PHASE_DONE : PHASE_UNDOING;
	t->next.release = apart ? WAY_APART : WAY_LINK;
	OFFER(t, "a release is sent, %s", apart ? "on another link" : "on the same link");
}

static bool
release_confirms(const struct turn *t)
{
	switch (t->rules->confirm) {
	case CONFIRM_RIGHT:
		/* A renewal has no deadline, and needs none. */
		return t->from->release == WAY_LINK || t->from->deadline == 0 || t->rules->renewal;
	case CONFIRM_OWN_CLOCK:
		return t->from->patience == 0;
	case CONFIRM_FIRST:
	case CONFIRM_NONE:
		break;
	}
	return true;
}

/* Its answer may be lost; the release is repeated then. */
static void
move_release(struct turn *t)
{
	if (t->from->release == WAY_NOWHERE || (t->from->release == WAY_LINK && t->from->call == WAY_LINK))
		return;
	t->next.key = 0;
	t->next.release = WAY_NOWHERE;
	OFFER(t, "the release runs, its answer is lost");
	t->next.key = 0;
	t->next.release = WAY_NOWHERE;
	if (release_confirms(t))
		t->next.phase = PHASE_DONE;
	OFFER(t, "the release runs and is confirmed%s",
		release_confirms(t) ? ": done" : ", but too early to count");
}

static void
undo_begin(const void *rules, void *state)
{
	const struct undo_rules *r = rules;
	struct undo_state *s = state;
	s->call = WAY_LINK;
	s->key = r->held && !r->missing;
	s->deadline = s->patience = TIMEOUT;
}

static void
undo_moves(const void *rules, unsigned depth, const void *state, struct explorer *ex)
{
	(void)depth;
	struct turn t = {.rules = rules, .from = state, .ex = ex};
	t.next = *t.from;
	move_clocks(&t);
	move_call(&t);
	move_break(&t);
	move_release_send(&t);
	move_release(&t);
}

static const char *
undo_broken(const void *rules, const void *state)
{
	(void)rules;
	const struct undo_state *s = state;
	bool coming = s->release != WAY_NOWHERE;
	return s->phase == PHASE_DONE && s->key && !coming ? BACK : NULL;
}

enum landmark {
	LANDMARK_DONE = 1,
	LANDMARK_STRANDED = 2,
};

static unsigned
undo_landmark(const void *rules, const void *state)
{
	(void)rules;
	const struct undo_state *s = state;
	return (s->phase == PHASE_DONE ? LANDMARK_DONE : 0) |
	       (s->phase == PHASE_DONE && s->call != WAY_NOWHERE ? LANDMARK_STRANDED : 0);
}

static unsigned
undo_landmarks_due(const void *rules)
{
	const struct undo_rules *r = rules;
	return LANDMARK_DONE | (r->breaks ? LANDMARK_STRANDED : 0);
}

static const struct variant variants[] = {
#define UNDO(name, breaks, depth, rule, ...)                                                                 \
	{name, breaks, rule, depth, &(const struct undo_rules){__VA_ARGS__}},
#include "tests/model/variants.def"
#undef UNDO
};

const struct model undo_model = {
	.name = "undo",
	.state_bytes = sizeof(struct undo_state),
	.begin = undo_begin,
	.moves = undo_moves,
	.broken = undo_broken,
	.landmark = undo_landmark,
	.landmarks_due = undo_landmarks_due,
	.landmarks = (const char *const[]){"the end", "a call that outlives its undo"},
	.variants = variants,
	.variant_count = sizeof variants / sizeof variants[0],
};
