/*
 * fleet_sign: which messages are of a daemon, and new. Called by the other files of the fleet.
 *
 * Whoever may publish at a master can send a message to any daemon. So each has a code, by a secret that the
 * daemon which is asked has written into its registration: who asks has read it there, and so may read what
 * the daemon would tell. The answer has a code by the same secret. An ask that is sent again by somebody who
 * has seen it is refused by its number: numbers of one sender grow, and the last ones of each sender are
 * kept.
 */
#include "daemon/admin/fleet_sign.h"

#include "daemon/admin/fleet_inner.h"
#include "daemon/base/clock.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define RANDOM_BITS 20

uint64_t
fleet_number(struct fleet *fleet)
{
	uint64_t turn = (uint64_t)clock_ms();

	fleet->number_turn = turn > fleet->number_turn ? turn : fleet->number_turn + 1;
	return fleet->number_turn << RANDOM_BITS | random_below(&fleet->random, UINT64_C(1) << RANDOM_BITS);
}

void
message_begin(struct buffer *b, const char *purpose)
{
	assert(buffer_length(b) == 0);
	buffer_put(b, purpose, strlen(purpose));
	buffer_put(b, " ", 1);
	for (size_t i = 0; i < MAC_DIGITS; i++) {
		buffer_put(b, "0", 1);
	}
	buffer_put(b, " ", 1);
}

bool
message_seal(struct buffer *b, const char *purpose, const char *secret)
{
	size_t head = strlen(purpose) + 1;
	if (b->failed) {
		return false;
	}
	char *code = buffer_bytes(b) + head, *text = code + MAC_DIGITS + 1;
	return mac_make(purpose, secret, text, buffer_length(b) - head - MAC_DIGITS - 1, code);
}

bool
message_open(struct slice *text, const char *purpose, const char *secret)
{
	if (text->n <= MAC_DIGITS || text->p[MAC_DIGITS] != ' ' || secret[0] == '\0') {
		return false;
	}
	const char *code = text->p;
	*text = (struct slice){text->p + MAC_DIGITS + 1, text->n - MAC_DIGITS - 1};
	return mac_is(purpose, secret, text->p, text->n, code);
}

/* The one that has asked nothing for longest gives way. NULL: out of memory. */
static struct fleet_sender *
senders_add(struct fleet_senders *senders, struct slice id)
{
	struct fleet_sender *sender = NULL;
	if (senders->n < FLEET_PEERS_MAX) {
		struct fleet_sender *list = reallocarray(senders->list, senders->n + 1, sizeof *list);
		if (!list) {
			return NULL;
		}
		senders->list = list;
		sender = &list[senders->n++];
	} else {
		sender = &senders->list[0];
		for (size_t i = 1; i < senders->n; i++) {
			sender = senders->list[i].used < sender->used ? &senders->list[i] : sender;
		}
	}
	*sender = (struct fleet_sender){0};
	slice_text(sender->id, sizeof sender->id, id);
	return sender;
}

static struct fleet_sender *
senders_find(const struct fleet_senders *senders, struct slice id)
{
	for (size_t i = 0; i < senders->n; i++) {
		if (slice_equal(slice_of(senders->list[i].id), id)) {
			return &senders->list[i];
		}
	}
	return NULL;
}

bool
senders_take(struct fleet_senders *senders, struct slice id, uint64_t number)
{
	struct fleet_sender *sender = senders_find(senders, id);
	size_t least = 0;
	sender = sender ? sender : senders_add(senders, id);
	if (!sender || number <= sender->floor) {
		return false;
	}
	for (size_t i = 0; i < sender->n; i++) {
		if (sender->numbers[i] == number) {
			return false;
		}
		least = sender->numbers[i] < sender->numbers[least] ? i : least;
	}
	sender->used = ++senders->turn;
	if (sender->n < FLEET_NUMBERS_MAX) {
		sender->numbers[sender->n++] = number;
	} else if (number < sender->numbers[least]) {
		sender->floor = number;
	} else {
		sender->floor = sender->numbers[least];
		sender->numbers[least] = number;
	}
	return true;
}

void
senders_done(struct fleet_senders *senders)
{
	free(senders->list);
	*senders = (struct fleet_senders){0};
}
