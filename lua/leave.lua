-- leave: give up this daemon's place in the queue of each name; the next head is called when it can have the lock.
--
-- KEYS  1: node; then the lease of each name; then the queue of each
-- ARGV  1: incarnation; 2: daemon-id; 3: inbox prefix
-- Reply {'forgotten', time} or {'ok', time, one answer per name}:
--       1  no place is left
--       {'wrongkind'} or {'error', text}
--
-- Repeating is harmless: a place that is gone stays gone, and calling a head twice only makes it look twice.
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

local n = (#KEYS - 1) / 2

local function leave(i)
	local queue = queue_read(KEYS[n + 1 + i])
	queue_prune(queue)
	queue_remove(queue, ARGV[2])
	if #queue.order > 0 then
		lock_call(lock_read(KEYS[i + 1]), queue, ARGV[3])
	end
	return 1
end

local answers = { 'ok', now }
for i = 1, n do
	answers[i + 2] = answer(leave, i)
end
return answers
