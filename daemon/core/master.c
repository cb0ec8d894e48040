#include "daemon/core/master.h"

#include "daemon/core/emit.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define GREET_MOST_MS 5000 /* a changed identity is seen this soon at the latest, also with long leases */
#define GREET_RETRY_MS                                                                                       \
	500               /* LOADING, replica, wrong limits: asked again after this, or a tenth of a lease   \
			   */
#define PATIENCE_MS  2000 /* most that an acquire may go unanswered */
#define TOKEN_MOST   (INT64_C(1) << 52)
#define TOKENS_AHEAD 10000 /* as many microseconds: a restart takes longer */

#define TO(state) (1U << (state))

/* The master's states and the moves between them; master.h has the picture. */
static const unsigned master_allowed[MASTER_STATE_COUNT] = {
	[MASTER_AWAY] = TO(MASTER_GREETING),
	[MASTER_GREETING] = TO(MASTER_AWAY) | TO(MASTER_GUARDED) | TO(MASTER_ADMITTED) | TO(MASTER_REFUSED),
	[MASTER_GUARDED] = TO(MASTER_AWAY) | TO(MASTER_GREETING) | TO(MASTER_ADMITTED) | TO(MASTER_GUARDED) |
			   TO(MASTER_REFUSED),
	[MASTER_ADMITTED] = TO(MASTER_AWAY) | TO(MASTER_GREETING) | TO(MASTER_GUARDED) | TO(MASTER_REFUSED),
	[MASTER_REFUSED] = TO(MASTER_AWAY) | TO(MASTER_GREETING) | TO(MASTER_GUARDED) | TO(MASTER_ADMITTED),
};

static const char *const greeting_text[] = {
#define GREETING(name, text) text,
	GREETINGS(GREETING)
#undef GREETING
};

static void
master_move(struct core *core, enum master_state next)
{
	assert(master_allowed[core->master.state] & TO(next));
	core->master.state = next;
	/* Who waits for a single verdict may have it now. */
	core->master.retry = true;
}

void
master_init(struct core *core)
{
	/* The first connect is under way: who asks meanwhile waits for how it ends. */
	core->master.state = MASTER_GREETING;
	core->master.greet_ms = TIMER_NEVER;
	timer_init(&core->master.timer, TIMER_MASTER);
}

int64_t
master_patience_ms(const struct core *core)
{
	int64_t third = core->settings.lease_max_ms / 3;

	return third < PATIENCE_MS ? third : PATIENCE_MS;
}

int64_t
master_guard_ms(const struct core *core)
{
	return core->settings.lease_max_ms + core->settings.margin_ms;
}

static int64_t
greet_every_ms(const struct core *core)
{
	int64_t third = core->settings.lease_max_ms / 3;

	return third < GREET_MOST_MS ? third : GREET_MOST_MS;
}

/* How long until a greeting that did not go well is tried again: leases have to survive a short absence. */
static int64_t
greet_again_ms(struct core *core)
{
	int64_t tenth = core->settings.lease_max_ms / 10;
	int64_t most = tenth < GREET_RETRY_MS ? tenth : GREET_RETRY_MS;

	return core_jitter(core, most / 2, most);
}

static void
master_arm(struct core *core)
{
	struct master *m = &core->master;
	int64_t at = m->greet_ms;

	if (m->state == MASTER_GUARDED && !m->admitting && m->guard_until_ms < at)
		at = m->guard_until_ms;
	/* A guard may have ended while the master was away: at once, but not within this turn. */
	if (at <= core->now.ms)
		at = core->now.ms + 1;
	timer_arm(&core->timers, &m->timer, m->state == MASTER_AWAY ? TIMER_NEVER : at);
}

int64_t
master_time_us(const struct core *core, int64_t ms)
{
	const struct master *m = &core->master;

	return m->time_us + (core->now.ms - m->time_seen_ms + ms) * 1000;
}

void
master_saw_token(struct core *core, int64_t token)
{
	if (token > core->master.highest && token <= TOKEN_MOST)
		core->master.highest = token;
}

/* A token above both; a wall clock set absurdly far ahead must not burn the tokens of all the years until
 * then. */
static int64_t
token_above(const struct core *core, int64_t known)
{
	int64_t wall = core->now.wall_us;

	return wall > known && wall <= TOKEN_MOST ? wall : known + 1;
}

int64_t
master_propose(const struct core *core)
{
	return token_above(core, core->master.past);
}

bool
master_tokens_ahead(const struct core *core)
{
	return core->master.highest > core->now.wall_us + TOKENS_AHEAD;
}

/* HELLO on one link: whom do we talk to, and does it remember? */
static void
master_greet(struct core *core, unsigned link)
{
	struct master *m = &core->master;
	struct master_link *l = &m->links[link];

	if (!l->up || l->greeting)
		return;
	l->greeting = true;
	emit_call(core, &(struct call){.op = CALL_HELLO,
				.link = link,
				.attempt = ++m->serial,
				.incarnation = core_chance(core) | 1,
				.token = m->highest});
}

static void
master_greet_all(struct core *core)
{
	for (unsigned i = 0; i < core->settings.links; i++)
		master_greet(core, i);
	core->master.greet_ms = core->now.ms + greet_every_ms(core);
	master_arm(core);
}

/* Something says that the master is not the one we knew: nothing new until it has been greeted. */
static void
master_doubt(struct core *core)
{
	struct master *m = &core->master;

	if (m->state == MASTER_AWAY)
		return;
	if (m->state == MASTER_ADMITTED || m->state == MASTER_GUARDED)
		master_move(core, MASTER_GREETING);
	master_greet_all(core);
}

void
master_flushed(struct core *core)
{
	master_doubt(core);
}

void
master_link_up(struct core *core, unsigned link)
{
	struct master *m = &core->master;

	assert(link < core->settings.links);
	m->links[link] = (struct master_link){.up = true};
	if (m->state == MASTER_AWAY)
		master_move(core, MASTER_GREETING);
	m->greet_ms = core->now.ms + greet_every_ms(core);
	master_greet(core, link);
	master_arm(core);
}

static void
keep_reason(char *to, struct slice from)
{
	(void)snprintf(to, MASTER_REASON_MAX, "%.*s",
		(int)(from.n < MASTER_REASON_MAX ? from.n : MASTER_REASON_MAX - 1), from.n > 0 ? from.p : "");
}

void
master_link_down(struct core *core, unsigned link, struct slice why)
{
	struct master *m = &core->master;
	bool any = false;

	assert(link < core->settings.links);
	m->links[link] = (struct master_link){.up = false};
	for (unsigned i = 0; i < core->settings.links; i++)
		any |= m->links[i].up;
	keep_reason(m->reason, why);
	if (any || m->state == MASTER_AWAY)
		return;
	master_move(core, MASTER_AWAY);
	m->admitting = false;
	master_arm(core);
	emit_note(core, NOTE_MASTER_AWAY, NULL, NULL, 0, -1, m->reason);
}

static void
master_refuse(struct core *core, const char *what, struct slice detail)
{
	struct master *m = &core->master;
	bool news = m->state != MASTER_REFUSED;

	(void)snprintf(m->reason, sizeof(m->reason), "%s%s%.*s", what, detail.n > 0 ? ": " : "",
		(int)(detail.n < 100 ? detail.n : 100), detail.n > 0 ? detail.p : "");
	if (news) {
		master_move(core, MASTER_REFUSED);
		emit_note(core, NOTE_MASTER_REFUSED, NULL, NULL, 0, -1, m->reason);
	}
	m->greet_ms = core->now.ms + greet_again_ms(core);
	master_arm(core);
}

static void
master_guard(struct core *core)
{
	struct master *m = &core->master;

	master_move(core, MASTER_GUARDED);
	m->reclaim = true;
	m->admitting = false;
	master_arm(core);
	emit_note(core, NOTE_MASTER_GUARDED, NULL, NULL, 0, m->guard_until_ms - core->now.ms, NULL);
}

static void
master_admitted(struct core *core)
{
	struct master *m = &core->master;
	bool news = m->state != MASTER_ADMITTED;

	m->admitting = false;
	m->guarding = false;
	m->retry = true;
	if (news) {
		master_move(core, MASTER_ADMITTED);
		emit_note(core, NOTE_MASTER_ADMITTED, NULL, NULL, m->highest, -1, NULL);
	}
	master_arm(core);
}

static void
master_greeted(struct core *core, const struct vote *vote)
{
	struct master *m = &core->master;
	bool changed = !m->known || vote->incarnation != m->incarnation;

	m->known = true;
	m->incarnation = vote->incarnation;
	m->reason[0] = '\0';
	if (changed)
		m->past = m->highest;
	master_saw_token(core, vote->highest);
	if (vote->admitted) {
		/* Admitted by another daemon after a change we did not see: our leases may be missing there.
		 */
		m->reclaim |= changed;
		if (m->state != MASTER_ADMITTED || changed || !m->links[vote->link].greeted) {
			m->links[vote->link].greeted = true;
			master_admitted(core);
		}
		return;
	}
	/* What waited for this link need not wait for the end of the guard. */
	m->retry |= !m->links[vote->link].greeted;
	m->links[vote->link].greeted = true;
	if (changed || !m->guarding)
		m->guard_until_ms = core->now.ms + master_guard_ms(core);
	m->guarding = true;
	if (changed || m->state != MASTER_GUARDED)
		master_guard(core);
}

static void
master_hello_vote(struct core *core, const struct vote *vote)
{
	struct master *m = &core->master;

	m->links[vote->link].greeting = false;
	if (!m->links[vote->link].up)
		return;
	if (vote->outcome == OUTCOME_YES && vote->greeting == GREETING_GOOD)
		master_greeted(core, vote);
	else if (vote->outcome == OUTCOME_YES)
		master_refuse(core, greeting_text[vote->greeting], vote->text);
	else if (vote->outcome == OUTCOME_DEMOTED ||
		 (vote->outcome == OUTCOME_ERROR && m->state == MASTER_GREETING))
		master_refuse(core, "answers with an error", vote->text);
	else {
		m->greet_ms = core->now.ms + greet_again_ms(core);
		master_arm(core);
	}
}

static void
master_admit_vote(struct core *core, const struct vote *vote)
{
	struct master *m = &core->master;

	if (!m->admitting || vote->attempt != m->admit_serial)
		return;
	m->admitting = false;
	if (vote->outcome == OUTCOME_YES && m->state == MASTER_GUARDED) {
		master_saw_token(core, vote->highest);
		master_admitted(core);
		return;
	}
	m->guard_until_ms = core->now.ms + greet_again_ms(core);
	master_arm(core);
}

void
master_vote(struct core *core, const struct vote *vote)
{
	if (vote->op == CALL_HELLO)
		master_hello_vote(core, vote);
	else
		master_admit_vote(core, vote);
}

/* Noted once for a stretch of the same error: a thousand names that meet it are one event. */
static void
master_complains(struct core *core, struct slice text)
{
	struct master *m = &core->master;
	char before[MASTER_REASON_MAX];

	memcpy(before, m->error, sizeof(before));
	keep_reason(m->error, text);
	if (!m->complained || strcmp(before, m->error) != 0)
		emit_note(core, NOTE_MASTER_ERROR, NULL, NULL, 0, -1, m->error);
	m->complained = true;
}

void
master_heard(struct core *core, const struct vote *vote)
{
	struct master *m = &core->master;
	bool answered = vote->outcome != OUTCOME_UNKNOWN && vote->outcome != OUTCOME_UNSENT;

	if (answered && m->links[vote->link].suspect) {
		m->links[vote->link].suspect = false;
		m->retry = true;
	}
	if (vote->time_us > 0) {
		m->time_us = vote->time_us;
		m->time_seen_ms = core->now.ms;
	}
	if (vote->outcome == OUTCOME_ERROR)
		master_complains(core, vote->text);
	else if (vote->outcome == OUTCOME_YES && vote->op != CALL_HELLO)
		m->complained = false;
	if (vote->op != CALL_HELLO &&
		(vote->outcome == OUTCOME_FORGOTTEN || vote->outcome == OUTCOME_DEMOTED))
		master_doubt(core);
}

static void
master_admit(struct core *core)
{
	struct master *m = &core->master;

	for (unsigned i = 0; i < core->settings.links; i++) {
		if (!m->links[i].greeted)
			continue;
		m->admitting = true;
		m->admit_serial = ++m->serial;
		emit_call(core, &(struct call){.op = CALL_ADMIT,
					.link = i,
					.attempt = m->admit_serial,
					.incarnation = m->incarnation,
					.token = token_above(core, m->highest)});
		return;
	}
	m->guard_until_ms = core->now.ms + greet_again_ms(core);
}

void
master_timer(struct core *core)
{
	struct master *m = &core->master;

	if (m->state == MASTER_GUARDED && !m->admitting && core->now.ms >= m->guard_until_ms)
		master_admit(core);
	if (core->now.ms >= m->greet_ms)
		master_greet_all(core);
	master_arm(core);
}

bool
master_usable(const struct core *core, unsigned link)
{
	const struct master_link *l = &core->master.links[link];

	return core->master.state == MASTER_ADMITTED && l->greeted && !l->suspect;
}

void
master_verdict(const struct core *core, unsigned link, struct reply *why)
{
	const struct master *m = &core->master;
	long long left = (long long)(m->guard_until_ms - core->now.ms);

	switch (m->state) {
	case MASTER_GUARDED:
		reply_error(why, CODE_GUARD, "the master restarted or is new: new leases resume in %lld ms",
			left > 0 ? left : 0);
		return;
	case MASTER_REFUSED:
		reply_error(why, CODE_NOMASTER, "the master %s", m->reason);
		return;
	case MASTER_GREETING:
		reply_error(why, CODE_NOMASTER, "the master is being greeted: try again in a moment");
		return;
	default:
		break;
	}
	if (m->links[link].suspect)
		reply_error(why, CODE_NOMASTER, "the master does not answer");
	else
		reply_error(why, CODE_NOMASTER, "the master is not reachable%s%s", m->reason[0] ? ": " : "",
			m->reason);
}

bool
master_keeps(const struct core *core, unsigned link, enum call_op *op)
{
	const struct master *m = &core->master;

	*op = m->state == MASTER_GUARDED ? CALL_RECLAIM : CALL_RENEW;
	return m->links[link].greeted && (m->state == MASTER_ADMITTED || m->state == MASTER_GUARDED);
}

bool
master_releases(const struct core *core, unsigned link)
{
	enum call_op op;

	return master_keeps(core, link, &op);
}

void
master_suspect(struct core *core, unsigned link)
{
	core->master.links[link].suspect = true;
}
