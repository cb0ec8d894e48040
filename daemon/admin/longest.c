/*
 * longest: see the header.
 */
#include "daemon/admin/longest.h"

#include "daemon/base/clock.h"
#include "daemon/core/view.h"
#include "daemon/net/access.h"
#include "daemon/request/context.h"
#include "proto/glob.h"
#include "proto/name.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Names between two readings of the clock: 50 us, with cold caches. */
#define SEARCH_BUDGET 64

struct search {
	int64_t used_ms; /* the last request for it; 0: there is none here */
	bool all;        /* of every name, whoever asks; otherwise as far as user sees them */
	char user[CREDENTIAL_BYTES_MAX + 1];
	char match[NAME_BYTES_MAX + 1];
	size_t match_n;
	struct glob *glob;    /* NULL: every name */
	struct ranked *found; /* closed; NULL: nothing yet */
	bool whole;
	int64_t found_ms;
	int64_t took_ms;
	struct ranked *next; /* what it finds now; NULL: it rests */
	scan_cursor cursor;
	int64_t begun_ms;
};

struct longest {
	struct search searches[LONGEST_SEARCHES];
	bool known;  /* there may be one */
	size_t turn; /* whose slice is next */
	int64_t slice_ms;
};

struct longest *
longest_new(void)
{
	return calloc(1, sizeof(struct longest));
}

static void
search_done(struct search *s)
{
	glob_free(s->glob);
	ranked_free(s->found);
	ranked_free(s->next);
	*s = (struct search){0};
}

void
longest_free(struct longest *longest)
{
	for (size_t i = 0; longest && i < LONGEST_SEARCHES; i++) {
		search_done(&longest->searches[i]);
	}
	free(longest);
}

/* ---- one search ---- */

struct piece {
	struct search *search;
	const struct viewer *viewer;
	int64_t now_ms;
	bool failed;
};

static bool
search_step(void *arg, const struct resource_view *view)
{
	struct piece *piece = arg;
	struct search *s = piece->search;
	const struct rank *last = ranked_last(s->next);
	struct rank rank = {view->waiters > 0 ? piece->now_ms - view->longest_ms : INT64_MAX,
		view->held ? piece->now_ms - view->hold.held_ms : INT64_MAX};
	if ((view->waiters == 0 && view->holds == 0) || (last && !rank_before(&rank, last)) ||
		(s->glob && !glob_takes(s->glob, view->name)) || !viewer_names(piece->viewer, view->name)) {
		return true;
	}
	piece->failed = !ranked_add(s->next, &rank, view->name);
	return !piece->failed;
}

static void
search_begin(struct search *s, int64_t now_ms)
{
	assert(!s->next);
	s->next = ranked_new(LONGEST_MOST);
	s->cursor = 0;
	s->begun_ms = now_ms;
}

static void
search_end(struct search *s, bool whole, int64_t now_ms)
{
	ranked_close(s->next);
	ranked_free(s->found);
	s->found = s->next;
	s->next = NULL;
	s->whole = whole;
	s->found_ms = now_ms;
	s->took_ms = now_ms - s->begun_ms;
}

/* Goes through some more names. The user may have gone, or see others, since the slice before. */
static void
search_slice(struct search *s, const struct context *context, int64_t now_ms)
{
	const struct access_user *user = s->all ? NULL : access_find(context->access, slice_of(s->user));
	const struct viewer viewer = {.user = user, .admin = s->all};
	struct piece piece = {s, &viewer, now_ms, false};
	size_t budget = s->glob ? SEARCH_BUDGET / glob_cost(s->glob) : SEARCH_BUDGET;
	int64_t until_ns = clock_ns() + LONGEST_SLICE_NS;
	bool ended = !s->all && !user;
	budget = budget > 0 ? budget : 1;
	while (!ended && !piece.failed) {
		s->cursor = core_scan_names(context->core, now_ms, s->cursor, budget, search_step, &piece);
		ended = s->cursor == 0;
		if (clock_ns() >= until_ns) {
			break;
		}
	}
	if (ended || piece.failed || now_ms - s->begun_ms >= LONGEST_TOOK_MS) {
		search_end(s, ended && !piece.failed, now_ms);
	}
}

/* ---- which one ---- */

static bool
search_is(const struct search *s, struct slice match, const struct viewer *viewer)
{
	bool all = viewer_names_all(viewer);
	return s->used_ms > 0 && s->all == all && slice_equal((struct slice){s->match, s->match_n}, match) &&
	       (all || strcmp(s->user, viewer->user->name) == 0);
}

/* One that no client has asked for in the last second gives way. NULL: there is none, or no memory. */
static struct search *
search_new(struct longest *longest, struct slice match, const struct viewer *viewer, int64_t now_ms)
{
	struct search *oldest = &longest->searches[0];
	for (size_t i = 1; i < LONGEST_SEARCHES; i++) {
		if (longest->searches[i].used_ms < oldest->used_ms) {
			oldest = &longest->searches[i];
		}
	}
	if (oldest->used_ms > 0 && now_ms - oldest->used_ms < LONGEST_FRESH_MS) {
		return NULL;
	}
	search_done(oldest);
	oldest->glob = match.n > 0 ? glob_new(match) : NULL;
	oldest->all = viewer_names_all(viewer);
	slice_text(oldest->user, sizeof oldest->user, slice_of(oldest->all ? "" : viewer->user->name));
	slice_text(oldest->match, sizeof oldest->match, match);
	oldest->match_n = match.n;
	return match.n > 0 && !oldest->glob ? NULL : oldest;
}

static struct search *
search_find(struct longest *longest, struct slice match, const struct viewer *viewer, int64_t now_ms)
{
	for (size_t i = 0; i < LONGEST_SEARCHES; i++) {
		if (search_is(&longest->searches[i], match, viewer)) {
			return &longest->searches[i];
		}
	}
	return search_new(longest, match, viewer, now_ms);
}

/* Whether a search that rests has to begin again. */
static bool
search_is_due(const struct search *s, int64_t now_ms)
{
	int64_t rest_ms = 4 * s->took_ms > LONGEST_FRESH_MS ? 4 * s->took_ms : LONGEST_FRESH_MS;
	return !s->next && (!s->found || now_ms - s->found_ms >= rest_ms);
}

bool
longest_ask(struct longest *longest, const struct context *context, struct slice match,
	const struct viewer *viewer, int64_t now_ms, struct longest_found *out)
{
	struct search *s = search_find(longest, match, viewer, now_ms);
	if (!s) {
		return false;
	}
	s->used_ms = now_ms;
	longest->known = true;
	if (search_is_due(s, now_ms)) {
		search_begin(s, now_ms);
		if (!s->next) {
			return false;
		}
		search_slice(s, context, now_ms);
		longest->slice_ms = now_ms;
	}
	/* The first search goes on: the first ones of those that it has gone through so far. */
	*out = (struct longest_found){s->found ? s->found : s->next, s->found && s->whole};
	return true;
}

/* ---- turns ---- */

int64_t
longest_turn(struct longest *longest, const struct context *context, int64_t now_ms)
{
	bool works = false;
	int64_t wake_at = INT64_MAX;
	if (!longest->known) {
		return wake_at;
	}
	longest->known = false;
	for (size_t i = 0; i < LONGEST_SEARCHES; i++) {
		struct search *s = &longest->searches[i];
		if (s->used_ms > 0 && now_ms - s->used_ms >= LONGEST_IDLE_MS) {
			search_done(s);
		}
		if (s->used_ms > 0) {
			longest->known = true;
			wake_at = s->used_ms + LONGEST_IDLE_MS < wake_at ? s->used_ms + LONGEST_IDLE_MS
									 : wake_at;
		}
		works |= s->next != NULL;
	}
	if (!works) {
		return wake_at;
	}
	if (now_ms >= longest->slice_ms + LONGEST_PAUSE_MS) {
		do {
			longest->turn = (longest->turn + 1) % LONGEST_SEARCHES;
		} while (!longest->searches[longest->turn].next);
		search_slice(&longest->searches[longest->turn], context, now_ms);
		longest->slice_ms = now_ms;
	}
	return longest->slice_ms + LONGEST_PAUSE_MS;
}
