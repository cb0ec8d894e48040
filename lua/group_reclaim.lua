-- group_reclaim: re-assert a share that is still valid while the master is guarded after it may have forgotten.
--
-- KEYS  1: node; 2: reclaimed (see reclaim.lua); then the lease of each name
-- ARGV  1: incarnation; then the owner of each name; then the form of each (see form.inc), permits by their
--       numbers; then the ttl (ms) of each; then the deadline (µs of this master's TIME) of each; then the highest
--       token known to each; then the newest token of each share; then the previous owners of each (see previous.inc)
-- Reply {'forgotten', time} (other memory, or admitted already) or {'ok', time, one answer per name}:
--       1         the share exists for ttl from now, and neither the owner nor a previous owner has another
--       {'no'}    another owner reclaimed a newer lease of it, exclusive or shared, or one of its permits; or a
--                 lock of a foreign program is there
--       {'late'}  executed after its deadline
--       {'wrongkind'} or {'error', text}
--       {'forgotten'} a lease of this length is not allowed here (any more); nothing was done
--
-- In reclaimed a group has '<lease key>' -> 'group <newest token>', by which an older exclusive lease is refused, and
-- '<lease key> <member>' -> '<owner> <newest token>' for each member. What is at the key and was not reclaimed is replaced:
-- member by member in a group of this kind, else as a whole. For the rest see reclaim.lua. Repeating is harmless: the same
-- owner gets the same share, and only before the deadline.
-- include: clock
-- include: node

if not known or admitted then
	return { 'forgotten', now }
end
-- include: decimal
-- include: number
-- include: answer
-- include: owner
-- include: previous
-- include: group
-- include: form

local n = (#ARGV - 1) / 7
-- include: reclaim

-- Whether an owner that is not one of ours has reclaimed a newer lease that leaves no room for this share. other: the key
-- holds a lock that is not a group of this kind.
local function beaten(lease, form, ours, newest, other)
	local by, theirs = reclaimed(lease)
	if by ~= 'group' then
		return by and not ours[by] and theirs >= newest
	elseif other and theirs >= newest then
		return true
	end
	for _, member in ipairs(form.members) do
		by, theirs = reclaimed(lease .. ' ' .. member)
		if by and not ours[by] and theirs >= newest then
			return true
		end
	end
	return false
end

-- Drops our members that are not named now: those of a previous owner, or this master first gave others than most masters
-- did.
local function others_drop(lease, form, ours)
	local named = {}
	for _, member in ipairs(form.members) do
		named[member] = true
	end
	local flat = redis.call('HGETALL', lease)
	for at = 1, #flat, 2 do
		local who = member_read(flat[at + 1])
		if who and ours[who] and not named[flat[at]] then
			redis.call('HDEL', lease, flat[at])
		end
	end
end

local function newest_of(lease, newest)
	local by, theirs = reclaimed(lease)
	return by == 'group' and math.max(theirs, newest) or newest
end

local function reclaim(i)
	local lease, owner = KEYS[i + 2], ARGV[i + 1]
	local form = form_read(ARGV[n + i + 1], owner)
	local terms, refusal = reclaim_terms(i, 2 * n + 1)
	local ours = previous_owners_read(ARGV[6 * n + i + 1])
	if refusal or not (form and form.members and ours) then
		return refusal or { 'error', 'ERR malformed call' }
	end
	ours[owner] = true
	local same = redis.call('TYPE', lease).ok == 'hash' and redis.call('HGET', lease, 'kind') == form.kind
	local lock = not same and lock_read(lease)
	if type(lock) == 'string' and not native(lock) or beaten(lease, form, ours, terms.newest, lock) then
		return { 'no' }
	end
	reclaim_keep(terms.token, lease, 'group', newest_of(lease, terms.newest))
	for _, member in ipairs(form.members) do
		redis.call('HSET', KEYS[2], lease .. ' ' .. member, owner .. ' ' .. decimal(terms.newest))
	end
	if lock then
		redis.call('DEL', lease)
	end
	group_put(lease, form.kind, form.members, owner, terms.ttl_ms)
	others_drop(lease, form, ours)
	return 1
end

local answers = { 'ok', now }
for i = 1, n do
	answers[i + 2] = answer(reclaim, i)
end
reached_keep()
return answers
