/*
 * unsent_step: a daemon dies in a step that is in its ledger and that nobody was told of (recovery.h). What
 * the ledger now has more than the model, or has in another way, is taken over by the model: a hold as one
 * that no client knows of, the end of a hold as a loss that its client may be told of or not.
 */
#ifndef SIM_UNSENT_STEP_H
#define SIM_UNSENT_STEP_H

struct host;

/* The core has made the step, the ledger has it, and the host is about to end. */
void torn(struct host *host);

#endif
