/* clone: see clone.h. Apart from host.c, since a conn is another thing there. */
#include "tests/sim/world/clone.h"

#include "daemon/core/base/base.h"
#include "daemon/core/masters/master.h"

#include <string.h>

void
clone_make(struct core *copy, const struct core *of)
{
	copy->attempts = of->attempts;
	for (unsigned i = 0; i < of->settings.masters; i++) {
		struct master *m = &copy->masters[i];
		const struct master *like = &of->masters[i];

		memcpy(m->nonces, like->nonces, sizeof(m->nonces));
		m->nonces_drawn = like->nonces_drawn;
		m->nonce_answered = like->nonce_answered;
		m->nonce_until_ms = like->nonce_until_ms;
	}
}
