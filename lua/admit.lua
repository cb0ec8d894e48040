-- admit: end the guard; raise the token floor and give the master its vote back.
--
-- KEYS  1: node; 2: reclaimed
-- ARGV  1: incarnation; 2: highest token known or, with N masters, the daemon's wall clock (µs), if it is greater;
--       3: the longest lease that the guard waited for (ms)
-- Reply {'forgotten', time}, {'error', time, text} or {'ok', time, floor}
--
-- Compare-and-set on the incarnation: a daemon that watched another memory cannot admit this one. The floor is raised
-- before anything new is granted: a later raise, or none, would give out tokens twice. If the guards of another living
-- daemon wait for a longer lease than this guard did, nothing is admitted; this daemon learns of that lease with its next HELLO to
-- this master. Repeating is harmless: once admitted, the answer is the same floor. Even then something is written, so that
-- replicas acknowledge the admission, also one by another daemon.
-- include: clock
-- include: node
-- include: decimal
-- include: number

if not known then
	return { 'forgotten', now }
end

if not admitted then
	local token = number(ARGV[2])
	if not token or token > TOKEN_MAX then
		return { 'error', now, 'ERR highest token is malformed or above 2^52' }
	end
	local guards, flat = number(ARGV[3]), redis.call('HGETALL', KEYS[1])
	if not guards then
		return { 'error', now, 'ERR malformed call' }
	end
	for i = 1, #flat, 2 do
		local deadline, waits = string.match(flat[i + 1], '^(%d+) %d+ (%d+) ')
		if string.find(flat[i], '^d:') and number(deadline) and number(deadline) > now and (number(waits) or 0) > guards then
			return { 'forgotten', now }
		end
	end
	highest = math.max(highest, token, now)
	redis.call('DEL', KEYS[2])
end
redis.call('PERSIST', KEYS[1]) -- after a first write that needs no memory a full master takes the others, too
if not admitted then
	redis.call('HSET', KEYS[1], 'floor', decimal(highest), 'highest', decimal(highest))
end
redis.call('HSET', KEYS[1], 'admitted', '1')
return { 'ok', now, highest }
