-- redisson_reclaim: re-assert an RLock that is still valid while the master is guarded after it may have forgotten.
--
-- KEYS  1: node; then the lease of each name, which is the name
-- ARGV  1: incarnation; then the owner of each name; then the ttl (ms) of each; then the deadline (µs of this
--       master's TIME) of each; then the highest token known to each; then the previous owners of each (see
--       previous.inc)
-- Reply {'forgotten', time} (other memory, or admitted already) or {'ok', time, one answer per name}:
--       1         the lease exists for ttl from now
--       {'no'}    another owner has it, and no previous one: Redisson does not wait for a guard, and its RLocks are never
--                 replaced
--       {'late'}  executed after its deadline
--       {'wrongkind'} or {'error', text}
--       {'forgotten'} a lease of this length is not allowed here (any more); nothing was done
--
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
-- include: previous

local n = (#ARGV - 1) / 5
local reached = highest

local function reclaim(i)
	local lease, owner, ttl = KEYS[i + 1], ARGV[i + 1], number(ARGV[n + i + 1])
	local deadline, token = number(ARGV[2 * n + i + 1]), number(ARGV[3 * n + i + 1])
	local previous = previous_owners_read(ARGV[4 * n + i + 1])
	if not (deadline and token and ttl and previous and token <= TOKEN_MAX * 2) or ttl < 1 then
		return { 'error', 'ERR malformed call' }
	end
	if ttl > ttl_max then
		return { 'forgotten' } -- longer leases were allowed at the caller's last HELLO
	end
	if now > deadline then
		return { 'late' }
	end
	local holder = redis.call('HKEYS', lease)[1]
	if holder and holder ~= owner and not previous[holder] then
		return { 'no' }
	end
	reached = math.max(reached, token)
	redis.call('HSET', lease, owner, 1)
	if holder and holder ~= owner then
		redis.call('HDEL', lease, holder)
	end
	redis.call('PEXPIRE', lease, decimal(ttl))
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
