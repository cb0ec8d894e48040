-- leave: give up this daemon's place in the queue of each name; if the lock is free, the next head is called.
--
-- KEYS  1: node; then for each name: lease, queue (zset), waiting (hash)
-- ARGV  1: incarnation; 2: daemon-id; 3: inbox prefix; then for each name: name
-- Reply {'forgotten', time} or {'ok', time, one answer per name}:
--       {'yes'}  no place is left
--       {'wrongkind'} or {'error', text}
--
-- Repeating is harmless: a place that is gone stays gone, and calling a head twice only makes it look twice.
-- include: node
-- include: queue

if not known then
	return { 'forgotten', decimal(now) }
end

local function leave(i)
	local k, a = 3 * i - 1, i + 3
	local queue = queue_read(KEYS[k + 1], KEYS[k + 2])
	local free = redis.call('EXISTS', KEYS[k]) == 0
	queue_prune(queue)
	queue_remove(queue, ARGV[2])
	if free and not (queue.claim and queue.claim.daemon == queue.order[1]) then
		queue_call_head(queue, ARGV[3], ARGV[a])
	end
	return { 'yes' }
end

return answer_each((#KEYS - 1) / 3, leave)
