-- reclaim: re-assert a lease that is still valid while the master is guarded after it may have forgotten.
--
-- KEYS  1: node; 2: reclaimed (hash lease key -> '<owner> <newest token>'; groups: see group_reclaim.lua); then the
--       lease of each name
-- ARGV  1: incarnation; then the owner of each name; then the ttl (ms) of each; then the deadline (µs of this
--       master's TIME) of each; then the highest token known to each; then the newest token of each lease
-- Reply {'forgotten', time} (other memory, or admitted already) or {'ok', time, one answer per name}:
--       1         the lease is there for ttl from now
--       {'no'}    somebody else reclaimed a newer lease of it, or a lock of a foreign program is there
--       {'late'}  executed after its deadline
--       {'wrongkind'} or {'error', text}
--       {'forgotten'} no lease may be that long here (any more); nothing was done
--
-- What lies at the key is replaced unless its owner reclaimed too: an old backup brings back leases that ended
-- long ago, but at most one daemon has a lease that is still valid. There are two only when somebody wrote to the
-- key; then the newer one is right, whichever comes first: what a resource saw its token refuses the older's.
-- Tokens: nothing is granted before admit, and that raises the floor above the highest token, which is all it takes.
-- Repeating is harmless: the same owner gets the same lease, and only before the deadline.
-- include: clock
-- include: node

if not known or admitted then
	return { 'forgotten', now }
end
-- include: decimal
-- include: number
-- include: answer
-- include: owner
-- include: group

local n = (#ARGV - 1) / 5
-- include: reclaim

local function reclaim(i)
	local lease, owner = KEYS[i + 2], ARGV[i + 1]
	local terms, refusal = reclaim_terms(i, n + 1)
	if refusal then
		return refusal
	end
	local by, theirs = reclaimed(lease)
	local lock = lock_read(lease)
	if by and by ~= owner and theirs >= terms.newest or type(lock) == 'string' and not native(lock) then
		return { 'no' }
	end
	reclaim_keep(terms.token, lease, owner, terms.newest)
	redis.call('SET', lease, owner, 'PX', decimal(terms.ttl_ms))
	return 1
end

local answers = { 'ok', now }
for i = 1, n do
	answers[i + 2] = answer(reclaim, i)
end
reached_keep()
return answers
