-- join: change the group of replicas of which a majority has to acknowledge (daemon/redis/replicas.h).
--
-- KEYS  1: node
-- ARGV  1, 2: members and joining, as they were read; 3, 4: as they are from now on. '' for none
-- Reply 1: they are so now; 0: others are stored, and nothing was done
--
-- Repeating is harmless: what has changed meanwhile is not overwritten.

local stored = redis.call('HMGET', KEYS[1], 'members', 'joining')
if (stored[1] or '') ~= ARGV[1] or (stored[2] or '') ~= ARGV[2] then
	return 0
end
redis.call('HSET', KEYS[1], 'members', ARGV[3])
if ARGV[4] == '' then
	redis.call('HDEL', KEYS[1], 'joining')
else
	redis.call('HSET', KEYS[1], 'joining', ARGV[4])
end
return 1
