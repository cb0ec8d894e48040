-- group_acquire: take a share of each name, or a place in its queue. A share makes the caller one of the readers, or gives
-- it some of the permits.
--
-- KEYS  1: node; then the lease of each name; then the queue of each; with N masters then the fence of each
-- ARGV  1: incarnation; 2: daemon-id; 3: inbox prefix; 4: deadline (µs of this master's TIME); 5: token proposal;
--       then the owner of each name; then the form of each (see form.inc); then terms, four each: ttl (ms), block
--       (tokens), queue (ms a place lives; 0: no place; -1: the queue is at another master, ignore it here), number of
--       names from here on with these terms; the last is left out for all remaining names; with N masters, where 5 is
--       '', the token proposal stands before the number
-- Reply {'forgotten', time} or {'ok', time, one answer per name}; if one is busy the time is '<time> <highest
--       token>':
--       first                         readers: the caller is one; BLOCK tokens from this one on are its; no writer waits
--       {'yes', first, last, waiting, slots}  the same, and this many other daemons wait, among readers only if one
--                                     of them wants to write, of permits only if the first lacks some; slots: the
--                                     permits that the caller has ('3,7')
--       {'busy', holder, position, change, slots}  holder '': it could be had, but others are ahead; position 0: not
--                                     queued; change: ms until something can change by itself; slots: if the named
--                                     permits are taken, others that could be had, or ''
--       {'limit', n}                  there are n permits while any of them is taken
--       {'late'}                      executed after its deadline
--       {'wrongkind'}                 another kind of lock is taken here, or a key holds something else; as with 'limit',
--                                     the daemons of that lock are told, since they may only retain it
--       {'error', text}
--       {'forgotten'} a lease of this length is not allowed here (any more); nothing was done
--
-- Readers overtake only readers, and no waiter overtakes one that waits for more permits than are free. If more than a
-- hundred permits are taken they are examined one by one only once in a second, so that the master has time for other
-- commands. With N masters an attempt that names permits gets exactly these or none: permits that it was given before are
-- taken back.
-- Repeating is harmless. A reader is one member, however often it asks. Permits that the attempt has are found again; if
-- more than a hundred are taken and others before them have become free meanwhile, these are taken as well, until they run
-- out. What the attempt has never ends earlier than before, and the deadline stops a copy that was under way for too long.
-- include: clock
-- include: node

if not known or not admitted then
	return { 'forgotten', now }
end
-- include: decimal
-- include: number
-- include: tokens

local keys, args = KEYS, ARGV
local me, inbox, deadline = args[2], args[3], tonumber(args[4])
local common = 5
local fenced = args[common] == ''
local n = (#keys - 1) / (fenced and 3 or 2)
local forms = common + n -- arguments before the first form
local ttl, block, queue_ms, proposal, refusal -- the terms, and what is wrong with them
local left, read = 0, forms + n -- names that still have these terms; arguments read so far
-- include: block
-- include: queue
-- include: answer
-- include: owner
-- include: group
-- include: next
-- include: place
-- include: form

-- If more than CHUNK permits are taken, all are examined once in this time: within the longest lease the end of each is
-- noticed.
local LOOK_US = math.min(1000000, ttl_max * 1000)

-- Sorts out which of these permits the owner has, and which are free. lock: the group, if it was read; else the permits are
-- read here.
local function slots_sort(it, lock, slots, mine, free)
	local values = not lock and redis.call('HMGET', it.lease, unpack(slots))
	for k, slot in ipairs(slots) do
		local owner, deadline
		if lock then
			owner, deadline = lock.owner[slot], lock.deadline[slot]
		else
			owner, deadline = member_read(values[k])
		end
		if not owner or deadline <= now then
			free[#free + 1] = slot
		elseif owner == it.owner then
			mine[#mine + 1] = slot
			it.till = math.max(it.till, deadline)
		end
	end
end

-- The named permits, or nil; second: whether the owner has them already.
local function slots_named(it, lock)
	local slots, mine, free = it.form.members, {}, {}
	for i = 1, #slots, CHUNK do
		slots_sort(it, lock, { unpack(slots, i, math.min(i + CHUNK - 1, #slots)) }, mine, free)
	end
	return #mine + #free == #slots and slots or nil, #mine == #slots
end

-- The holder of the first named permit that the owner does not have.
local function slots_holder(it, lock)
	for _, slot in ipairs(it.form.members) do
		local owner = lock.owner[slot]
		if owner and owner ~= it.owner then
			return owner
		end
	end
end

-- Drops the permits of the attempt that are not named now: this master first gave it others than most masters did.
local function others_drop(it, lock)
	local named, others = {}, {}
	for _, slot in ipairs(it.form.members) do
		named[slot] = true
	end
	for _, slot in ipairs(lock.order) do
		if lock.owner[slot] == it.owner and not named[slot] then
			others[#others + 1] = slot
		end
	end
	for _, slot in ipairs(others) do
		group_drop(lock, slot)
	end
end

-- As many permits as are wanted, or nil; second: whether the owner has them already.
local function slots_any(it, lock)
	local form, mine, free = it.form, {}, {}
	for from = 0, form.limit - 1, CHUNK do
		local slots = {}
		for k = from, math.min(from + CHUNK, form.limit) - 1 do
			slots[#slots + 1] = string.format('%d', (form.hint + k) % form.limit)
		end
		slots_sort(it, lock, slots, mine, free)
		if #mine + #free >= form.permits then
			break
		end
	end
	if #mine + #free < form.permits then
		return nil, false
	end
	local slots = {}
	for k = 1, form.permits do
		slots[k] = tonumber(mine[k] or free[k - #mine]) -- numbers: thousands of texts sort slowly
	end
	table.sort(slots)
	for k = 1, form.permits do
		slots[k] = string.format('%d', slots[k])
	end
	return slots, #mine >= form.permits
end

-- The members of the group that the owner would be, or nil if too much is taken; second: whether it has these permits
-- already.
local function members_find(it, lock)
	if not it.form.limit then
		return it.form.members, false
	end
	return (it.form.members and slots_named or slots_any)(it, lock)
end

local function take(it, members)
	local queue = it.queue
	-- The tokens first: if the lease fails, only numbers are lost.
	local first, last = tokens_take(it.fence, proposal, block)
	group_put(it.lease, it.form.kind, members, it.owner, tonumber(ttl), it.till)
	queue_remove(queue, me)
	if #queue.order > 0 then
		lock_call(lock_glance(it.lease, queue), queue, inbox)
	end
	local others = queue_waiting(queue, it.form, it.lease)
	if others == 0 and not it.form.limit then
		return first
	end
	return { 'yes', first, last, others, it.form.limit and table.concat(members, ',') or '' }
end

-- Permits that can be had without examining all others: enough are free even if no member is dead.
local function glance(it)
	local kind = redis.pcall('HGET', it.lease, 'kind')
	if kind == it.form.kind then
		it.count = redis.call('HLEN', it.lease) - 1
	elseif kind or redis.call('EXISTS', it.lease) == 1 then
		return nil
	end
	if it.form.members or it.count + it.form.permits <= it.form.limit then
		local members, ours = members_find(it)
		if members and (ours or turn_ours(it.queue, it.form.place)) then
			return members
		end
		it.enough = members ~= nil
	end
end

local function refuse(it, lock, ...)
	place_drop(it.queue, lock)
	return { ... }
end

local function busy(it, queued, holder, change, slots)
	refuses = true
	return { 'busy', holder, queued and queue_position(it.queue, me) or 0, change, slots or '' }
end

-- The first holder that is found, from the hint on. The daemons of those that are found are told that a daemon waits.
local function somebody(it)
	local slots, told, first = {}, { [me] = true }, ''
	for k = 1, math.min(CHUNK, it.form.limit) do
		slots[k] = string.format('%d', (it.form.hint + k - 1) % it.form.limit)
	end
	for _, value in ipairs(redis.call('HMGET', it.lease, unpack(slots))) do
		local id = value and string.sub(value, 1, 32)
		if id and (first == '' or not told[id]) then
			local owner = member_read(value)
			local daemon = owner and not told[id] and native(owner)
			first = first == '' and owner or first
			told[id] = true
			if daemon then
				redis.pcall('PUBLISH', inbox .. daemon, 'want ' .. queue_name(it.queue, inbox))
			end
		end
	end
	return first
end

-- For many permits that were examined a short time ago: busy, since they are not examined again so soon. Else nil.
local function busy_crowd(it)
	local looked = number(redis.call('HGET', it.queue.w, 'looked'))
	if not looked or looked > now or now - looked >= LOOK_US then
		return nil
	end
	queue_prune(it.queue)
	if queue_ms > 0 then
		place_keep(it.queue, it.form.place)
	end
	return busy(it, true, it.enough and '' or somebody(it), math.ceil((looked + LOOK_US - now) / 1000))
end

local function crowd_looked(it)
	redis.call('HSET', it.queue.w, 'looked', decimal(now))
	if redis.call('PTTL', it.queue.w) < 0 then
		redis.call('PEXPIRE', it.queue.w, LOOK_US / 1000)
	end
end

-- The lock is an exclusive lease: the answer, or nil if it is the owner's and becomes a shared one.
local function look_alone(it, owner)
	if owner == it.owner and not it.form.limit then
		it.till = now + 1000 * redis.call('PTTL', it.lease)
		redis.call('DEL', it.lease)
		return nil
	elseif it.form.limit then
		holder_wait(it.lease, owner, it.queue) -- a daemon that only retains the lease gives it back
		return refuse(it, owner, 'wrongkind')
	end
	if queue_ms > 0 then
		place_keep(it.queue, it.form.place)
	end
	claim_drop(it.queue)
	return busy(it, true, owner, holder_wait(it.lease, owner, it.queue))
end

-- The lock is a group: the answer, or nil if the owner may join it.
local function look_group(it, lock)
	if not lock or lock.kind == it.form.kind then
		return nil
	end
	group_want(lock, me, inbox, queue_name(it.queue, inbox)) -- daemons that only retain what they have give it back
	if lock.limit and it.form.limit then
		return refuse(it, lock, 'limit', lock.limit)
	end
	return refuse(it, lock, 'wrongkind')
end

-- Others come first, or too little is free. wait: see turn_wait().
local function busy_group(it, lock, queued, wait, members)
	local holder, slots = '', ''
	if lock and lock.limit and lock.count > CHUNK then
		crowd_looked(it)
	end
	if not members then
		holder = it.form.members and slots_holder(it, lock) or group_last(lock)
		slots = it.form.members and slots_any(it, lock) or {}
		slots = table.concat(slots, ',')
	end
	if wait then
		return busy(it, queued, holder, wait, slots)
	end
	local head = it.queue.form[it.queue.order[1]] or it.form.place
	local need = tonumber(string.match(head, '^p(%d+)$'))
	local lack = need and lock.limit and need - (lock.limit - lock.count) or lock.count
	group_want(lock, me, inbox, queue_name(it.queue, inbox))
	return busy(it, queued, holder, group_rest(lock, lack), slots)
end

-- The caller cannot use its turn. A single try, which has no place, leaves the turn to the next waiter: ms for which the
-- lock is kept for that one; else nil.
local function turn_pass(queue, lock, place, queued)
	if not queued and #queue.order > 1 then
		table.remove(queue.order, 1)
		if lock_takes(lock, queue.form[queue.order[1]]) then
			queue_call_head(queue, inbox)
			return CLAIM_US / 1000
		end
	end
	if not lock_takes(lock, place) then
		claim_drop(queue)
	end
end

-- The queue decides: takes the share if it is the caller's turn and enough is free.
local function line_up(it, lock)
	local queue, place, wait = it.queue, it.form.place, nil
	local members, ours = members_find(it, lock)
	if members and (ours or turn_ours(queue, place)) then
		return take(it, members)
	end
	if queue_ms > 0 then
		place_keep(queue, place)
	end
	local queued = queue_position(queue, me) > 0
	if #queue.order > 0 then
		wait = turn_wait(queue, lock, place)
	end
	if wait == nil and members then
		return take(it, members)
	end
	if wait == nil then
		wait = turn_pass(queue, lock, place, queued)
	end
	return busy_group(it, lock, queued, wait, members)
end

local function acquire(i)
	local owner = args[i + 5]
	local it = { lease = keys[i + 1], fence = keys[2 * n + 1 + i], owner = owner, count = 0, till = now }
	it.form = form_read(args[forms + i], owner)
	if not it.form then
		return { 'error', 'ERR malformed call' }
	end
	it.queue = queue_read(keys[n + 1 + i], queue_ms < 0)
	it.queue.attempt = owner_attempt(owner)
	local mends = fenced and it.form.limit and it.form.members -- with one master there is nothing to repair
	local members = it.form.limit and not mends and glance(it)
	if members then
		return take(it, members)
	end
	local crowded = it.count > CHUNK and busy_crowd(it)
	if crowded then
		return crowded
	end
	local lock, said = lock_read(it.lease), nil
	local mine = type(lock) == 'string' and lock or lock and lock.owner[me]
	queue_prune(it.queue)
	if type(lock) == 'string' then
		lock, said = false, look_alone(it, lock)
	else
		if mends and lock then
			others_drop(it, lock)
		end
		lock = lock and group_left(lock)
		said = look_group(it, lock)
	end
	if said then
		return said
	elseif mine == owner then
		it.till = lock and lock.deadline[me] or it.till
		return take(it, it.form.members) -- also a lease that was exclusive before
	elseif mine and lock and lock.owner[me] then
		return busy(it, true, mine, group_rest(lock, lock.count)) -- another attempt of this daemon ends first
	end
	return line_up(it, lock)
end

local answers = { 'ok', now, 0 }
for i = 1, n do
	if left == 0 then
-- include: terms
	end
	left = left - 1
	answers[i + 2] = refusal or answer(acquire, i)
end
tokens_keep()
answers[2] = time_and_mark()
return answers
