-- release: end the lease of each name, if it is ours, and call the head of its queue.
--
-- KEYS  1: node; then for each name: lease, queue (zset), waiting (hash)
-- ARGV  1: incarnation; 2: daemon-id; 3: inbox prefix; then for each name: name, attempt
-- Reply {'forgotten', time} or {'ok', time, one answer per name}:
--       {'yes'}  it was ours and is gone
--       {'no'}   not ours (any more); nothing was done
--       {'wrongkind'} or {'error', text}
--
-- Repeating is harmless: an attempt number is never used again, so a late copy finds nothing of its own.
-- include: node
-- include: queue

if not known then
	return { 'forgotten', decimal(now) }
end

local function release(i)
	local k, a = 3 * i - 1, 2 * i + 2
	local lease = KEYS[k]
	local queue = queue_read(KEYS[k + 1], KEYS[k + 2])
	if redis.call('GET', lease) ~= ARGV[2] .. ':' .. ARGV[a + 1] then
		return { 'no' }
	end
	redis.call('DEL', lease)
	queue_prune(queue)
	queue_call_head(queue, ARGV[3], ARGV[a])
	return { 'yes' }
end

return answer_each((#KEYS - 1) / 3, release)
