#include "daemon/core/slots.h"

#include "daemon/core/grave.h"
#include "daemon/core/hash.h"

#include <stdlib.h>
#include <string.h>

struct slice
slots_text(const struct slots *slots)
{
	return slots == NULL ? (struct slice){NULL, 0} : (struct slice){slots->bytes, slots->n};
}

static struct slots *
slots_new(struct core *core, struct slice text)
{
	struct slots *slots = grave_new(core, sizeof(*slots) + text.n);

	if (slots == NULL)
		return NULL;
	memcpy(slots->bytes, text.p, text.n);
	slots->n = text.n;
	slots->hash = hash_text(text);
	return slots;
}

/* Calls of this step may point to it. */
static void
slots_end(struct core *core, struct slots **slots)
{
	if (*slots != NULL)
		grave_bury(core, &(*slots)->grave);
	*slots = NULL;
}

void
slots_forget_offer(struct core *core, struct lease *l)
{
	slots_end(core, &l->offer);
}

void
slots_forget(struct core *core, struct lease *l)
{
	slots_end(core, &l->slots);
	slots_end(core, &l->offer);
}

/* How many gave these, above how many offered them. */
static unsigned
slots_weight(const struct core *core, const struct lease *l, uint64_t hash)
{
	unsigned weight = 0;

	for (unsigned i = 0; i < core->settings.masters; i++) {
		const struct seat *seat = &l->seats[i];

		if (seat->slots == hash)
			weight += seat->ours ? CORE_MASTERS_MAX + 1 : 1;
	}
	return weight;
}

void
slots_offered(struct core *core, struct lease *l, struct slice text)
{
	uint64_t hash = hash_text(text);

	if (l->offer != NULL && (l->offer->hash == hash ||
					slots_weight(core, l, l->offer->hash) >= slots_weight(core, l, hash)))
		return;
	slots_end(core, &l->offer);
	l->offer = slots_new(core, text);
}

void
slots_ask_offer(struct core *core, struct lease *l)
{
	slots_end(core, &l->slots);
	l->slots = l->offer;
	l->offer = NULL;
}

bool
slots_won(struct core *core, struct lease *l)
{
	if (l->offer == NULL)
		return false;
	slots_ask_offer(core, l);
	for (unsigned i = 0; i < core->settings.masters; i++) {
		struct seat *seat = &l->seats[i];

		if (!seat->ours || seat->slots == l->slots->hash)
			continue;
		seat->ours = false;
		seat->odd = true;
		seat->valid_ms = 0;
	}
	return true;
}
