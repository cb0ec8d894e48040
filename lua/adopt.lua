-- adopt: take over the lease of each name from exactly its previous owner, perhaps with a new block of tokens; or renew it
-- if it has been taken over already. Never creates a lease.
--
-- KEYS  1: node; then the lease of each name; then the queue of each; with N masters then the fence of each
-- ARGV  1: incarnation; 2: token proposal; then the owner of each name; then the previous owners of each (see
--       previous.inc); then the deadline (µs of this master's TIME) of each; then terms, three each: ttl (ms), block
--       (tokens; 0: none), number of names from here on with these terms; the last is left out for all remaining names;
--       with N masters, where 2 is '', the token proposal stands before the number
-- Reply {'forgotten', time} or {'ok', time, one answer per name}:
--       waiting               the owner's for ttl from now; this many daemons wait
--       {'yes', first, last, waiting}  the same, if tokens were asked for; first 0: there are none
--       {'no'}                neither a previous owner's nor the owner's
--       {'late'}              executed after its deadline
--       {'wrongkind'} or {'error', text}
--       {'forgotten'} a lease of this length is not allowed here (any more); nothing was done
--
-- The lease is the same before and after: it only changes its owner, and never ends sooner. So no other daemon had it in
-- between, and of two processes that name the same previous owner one finds it replaced. After the deadline its owner counts
-- on it no more, and has released it or lets it run out: then a late call must not prolong it. Repeating is harmless.
-- include: clock
-- include: node

if not known or not admitted then
	return { 'forgotten', now }
end
-- include: decimal
-- include: number
-- include: tokens

local keys, args = KEYS, ARGV
local fenced = args[2] == ''
local n = (#keys - 1) / (fenced and 3 or 2)
local common = 2
local previous_at = common + n -- arguments before the first previous owners
local left, read = 0, previous_at + 2 * n -- names that still have these terms; arguments read so far
-- include: block
-- include: renewal
-- include: answer
-- include: owner
-- include: previous

local function waiting(i)
	local count = redis.pcall('ZCARD', keys[n + 1 + i])
	return type(count) == 'number' and count or 0
end

local function adopt(i)
	local lease, owner = keys[i + 1], args[i + 2]
	local previous, deadline = previous_owners_read(args[previous_at + i]), number(args[previous_at + n + i])
	if not (previous and deadline) then
		return { 'error', 'ERR malformed call' }
	end
	if now > deadline then
		return { 'late' }
	end
	local holder = redis.call('GET', lease)
	if not holder or holder ~= owner and not previous[holder] then
		return { 'no' }
	end
	redis.call('PERSIST', keys[1]) -- after a first write that needs no memory a full master takes the others, too
	local left = redis.call('PTTL', lease) -- never shorter than before: see extend.inc
	redis.call('SET', lease, owner, 'PX', decimal(math.max(tonumber(ttl), math.min(left, ttl_max))))
	if block == 0 then
		return waiting(i)
	end
	local first, last = block_take(i)
	return { 'yes', first, last, waiting(i) }
end

local answers = { 'ok', now }
for i = 1, n do
	if left == 0 then
		terms_read()
	end
	left = left - 1
	answers[i + 2] = refusal or answer(adopt, i)
end
tokens_keep()
return answers
