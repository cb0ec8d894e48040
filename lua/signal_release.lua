-- signal_release: release, where python-redis-lock locks the names, too. Its waiters wait in BLPOP on a list beside the lock:
-- one element wakes one of them.
--
-- KEYS  1: node; then the lease of each name, 'lock:NAME'; then the queue of each
-- ARGV  as for release
-- Reply {'forgotten', time} or {'ok', time, one answer per name}, as for release
--
-- Repeating is harmless, as for release: what is not the owner's is not signalled.
-- include: clock

if redis.call('HGET', KEYS[1], 'incarnation') ~= ARGV[1] then
	return { 'forgotten', now }
end
-- include: decimal
-- include: number
-- include: queue
-- include: answer

local SIGNAL_MS = 1000 -- as long as the library leaves an element that no waiter takes

local n = (#KEYS - 1) / 2
local place_ms = tonumber(ARGV[n + 2]) or 0
local inbox = string.gsub(KEYS[1], 'node$', 'inbox:')

local function signal(lease)
	local list = 'lock-signal:' .. string.sub(lease, #'lock:' + 1)
	redis.call('DEL', list)
	redis.call('LPUSH', list, 1)
	redis.call('PEXPIRE', list, SIGNAL_MS)
end

local function release(i)
	local lease = KEYS[i + 1]
	local queue = queue_read(KEYS[n + 1 + i])
	if redis.call('GET', lease) ~= ARGV[i + 1] then
		return { 'no' }
	end
	redis.call('DEL', lease)
	queue_prune(queue)
	if place_ms > 0 then
		queue_return(queue, ARGV[i + 1], place_ms, 'x')
		return 1
	end
	queue_call_head(queue, inbox)
	signal(lease)
	return 1
end

local answers = { 'ok', now }
for i = 1, n do
	answers[i + 2] = answer(release, i)
end
return answers
