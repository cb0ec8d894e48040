/*
 * whole: all rooms of the core as one, made and freed. core.h has core_new() and core_free(); nothing here
 * decides anything.
 */
#ifndef CORE_WHOLE_H
#define CORE_WHOLE_H

/* From so many holds on, a session is in the ledger (core_settings.ledger_many): their entries take less time
 * than other clients notice. */
#define LEDGER_MANY 64

#endif
