-- latch: set the latch of each name, count it down, or look at it.
--
-- KEYS  1: node; then the latch of each name, 'NAMESPACE:{NAME}:l'
-- ARGV  1: incarnation; 2: daemon-id; 3: inbox prefix; then of each name what to do: 'set', 'down' or 'look'; then
--       the id of each latch: set gives it this id, down counts no other latch; then the deadline of each (µs of this
--       master's TIME), for set; then the steps of each; then how long each lives (ms; 0: a day, and one more with each
--       use); then for how long (ms; 0: not at all) this daemon wants news of each; then who counts each down,
--       '<session>' or '<session>:<tag>'
-- Reply {'forgotten', time} or {'ok', time, one answer per name}:
--       {'yes', id, set, left, ttl}  the latch as it is now: the steps it was set to, the steps that are left, and
--                                    the ms it lives if it is not used; after set and down the id tells whether it
--                                    is the latch that was meant
--       {'no'}             there is no such latch
--       {'no', id, ttl}    this one was set before the master's memory changed: it may lack steps
--       {'late'}           set was executed after its deadline
--       {'wrongkind'}      the key holds something else
--       {'error', text}
--
-- Each latch is a hash: id, memory (the incarnation in which it was set), set, done, lease ('1': it ends at its time, used
-- or not), and 'by:<daemon-id>:<who>' -> steps. Beside it, at key .. 'w', is a hash of the daemons that want news:
-- daemon-id -> deadline (µs). Each of them is told once, 'latch NAME', when the latch is set and when it opens.
--
-- Each call publishes an empty message, so that it writes to the stream of the replicas even if nothing changes. A replica
-- that acknowledges it has everything that the answer tells: a cut-off master cannot tell anything on its own
-- (replicas-ack).
--
-- Repeating is harmless: an existing latch is not set again, and a daemon that set it finds its own id; the deadline stops
-- a late copy of a set. Of the downs of one counter the highest number of steps counts, and only for the very latch that
-- was meant: so a copy has no effect, however late.
-- include: clock
-- include: node

if not known or not admitted then
	return { 'forgotten', now }
end
-- include: decimal
-- include: number
-- include: answer

local DAY_MS = 86400000

local keys, args = KEYS, ARGV
local memory, me, inbox = fields[1], args[2], args[3]
local n = #keys - 1

redis.call('PUBLISH', inbox, '')

local function left_of(latch)
	return math.max(0, latch.set - latch.done)
end

local function said(latch)
	return { 'yes', latch.id, latch.set, left_of(latch), latch.ttl }
end

local function gone(latch)
	return latch and { 'no', latch.id, latch.ttl } or { 'no' }
end

-- The latch, and whether it counts; nil: there is none.
local function latch_read(key)
	local field = redis.call('HMGET', key, 'id', 'memory', 'set', 'done', 'lease')
	local latch = { key = key, id = field[1], set = number(field[3]), done = number(field[4]) }
	if latch.id and latch.set and latch.done then
		local ttl = redis.call('PTTL', key)
		latch.leased = field[5] == '1'
		latch.ttl = ttl >= 0 and ttl or DAY_MS
		return latch, field[2] == memory
	end
	if redis.call('EXISTS', key) == 1 then
		error({ err = 'WRONGTYPE no latch' })
	end
	return nil, false
end

-- The latch was used: it lives another day, unless it has a time of its own.
local function latch_keep(latch)
	if not latch.leased then
		redis.call('PEXPIRE', latch.key, DAY_MS)
		latch.ttl = DAY_MS
	end
end

-- NAME before it was put into braces.
local function latch_name(key)
	local name = string.sub(key, #inbox - #':inbox:' + #':{' + 1, -#'}:l' - 1)
	return (string.gsub(name, '%%(%x%x)', function(hex)
		return string.char(tonumber(hex, 16))
	end))
end

local function latch_tell(key)
	local watching = redis.pcall('HGETALL', key .. 'w')
	redis.call('DEL', key .. 'w')
	for i = 1, #watching, 2 do
		local till = number(watching[i + 1])
		if watching[i] ~= me and till and till > now then
			redis.pcall('PUBLISH', inbox .. watching[i], 'latch ' .. latch_name(key))
		end
	end
end

-- If this fails, only a hint is lost: a full master stores nothing new.
local function latch_watch(key, watch)
	local kept = redis.pcall('HSET', key .. 'w', me, decimal(now + watch * 1000))
	if type(kept) == 'number' and redis.call('PTTL', key .. 'w') < watch then
		redis.call('PEXPIRE', key .. 'w', decimal(watch))
	end
end

local todo = {}

function todo.set(key, id, deadline, steps, live)
	local latch, counts = latch_read(key)
	if counts then
		return said(latch)
	end
	if now > deadline then
		return { 'late' }
	end
	if latch then
		redis.call('DEL', key)
	end
	latch = { key = key, id = id, set = steps, done = 0, ttl = live > 0 and live or DAY_MS }
	redis.call('HSET', key, 'id', id, 'memory', memory, 'set', decimal(steps), 'done', '0',
		'lease', live > 0 and '1' or '0')
	redis.call('PEXPIRE', key, decimal(latch.ttl))
	latch_tell(key)
	return said(latch)
end

function todo.down(key, id, _, steps, _, _, who)
	local latch, counts = latch_read(key)
	if not counts then
		return gone(latch)
	end
	local by = 'by:' .. me .. ':' .. who
	local before = latch.id == id and left_of(latch) > 0 and number(redis.call('HGET', key, by) or '0')
	if before and steps > before then
		-- After a first write that needs no memory a full master takes this down, too: others wait for it.
		redis.call('HDEL', key, '')
		latch.done = latch.done + steps - before
		redis.call('HSET', key, by, decimal(steps), 'done', decimal(latch.done))
		if left_of(latch) == 0 then
			latch_tell(key)
		end
	end
	latch_keep(latch)
	return said(latch)
end

function todo.look(key, _, _, _, _, watch)
	local latch, counts = latch_read(key)
	if watch > 0 and not (counts and left_of(latch) == 0) then
		latch_watch(key, watch)
	end
	if not counts then
		return gone(latch)
	end
	latch_keep(latch)
	return said(latch)
end

-- The k-th argument of the i-th name.
local function arg(k, i)
	return args[3 + (k - 1) * n + i]
end

local function one(i)
	local deadline, steps, live, watch = tonumber(arg(3, i)), tonumber(arg(4, i)), tonumber(arg(5, i)), tonumber(arg(6, i))
	if not (deadline and steps and live and watch) then
		return { 'error', 'ERR malformed call' }
	end
	return todo[arg(1, i)](keys[i + 1], arg(2, i), deadline, steps, live, watch, arg(7, i))
end

local answers = { 'ok', now }
for i = 1, n do
	answers[i + 2] = answer(one, i)
end
return answers
