-- redisson_release: end the owner's RLock of each name, and publish its end.
--
-- KEYS  1: node; then the lease of each name, which is the name
-- ARGV  1: incarnation; then the owner of each name
-- Reply {'forgotten', time} or {'ok', time, one answer per name}:
--       1        it was the owner's and is gone
--       {'no'}   not the owner's (any more); nothing was done
--       {'wrongkind'} or {'error', text}
--
-- Repeating is harmless: an attempt number is never used again, so a late copy finds nothing of its own.
-- include: clock

if redis.call('HGET', KEYS[1], 'incarnation') ~= ARGV[1] then
	return { 'forgotten', now }
end
local reached = 0 -- no tokens are taken here
-- include: decimal
-- include: answer
-- include: redisson

local function release(i)
	local lease = KEYS[i + 1]
	if redis.call('HEXISTS', lease, ARGV[i + 1]) == 0 then
		return { 'no' }
	end
	redis.call('DEL', lease)
	redis.call('PUBLISH', redisson_name('redisson_lock__channel', lease), '0')
	return 1
end

local answers = { 'ok', now }
for i = 1, #ARGV - 1 do
	answers[i + 2] = answer(release, i)
end
return answers
