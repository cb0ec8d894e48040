-- leave: give up this daemon's place in the queue of each name; if the lock is free, the next head is called.
--
-- KEYS  1: node; then the lease of each name; then the queue of each
-- ARGV  1: incarnation; 2: daemon-id; 3: inbox prefix
-- Reply {'forgotten', time} or {'ok', time, one answer per name}:
--       1  no place is left
--       {'wrongkind'} or {'error', text}
--
-- Repeating is harmless: a place that is gone stays gone, and calling a head twice only makes it look twice.
-- include: clock

if redis.call('HGET', KEYS[1], 'incarnation') ~= ARGV[1] then
	return { 'forgotten', now }
end
-- include: decimal
-- include: number
-- include: queue
-- include: answer

local n = (#KEYS - 1) / 2

local function leave(i)
	local queue = queue_read(KEYS[n + 1 + i])
	local free = redis.call('EXISTS', KEYS[i + 1]) == 0
	queue_prune(queue)
	queue_remove(queue, ARGV[2])
	if free and not (queue.claim and queue.claim.daemon == queue.order[1]) then
		queue_call_head(queue, ARGV[3])
	end
	return 1
end

local answers = { 'ok', now }
for i = 1, n do
	answers[i + 2] = answer(leave, i)
end
return answers
