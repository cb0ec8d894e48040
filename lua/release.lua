-- release: end the owner's lease of each name, and call the head of the queue.
--
-- KEYS  1: node; then the lease of each name; then the queue of each
-- ARGV  1: incarnation; then the owner of each name; then, if other masters did not grant what was granted here, how
--       long (ms) its daemon is at the head of the queue again; or 0, if the answer has to tell the time; else left out
-- Reply {'forgotten', time}; 1 or, if it has to tell the time, {'all', time} if all were the owner's and are gone; or
--       {'ok', time, one answer per name}:
--       1        it was the owner's and is gone
--       {'no'}   not the owner's (any more); nothing was done
--       {'wrongkind'} or {'error', text}
--
-- The leases without waiters end with one command for all. A single name, as most calls have if few clients are at work, is
-- handled without tables: those would be a fifth of its time. Repeating is harmless: an attempt number is never used again,
-- so a late copy finds nothing of its own.

local keys, args = KEYS, ARGV -- locals cost less
local n = (#keys - 1) / 2
local place_ms = tonumber(args[n + 2])
local known = redis.call('HGET', keys[1], 'incarnation') == args[1]
local only = known and n == 1 and redis.pcall('GET', keys[2])
if only == args[2] and not place_ms and redis.call('EXISTS', keys[3]) == 0 then
	redis.call('DEL', keys[2])
	return 1
end
local holders, ours, ended, count = { only }, {}, {}, 0
if known and n > 1 then
	-- MGET returns nothing for another kind of key, as for none; that is examined below.
	holders = redis.call('MGET', unpack(keys, 2, n + 1))
end
if known and (not place_ms or place_ms == 0) then
	local queues = redis.call('EXISTS', unpack(keys, n + 2, 2 * n + 1))
	for i = 1, n do
		if holders[i] == args[i + 1] and (queues == 0 or redis.call('EXISTS', keys[n + 1 + i]) == 0) then
			count = count + 1
			ours[count], ended[i] = keys[i + 1], true
		end
	end
	if count > 0 then
		redis.call('DEL', unpack(ours))
	end
	if count == n and not place_ms then
		return 1
	end
end
-- include: clock

if not known then
	return { 'forgotten', now }
end
if count == n then
	return { 'all', now }
end

local answers, rest = { 'ok', now, 0 }, {}
for i = 1, n do
	answers[i + 2] = ended[i] and 1 or { 'no' }
	if not ended[i] and (holders[i] == args[i + 1] or type(holders[i]) ~= 'string') then
		rest[#rest + 1] = i
	end
end
if #rest == 0 then
	return answers
end
-- include: decimal
-- include: number
-- include: queue
-- include: answer

local inbox = string.gsub(keys[1], 'node$', 'inbox:')

local function release(i)
	local lease = keys[i + 1]
	local queue = queue_read(keys[n + 1 + i])
	if redis.call('GET', lease) ~= args[i + 1] then
		return { 'no' }
	end
	redis.call('DEL', lease)
	queue_prune(queue)
	if place_ms and place_ms > 0 then
		queue_return(queue, args[i + 1], place_ms, 'x')
	else
		queue_call_head(queue, inbox)
	end
	return 1
end

for _, i in ipairs(rest) do
	answers[i + 2] = answer(release, i)
end
return answers
