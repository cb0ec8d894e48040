/* action: see action.h. The list; emit.c puts actions on it. */
#include "daemon/core/base/action.h"

#include <stdlib.h>
#include <string.h>

#define ACTIONS_ROOM 1024

void
actions_init(struct actions *a)
{
	memset(a, 0, sizeof(*a));
}

void
actions_empty(struct actions *a)
{
	a->n = 0;
	if (a->room > ACTIONS_ROOM)
		actions_done(a);
}

void
actions_done(struct actions *a)
{
	free(a->list);
	a->list = NULL;
	a->n = a->room = 0;
}
