/*
 * fleet_merge: the answer to HISTORY with FLEET, one list of the lists that the daemons have. Called by
 * fleet_write.c.
 *
 *     daemon ── latest … oldest ──┐
 *     daemon ── latest … oldest ──┼── the latest of the heads, again and again ──▶ client
 *     daemon ── latest … oldest ──┘
 *
 * A daemon whose list was cut for want of room has older holds. So the merged list ends there: in a list that
 * goes on, some of them would be missing in between.
 */
#include "daemon/admin/fleet_merge.h"

#include "daemon/admin/fleet_inner.h"
#include "daemon/admin/fleet_write.h"

#include <stdlib.h>
#include <string.h>

/* The list of one daemon, of which the head is read. */
struct head {
	struct slice rest; /* behind the head */
	size_t left;       /* holds in rest */
	struct slice hold; /* the head, in RESP; n == 0: the list is over */
	int64_t ended_ms;
	bool cut;
};

struct merge {
	struct head *heads;
	size_t n;
	struct answer_parser parser;
};

bool
part_is_history(const struct answer *tree)
{
	bool good = tree && tree->type == ANSWER_ARRAY && tree->count <= HISTORY_MOST;
	for (size_t i = 0; good && i < tree->count; i++) {
		good = answer_get_int(&tree->items[i], "ended_at_ms", -1) >= 0;
	}
	return good;
}

/* Reads the next head. The bytes have been checked, so only want of memory ends a list early. */
static void
head_read(struct head *head, struct answer_parser *parser)
{
	const struct answer_limits limits = {.bytes = FLEET_PAGE_BYTES * 2, .elements = 65536};
	const struct answer *tree;
	const char *fault;
	head->hold = (struct slice){0};
	if (head->left == 0) {
		return;
	}
	ssize_t n = answer_parse(parser, head->rest.p, head->rest.n, &limits, &tree, &fault);
	if (n <= 0) {
		head->cut = true;
		return;
	}
	head->left--;
	head->hold = (struct slice){head->rest.p, (size_t)n};
	head->rest = (struct slice){head->rest.p + n, head->rest.n - (size_t)n};
	head->ended_ms = answer_get_int(tree, "ended_at_ms", 0);
}

/* The answer is "*n ..."; it was cut if it is as long as it may be, with fewer holds than were asked for. */
static void
head_begin(struct head *head, const struct fleet_part *part, const struct fleet_open *open,
	struct answer_parser *parser)
{
	struct slice bytes = {buffer_bytes(&part->answer), buffer_length(&part->answer)};
	const char *end = bytes.p ? memchr(bytes.p, '\n', bytes.n) : NULL;
	int64_t count;
	*head = (struct head){0};
	if (!end || !number_parse((struct slice){bytes.p + 1, (size_t)(end - bytes.p) - 2}, 0, HISTORY_MOST,
			    &count)) {
		return;
	}
	head->left = (size_t)count;
	head->rest = (struct slice){end + 1, bytes.n - (size_t)(end + 1 - bytes.p)};
	head->cut = bytes.n >= open->bytes && head->left < history_most(&open->command);
	head_read(head, parser);
}

/* The latest head; NULL: all lists are over, or one that was cut is. */
static struct head *
merge_next(struct merge *m)
{
	struct head *latest = NULL;
	for (size_t i = 0; i < m->n; i++) {
		struct head *head = &m->heads[i];
		if (head->hold.n == 0 && head->cut) {
			return NULL;
		}
		if (head->hold.n > 0 && (!latest || head->ended_ms > latest->ended_ms)) {
			latest = head;
		}
	}
	return latest;
}

bool
write_history(const struct fleet_open *open, size_t room, struct buffer *out, int protocol, int64_t now_ms)
{
	size_t most = history_most(&open->command), count = 0;
	struct merge m = {.heads = calloc(open->part_count + 1, sizeof *m.heads)};
	struct buffer text;
	struct head *head;
	buffer_init(&text, room);
	for (size_t i = 0; m.heads && i < open->part_count; i++) {
		if (open->parts[i].valid) {
			head_begin(&m.heads[m.n++], &open->parts[i], open, &m.parser);
		}
	}
	while (m.heads && count < most && (head = merge_next(&m)) &&
		head->hold.n <= room - buffer_length(&text)) {
		buffer_put(&text, head->hold.p, head->hold.n);
		count++;
		head_read(head, &m.parser);
	}
	bool whole = m.heads && !text.failed;
	if (whole) {
		reply_write_array(out, 2);
		reply_write_array(out, count);
		buffer_put(out, buffer_bytes(&text), buffer_length(&text));
		write_silent(open, out, protocol, now_ms);
	}
	buffer_done(&text);
	answer_done(&m.parser);
	free(m.heads);
	return whole;
}
