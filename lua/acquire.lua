-- acquire: take the lease of each name, or a place in its queue.
--
-- KEYS  1: node; then the lease of each name; then the queue of each; with N masters then the fence of each
-- ARGV  1: incarnation; 2: deadline (µs of this master's TIME); 3: token proposal; then the owner of each name; then
--       terms, four each: ttl (ms), block (tokens), queue (ms a place lives; 0: no place; -1: the queue is at another
--       master, ignore it here), number of names from here on with these terms; the last is left out for all remaining
--       names; with N masters, where 3 is '', the token proposal stands before the number
-- Reply {'forgotten', time}; if every lease was taken and no queue has waiters, {'all', time, first} with consecutive
--       blocks from first on, or, as a text, '<s of time> <µs> <token>' with consecutive blocks right above that token;
--       or with N masters {'all', time, first} if each block begins with this token;
--       or {'ok', time, one answer per name}; if one is busy the time is '<time> <highest token>':
--       first                         the lease is the caller's, and so are BLOCK tokens from this one on; no daemon waits
--       {'yes', first, last, waiting}  the same, and this many other daemons wait
--       {'busy', holder, position, change}  holder '': free, but others are ahead; position 0: not queued;
--                                     change: ms until something can change by itself
--       {'late'}                      executed after its deadline
--       {'wrongkind'}                 a key holds something else
--       {'error', text}
--       {'forgotten'} a lease of this length is not allowed here (any more); nothing was done
--
-- The first half takes each name that has no waiters, if it is free. The second half finds out what is in the way of the
-- other names, be it another kind of key or a full master; it does not run if there are none. The first half makes no
-- functions and formats no numbers: for one name that took a quarter of its time.
-- Repeating is harmless: an attempt that has the lease gets it again with a fresh block, a place in the queue is kept, and
-- the deadline stops a copy that was under way for too long.
-- include: clock
-- include: node

if not known or not admitted then
	return { 'forgotten', now }
end
-- include: tokens

local keys, args, try = KEYS, ARGV, redis.pcall -- locals cost less
local common, deadline = 3, tonumber(args[2])
local fenced = args[common] == ''
local n = (#keys - 1) / (fenced and 3 or 2)
local ttl, block, queue_ms, proposal, refusal -- the terms, and what is wrong with them
local left, read = 0, common + n -- names that still have these terms; arguments read so far

local queues -- how many of the names with these terms have one
local answers, rest, ours, taken = { 'ok', now, 0 }, {}, fenced and {}, 0
local alike = 0 -- with N masters: how many begin with the same token
for i = 1, n do
	if left == 0 then
-- include: terms
		queues = 0
		if queue_ms and queue_ms >= 0 then
			queues = redis.call('EXISTS', unpack(keys, n + 1 + i, math.min(n + i + left, 2 * n + 1)))
		end
	end
	left = left - 1
	local alone = queues == 0 or redis.call('EXISTS', keys[n + 1 + i]) == 0
	local set = alone and not refusal and try('SET', keys[i + 1], args[common + i], 'NX', 'PX', ttl)
	if not (set and set.ok) then
		answers[i + 2] = refusal or 0
		rest[#rest + 1] = not refusal and { i, ttl, block, queue_ms, proposal } or nil
	elseif fenced then
		local k = #ours
		ours[k + 1], ours[k + 2], ours[k + 3] = i, proposal, block
	else
		taken = taken + 1
		answers[i + 2] = proposal > reached and proposal or reached + 1
		reached = answers[i + 2] + block - 1
	end
end
if taken > 0 and proposal <= highest + 1 then
	redis.call('HINCRBY', keys[1], 'highest', n == 1 and args[read - 2] or reached - highest)
	if taken == n then
		return clock[1] .. ' ' .. clock[2] .. ' ' .. fields[3]
	end
	highest = reached
end
-- include: decimal
-- include: block

local fences = fenced and #ours > 0 and redis.call('MGET', unpack(keys, 2 * n + 2, 3 * n + 1))
for k = 1, fenced and #ours or 0, 3 do
	local i = ours[k]
	answers[i + 2] = tokens_take(keys[2 * n + 1 + i], ours[k + 1], ours[k + 2], fences[i])
	alike = alike + (answers[i + 2] == answers[ours[1] + 2] and 1 or 0)
end
if #rest == 0 then
	tokens_keep()
	return (taken == n or alike == n) and { 'all', now, answers[3] } or answers
end

local me, inbox = string.match(args[common + 1], '^%x+'), string.gsub(keys[1], 'node$', 'inbox:')
-- include: number
-- include: queue
-- include: answer
-- include: owner
-- include: group
-- include: next
-- include: place
-- include: extend

-- The lock is held: the caller waits in the queue.
local function busy_held(queue, holder, change)
	if queue_ms > 0 then
		place_keep(queue, 'x')
	end
	claim_drop(queue)
	return { 'busy', holder, queue_position(queue, me), change }
end

-- The lock is free: nil if the caller may take it, else the answer.
local function busy_free(queue)
	if #queue.order == 0 then
		return nil
	end
	if queue_ms > 0 then
		place_keep(queue, 'x')
	end
	local queued = queue_position(queue, me) > 0
	local wait = turn_wait(queue, false, 'x')
	if not wait then
		return nil
	end
	return { 'busy', '', queued and queue_position(queue, me) or 0, wait }
end

-- nil if the caller may take it, else the answer.
local function busy(queue, lease, owner, lock)
	if type(lock) == 'string' then
		if lock == owner then
			return nil
		end
		return busy_held(queue, lock, holder_wait(lease, lock, queue))
	end
	lock = lock and group_left(lock)
	if not lock then
		return busy_free(queue)
	end
	group_want(lock, me, inbox, queue_name(queue, inbox)) -- daemons that only retain permits give them back
	if lock.limit then
		place_drop(queue, lock)
		return { 'wrongkind' }
	end
	return busy_held(queue, group_last(lock), group_rest(lock, lock.count))
end

local function acquire(i)
	local lease, owner = keys[i + 1], args[common + i]
	local queue = queue_read(keys[n + 1 + i], queue_ms < 0)
	queue.attempt = owner_attempt(owner)
	local lock = lock_read(lease)
	queue_prune(queue)
	local said = busy(queue, lease, owner, lock)
	if said then
		refuses = true
		return said
	end
	-- The tokens first: if the lease fails, only numbers are lost.
	local first, last = tokens_take(keys[2 * n + 1 + i], proposal, block)
	if lock == owner then
		lease_extend(lease, ttl)
	else
		redis.call('SET', lease, owner, 'PX', ttl)
	end
	queue_remove(queue, me)
	claim_drop(queue)
	return { 'yes', first, last, #queue.order }
end

for _, one in ipairs(rest) do
	local i
	i, ttl, block, queue_ms, proposal = unpack(one)
	answers[i + 2] = answer(acquire, i)
end
tokens_keep()
answers[2] = time_and_mark()
return answers
