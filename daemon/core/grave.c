#include "daemon/core/grave.h"

#include <stdlib.h>

void
grave_bury(struct core *core, struct grave *dead)
{
	dead->next = core->graveyard;
	core->graveyard = dead;
}

void
grave_empty(struct core *core)
{
	while (core->graveyard != NULL) {
		struct grave *dead = core->graveyard;

		core->graveyard = dead->next;
		free(dead);
	}
}
