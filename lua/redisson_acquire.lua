-- redisson_acquire: take the RLock of each name, if it is free. There is no queue; the end of an RLock is published.
--
-- KEYS  1: node; then the lease of each name, which is the name
-- ARGV  1: incarnation; 2: deadline (µs of this master's TIME); 3: token proposal; then the owner of each name;
--       then the ttl (ms) of each; then the block (tokens) of each
-- Reply {'forgotten', time} or {'ok', time, one answer per name}; if one is busy the time is '<time> <highest
--       token>':
--       {'yes', first, last, 0}       the lease is the caller's, and so are the tokens
--       {'busy', holder, 0, change}   change: ms until it can end by itself
--       {'late'}, {'wrongkind'} or {'error', text}
--       {'forgotten'} a lease of this length is not allowed here (any more); nothing was done
--
-- Repeating is harmless: an owner keeps the lease and gets a fresh block; a late copy is refused by its deadline.
-- include: clock
-- include: node

if not known or not admitted then
	return { 'forgotten', now }
end
-- include: decimal
-- include: number
-- include: answer
-- include: owner
-- include: tokens
-- include: block
-- include: redisson
-- include: extend

local n = (#ARGV - 3) / 3
local deadline, proposal = number(ARGV[2]), number(ARGV[3])

local function acquire(i)
	local lease, owner = KEYS[i + 1], ARGV[i + 3]
	local ttl, block = number(ARGV[n + i + 3]), number(ARGV[2 * n + i + 3])
	if not (deadline and proposal and ttl and block) or ttl < 1 or block < 1 or block > BLOCK_MAX then
		return { 'error', 'ERR malformed call' }
	end
	if proposal > TOKEN_MAX or highest > TOKENS_END then
		return { 'error', 'ERR token proposal above 2^52, or the counter at its end' }
	end
	if ttl > ttl_max then
		return { 'forgotten' } -- longer leases were allowed at the caller's last HELLO
	end
	if now > deadline then
		return { 'late' }
	end
	local holder = redis.call('HKEYS', lease)[1]
	if holder and holder ~= owner then
		local left = redis.call('PTTL', lease)
		if native(holder) and (left < 0 or left > ttl_max) then
			-- No lease of holdfast lives that long: the clock stepped back, or the expiry was removed.
			redis.call('PEXPIRE', lease, decimal(ttl_max))
			left = ttl_max
		end
		refuses = true
		return { 'busy', holder, 0, left < 0 and ttl_max or left }
	end
	-- The tokens first: if the lease fails, only numbers are lost.
	local first, last = redisson_tokens(lease, proposal, block)
	if holder then
		lease_extend(lease, decimal(ttl))
	else
		redis.call('HSET', lease, owner, 1)
		redis.call('PEXPIRE', lease, decimal(ttl))
	end
	return { 'yes', first, last, 0 }
end

local answers = { 'ok', now }
for i = 1, n do
	answers[i + 2] = answer(acquire, i)
end
tokens_keep()
answers[2] = time_and_mark()
return answers
