/*
 * rule: what a run can fail by. The message of each failure begins with the word of a rule and a colon
 * (world_fail(), which does not compile with another word); what is printed with it says what the rule is and
 * where the documents have it.
 */
#ifndef SIM_RULE_H
#define SIM_RULE_H

#include <stddef.h>
#include <stdint.h>

/* RULE(x, word, sentence, where GUARANTEES.md has it, where PROTOCOL.md has it) */
#define RULES(RULE, x)                                                                                       \
	RULE(x, "all or none", "an MLOCK holds all of its names or none", "G12", "3.30")                     \
	RULE(x, "at once", "a request that has nothing to wait for is answered in its step", "G7", "1.6")    \
	RULE(x, "ballot", "a lease counts if a majority of the masters granted the same attempt", "G1", "")  \
	RULE(x, "break",                                                                                     \
		"BREAK ends the hold that it names, and withholds it as long as its holder was told", "",    \
		"3.17")                                                                                      \
	RULE(x, "cloned", "a daemon that nobody copied does not take itself for a copy", "", "4.6")          \
	RULE(x, "downgrade", "DOWNGRADE keeps the token of the hold", "", "3.22")                            \
	RULE(x, "drain",                                                                                     \
		"a daemon that stops tells its clients and grants nothing, and nothing is left of it",       \
		"G15", "6.9")                                                                                \
	RULE(x, "effects", "a script does to the keys of a name what its call says, and nothing to others'", \
		"G1, G4, G9, G10", "")                                                                       \
	RULE(x, "events", "EVENTS has each grant and each end of a hold once, in its step", "", "6.5")       \
	RULE(x, "exclusion", "two holders of a name never overlap before their announced deadlines", "G1",   \
		"4.3")                                                                                       \
	RULE(x, "following", "an answer counts if a majority of master and replicas has what it says", "G1", \
		"")                                                                                          \
	RULE(x, "free in time",                                                                              \
		"no lease lasts longer than L + J, and no free name is kept for the first in "               \
		"the queue for more than 300 ms",                                                            \
		"G9, G10", "")                                                                               \
	RULE(x, "grace", "a session keeps its holds for its grace, and can be resumed until it is over",     \
		"G5", "5.8, 5.9")                                                                            \
	RULE(x, "guard",                                                                                     \
		"a master that may have forgotten grants nothing during its guard, and no other one "        \
		"is guarded",                                                                                \
		"G4", "")                                                                                    \
	RULE(x, "handed over", "the next process goes on with all that the one before had", "G16", "6.18")   \
	RULE(x, "heartbeat", "a session is closed after a silence of its heartbeat, and not before", "",     \
		"5.10")                                                                                      \
	RULE(x, "hellos", "a HELLO changes what a master knows of itself, as it has to, and no lease",       \
		"G2, G4", "")                                                                                \
	RULE(x, "id", "a request AS id that is repeated, or comes late, changes nothing more", "G18",        \
		"5.11, 5.16, 5.17")                                                                          \
	RULE(x, "in time", "a wait ends when its WAIT or its RETRIES are over, and not before", "",          \
		"3.3, 3.29")                                                                                 \
	RULE(x, "incarnation", "a master does nothing for a call that was meant for an earlier memory",      \
		"G4", "")                                                                                    \
	RULE(x, "jump", "a daemon says that a clock jumped only if it did", "G1", "")                        \
	RULE(x, "kind", "a hold is of the kind that was asked for", "G12", "3.27")                           \
	RULE(x, "late", "an acquire that runs after its deadline takes nothing", "G7", "")                   \
	RULE(x, "latch", "a latch counts each step once, and is answered as the master has it", "G12",       \
		"3.37")                                                                                      \
	RULE(x, "ledger", "the ledger says what the core has, after each step", "G17", "6.19")               \
	RULE(x, "limit", "nobody has more than a limit allows, and a -LIMIT is true", "G14", "1.13")         \
	RULE(x, "listing", "lists show the holds, the waits and the sessions that there are", "",            \
		"6.1, 6.2, 6.3")                                                                             \
	RULE(x, "loss", "a lease that can be renewed is kept; a loss is told once, with its reason", "G5",   \
		"4.6, 4.7")                                                                                  \
	RULE(x, "names", "of the names with one key only the first is granted", "G1", "")                    \
	RULE(x, "one answer", "each request gets one final answer, and nothing else is answered", "G7",      \
		"1.6")                                                                                       \
	RULE(x, "order", "whoever waits for longer is served first, and calls leave in their order", "G10",  \
		"3.2, 3.19")                                                                                 \
	RULE(x, "orphan", "no master has a lease that its daemon has forgotten, or gave back", "R2", "")     \
	RULE(x, "owner only", "only its owner gives a hold back, renews it, or is told that he has it",      \
		"G6", "3.0")                                                                                 \
	RULE(x, "polling", "a daemon asks the masters again for a reason, not all the time", "R5", "")       \
	RULE(x, "progress", "a free name is granted, and its waiters are served", "G11", "")                 \
	RULE(x, "queue", "a master gives no lease past a daemon that has waited there for longer",           \
		"G10, G12", "")                                                                              \
	RULE(x, "re-created", "only an acquire or a reclaim makes a lease", "R6", "")                        \
	RULE(x, "re-entry", "a LOCK with the tag of a hold counts one more, an UNLOCK one less", "",         \
		"3.6, 3.11")                                                                                 \
	RULE(x, "recovered", "after a crash each durable session has its holds, and no other has", "G17",    \
		"6.19")                                                                                      \
	RULE(x, "refusal", "the reason of a refusal is true", "G13", "3.4")                                  \
	RULE(x, "release", "a daemon releases each lease that it may have got, and no longer uses", "R2",    \
		"")                                                                                          \
	RULE(x, "reply", "an answer is one of those that its verb has in that state", "G7", "3.1")           \
	RULE(x, "resp2", "a connection that is back in RESP2 gets no hold by a push", "", "3.10")            \
	RULE(x, "rollout", "no daemon has a lease while somebody relies on one by other rules", "G1", "")    \
	RULE(x, "script", "no script refuses a call as malformed, or answers what none answers", "R8", "")   \
	RULE(x, "secret", "each session has one secret of its own", "", "5.3")                               \
	RULE(x, "session", "a session is told its own number, and how many names it holds", "", "5.2, 5.3")  \
	RULE(x, "session end", "what a session held that has ended properly passes on at once", "G8", "4.5") \
	RULE(x, "set", "a daemon grants by the set of masters that was agreed on", "G1", "6.16")             \
	RULE(x, "stale", "a hold that is over is lost before anything is answered", "R3", "4.6")             \
	RULE(x, "terms", "a hold ends with its LEASE, MAXHOLD or CLAIM; EXTEND is for a LEASE", "",          \
		"3.8, 3.9, 3.14, 3.46")                                                                      \
	RULE(x, "told", "a holder is told how long its hold is good, and no longer", "G3", "4.1")            \
	RULE(x, "tokens", "tokens are unique, and grow in the order of the grants", "G2", "4.4")             \
	RULE(x, "unused", "a lease that nobody uses is given back", "G10", "")                               \
	RULE(x, "upgrade", "a LOCK makes no reader a writer, and gives a hold no more permits", "",          \
		"3.20, 3.24")                                                                                \
	RULE(x, "validity", "a majority of the masters keeps what a daemon is sure of", "G1, R1", "4.1")     \
	RULE(x, "withheld",                                                                                  \
		"an abandoned hold passes on when its announced deadline is over, not before "               \
		"and not much later",                                                                        \
		"G3", "4.5, 4.9")

#define RULE_ONE(x, word, sentence, guarantees, protocol) +1
enum { RULE_COUNT = RULES(RULE_ONE, 0) };

/* Whether a message, which is a string literal, begins with the word of a rule: a constant. */
#define RULE_BEGINS(message, word, sentence, guarantees, protocol)                                           \
	|| __builtin_strncmp(message, word ": ", sizeof(word ": ") - 1) == 0
#define RULE_KNOWS(message, ...) (0 RULES(RULE_BEGINS, message))

struct rule_info {
	const char *word;
	const char *sentence;
	const char *guarantees; /* "G1, R1"; "": none */
	const char *protocol;   /* "3.2, 3.19"; "": none */
};

extern const struct rule_info rule_table[RULE_COUNT];

/* Why a run failed. */
struct failure {
	char why[400];  /* the message; "": none */
	char when[500]; /* by world.moment */
};

/* Of a failure's message; RULE_COUNT: of none. */
unsigned rule_of(const char *message);

/* For people, three lines: the message, its rule with the clauses, and the moment. */
void rule_print(const struct failure *failure);

/* Prints a line for each rule that was broken: in how many seeds. */
void rules_print(const uint64_t failed[RULE_COUNT]);

#endif
