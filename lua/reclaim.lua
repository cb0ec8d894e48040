-- reclaim: re-assert a lease that is still valid while the master is guarded after it may have forgotten.
--
-- KEYS  1: node; 2: reclaimed (hash lease key -> '<owner> <newest token>'); then for each name: lease, fence
-- ARGV  1: incarnation; 2: daemon-id; then for each name: attempt, ttl (ms), deadline (µs of this master's
--       TIME), highest token known, newest token of this lease
-- Reply {'forgotten', time} (other memory, or admitted already) or {'ok', time, one answer per name}:
--       {'yes'}   the lease is there for ttl from now
--       {'no'}    somebody else reclaimed a newer lease of it, or a lock of a foreign program is there
--       {'late'}  executed after its deadline
--       {'wrongkind'} or {'error', text}
--
-- What lies at the key is replaced unless its owner reclaimed too: an old backup brings back leases that ended
-- long ago, but at most one daemon has a lease that is still valid. There are two only when somebody wrote to the
-- key; then the newer one is right, whichever comes first: what a resource saw its token refuses the older's.
-- Repeating is harmless: the same owner gets the same lease, and only before the deadline.
-- include: node

if not known or admitted then
	return { 'forgotten', decimal(now) }
end

local TOKENS_LIVE_MS = 60000 -- see acquire
local RECLAIMED_LIVE_MS = 86400000
local reached = highest

local function native(holder)
	local daemon = string.match(holder, '^(%x+):%d+$')
	return daemon and #daemon == 32
end

local function reclaim(i)
	local k, a = 2 * i + 1, 5 * i - 2
	local lease, fence = KEYS[k], KEYS[k + 1]
	local ttl, deadline, token = number(ARGV[a + 1]), number(ARGV[a + 2]), number(ARGV[a + 3])
	local newest = number(ARGV[a + 4])
	if not (deadline and token and newest and token <= TOKEN_MAX * 2) then
		return { 'error', 'ERR malformed call' }
	end
	local refusal = ttl_refused(ttl)
	if refusal then
		return refusal
	end
	if now > deadline then
		return { 'late' }
	end
	local owner = ARGV[2] .. ':' .. ARGV[a]
	local counter = number(redis.call('GET', fence)) or 0
	local reclaimer, theirs = string.match(redis.call('HGET', KEYS[2], lease) or '', '^(%S+) (%d+)$')
	local holder = redis.call('GET', lease)
	if reclaimer and reclaimer ~= owner and tonumber(theirs) >= newest or holder and not native(holder) then
		return { 'no' }
	end
	write_though_full()
	if token > counter then
		redis.call('SET', fence, decimal(token), 'PX', TOKENS_LIVE_MS)
	end
	reached = math.max(reached, token)
	redis.call('HSET', KEYS[2], lease, owner .. ' ' .. decimal(newest))
	redis.call('PEXPIRE', KEYS[2], RECLAIMED_LIVE_MS)
	redis.call('SET', lease, owner, 'PX', decimal(ttl))
	return { 'yes' }
end

local answers = answer_each((#KEYS - 2) / 2, reclaim)
if reached > highest then
	redis.call('HSET', KEYS[1], 'highest', decimal(reached))
end
return answers
