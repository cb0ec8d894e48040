-- redisson_adopt: take over the RLock of each name from exactly its previous owner, perhaps with a new block of tokens; or
-- renew it if it has been taken over already. Never creates one.
--
-- KEYS  1: node; then the lease of each name, which is the name
-- ARGV  1: incarnation; 2: token proposal; then the owner of each name; then the ttl (ms) of each; then the block
--       (tokens; 0: none) of each; then the previous owners of each (see previous.inc); then the deadline (µs of this
--       master's TIME) of each
-- Reply {'forgotten', time} or {'ok', time, one answer per name}:
--       {'yes', first, last, 0}  the owner's for ttl from now; first 0: there are no tokens
--       {'no'}                   neither a previous owner's nor the owner's
--       {'late'}                 executed after its deadline
--       {'wrongkind'} or {'error', text}
--       {'forgotten'} a lease of this length is not allowed here (any more); nothing was done
--
-- For why nobody else can have had it see adopt.lua. Repeating is harmless.
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
-- include: owner
-- include: previous
-- include: redisson
-- include: extend

local n = (#ARGV - 2) / 5
local proposal = number(ARGV[2])

local function adopt(i)
	local lease, owner = KEYS[i + 1], ARGV[i + 2]
	local ttl, block = number(ARGV[n + i + 2]), number(ARGV[2 * n + i + 2])
	local previous, deadline = previous_owners_read(ARGV[3 * n + i + 2]), number(ARGV[4 * n + i + 2])
	if not (proposal and ttl and block and previous and deadline) or ttl < 1 or block > BLOCK_MAX then
		return { 'error', 'ERR malformed call' }
	end
	if ttl > ttl_max then
		return { 'forgotten' } -- longer leases were allowed at the caller's last HELLO
	end
	if now > deadline then
		return { 'late' }
	end
	local holder = redis.call('HKEYS', lease)[1]
	if not holder or holder ~= owner and not previous[holder] then
		return { 'no' }
	end
	redis.call('PERSIST', KEYS[1]) -- after a first write that needs no memory a full master takes the others, too
	if holder ~= owner then
		redis.call('HSET', lease, owner, 1)
		redis.call('HDEL', lease, holder)
	end
	lease_extend(lease, decimal(ttl))
	local ok, first, last = false, 0, 0
	if block > 0 and proposal <= TOKEN_MAX and highest <= TOKENS_END then
		ok, first, last = pcall(redisson_tokens, lease, proposal, block)
	end
	return { 'yes', ok and first or 0, ok and last or 0, 0 }
end

local answers = { 'ok', now }
for i = 1, n do
	answers[i + 2] = answer(adopt, i)
end
tokens_keep()
return answers
