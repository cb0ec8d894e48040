/*
 * masters: see masters.h.
 */
#include "daemon/redis/masters.h"

#include "daemon/base/log.h"
#include "daemon/base/loop.h"
#include "daemon/redis/finder.h"
#include "daemon/redis/inbox.h"
#include "daemon/redis/link.h"
#include "daemon/redis/pool_lookup.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct member {
	struct masters *masters;
	unsigned index;
	struct pool *pool; /* NULL: closed, or its master could not be found */
	char *address;     /* "": closed; NULL: never open */
	char *way;
	bool original;  /* its server is the one that masters_new() was given */
	uint64_t reach; /* hash of what the pool was opened with; 0: at the start */
	size_t calls;   /* without a vote yet */
	bool moves;     /* the pool is still that of the old server: ignore its news */
	bool retries;   /* no descriptor or memory for a pool, and that was reported */
};

struct masters {
	struct event_base *base;
	const struct masters_hooks *hooks;
	void *arg;
	struct log *log;
	struct stats *stats;
	struct timeout *later;    /* carries out what was deferred */
	bool due;                 /* later is set */
	struct channels channels; /* names that are listened to */
	bool called;              /* since the last flush */
	bool left;                /* masters_leave(), and not come back */
	struct member list[CORE_SLOTS_MAX];
};

static void
member_tell(const struct member *m, struct event event)
{
	event.master = m->index;
	m->masters->hooks->event(m->masters->arg, &event);
}

/* Of an old server only the end is reported. */
static void
member_news(const struct member *m, struct event event)
{
	if (!m->moves) {
		member_tell(m, event);
	}
}

static void
on_link_up(void *arg, unsigned link)
{
	member_news(arg, (struct event){.type = EVENT_LINK_UP, .link = link});
}

static void
on_link_down(void *arg, unsigned link, const char *why)
{
	member_tell(arg, (struct event){.type = EVENT_LINK_DOWN, .link = link, .text = slice_of(why)});
}

static void
on_subscribed(void *arg)
{
	member_news(arg, (struct event){.type = EVENT_SUBSCRIBED});
}

static void
on_wake(void *arg, struct slice name)
{
	member_news(arg, (struct event){.type = EVENT_WAKE, .name = name});
}

static void
on_want(void *arg, struct slice name)
{
	member_news(arg, (struct event){.type = EVENT_WANT, .name = name});
}

static void
on_latch(void *arg, struct slice name)
{
	member_news(arg, (struct event){.type = EVENT_LATCH, .name = name});
}

static void
on_flushed(void *arg)
{
	member_news(arg, (struct event){.type = EVENT_FLUSHED});
}

/* An answer of the old server would be taken for one of the new server, with its time and its tokens. */
static void
on_vote(void *arg, const struct vote *vote)
{
	struct member *m = arg;
	const struct vote unknown = {.op = vote->op,
		.outcome = OUTCOME_UNKNOWN,
		.master = vote->master,
		.link = vote->link,
		.attempt = vote->attempt,
		.name = vote->name,
		.hash = vote->hash};
	assert(vote->master == m->index && m->calls > 0);
	m->calls--;
	member_tell(m, (struct event){.type = EVENT_VOTE, .vote = m->moves ? &unknown : vote});
}

static void
on_asked(void *arg, bool answer, struct slice text)
{
	const struct member *m = arg;
	if (!m->moves && m->masters->hooks->asked) {
		m->masters->hooks->asked(m->masters->arg, m->index, answer, text);
	}
}

static void
on_lookup_answered(void *arg, uint64_t id, const struct lookup_answer *answer)
{
	const struct member *m = arg;
	if (m->masters->hooks->lookup_answered) {
		m->masters->hooks->lookup_answered(m->masters->arg, m->index, id, m->moves ? NULL : answer);
	}
}

static const struct pool_hooks pool_hooks = {
	.link_up = on_link_up,
	.link_down = on_link_down,
	.subscribed = on_subscribed,
	.wake = on_wake,
	.want = on_want,
	.latch = on_latch,
	.flushed = on_flushed,
	.asked = on_asked,
	.lookup_answered = on_lookup_answered,
	.vote = on_vote,
};

/* ---- slots ---- */

static bool
member_open(struct member *m, const struct pool_settings *settings)
{
	struct masters *masters = m->masters;
	m->pool = pool_new(masters->base, settings, &pool_hooks, m, masters->log, masters->stats);
	return m->pool != NULL;
}

static void
member_listen(void *arg, struct slice name)
{
	const struct member *m = arg;
	pool_listen(m->pool, name, true);
}

/* FNV-1a, with the end of the text. */
static uint64_t
hash_add(uint64_t hash, const char *text)
{
	for (size_t i = 0; text && i <= strlen(text); i++) {
		hash = (hash ^ (unsigned char)text[i]) * UINT64_C(1099511628211);
	}
	return hash * UINT64_C(1099511628211) + !text;
}

/* A hash of where the master is and which user logs in there: what a changed configuration may change. A new
 * password does not move a master. */
static uint64_t
reach_of(const struct pool_settings *s)
{
	uint64_t hash = UINT64_C(14695981039346656037) ^ s->port ^ (uint64_t)s->db << 32;
	hash = hash_add(hash_add(hash_add(hash, s->host), s->path), s->user);
	hash = hash_add(hash_add(hash, s->tls.ca), s->tls.certificate) ^ s->tls.on;
	hash = hash_add(hash_add(hash, s->tls.key), s->tls.name);
	for (size_t i = 0; s->finder && i < s->finder->count; i++) {
		hash = hash_add(hash, s->finder->addresses[i].host) ^ s->finder->addresses[i].port;
	}
	if (s->finder) {
		hash = hash_add(hash_add(hash, s->finder->name), s->finder->user);
		hash ^= s->finder->kind;
	}
	return hash | 1;
}

static bool
member_find(struct member *m, struct pool_settings *settings, char why[MASTERS_WHY_MAX])
{
	const struct masters *masters = m->masters;
	return masters->hooks->find(
		masters->arg, slice_of(m->address), slice_of(m->way), settings, why, MASTERS_WHY_MAX);
}

/* A move with delay 0 does not wait for earlier retries. */
static void
masters_later(struct masters *masters, int64_t ms)
{
	if (ms > 0 && masters->due) {
		return;
	}
	masters->due = true;
	timeout_set(masters->later, ms);
}

/* Connections that end may free descriptors and memory for it. */
static void
member_retry(struct member *m, int error)
{
	const char *why = error ? strerror(error) : "out of memory";
	bool reported = m->retries;
	m->retries = true;
	masters_later(m->masters, LINK_RETRY_MAX_MS);
	if (!reported) {
		LOG_EVENT(m->masters->log, LOG_WARNING_LEVEL, "link.down", log_text("master", m->address),
			log_text("why", why));
		on_link_down(m, 0, why);
	}
}

static void
member_connect(struct member *m)
{
	struct masters *masters = m->masters;
	struct pool_settings settings;
	char why[MASTERS_WHY_MAX];
	if (!member_find(m, &settings, why)) {
		m->retries = false;
		on_link_down(m, 0, why);
		return;
	}
	errno = 0;
	if (!member_open(m, &settings)) {
		member_retry(m, errno);
		return;
	}
	m->retries = false;
	m->reach = reach_of(&settings);
	channels_each_name(&masters->channels, member_listen, m);
}

/* Leaves the old server. Its last votes may lead to further moves, of this slot, too. */
static void
member_move(struct member *m)
{
	struct pool *pool = m->pool;
	if (pool) {
		pool_end(pool, "the set of masters has changed");
	}
	m->pool = NULL;
	pool_free(pool);
	m->moves = false;
	if (m->address[0] != '\0') {
		member_connect(m);
	}
}

static void
on_later(void *arg)
{
	struct masters *masters = arg;
	masters->due = false;
	for (unsigned i = 0; i < CORE_SLOTS_MAX; i++) {
		struct member *m = &masters->list[i];
		if (m->moves) {
			m->retries = false;
			member_move(m);
		} else if (m->retries) {
			member_connect(m);
		}
	}
}

/* False: out of memory. */
static bool
text_replace(char **text, struct slice with)
{
	char *copy = strndup(with.n > 0 ? with.p : "", with.n);
	if (!copy) {
		return false;
	}
	free(*text);
	*text = copy;
	return true;
}

void
masters_move(struct masters *masters, const struct move *move)
{
	assert(move->master < CORE_SLOTS_MAX);
	struct member *m = &masters->list[move->master];
	if (!text_replace(&m->address, move->place) || !text_replace(&m->way, move->way)) {
		abort(); /* out of memory: the slot would keep its old server */
	}
	m->original = false;
	m->moves = true;
	masters_later(masters, 0);
}

void
masters_leave(struct masters *masters, const char *why)
{
	masters->left = true;
	for (unsigned i = 0; i < CORE_SLOTS_MAX; i++) {
		struct member *m = &masters->list[i];
		struct pool *pool = m->pool;
		if (pool) {
			pool_end(pool, why);
			m->pool = NULL;
			pool_free(pool);
		}
	}
}

void
masters_come_back(struct masters *masters)
{
	masters->left = false;
	for (unsigned i = 0; i < CORE_SLOTS_MAX; i++) {
		struct member *m = &masters->list[i];
		m->moves = m->moves || (!m->pool && m->address && m->address[0] != '\0');
	}
	masters_later(masters, 0);
}

bool
masters_left(const struct masters *masters)
{
	return masters->left;
}

bool
masters_known_as(struct masters *masters, unsigned master, const char *address, const char *way)
{
	struct member *m = &masters->list[master];
	assert(master < CORE_SLOTS_MAX && m->original);
	return text_replace(&m->address, slice_of(address)) && text_replace(&m->way, slice_of(way));
}

void
masters_find_again(struct masters *masters)
{
	for (unsigned i = 0; i < CORE_SLOTS_MAX; i++) {
		struct member *m = &masters->list[i];
		struct pool_settings settings;
		char why[MASTERS_WHY_MAX];
		if (m->moves || !m->address || m->address[0] == '\0') {
			continue;
		}
		bool found = member_find(m, &settings, why);
		if (!m->original && (!m->pool || (found && reach_of(&settings) != m->reach))) {
			masters_move(masters, &(struct move){i, slice_of(m->address), slice_of(m->way)});
		} else if (found && m->pool && !pool_reload(m->pool, &settings)) {
			LOG_EVENT(masters->log, LOG_ERROR_LEVEL, "master.password_kept",
				log_text("master", m->address), log_text("why", "out of memory"),
				log_text("text", "reload once more"));
		}
	}
}

struct masters *
masters_new(struct event_base *base, const struct pool_settings *settings, unsigned count,
	const struct masters_hooks *hooks, void *arg, struct log *log, struct stats *stats)
{
	struct masters *masters = calloc(1, sizeof *masters);
	if (!masters) {
		return NULL;
	}
	masters->base = base;
	masters->hooks = hooks;
	masters->arg = arg;
	masters->log = log;
	masters->stats = stats;
	masters->later = timeout_new(base, on_later, masters);
	for (unsigned i = 0; i < CORE_SLOTS_MAX; i++) {
		struct member *m = &masters->list[i];
		*m = (struct member){.masters = masters, .index = i, .original = i < count};
		if (!masters->later || (i < count && !member_open(m, &settings[i]))) {
			masters_free(masters);
			return NULL;
		}
	}
	return masters;
}

void
masters_free(struct masters *masters)
{
	if (!masters) {
		return;
	}
	for (unsigned i = 0; i < CORE_SLOTS_MAX; i++) {
		struct member *m = &masters->list[i];
		pool_free(m->pool);
		free(m->address);
		free(m->way);
	}
	channels_done(&masters->channels);
	timeout_free(masters->later);
	free(masters);
}

void
masters_call(struct masters *masters, const struct call *call)
{
	assert(call->master < CORE_SLOTS_MAX && masters->list[call->master].pool);
	masters->called = true;
	masters->list[call->master].calls++;
	pool_call(masters->list[call->master].pool, call);
}

bool
masters_lookup(struct masters *masters, unsigned master, uint64_t id, const struct call *about, bool daemons)
{
	struct pool *pool = masters->list[master].pool;
	assert(master < CORE_SLOTS_MAX);
	masters->called = true;
	return pool && pool_lookup(pool, id, about, daemons);
}

bool
masters_publish(struct masters *masters, unsigned master, const char *daemon_id, struct slice text)
{
	struct pool *pool = masters->list[master].pool;
	assert(master < CORE_SLOTS_MAX);
	masters->called = true;
	return pool && pool_publish(pool, daemon_id, text);
}

const char *
masters_forget(struct masters *masters, unsigned master, struct slice member)
{
	struct pool *pool = masters->list[master].pool;
	assert(master < CORE_SLOTS_MAX);
	return pool ? pool_forget(pool, member) : "is no member: this master is not connected";
}

static void
channel_gone(void *arg, const char *channel)
{
	(void)arg;
	(void)channel;
}

void
masters_listen(struct masters *masters, struct slice name, bool on)
{
	if (on) {
		channels_add(&masters->channels, name);
	} else {
		channels_remove(&masters->channels, name, channel_gone, NULL);
	}
	for (unsigned i = 0; i < CORE_SLOTS_MAX; i++) {
		if (masters->list[i].pool) {
			pool_listen(masters->list[i].pool, name, on);
		}
	}
}

void
masters_flush(struct masters *masters)
{
	for (unsigned i = 0; masters->called && i < CORE_SLOTS_MAX; i++) {
		if (masters->list[i].pool) {
			pool_flush(masters->list[i].pool);
		}
	}
	masters->called = false;
}

const char *
masters_where(const struct masters *masters, unsigned master)
{
	assert(master < CORE_SLOTS_MAX);
	const struct member *m = &masters->list[master];
	if (m->pool) {
		return pool_where(m->pool);
	}
	return m->address ? m->address : "";
}

void
masters_see_pool(const struct masters *masters, unsigned master, struct pool_view *out)
{
	assert(master < CORE_SLOTS_MAX);
	*out = (struct pool_view){0};
	if (masters->list[master].pool) {
		pool_see(masters->list[master].pool, out);
		out->calls = masters->list[master].calls;
	}
}

/* Ranks the states by what they allow, the least first. A master that does not answer allows nothing,
 * whatever its state; but if it is the only master, its state tells more. */
static unsigned
view_rank(const struct master_view *view, bool alone)
{
	static const unsigned ranks[MASTER_STATE_COUNT] = {
		[MASTER_AWAY] = 0,
		[MASTER_REFUSED] = 1,
		[MASTER_REGISTERING] = 2,
		[MASTER_GUARDED] = 3,
		[MASTER_ADMITTED] = 4,
	};
	return view->down && !alone ? 0 : ranks[view->state];
}

void
masters_see(const struct core *core, int64_t now_ms, struct masters_sum *out)
{
	const char *words[MASTER_STATE_COUNT] = {"away"};
	unsigned with[MASTER_STATE_COUNT] = {0};
	unsigned sum = 0;
	unsigned count = core_members(core);
	*out = (struct masters_sum){.count = count, .majority = count / 2 + 1, .word = words[0]};
	for (unsigned i = 0; i < count; i++) {
		struct master_view view;
		core_view_master(core, now_ms, i, &view);
		unsigned rank = view_rank(&view, count == 1);
		with[rank]++;
		words[rank] = rank > 0 ? view.word : words[0];
		out->usable += view.state == MASTER_ADMITTED && !view.down;
	}
	for (unsigned rank = MASTER_STATE_COUNT; rank-- > 0;) {
		sum += with[rank];
		if (sum >= out->majority) {
			out->word = words[rank];
			return;
		}
	}
}
