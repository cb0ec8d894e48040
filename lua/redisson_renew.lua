-- redisson_renew: keep the owner's RLock of each name, perhaps with a new block of tokens. Never re-creates one.
--
-- KEYS  1: node; then the lease of each name, which is the name
-- ARGV  1: incarnation; 2: token proposal; then the owner of each name; then the ttl (ms) of each; then the block
--       (tokens; 0: none) of each
-- Reply {'forgotten', time} or {'ok', time, one answer per name}:
--       {'yes', first, last, 0}  still the owner's for ttl from now; first 0: there are no tokens
--       {'no'}                   not the owner's (any more)
--       {'wrongkind'} or {'error', text}
--       {'forgotten'} a lease of this length is not allowed here (any more); nothing was done
--
-- Repeating is harmless: a lease is only made longer while it is exactly the owner's; a block that is reserved twice leaves
-- a gap.
-- include: clock
-- include: node

if not known or not admitted then
	return { 'forgotten', now }
end
-- include: decimal
-- include: number
-- include: answer
-- include: tokens
-- include: block
-- include: redisson
-- include: extend

local n = (#ARGV - 2) / 3
local proposal = number(ARGV[2])

local function renew(i)
	local lease, owner = KEYS[i + 1], ARGV[i + 2]
	local ttl, block = number(ARGV[n + i + 2]), number(ARGV[2 * n + i + 2])
	if not (proposal and ttl and block) or ttl < 1 or block > BLOCK_MAX then
		return { 'error', 'ERR malformed call' }
	end
	if ttl > ttl_max then
		return { 'forgotten' } -- longer leases were allowed at the caller's last HELLO
	end
	if redis.call('HEXISTS', lease, owner) == 0 then
		return { 'no' }
	end
	lease_extend(lease, decimal(ttl))
	-- The lease is kept even if the tokens fail: a full master may refuse to store the counter.
	local ok, first, last = false, 0, 0
	if block > 0 and proposal <= TOKEN_MAX and highest <= TOKENS_END then
		ok, first, last = pcall(redisson_tokens, lease, proposal, block)
	end
	return { 'yes', ok and first or 0, ok and last or 0, 0 }
end

local answers = { 'ok', now }
for i = 1, n do
	answers[i + 2] = answer(renew, i)
end
tokens_keep()
return answers
