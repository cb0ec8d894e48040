-- group_release: end the owner's share of each name, and call the head of the queue if it can have the lock now.
--
-- KEYS  1: node; then the lease of each name; then the queue of each
-- ARGV  1: incarnation; 2: inbox prefix; then the owner of each name; then the form of each (see form.inc);
--       then, if other masters did not grant what was granted here, how long (ms) its daemon is at the head of the
--       queue again; else left out
-- Reply {'forgotten', time} or {'ok', time, one answer per name}:
--       1        the owner had some or all of it, and has none now
--       {'no'}   not the owner's (any more); nothing was done
--       {'wrongkind'} or {'error', text}
--
-- A lease that was exclusive until it was shared ends here, too. The named permits are examined; if they are not all the
-- owner's, or none is named, all permits are. Repeating is harmless: an attempt number is never used again, so a late copy
-- finds nothing of its own.
-- include: clock
-- include: node

if not known then
	return { 'forgotten', now }
end
-- include: decimal
-- include: number
-- include: queue
-- include: answer
-- include: owner
-- include: group
-- include: next
-- include: form

local keys, args = KEYS, ARGV
local n = (#keys - 1) / 2
local place_ms = tonumber(args[2 * n + 3])
local queues = redis.call('EXISTS', unpack(keys, n + 2, 2 * n + 1))

-- Whether all these members are the owner's, dead or not.
local function members_ours(lease, members, owner)
	for i = 1, #members, CHUNK do
		local some = { unpack(members, i, math.min(i + CHUNK - 1, #members)) }
		for _, value in ipairs(redis.call('HMGET', lease, unpack(some))) do
			if member_read(value) ~= owner then
				return false
			end
		end
	end
	return true
end

-- All members of the owner, dead or not.
local function members_all(lease, owner)
	local flat, members = redis.call('HGETALL', lease), {}
	for i = 1, #flat, 2 do
		members[#members + 1] = member_read(flat[i + 1]) == owner and flat[i] or nil
	end
	return members
end

-- Whether any of it was the owner's.
local function group_release(lease, form, owner)
	kind_read(redis.call('HGET', lease, 'kind'))
	local ours = form.members
	if not (ours and members_ours(lease, ours, owner)) then
		ours = members_all(lease, owner)
	end
	for i = 1, #ours, CHUNK do
		redis.call('HDEL', lease, unpack(ours, i, math.min(i + CHUNK - 1, #ours)))
	end
	if redis.call('HLEN', lease) == 1 then
		redis.call('DEL', lease)
	end
	return #ours > 0
end

local function release(i)
	local lease, owner = keys[i + 1], args[i + 2]
	local form = form_read(args[n + i + 2], owner)
	if not form then
		return { 'error', 'ERR malformed call' }
	end
	local queue = queue_read(keys[n + 1 + i], queues == 0)
	local kind = redis.call('TYPE', lease).ok
	if kind == 'hash' then
		if not group_release(lease, form, owner) then
			return { 'no' }
		end
	elseif kind ~= 'none' and redis.call('GET', lease) == owner then
		redis.call('DEL', lease)
	else
		return { 'no' }
	end
	queue_prune(queue)
	if place_ms then
		queue_return(queue, owner, place_ms, form.place)
	elseif #queue.order > 0 then
		lock_call(kind == 'hash' and lock_glance(lease, queue), queue, args[2])
	end
	return 1
end

local answers = { 'ok', now }
for i = 1, n do
	answers[i + 2] = answer(release, i)
end
return answers
