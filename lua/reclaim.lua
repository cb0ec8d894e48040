-- reclaim: re-assert a lease that is still valid while the master is guarded after it may have forgotten.
--
-- KEYS  1: node; 2: reclaimed (hash lease key -> '<owner> <newest token>'); then the lease of each name
-- ARGV  1: incarnation; then the owner of each name; then the ttl (ms) of each; then the deadline (µs of this
--       master's TIME) of each; then the highest token known to each; then the newest token of each lease
-- Reply {'forgotten', time} (other memory, or admitted already) or {'ok', time, one answer per name}:
--       1         the lease is there for ttl from now
--       {'no'}    somebody else reclaimed a newer lease of it, or a lock of a foreign program is there
--       {'late'}  executed after its deadline
--       {'wrongkind'} or {'error', text}
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

local RECLAIMED_LIVE_MS = 86400000
local n = (#ARGV - 1) / 5
local reached = highest

local function native(holder)
	local daemon = string.match(holder, '^(%x+):%d+$')
	return daemon and #daemon == 32
end

local function reclaim(i)
	local lease, owner, ttl = KEYS[i + 2], ARGV[i + 1], ARGV[n + i + 1]
	local deadline, token = number(ARGV[2 * n + i + 1]), number(ARGV[3 * n + i + 1])
	local newest = number(ARGV[4 * n + i + 1])
	if not (deadline and token and newest and token <= TOKEN_MAX * 2) then
		return { 'error', 'ERR malformed call' }
	end
	if not (number(ttl) and number(ttl) > 0 and number(ttl) <= ttl_max) then
		return { 'error', 'ERR ttl is outside 1..' .. decimal(ttl_max) .. ' ms' }
	end
	if now > deadline then
		return { 'late' }
	end
	local reclaimer, theirs = string.match(redis.call('HGET', KEYS[2], lease) or '', '^(%S+) (%d+)$')
	local holder = redis.call('GET', lease)
	if reclaimer and reclaimer ~= owner and tonumber(theirs) >= newest or holder and not native(holder) then
		return { 'no' }
	end
	redis.call('PERSIST', KEYS[1]) -- a full master takes what follows a first write that needs no memory
	reached = math.max(reached, token)
	redis.call('HSET', KEYS[2], lease, owner .. ' ' .. decimal(newest))
	redis.call('PEXPIRE', KEYS[2], RECLAIMED_LIVE_MS)
	redis.call('SET', lease, owner, 'PX', ttl)
	return 1
end

local answers = { 'ok', now }
for i = 1, n do
	answers[i + 2] = answer(reclaim, i)
end
if reached > highest then
	redis.call('HSET', KEYS[1], 'highest', decimal(reached))
end
return answers
