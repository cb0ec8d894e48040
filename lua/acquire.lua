-- acquire: take the lease of each name, or a place in its queue.
--
-- KEYS  1: node; then the lease of each name; then the queue of each; with N masters then the fence of each
-- ARGV  1: incarnation; 2: daemon-id; 3: inbox prefix; 4: deadline (µs of this master's TIME); 5: token proposal;
--       then the owner of each name; with N masters, where 5 is '', then the token proposal of each; then terms,
--       four each: ttl (ms), block (tokens), queue (ms a place lives; 0: none; -1: it is
--       at another master, heed none here), of how many names from here on
-- Reply {'forgotten', time}, {'all', time, first} when every lease is ours, with the blocks one behind the other from
--       there on, and nobody waits; or {'ok', time, one answer per name}:
--       first                         the lease is ours; so are BLOCK tokens from this one on; nobody else waits
--       {'yes', first, last, waiting}  the same, and so many other daemons wait
--       {'busy', holder, position, change}  holder '': free, but others are ahead; position 0: not queued;
--                                     change: ms until something can change by itself
--       {'late'}                      executed after its deadline
--       {'wrongkind'}                 a key holds something else
--       {'error', text}
--
-- A name nobody waits for is taken at once, if it can be: that is the first half. What stands in the way, another
-- kind of key or a full master too, is found out in the second, of which nothing runs when no name needs it.
-- Repeating is harmless: an attempt that has the lease gets it again with a fresh block, a place in the queue
-- is kept, and a deadline stops a copy that was under way for too long.
-- include: clock
-- include: node

if not known or not admitted then
	return { 'forgotten', now }
end
-- include: decimal
-- include: tokens

local keys, args, try = KEYS, ARGV, redis.pcall -- locals cost less
local me, inbox, deadline = args[2], args[3], tonumber(args[4])
local fenced = args[5] == ''
local n = (#keys - 1) / (fenced and 3 or 2)
local ttl, block, queue_ms, proposal, refusal -- the terms, and what is wrong with them
local left, read = 0, 5 + n * (fenced and 2 or 1) -- names they still hold for; arguments that have been read

local function refused(ttl_ms)
	if not (deadline and ttl_ms and block and queue_ms and proposal) then
		return { 'error', 'ERR malformed call' }
	end
	if proposal > TOKEN_MAX or highest > TOKENS_END then
		return { 'error', 'ERR token proposal above 2^52, or the counter at its end' }
	end
	if block < 1 or block > BLOCK_MAX or queue_ms > 60000 then
		return { 'error', 'ERR block or queue time out of range' }
	end
	if ttl_ms < 1 or ttl_ms > ttl_max then
		return { 'error', 'ERR ttl is outside 1..' .. decimal(ttl_max) .. ' ms' }
	end
	return now > deadline and { 'late' } or nil
end

local function terms_read(i)
	if left == 0 then
		ttl, block, queue_ms = args[read + 1], tonumber(args[read + 2]), tonumber(args[read + 3])
		left = tonumber(args[read + 4]) or n
		read = read + 4
	end
	proposal = tonumber(fenced and args[n + 5 + i] or args[5])
	refusal = refused(tonumber(ttl))
end

local queues = redis.call('EXISTS', unpack(keys, n + 2, 2 * n + 1))
local answers, rest, taken = { 'ok', now, 0 }, {}, 0
for i = 1, n do
	if left == 0 or fenced then
		terms_read(i)
	end
	left = left - 1
	local alone = queues == 0 or queue_ms < 0 or redis.call('EXISTS', keys[n + 1 + i]) == 0
	local set = alone and not refusal and try('SET', keys[i + 1], args[i + 5], 'NX', 'PX', ttl)
	if set and set.ok then
		taken = taken + 1
		answers[i + 2] = tokens_take(keys[2 * n + 1 + i], proposal, block)
	else
		answers[i + 2] = refusal or 0
		rest[#rest + 1] = not refusal and { i, ttl, block, queue_ms, proposal } or nil
	end
end
if #rest == 0 then
	tokens_keep()
	return taken == n and not fenced and { 'all', now, answers[3] } or answers
end
-- include: number
-- include: queue
-- include: answer

-- The daemon of a lease taken by holdfast; nil: somebody else's lock under a foreign key template.
local function native(holder)
	local daemon = string.match(holder, '^(%x+):%d+$')
	return daemon and #daemon == 32 and daemon or nil
end

-- Whether this is a lease of ours that we have given up: who has one does not ask for another. An answer was
-- lost, or a late renewal has made it longer; nobody relies on it. Of a later attempt this call is a late copy.
local function abandoned(holder, owner)
	local daemon, other = string.match(holder, '^(%x+):(%d+)$')
	local attempt = number(string.match(owner, '%d+$'))
	return daemon == me and number(other) and attempt and number(other) < attempt
end

local function place_keep(queue)
	if queue_position(queue, me) == 0 then
		local last = redis.call('ZREVRANGE', queue.q, 0, 0, 'WITHSCORES')
		redis.call('ZADD', queue.q, decimal((tonumber(last[2]) or 0) + 1), me)
		table.insert(queue.order, me)
	end
	redis.call('HSET', queue.w, me, decimal(now + queue_ms * 1000))
	queue_live(queue, queue_ms)
end

-- The head had its window and left the lock alone.
local function head_to_tail(queue)
	local head = table.remove(queue.order, 1)
	table.insert(queue.order, head)
	if redis.call('ZSCORE', queue.q, head) then
		local last = redis.call('ZREVRANGE', queue.q, 0, 0, 'WITHSCORES')
		redis.call('ZADD', queue.q, decimal((tonumber(last[2]) or 0) + 1), head)
	end
end

-- Of a free lock: nil when it is ours to take, else ms until the one it is kept for has had its time.
local function turn_wait(queue)
	if queue_position(queue, me) == 0 then
		table.insert(queue.order, me) -- a single try stands at the end for the time of this call
	end
	if queue.order[1] == me then
		return nil
	end
	if queue.claim and queue.claim.daemon == queue.order[1] then
		if now < queue.claim.till then
			return math.ceil((queue.claim.till - now) / 1000)
		end
		head_to_tail(queue)
		if queue.order[1] == me then
			return nil
		end
	end
	queue_call_head(queue, inbox)
	return CLAIM_US / 1000
end

-- Of a taken lock: ms until it can end by itself. Tells the holder that somebody waits.
local function holder_wait(lease, holder, queue)
	local daemon = native(holder)
	local left = redis.call('PTTL', lease)
	if daemon and (left < 0 or left > ttl_max) then
		-- None of ours lives that long: the clock stepped back, or somebody took the expiry away.
		redis.call('PEXPIRE', lease, decimal(ttl_max))
		left = ttl_max
	end
	if daemon and daemon ~= me then
		redis.pcall('PUBLISH', inbox .. daemon, 'want ' .. queue_name(queue, inbox))
	end
	return left < 0 and ttl_max or left
end

-- Held by somebody else: wait in the queue.
local function busy_held(queue, lease, holder)
	if queue_ms > 0 then
		place_keep(queue)
	end
	if queue.claim and #queue.order > 0 then
		redis.call('HDEL', queue.w, 'claim')
	end
	return { 'busy', holder, queue_position(queue, me), holder_wait(lease, holder, queue) }
end

-- Free: nil when we may take it, else the answer.
local function busy_free(queue)
	if #queue.order == 0 then
		return nil
	end
	if queue_ms > 0 then
		place_keep(queue)
	end
	local queued = queue_position(queue, me) > 0
	local wait = turn_wait(queue)
	if not wait then
		return nil
	end
	return { 'busy', '', queued and queue_position(queue, me) or 0, wait }
end

local function acquire(i)
	local lease, owner = keys[i + 1], args[i + 5]
	local queue = queue_read(keys[n + 1 + i], queue_ms < 0)
	local holder = redis.call('GET', lease)
	queue_prune(queue)
	if holder and abandoned(holder, owner) then
		redis.call('DEL', lease)
		holder = false
	end
	if holder ~= owner then
		local busy
		if holder then
			busy = busy_held(queue, lease, holder)
		else
			busy = busy_free(queue)
		end
		if busy then
			return busy
		end
	end
	-- The tokens first: should the lease fail, only numbers are lost.
	local first, last = tokens_take(keys[2 * n + 1 + i], proposal, block)
	redis.call('SET', lease, owner, 'PX', ttl)
	queue_remove(queue, me)
	if queue.claim and #queue.order > 0 then
		redis.call('HDEL', queue.w, 'claim')
	end
	return { 'yes', first, last, #queue.order }
end

for _, one in ipairs(rest) do
	local i
	i, ttl, block, queue_ms, proposal = unpack(one)
	answers[i + 2] = answer(acquire, i)
end
tokens_keep()
return answers
