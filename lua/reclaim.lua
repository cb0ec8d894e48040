-- reclaim: re-assert a lease that is still valid while the master is guarded after it may have forgotten.
--
-- KEYS  1: node; 2: reclaimed (hash lease key -> '<owner> <newest token>'; groups: see group_reclaim.lua); then the
--       lease of each name
-- ARGV  1: incarnation; then the owner of each name; then the ttl (ms) of each; then the deadline (µs of this
--       master's TIME) of each; then the highest token known to each; then the newest token of each lease; then the
--       previous owners of each (see previous.inc)
-- Reply {'forgotten', time} (other memory, or admitted already) or {'ok', time, one answer per name}:
--       1         the lease exists for ttl from now
--       {'no'}    another owner reclaimed a newer lease of it, or a lock of a foreign program is there
--       {'late'}  executed after its deadline
--       {'wrongkind'} or {'error', text}
--       {'forgotten'} a lease of this length is not allowed here (any more); nothing was done
--
-- What is at the key is replaced unless its owner reclaimed too: an old backup brings back leases that ended long ago, but
-- at most one daemon has a lease that is still valid. Two daemons have one only if a foreign program wrote to the key. Then
-- the newer lease counts, whichever is reclaimed first: a resource that saw its token refuses the older token. Tokens:
-- nothing is granted before admit, which raises the floor above the highest token; so reclaim need only raise that.
-- What a previous owner has reclaimed is ours. Repeating is harmless: the same owner gets the same lease, and only before
-- the deadline.
-- include: clock
-- include: node

if not known or admitted then
	return { 'forgotten', now }
end
-- include: decimal
-- include: number
-- include: answer
-- include: owner
-- include: previous
-- include: group

local n = (#ARGV - 1) / 6
-- include: reclaim

local function reclaim(i)
	local lease, owner = KEYS[i + 2], ARGV[i + 1]
	local terms, refusal = reclaim_terms(i, n + 1)
	local ours = previous_owners_read(ARGV[5 * n + i + 1])
	if refusal or not ours then
		return refusal or { 'error', 'ERR malformed call' }
	end
	ours[owner] = true
	local by, theirs = reclaimed(lease)
	local lock = lock_read(lease)
	if by and not ours[by] and theirs >= terms.newest or type(lock) == 'string' and not native(lock) then
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
