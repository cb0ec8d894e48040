/* losses: see losses.h. */
#include "tests/sim/judge/losses.h"

#include "tests/sim/world/id_client.h"
#include "tests/sim/world/world.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static bool
is_of(const struct loss_report *l, const struct host *h, session_id session)
{
	return l->host == h && l->host_life == h->life && l->session == session;
}

static struct loss_report **
find(struct world *w, const struct host *h, session_id session, unsigned name, const char *owner)
{
	struct loss_report **at = &w->losses.told;
	while (*at != NULL &&
		!(is_of(*at, h, session) && (*at)->name == name && strcmp((*at)->owner, owner) == 0))
		at = &(*at)->next;
	return at;
}

static void
forget(struct loss_report **at)
{
	struct loss_report *l = *at;
	if (l == NULL)
		return;
	*at = l->next;
	free(l);
}

static void
asked(struct world *w, const struct conn *c, unsigned name, const char *owner)
{
	struct loss_report *l = *find(w, c->host, conn_session(c), name, owner);
	const struct hold *h = held_by(w, (struct conn *)c, name, owner);
	/* What its session has again by now is not asked for, but given back by MUNLOCK; nor is what is
	 * answered by the loss. */
	bool has =
		h != NULL && held_surely(w, h) && h->since_us < w->now_us && c->current.verb != VERB_MUNLOCK;
	if (l != NULL && !has && l->reminded != c->current.serial)
		l->asked = true;
}

void
losses_done(struct world *w)
{
	for (struct loss_report *l = w->losses.told, *next; l != NULL; l = next) {
		next = l->next;
		free(l);
	}
	for (struct loss_manner *m = w->losses.manners, *next; m != NULL; m = next) {
		next = m->next;
		free(m);
	}
	w->losses = (struct losses){.told = NULL};
}

static struct loss_manner *
manner_of(struct world *w, const struct host *h, session_id session)
{
	struct loss_manner *m = w->losses.manners;
	while (m != NULL && !(m->host == h && m->host_life == h->life && m->session == session))
		m = m->next;
	return m;
}

void
losses_granted(struct world *w, const struct host *h, session_id session, unsigned name, const char *owner)
{
	struct loss_report *l = *find(w, h, session, name, owner);
	/* A LOCK that waited already when it was lost leaves it to be told; so does one that was refused
	 * since. */
	if (l != NULL)
		l->again |= l->asked;
}

/* ---- why ---- */

/* The end that its terms choose: the first of them (3.9, 3.47). */
static const char *
end_of(const struct hold *hold)
{
	int64_t bound_ms = hold->lease_ends_ms < hold->ceiling_ms ? hold->lease_ends_ms : hold->ceiling_ms;
	if (hold->claim_ends_ms < bound_ms)
		return "claim";
	return hold->lease_ends_ms <= hold->ceiling_ms ? "lease" : "maxhold";
}

static bool
is_chosen(const char *why)
{
	return strcmp(why, "lease") == 0 || strcmp(why, "claim") == 0;
}

/* Its LEASE, MAXHOLD or CLAIM is a reason when it is over, and the end of the lease when that is. */
static void
check_reason(struct world *w, const struct host *h, const struct hold *hold, const char *why)
{
	int64_t now_ms = host_ms(h);
	bool bounds = is_chosen(why) || strcmp(why, "maxhold") == 0;
	bool expired = strcmp(why, "expired") == 0;
	if (hold->copied)
		return;
	if (bounds && now_ms < hold->ends_ms)
		world_fail(w, "loss: d%u says that the %s of %s is over, %" PRId64 " ms too soon", h->index,
			why, checker_name(hold->name), hold->ends_ms - now_ms);
	/* It is the reason that is told, or not (4.7). */
	if (bounds && strcmp(why, end_of(hold)) != 0)
		world_fail(w, "loss: d%u ends a hold of %s by its %s, which is not what ends it first",
			h->index, checker_name(hold->name), why);
	/* Clocks differ by a hundredth each from the true time, in which it is told here. */
	int64_t slack_us = 1000 + w->plan.lease_ms * 20;
	if ((bounds || expired) && hold->valid_us > w->now_us + 1000 && !hold->unannounced &&
		promised(w, PROMISE_HOLD, hold->name) && !(bounds && now_ms >= hold->ends_ms) &&
		!(expired && (clock_jumps_noted(h) || hold->valid_us - w->now_us <= slack_us)))
		world_fail(w, "loss: d%u calls its hold of %s %s, and was sure of it for %" PRId64 " us more",
			h->index, checker_name(hold->name), why, hold->valid_us - w->now_us);
}

static void
withheld(struct host *h, const struct note *n, const struct hold *hold)
{
	struct world *w = h->world;
	const struct conn *c = w->closes;
	/* Its rule may withhold it for longer than what was told. */
	int64_t delay_ms = host_rule(h, hold->name)->crash_delay_ms;
	int64_t told_ms = (hold->valid_us - w->now_us) / 1000, left_ms = told_ms + delay_ms;
	const struct session_terms *p = session_terms_of(w, h, n->session);
	/* A hold that was lost in this step, before it read the end, was no hold of that session any more. */
	if (!hold->lost && c != NULL && c->host == h && c->session == n->session && w->closes_clean &&
		(p == NULL || p->heartbeat_ms == 0))
		world_fail(w, "session end: d%u withholds %s, which its holder has ended", h->index,
			checker_name(hold->name));
	/* Seen by two clocks. */
	if (promised(w, PROMISE_HOLD, hold->name) &&
		n->ms < left_ms - 3 - (told_ms < 0 ? -told_ms : told_ms) / 200 - delay_ms / 200)
		world_fail(w,
			"told: d%u withholds %s for %" PRId64 " ms, and may not pass it on for %" PRId64,
			h->index, checker_name(hold->name), n->ms, left_ms);
}

/* Every lock that is held goes on while a majority of its masters can be renewed: who could do that for all
 * of a lease has lost it for no reason, unless somebody wrote to its key. */
static void
check_cause(struct world *w, const struct host *h, unsigned name, const char *why)
{
	int64_t most_us = w->plan.lease_ms * 1100 + 100000;
	bool ended = strcmp(why, "expired") == 0 || strcmp(why, "taken") == 0 || strcmp(why, "refused") == 0;
	if (!ended || !promised(w, PROMISE_LOSS, name) || !fault_free_keeps(w, h, name, most_us))
		return;
	world_fail(w, "loss: d%u loses %s (%s), and could use its masters for %" PRId64 " ms", h->index,
		checker_name(name), why, most_us / 1000);
}

/* Both were lost while no daemon was there: the model does not know which is the later one. */
static bool
together(const struct loss_report *one, const struct loss_report *other)
{
	return one->over_us != 0 && one->over_us == other->over_us;
}

/* How many its session has, or may have, lost since; surely: has, and is surely reminded of still. */
static int64_t
lost_since(const struct world *w, const struct loss_report *of, bool surely)
{
	int64_t n = 0;
	bool later = true;
	for (const struct loss_report *l = w->losses.told; l != NULL; l = l->next) {
		later &= l != of;
		if (l == of || !is_of(l, of->host, of->session))
			continue;
		if (surely)
			n += later && !together(l, of) && !l->asked && !(l->old && l->over_us != 0);
		else
			n += later || together(l, of);
	}
	return n;
}

/* Of many losses only the latest are remembered (lost-per-session, locks-per-user). */
static void
forget_oldest(struct world *w, const struct host *h)
{
	int64_t all = 0, most = w->plan.user_locks;
	for (const struct loss_report *l = w->losses.told; l != NULL; l = l->next)
		all += l->host == h && l->host_life == h->life;
	for (struct loss_report *l = w->losses.told; l != NULL; l = l->next)
		if (l->host == h && l->host_life == h->life)
			l->old |= (most > 0 && all >= most) || lost_since(w, l, false) >= w->plan.lost_most;
}

/* With an id ONLOSS PUSH is for the line that asked, and counts as NEXT when that has ended (5.15). */
static enum onloss
onloss_now(const struct loss_manner *m)
{
	if (m == NULL)
		return ONLOSS_CLOSE;
	bool ended = m->onloss == ONLOSS_PUSH && id_client_is(m->conn) &&
		     (m->conn->id_client.apart || m->line != m->conn->id_client.line);
	return ended ? ONLOSS_NEXT : m->onloss;
}

static void
lost(struct host *h, const struct note *n, unsigned name)
{
	struct world *w = h->world;
	const struct loss_manner *m = manner_of(w, h, n->session);
	struct loss_report *l = calloc(1, sizeof(*l));
	assert(l != NULL && n->owner.n < sizeof(l->owner));
	*l = (struct loss_report){
		.host = h, .host_life = h->life, .session = n->session, .name = name, .token = n->token};
	if (n->owner.n > 0)
		memcpy(l->owner, n->owner.p, n->owner.n);
	/* ONLOSS may come behind it, in the same step. */
	l->onloss = onloss_now(m);
	l->conn = m != NULL ? m->conn : NULL;
	l->unsure = l->old = m != NULL && m->unsure;
	/* The end of a LEASE or CLAIM is what its holder asked for. */
	l->due = n->text == NULL || !is_chosen(n->text);
	forget(find(w, h, n->session, name, l->owner));
	l->pushed = w->losses.pushed != NULL && w->losses.pushed_name == name &&
		    w->losses.pushed->host == h && conn_session(w->losses.pushed) == n->session;
	l->chosen = !l->due;
	/* That of an id is told until its client has given it up, whoever was told before. */
	l->known = (l->pushed && !id_client_is(w->losses.pushed)) || l->chosen;
	w->losses.pushed = NULL;
	l->next = w->losses.told;
	w->losses.told = l;
	forget_oldest(w, h);
}

void
losses_note(struct host *h, const struct note *n)
{
	struct world *w = h->world;
	if (n->session == 0 || (n->type != NOTE_LOST && n->type != NOTE_WITHHELD))
		return;
	unsigned name = checker_name_of(n->name);
	const struct hold *hold = held_with(w, h, name, n->token);
	if (n->type == NOTE_LOST)
		lost(h, n, name);
	if (n->type == NOTE_LOST && n->text != NULL)
		check_cause(w, h, name, n->text);
	if (hold == NULL || hold->session != n->session)
		return;
	if (n->type == NOTE_LOST && n->text != NULL)
		check_reason(w, h, hold, n->text);
	else if (n->type == NOTE_WITHHELD)
		withheld(h, n, hold);
}

/* ---- who is told ---- */

void
losses_push(struct world *w, const struct conn *c, const struct push *push)
{
	if (push->type != PUSH_LOST)
		return;
	w->losses.pushed = c;
	w->losses.pushed_name = checker_name_of(push->name);
}

static bool
speaks_for(const struct conn *c, const struct host *h, session_id session)
{
	return c->host == h && c->host_life == h->life && c->open && !c->ousted && conn_session(c) == session;
}

/* It speaks for it only since this very step: what was lost before was told to those that spoke for it. */
static bool
comes(const struct conn *c)
{
	enum verb verb = c->current.verb;
	return c->running &&
	       (verb == VERB_SESSION_JOIN || verb == VERB_SESSION_RESUME || verb == VERB_SESSION_BIND);
}

static void
check_told(struct world *w, const struct host *h, const struct loss_report *l)
{
	const struct conn *c;
	bool push = l->onloss == ONLOSS_PUSH && speaks_for(l->conn, h, l->session);
	if (l->onloss == ONLOSS_NEXT || l->unsure)
		return;
	if (push) {
		if (!l->pushed && !l->conn->ending && !l->conn->closing)
			world_fail(w, "loss: session %" PRIu64 " of d%u has lost %s, and gets no word of it",
				l->session, h->index, checker_name(l->name));
		return;
	}
	LIST_FOREACH (c, &w->conns.open[h->index], in_place)
		if (speaks_for(c, h, l->session) && !c->ending && !c->closing && !comes(c))
			world_fail(w,
				"loss: session %" PRIu64 " of d%u has lost %s, and c%u is left in peace",
				l->session, h->index, checker_name(l->name), c->client->index);
}

void
losses_step(struct world *w, const struct host *h)
{
	for (struct loss_report *l = w->losses.told; l != NULL; l = l->next) {
		if (!l->due || l->host != h || l->host_life != h->life)
			continue;
		check_told(w, h, l);
		l->due = false;
	}
}

/* ---- what is answered ---- */

void
losses_command(struct world *w, const struct conn *c)
{
	const struct request *r = &c->current;
	if (r->verb == VERB_LOCK)
		asked(w, c, r->name, r->owner);
	for (unsigned i = 0; (r->verb == VERB_MLOCK || r->verb == VERB_MUNLOCK) && i < r->count; i++)
		asked(w, c, r->names[i], r->owner);
}

static struct loss_manner *
manner_make(struct world *w, const struct conn *c)
{
	session_id session = conn_session(c);
	struct loss_manner *m = manner_of(w, c->host, session);
	if (m == NULL) {
		m = calloc(1, sizeof(*m));
		assert(m != NULL);
		*m = (struct loss_manner){.next = w->losses.manners,
			.host = c->host,
			.host_life = c->host_life,
			.session = session,
			.onloss = ONLOSS_CLOSE};
		w->losses.manners = m;
	}
	return m;
}

static void
manner_set(struct world *w, const struct conn *c)
{
	struct loss_manner *m = manner_make(w, c);
	m->onloss = c->current.onloss;
	m->conn = c;
	m->line = c->id_client.line;
	m->unsure = false;
}

/* Whether the answer to an MLOCK tells the loss of this name. */
static bool
is_named(const struct reply *reply, unsigned name)
{
	char end[64];
	int n = snprintf(end, sizeof(end), " of %s", checker_name(name));
	size_t text_n = strlen(reply->text);
	return text_n >= (size_t)n && strcmp(reply->text + text_n - (size_t)n, end) == 0;
}

/* The loss that a request for new locks is answered by: one that its holder has not been told of (4.7). Of
 * several names, the one that the answer names. told: NULL if it tells of none. */
static struct loss_report *
unannounced(struct world *w, const struct conn *c, const struct reply *told)
{
	const struct request *r = &c->current;
	for (unsigned i = 0; i < (r->verb == VERB_LOCK ? 1 : r->count); i++) {
		unsigned name = r->verb == VERB_LOCK ? r->name : r->names[i];
		struct loss_report *l = *find(w, c->host, conn_session(c), name, r->owner);
		if (l != NULL && !l->known && (told == NULL || r->verb == VERB_LOCK || is_named(told, name)))
			return l;
	}
	return NULL;
}

static bool
has_any(struct world *w, const struct conn *c)
{
	const struct request *r = &c->current;
	bool any = false;
	for (unsigned i = 0; i < (r->verb == VERB_LOCK ? 1 : r->count); i++) {
		unsigned name = r->verb == VERB_LOCK ? r->name : r->names[i];
		any |= held_by(w, (struct conn *)c, name, r->owner) != NULL;
	}
	return any;
}

/* A LOCK or MLOCK is answered in the step that it came in, or goes on to wait. */
static void
check_reminded(struct world *w, const struct conn *c, const struct reply *reply)
{
	bool told = reply != NULL && reply->type == REPLY_ERROR && reply->code == CODE_LOST;
	/* An MLOCK under way takes the name, the request itself is wrong, or the session of the id has ended
	 * with the drain. */
	bool other =
		reply != NULL && reply->type == REPLY_ERROR &&
		(reply->code == CODE_HELD || reply->code == CODE_ERR ||
			(reply->code == CODE_DRAINING && id_client_is(c) && core_drained(c->host->core)));
	struct loss_report *l = unannounced(w, c, told ? reply : NULL);
	if (told && l == NULL)
		world_fail(w,
			"loss: c%u is told in answer to a LOCK that it has lost what it has not, or twice",
			c->client->index);
	if (!told && l != NULL && !l->old && !l->due && !l->asked && !other && !has_any(w, c))
		world_fail(w, "loss: c%u asks for %s again and is not told that it has lost it",
			c->client->index, checker_name(l->name));
	if (told && l != NULL) {
		/* Its answer may have been lost: that of an id is told until its client has given it up. */
		l->known = !id_client_is(c);
		l->reminded = c->current.serial;
	}
}

/* What its session was told may have been lost with its connection. */
static void
doubt(struct world *w, const struct conn *c)
{
	for (struct loss_report *l = w->losses.told; l != NULL; l = l->next)
		if (is_of(l, c->host, conn_session(c)) && !l->chosen)
			l->known = false;
}

void
losses_reply(struct world *w, const struct conn *c, const struct reply *reply)
{
	const struct request *r = &c->current;
	bool told = reply->type == REPLY_ERROR && reply->code == CODE_LOST;
	bool denied =
		reply->type == REPLY_NULL || (reply->type == REPLY_ERROR && reply->code == CODE_NOTHELD);
	if (r->verb == VERB_SESSION_ONLOSS && reply->type == REPLY_OK)
		manner_set(w, c);
	if (r->verb == VERB_SESSION_RESUME && reply->type == REPLY_INT && conn_session(c) != c->asked_as)
		doubt(w, c);
	if ((r->verb == VERB_LOCK || r->verb == VERB_MLOCK) && (c->running || told))
		check_reminded(w, c, reply);
	if (r->verb != VERB_UNLOCK && r->verb != VERB_CHECK && r->verb != VERB_EXTEND &&
		r->verb != VERB_DOWNGRADE)
		return;
	struct loss_report **at = find(w, c->host, conn_session(c), r->name, r->owner);
	/* It may have waited for the name before it lost it, and hold it again. */
	const struct hold *hold = held_by(w, c, r->name, r->owner);
	if (told && (*at == NULL || ((*at)->again && hold != NULL && held_surely(w, hold) && r->token == 0)))
		world_fail(w, "loss: c%u is told that it has lost %s, which it has not", c->client->index,
			checker_name(r->name));
	if (denied && *at != NULL && !(*at)->asked && !(*at)->old && (hold == NULL || hold->lost))
		world_fail(w, "loss: c%u is not told that it has lost %s", c->client->index,
			checker_name(r->name));
	if (told && *at != NULL && lost_since(w, *at, true) >= w->plan.lost_most)
		world_fail(w, "loss: c%u is reminded of %s, and has lost %" PRId64 " names since",
			c->client->index, checker_name(r->name), lost_since(w, *at, true));
	if (told && *at != NULL && (!id_client_is(c) || (r->verb == VERB_UNLOCK && r->token == (*at)->token)))
		(*at)->known = true;
	/* The session of an id tells it again: the request may be repeated. */
	if (told && (r->verb == VERB_UNLOCK || r->verb == VERB_DOWNGRADE) && !id_client_is(c))
		forget(at);
}

/* ---- from one process to the next ---- */

static struct loss_report *
add(struct host *h, const struct hold *hold)
{
	struct world *w = h->world;
	const struct loss_manner *m = manner_of(w, h, hold->session);
	struct loss_report *l = calloc(1, sizeof(*l));
	assert(l != NULL);
	forget(find(w, h, hold->session, hold->name, hold->owner));
	*l = (struct loss_report){.next = w->losses.told,
		.host = h,
		.host_life = h->life,
		.session = hold->session,
		.name = hold->name,
		.token = hold->token,
		.onloss = m != NULL ? m->onloss : ONLOSS_CLOSE,
		.old = m != NULL && m->unsure,
		.unsure = m != NULL && m->unsure};
	memcpy(l->owner, hold->owner, sizeof(l->owner));
	w->losses.told = l;
	forget_oldest(w, h);
	return l;
}

void
losses_torn(struct host *h, const struct hold *hold)
{
	struct loss_report *l = add(h, hold);
	l->old = true;
	l->over_us = h->world->now_us;
	forget_oldest(h->world, h);
}

void
losses_torn_choice(struct world *w, const struct conn *c)
{
	manner_make(w, c)->unsure = true;
}

void
losses_over(struct host *h, const struct hold *hold)
{
	struct loss_report *l = add(h, hold);
	l->known = l->chosen = hold->ends_ms <= host_ms(h) && is_chosen(end_of(hold));
	l->over_us = h->world->now_us;
	forget_oldest(h->world, h);
}

void
losses_forgettable(struct host *h)
{
	for (struct loss_report *l = h->world->losses.told; l != NULL; l = l->next)
		l->old |= l->host == h && l->host_life == h->life;
}

void
losses_end(struct world *w, const struct host *h, session_id session)
{
	for (struct loss_report **at = &w->losses.told; *at != NULL;)
		if (is_of(*at, h, session))
			forget(at);
		else
			at = &(*at)->next;
}

void
losses_carry(struct host *h, uint64_t life, session_id session)
{
	struct world *w = h->world;
	for (struct loss_report *l = w->losses.told; l != NULL; l = l->next)
		if (l->host == h && l->host_life == life && l->session == session)
			l->host_life = h->life;
	for (struct loss_manner *m = w->losses.manners; m != NULL; m = m->next)
		if (m->host == h && m->host_life == life && m->session == session)
			m->host_life = h->life;
}
