-- renew: keep the owner's lease of each name, perhaps with a new block of tokens. Never re-creates a lease.
--
-- KEYS  1: node; then the lease of each name; then the queue of each; with N masters then the fence of each
-- ARGV  1: incarnation; 2: token proposal; then the owner of each name; then terms, three each: ttl (ms), block (tokens;
--       0: none), number of names from here on with these terms; the last is left out for all remaining names; with N
--       masters, where 2 is '', the token proposal stands before the number
-- Reply {'forgotten', time}, {'all', time} if all are kept, no daemon waits and no tokens were asked for, or
--       {'ok', time, one answer per name}:
--       waiting               still the owner's for ttl from now; this many daemons wait, in case no message said so
--       {'yes', first, last, waiting}  the same, if tokens were asked for; first 0: there are none
--       {'no'}                not the owner's (any more)
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
-- include: tokens

local keys, args = KEYS, ARGV -- locals cost less
local fenced = args[2] == ''
local n = (#keys - 1) / (fenced and 3 or 2)
local common = 2
local left, read = 0, common + n -- names that still have these terms; arguments read so far
-- include: block
-- include: renewal
-- include: extend

local function waiting(i)
	local count = redis.pcall('ZCARD', keys[n + 1 + i])
	return type(count) == 'number' and count or 0
end

local holders = redis.call('MGET', unpack(keys, 2, n + 1))
local queues = redis.call('EXISTS', unpack(keys, n + 2, 2 * n + 1))
local answers, rest, kept = { 'ok', now, 0 }, {}, 0
for i = 1, n do
	if left == 0 then
		terms_read()
	end
	left = left - 1
	if refusal then
		answers[i + 2] = refusal
	elseif holders[i] ~= args[i + 2] then
		answers[i + 2] = { 'no' }
		rest[#rest + 1] = not holders[i] and i or nil -- gone, or another kind of key
	else
		if longest then
			redis.call('PEXPIRE', keys[i + 1], ttl)
		else
			lease_extend(keys[i + 1], ttl)
		end
		answers[i + 2] = queues > 0 and waiting(i) or 0
		kept = answers[i + 2] == 0 and kept + 1 or kept
		if block > 0 then
			kept = 0
			local first, last = block_take(i)
			answers[i + 2] = { 'yes', first, last, answers[i + 2] }
		end
	end
end
tokens_keep()
if kept == n then
	return { 'all', now }
end
if #rest == 0 then
	return answers
end
-- include: answer

local function look(i)
	redis.call('GET', keys[i + 1])
	return { 'no' }
end

for _, i in ipairs(rest) do
	answers[i + 2] = answer(look, i)
end
return answers
