-- leave: give up this daemon's place in the queue of each name, and call the next head if it can have the lock.
--
-- KEYS  1: node; then the lease of each name; then the queue of each
-- ARGV  1: incarnation; 2: daemon-id; 3: inbox prefix; then the attempt of each name, as an owner
-- Reply {'forgotten', time} or {'ok', time, one answer per name}:
--       1       no place is left
--       {'no'}  a later attempt has asked for the place: it stays
--       {'wrongkind'} or {'error', text}
--
-- Repeating is harmless: a place that is gone stays gone, a place that a later attempt took stays, and a head that is
-- called twice only looks twice.
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

-- Byte by byte: attempts have 64 bits, and a number holds 53; the comparison of texts depends on the locale of the master.
local function attempt_later(one, other)
	local at = 1
	while #one == #other and at < #one and one:byte(at) == other:byte(at) do
		at = at + 1
	end
	return #one > #other or #one == #other and one:byte(at) > other:byte(at)
end

local function leave(i)
	local queue = queue_read(KEYS[n + 1 + i])
	queue_prune(queue)
	local by = queue.by[ARGV[2]]
	if by and attempt_later(by, owner_attempt(ARGV[3 + i])) then
		return { 'no' }
	end
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
