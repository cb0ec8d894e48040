-- acquire: take the lease of each name, or a place in its queue.
--
-- KEYS  1: node; then for each name: lease, queue (zset), waiting (hash), fence
-- ARGV  1: incarnation; 2: daemon-id; 3: inbox prefix; then for each name: name, attempt, ttl (ms),
--       deadline (µs of this master's TIME), token proposal, block (tokens), queue (ms a place lives; 0:
--       none; -1: the queue lives on another master, heed none here)
-- Reply {'forgotten', time} or {'ok', time, one answer per name}:
--       {'yes', first, last, waiting}  the lease is ours; so are these tokens; other daemons that wait
--       {'busy', holder, position, change}  holder '': free, but others are ahead; position 0: not queued;
--                                     change: ms until something can change by itself
--       {'late'}                      executed after its deadline
--       {'wrongkind'}                 a key holds something else
--       {'error', text}
--
-- Repeating is harmless: an attempt that has the lease gets it again with a fresh block, a place in the queue
-- is kept, and a deadline stops a copy that was under way for too long.
-- include: node
-- include: queue

if not known or not admitted then
	return { 'forgotten', decimal(now) }
end

-- Without its counter a name goes on above the highest token of all: nothing is lost when it ends, and who locks
-- ever new names does not fill the master.
local TOKENS_LIVE_MS = 60000
local me, inbox = ARGV[2], ARGV[3]
local reached = highest

-- The daemon of a lease taken by holdfast; nil: somebody else's lock under a foreign key template.
local function native(holder)
	local daemon = string.match(holder, '^(%x+):%d+$')
	return daemon and #daemon == 32 and daemon or nil
end

-- Whether this is a lease of ours that we have given up: who has one does not ask for another. An answer was
-- lost, or a late renewal has made it longer; nobody relies on it. Of a later attempt this call is a late copy.
local function abandoned(holder, attempt)
	local daemon, other = string.match(holder, '^(%x+):(%d+)$')
	return daemon == me and number(other) and number(attempt) and number(other) < number(attempt)
end

-- Raises the fencing counter strictly above all it ever was; with one master that is a majority.
local function tokens_reserve(fence, counter, proposal, block)
	local first = math.max(proposal, counter + 1)
	local last = first + block - 1
	redis.call('SET', fence, decimal(last), 'PX', TOKENS_LIVE_MS)
	reached = math.max(reached, last)
	return decimal(first), decimal(last)
end

local function place_keep(queue, queue_ms)
	if queue_position(queue, me) == 0 then
		local last = redis.call('ZREVRANGE', queue.q, 0, 0, 'WITHSCORES')
		redis.call('ZADD', queue.q, decimal((tonumber(last[2]) or 0) + 1), me)
		table.insert(queue.order, me)
	end
	redis.call('HSET', queue.w, me, decimal(now + queue_ms * 1000))
	if redis.call('PTTL', queue.q) < queue_ms then
		redis.call('PEXPIRE', queue.q, decimal(queue_ms))
	end
	if redis.call('PTTL', queue.w) < queue_ms then
		redis.call('PEXPIRE', queue.w, decimal(queue_ms))
	end
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
local function turn_wait(queue, name)
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
	queue_call_head(queue, inbox, name)
	return CLAIM_US / 1000
end

-- Of a taken lock: ms until it can end by itself. Tells the holder that somebody waits.
local function holder_wait(lease, holder, name)
	local daemon = native(holder)
	local left = redis.call('PTTL', lease)
	if daemon and (left < 0 or left > ttl_max) then
		-- None of ours lives that long: the clock stepped back, or somebody took the expiry away.
		redis.call('PEXPIRE', lease, decimal(ttl_max))
		left = ttl_max
	end
	if daemon and daemon ~= me then
		redis.pcall('PUBLISH', inbox .. daemon, 'want ' .. name)
	end
	return left < 0 and ttl_max or left
end

local function refused(deadline, ttl, proposal, block, queue_ms)
	if not (deadline and proposal and block and queue_ms) then
		return { 'error', 'ERR malformed call' }
	end
	if proposal > TOKEN_MAX then
		return { 'error', 'ERR token proposal above 2^52' }
	end
	if block < 1 or block > 1000000 or queue_ms * 1000 > PLACE_MAX_US then
		return { 'error', 'ERR block or queue time out of range' }
	end
	return ttl_refused(ttl)
end

-- Held by somebody else: wait in the queue.
local function busy_held(queue, lease, holder, name, queue_ms)
	if queue_ms > 0 then
		place_keep(queue, queue_ms)
	end
	if queue.claim and #queue.order > 0 then
		redis.call('HDEL', queue.w, 'claim')
	end
	local position = queue_position(queue, me)
	return { 'busy', holder, decimal(position), decimal(holder_wait(lease, holder, name)) }
end

-- Free: nil when we may take it, else the answer.
local function busy_free(queue, name, queue_ms)
	if #queue.order == 0 then
		return nil
	end
	if queue_ms > 0 then
		place_keep(queue, queue_ms)
	end
	local queued = queue_position(queue, me) > 0
	local wait = turn_wait(queue, name)
	if not wait then
		return nil
	end
	return { 'busy', '', decimal(queued and queue_position(queue, me) or 0), decimal(wait) }
end

local function acquire(i)
	local k, a = 4 * i - 2, 7 * i - 3
	local lease, fence, name = KEYS[k], KEYS[k + 3], ARGV[a]
	local ttl, deadline, proposal = number(ARGV[a + 2]), number(ARGV[a + 3]), number(ARGV[a + 4])
	local block, queueless = number(ARGV[a + 5]), ARGV[a + 6] == '-1'
	local queue_ms = queueless and 0 or number(ARGV[a + 6])
	local refusal = refused(deadline, ttl, proposal, block, queue_ms)
	if refusal then
		return refusal
	end
	if now > deadline then
		return { 'late' }
	end
	local owner = me .. ':' .. ARGV[a + 1]
	local counter = math.max(number(redis.call('GET', fence)) or highest, floor)
	if counter >= 2 * TOKEN_MAX - block then
		return { 'error', 'ERR fencing counter is exhausted' }
	end
	local queue = queueless and queue_none() or queue_read(KEYS[k + 1], KEYS[k + 2])
	local holder = redis.call('GET', lease)
	queue_prune(queue)
	if holder and abandoned(holder, ARGV[a + 1]) then
		redis.call('DEL', lease)
		holder = false
	end
	if holder ~= owner then
		local busy
		if holder then
			busy = busy_held(queue, lease, holder, name, queue_ms)
		else
			busy = busy_free(queue, name, queue_ms)
		end
		if busy then
			return busy
		end
	end
	-- The tokens first: should the lease fail, only numbers are lost.
	local first, last = tokens_reserve(fence, counter, proposal, block)
	redis.call('SET', lease, owner, 'PX', decimal(ttl))
	queue_remove(queue, me)
	if queue.claim and #queue.order > 0 then
		redis.call('HDEL', queue.w, 'claim')
	end
	return { 'yes', first, last, decimal(#queue.order) }
end

local answers = answer_each((#KEYS - 1) / 4, acquire)
if reached > highest then
	redis.call('HSET', KEYS[1], 'highest', decimal(reached))
end
return answers
