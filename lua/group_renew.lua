-- group_renew: keep the owner's share of each name, perhaps with a new block of tokens; or share a lease that the owner has
-- exclusively. Never re-creates a share.
--
-- KEYS  1: node; then the lease of each name; then the queue of each; with N masters then the fence of each
-- ARGV  1: incarnation; 2: inbox prefix; 3: token proposal; then the owner of each name; then the form of each (see
--       form.inc), permits by their numbers; then terms, three each: ttl (ms), block (tokens; 0: none), number of names
--       from here on with these terms; the last is left out for all remaining names; with N masters, where 3 is '', the
--       token proposal stands before the number
-- Reply {'forgotten', time}, {'all', time} if all are kept, no daemon waits and no tokens were asked for, or
--       {'ok', time, one answer per name}:
--       waiting               still the owner's for ttl from now; this many daemons wait, in case no message said so;
--                             among readers only if one of them wants to write
--       {'yes', first, last, waiting}  the same, if tokens were asked for; first 0: there are none
--       {'no'}                not the owner's (any more), or not all of it
--       {'wrongkind'} or {'error', text}
--       {'forgotten'} a lease of this length is not allowed here (any more); nothing was done
--
-- A lease that was exclusive is shared from now on, and readers at the head of the queue are called. Repeating is harmless:
-- a share is only made longer while it is exactly the owner's; a block that is reserved twice leaves a gap.
-- include: clock
-- include: node

if not known or not admitted then
	return { 'forgotten', now }
end
-- include: decimal
-- include: number
-- include: tokens

local keys, args = KEYS, ARGV
local fenced = args[3] == ''
local n = (#keys - 1) / (fenced and 3 or 2)
local common = 3
local forms = common + n -- arguments before the first form
local left, read = 0, forms + n -- names that still have these terms; arguments read so far
-- include: block
-- include: renewal
-- include: queue
-- include: answer
-- include: owner
-- include: group
-- include: next
-- include: form

local queues = redis.call('EXISTS', unpack(keys, n + 2, 2 * n + 1))

-- The latest deadline of these members; nil: not all of them are the owner's and living.
local function members_end(lease, members, owner)
	local last = now
	for i = 1, #members, CHUNK do
		local some = { unpack(members, i, math.min(i + CHUNK - 1, #members)) }
		for _, value in ipairs(redis.call('HMGET', lease, unpack(some))) do
			local who, deadline = member_read(value)
			if who ~= owner or deadline <= now then
				return nil
			end
			last = math.max(last, deadline)
		end
	end
	return last
end

-- The share is gone, or the hash is that of a foreign program.
local function look(lease, kind)
	if kind or redis.call('EXISTS', lease) == 1 then
		kind_read(kind)
	end
	return { 'no' }
end

local function renew(i)
	local lease, owner = keys[i + 1], args[i + 3]
	local form = form_read(args[forms + i], owner)
	if not form or not form.members then
		return { 'error', 'ERR malformed call' }
	end
	local queue = queue_read(keys[n + 1 + i], queues == 0)
	local kind = redis.pcall('HGET', lease, 'kind')
	if type(kind) == 'table' then
		-- Not a hash: the owner's exclusive lease, or something unknown.
		if redis.call('GET', lease) ~= owner or form.limit then
			return { 'no' }
		end
		local till = now + 1000 * redis.call('PTTL', lease)
		redis.call('DEL', lease)
		group_put(lease, form.kind, form.members, owner, tonumber(ttl), till)
		queue_prune(queue)
		lock_call(lock_read(lease), queue, args[2])
	else
		local till = members_end(lease, form.members, owner)
		if not till then
			return look(lease, kind)
		end
		redis.call('PERSIST', KEYS[1]) -- after a first write that needs no memory a full master takes the others,
                                 -- too
		group_put(lease, form.kind, form.members, owner, tonumber(ttl), till)
	end
	if block == 0 then
		return queue_waiting(queue, form, lease)
	end
	local first, last = block_take(i)
	return { 'yes', first, last, queue_waiting(queue, form, lease) }
end

local answers, kept = { 'ok', now, 0 }, 0
for i = 1, n do
	if left == 0 then
		terms_read()
	end
	left = left - 1
	answers[i + 2] = refusal or answer(renew, i)
	kept = answers[i + 2] == 0 and kept + 1 or kept
end
tokens_keep()
return kept == n and { 'all', now } or answers
