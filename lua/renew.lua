-- renew: keep the lease of each name, perhaps with a new block of tokens. Never re-creates a lease.
--
-- KEYS  1: node; then for each name: lease, queue (zset), fence
-- ARGV  1: incarnation; 2: daemon-id; then for each name: attempt, ttl (ms), token proposal, block (0: none)
-- Reply {'forgotten', time} or {'ok', time, one answer per name}:
--       {'yes', first, last, waiting}  still ours for ttl from now; first '0': no tokens asked for, or no room
--                             for the counter; so many daemons wait, in case no message said so
--       {'no'}                not ours (any more)
--       {'wrongkind'} or {'error', text}
--
-- Repeating is harmless: the lease is only made longer while it is exactly ours; a block reserved twice is a
-- gap.
-- include: node

if not known or not admitted then
	return { 'forgotten', decimal(now) }
end

-- Without its counter a name goes on above the highest token of all: nothing is lost when it ends, and who locks
-- ever new names does not fill the master.
local TOKENS_LIVE_MS = 60000
local reached = highest

local function tokens_reserve(fence, proposal, block)
	local counter = math.max(number(redis.call('GET', fence)) or highest, floor)
	if proposal > TOKEN_MAX or counter >= 2 * TOKEN_MAX - block then
		return nil
	end
	local first = math.max(proposal, counter + 1)
	local last = first + block - 1
	redis.call('SET', fence, decimal(last), 'PX', TOKENS_LIVE_MS)
	reached = math.max(reached, last)
	return first, last
end

local function renew(i)
	local k, a = 3 * i - 1, 4 * i - 1
	local ttl, proposal, block = number(ARGV[a + 1]), number(ARGV[a + 2]), number(ARGV[a + 3])
	if not (proposal and block and block <= 1000000) then
		return { 'error', 'ERR malformed call' }
	end
	local refusal = ttl_refused(ttl)
	if refusal then
		return refusal
	end
	if redis.call('GET', KEYS[k]) ~= ARGV[2] .. ':' .. ARGV[a] then
		return { 'no' }
	end
	redis.call('PEXPIRE', KEYS[k], decimal(ttl))
	-- The lease is kept whatever else fails: a full master may refuse to store the counter.
	local first, last = 0, 0
	if block > 0 then
		local ok, from, to = pcall(tokens_reserve, KEYS[k + 2], proposal, block)
		if ok and from then
			first, last = from, to
		end
	end
	local waiting = redis.pcall('ZCARD', KEYS[k + 1])
	return { 'yes', decimal(first), decimal(last), decimal(type(waiting) == 'number' and waiting or 0) }
end

local answers = answer_each((#KEYS - 1) / 3, renew)
if reached > highest then
	redis.call('HSET', KEYS[1], 'highest', decimal(reached))
end
return answers
