-- group_adopt: take over the share of each name from exactly its previous owner, perhaps with a new block of tokens; or
-- renew it if it has been taken over already; or share a lease that a previous owner has exclusively. Never creates a share.
--
-- KEYS  1: node; then the lease of each name; then the queue of each; with N masters then the fence of each
-- ARGV  1: incarnation; 2: inbox prefix; 3: token proposal; then the owner of each name; then the form of each (see
--       form.inc), permits by their numbers; then the previous owners of each (see previous.inc); then the deadline (µs of
--       this master's TIME) of each; then terms, three each: ttl (ms), block (tokens; 0: none), number of names from
--       here on with these terms; the last is left out for all remaining names; with N masters, where 3 is '', the
--       token proposal stands before the number
-- Reply {'forgotten', time} or {'ok', time, one answer per name}:
--       waiting               the owner's for ttl from now; this many daemons wait; among readers only if one of them
--                             wants to write
--       {'yes', first, last, waiting}  the same, if tokens were asked for; first 0: there are none
--       {'no'}                neither a previous owner's nor the owner's, or not all of it
--       {'late'}              executed after its deadline
--       {'wrongkind'} or {'error', text}
--       {'forgotten'} a lease of this length is not allowed here (any more); nothing was done
--
-- Each permit may belong to another of these owners, but all have to belong to one of them; else nothing is taken over.
-- Among readers each previous owner has a member of its own, and all of them become the owner's one. For why nobody else can
-- have had it see adopt.lua. Repeating is harmless.
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
local left, read = 0, forms + 3 * n -- names that still have these terms; arguments read so far
-- include: block
-- include: renewal
-- include: queue
-- include: answer
-- include: owner
-- include: previous
-- include: group
-- include: next
-- include: form

local queues = redis.call('EXISTS', unpack(keys, n + 2, 2 * n + 1))

-- The latest deadline of these permits; nil: not all of them are the owner's or a previous owner's and living.
local function permits_end(lease, members, owner, previous)
	local last = now
	for i = 1, #members, CHUNK do
		local some = { unpack(members, i, math.min(i + CHUNK - 1, #members)) }
		for _, value in ipairs(redis.call('HMGET', lease, unpack(some))) do
			local who, deadline = member_read(value)
			if not who or who ~= owner and not previous[who] or deadline <= now then
				return nil
			end
			last = math.max(last, deadline)
		end
	end
	return last
end

-- The latest deadline of the readers that are the owner's or a previous owner's and living, and the members of the previous
-- owners among them; nil: there are none.
local function readers_end(lease, owner, previous)
	local last, gone = nil, {}
	local own, till = member_read(redis.call('HGET', lease, native(owner)))
	if own and own ~= owner and till > now then
		return nil, gone -- this daemon has a share by a later attempt: a late adoption must not end that
	end
	for i = 0, #previous do
		local member = native(previous[i] or owner)
		local who, deadline = member_read(redis.call('HGET', lease, member))
		if who == (previous[i] or owner) and deadline > now then
			last = math.max(last or 0, deadline)
			gone[#gone + 1] = member ~= native(owner) and member or nil
		end
	end
	return last, gone
end

-- The share is gone, or the hash is that of a foreign program.
local function look(lease, kind)
	if kind or redis.call('EXISTS', lease) == 1 then
		kind_read(kind)
	end
	return { 'no' }
end

-- A previous owner's exclusive lease, or something unknown. False: not to be taken over.
local function adopt_alone(i, form, owner, previous, queue)
	local lease = keys[i + 1]
	local holder = redis.call('GET', lease)
	if form.limit or holder ~= owner and not previous[holder] then
		return false
	end
	local till = now + 1000 * redis.call('PTTL', lease)
	redis.call('DEL', lease)
	group_put(lease, form.kind, form.members, owner, tonumber(ttl), till)
	queue_prune(queue)
	lock_call(lock_read(lease), queue, args[2])
	return true
end

local function adopt_members(lease, form, owner, previous)
	local till, gone
	if form.limit then
		till, gone = permits_end(lease, form.members, owner, previous), {}
	else
		till, gone = readers_end(lease, owner, previous)
	end
	if not till then
		return false
	end
	redis.call('PERSIST', KEYS[1]) -- after a first write that needs no memory a full master takes the others, too
	group_put(lease, form.kind, form.members, owner, tonumber(ttl), till)
	if #gone > 0 then
		redis.call('HDEL', lease, unpack(gone))
	end
	return true
end

local function adopt(i)
	local lease, owner = keys[i + 1], args[i + 3]
	local form = form_read(args[forms + i], owner)
	local previous, deadline = previous_owners_read(args[forms + n + i]), number(args[forms + 2 * n + i])
	if not (form and form.members and previous and deadline) then
		return { 'error', 'ERR malformed call' }
	end
	if now > deadline then
		return { 'late' }
	end
	local queue = queue_read(keys[n + 1 + i], queues == 0)
	local kind = redis.pcall('HGET', lease, 'kind')
	if type(kind) == 'table' then
		if not adopt_alone(i, form, owner, previous, queue) then
			return { 'no' }
		end
	elseif not adopt_members(lease, form, owner, previous) then
		return look(lease, kind)
	end
	if block == 0 then
		return queue_waiting(queue, form, keys[i + 1])
	end
	local first, last = block_take(i)
	return { 'yes', first, last, queue_waiting(queue, form, keys[i + 1]) }
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
