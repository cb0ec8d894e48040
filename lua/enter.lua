-- enter: a writer of this daemon waits for readers of the same daemon. It gets a place in the queue of each name, so that
-- no more readers are let in elsewhere, and the daemons of the other readers are told.
--
-- KEYS  1: node; then the lease of each name; then the queue of each
-- ARGV  1: incarnation; 2: daemon-id; 3: inbox prefix; then the time (ms) a place lives, of each name;
--       then the attempt of each, as an owner
-- Reply {'forgotten', time} or {'ok', time, one answer per name}:
--       1       the daemon is in the queue, for that time
--       {'no'}  the daemon is not a reader of it (any more); nothing was done
--       {'wrongkind'} or {'error', text}
--
-- Repeating is harmless: the place stays the same, and lives longer.
-- include: clock
-- include: node

if not known or not admitted then
	return { 'forgotten', now }
end
-- include: decimal
-- include: number

local me, inbox = ARGV[2], ARGV[3]
local n = (#KEYS - 1) / 2
local queue_ms -- of the current name
-- include: queue
-- include: answer
-- include: owner
-- include: group
-- include: next
-- include: place

local function enter(i)
	queue_ms = number(ARGV[3 + i])
	if not queue_ms or queue_ms < 1 or queue_ms > 60000 then
		return { 'error', 'ERR malformed call' }
	end
	local lock = lock_read(KEYS[i + 1])
	if type(lock) ~= 'table' or lock.limit or not lock.owner[me] then
		return { 'no' }
	end
	local queue = queue_read(KEYS[n + 1 + i])
	queue_prune(queue)
	queue.attempt = owner_attempt(ARGV[3 + n + i])
	place_keep(queue, 'x')
	group_want(lock, me, inbox, queue_name(queue, inbox))
	return 1
end

local answers = { 'ok', now }
for i = 1, n do
	answers[i + 2] = answer(enter, i)
end
return answers
