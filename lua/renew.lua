-- renew: keep the lease of each name, perhaps with a new block of tokens. Never re-creates a lease.
--
-- KEYS  1: node; then for each name: lease, fence
-- ARGV  1: incarnation; 2: daemon-id; then for each name: attempt, ttl (ms), token proposal, block (0: none)
-- Reply {'forgotten', time} or {'ok', time, one answer per name}:
--       {'yes', first, last}  still ours for ttl from now; first '0': no tokens asked for, or no room for
--                             the counter
--       {'no'}                not ours (any more)
--       {'wrongkind'} or {'error', text}
--
-- Repeating is harmless: the lease is only made longer while it is exactly ours; a block reserved twice is a
-- gap.
-- include: node

if not known or not admitted then
	return { 'forgotten', decimal(now) }
end

local TOKENS_LIVE_MS = 86400000
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
	return { 'yes', decimal(first), decimal(last) }
end

local function renew(i)
	local k, a = 2 * i, 4 * i - 1
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
	if block > 0 then
		-- A full master refuses to store the counter; the lease is kept all the same.
		local ok, reserved = pcall(tokens_reserve, KEYS[k + 1], proposal, block)
		if ok and reserved then
			return reserved
		end
	end
	return { 'yes', '0', '0' }
end

local answers = answer_each((#KEYS - 1) / 2, renew)
if reached > highest then
	redis.call('HSET', KEYS[1], 'highest', decimal(reached))
end
return answers
