-- release: end the lease of each name, if it is ours, and call the head of its queue.
--
-- KEYS  1: node; then the lease of each name; then the queue of each
-- ARGV  1: incarnation; 2: inbox prefix; then the owner of each name; then, where other masters did not grant what was
--       granted here, how long (ms) its daemon stands at the head of the queue again; else none
-- Reply {'forgotten', time}, {'all', time} when all were ours and are gone, or {'ok', time, one answer per name}:
--       1        it was ours and is gone
--       {'no'}   not ours (any more); nothing was done
--       {'wrongkind'} or {'error', text}
--
-- What is ours and nobody waits for ends with one command for all.
-- Repeating is harmless: an attempt number is never used again, so a late copy finds nothing of its own.
-- include: clock

if redis.call('HGET', KEYS[1], 'incarnation') ~= ARGV[1] then
	return { 'forgotten', now }
end

local keys, args = KEYS, ARGV -- locals cost less
local n = (#keys - 1) / 2
local place_ms = tonumber(args[n + 3])
local holders = redis.call('MGET', unpack(keys, 2, n + 1))
local queues = redis.call('EXISTS', unpack(keys, n + 2, 2 * n + 1))
local answers, ours, rest = { 'ok', now, 0 }, {}, {}
for i = 1, n do
	if holders[i] ~= args[i + 2] then
		answers[i + 2] = { 'no' }
		rest[#rest + 1] = not holders[i] and i or nil -- gone, or another kind of key
	else
		answers[i + 2] = 1
		if not place_ms and (queues == 0 or redis.call('EXISTS', keys[n + 1 + i]) == 0) then
			ours[#ours + 1] = keys[i + 1]
		else
			rest[#rest + 1] = i
		end
	end
end
if #ours > 0 then
	redis.call('DEL', unpack(ours))
end
if #ours == n then
	return { 'all', now }
end
if #rest == 0 then
	return answers
end
-- include: decimal
-- include: number
-- include: queue
-- include: answer

local function release(i)
	local lease = keys[i + 1]
	local queue = queue_read(keys[n + 1 + i])
	if redis.call('GET', lease) ~= args[i + 2] then
		return { 'no' }
	end
	redis.call('DEL', lease)
	queue_prune(queue)
	if place_ms then
		queue_return(queue, string.match(args[i + 2], '^%x+'), place_ms, 'x')
	else
		queue_call_head(queue, args[2])
	end
	return 1
end

for _, i in ipairs(rest) do
	answers[i + 2] = answer(release, i)
end
return answers
