-- hello: what a daemon asks a master first: what is its memory, and does it remember the daemons? Registers the daemon, and opens a guard if
-- memory may be lost.
--
-- KEYS  1: node; 2: reclaimed
-- ARGV  1: the incarnation to use if this is another memory, with the tag of the set of masters in 12, and the mark
--       (node.inc); 2: daemon-id; 3: highest token known; 4: longest lease that the daemon would take (ms);
--       5: clock margin (ms); 6: layout (hash of key templates); 7: how long the registration lives (ms), 0: it ends
--       now; 8: '1' trusts this master without a guard; 9: an incarnation whose clock jumped, as this daemon sees it;
--       10: the nonce of this HELLO, 16 hexadecimal digits, and those of earlier HELLOs, each after a space;
--       11: the id for this master if it has none, or has lost it; 12: the set of masters as this daemon knows it,
--       '<generation> <id>:<way> <id>:<way>...', with '+' in place of ':' for a member that came with this generation,
--       '' if it knows none yet; 13: the places of its members and, after '|', of servers that have left, for people;
--       14: how far that set may go here: 0 not at all, 1 offered, 2 accepted, 3 agreed; 15: the next set, as in 12,
--       '' for none; 16: its places; 17: how far the next set may go: 1 offered, 2 accepted; 0 without a next set;
--       4: offered in place of a later one, because another member has accepted it; 3: this server has left the set
--       in 12; 18: the tag of the next set; 19: the format of scripts, keys and owners; 20: what people are told of the
--       daemon: host, version, pid, start (s since 1970), settings and address, with one space between, and the secret of
--       its messages; 21: the longest lease that its guards wait for (ms), not less than 4
-- Reply {'error', time, text} or {'ok', time, hello, incarnation, admitted, highest, text, id, set, places,
--       agreement, next, next places, next step, unacknowledged, longest lease, guarded lease, lacks, refused count,
--       refused}
--       hello: good | replica | clock | cluster | evicting | mismatch | otherset | cloned | left; incarnation is ''
--       unless good. clock: time is 0
--       text: clock: what it says; good, cloned: the run id of the server; mismatch: in what this daemon differs, and
--       the registered daemons; otherset: the first few of the other daemons that are registered here: of each the first
--       digits of its id, and its host and version; '' for none
--       id, set, places, agreement: good, otherset: as they are stored now; set is '' and agreement 0 if none is
--       next, its places and step: good: as they are stored now; '', '' and 0 if none is
--       longest lease: good: the longest one that may be asked for here (ms); guarded lease: good, mismatch: the longest
--       one that a guard has to wait for; 0 for none
--       lacks: good: why leases cannot be taken here now, as an error says it: a right that the login has not, or memory;
--       '' if they can be
--       refused count, refused: good: how many other daemons were refused here lately, and the first few of them: of
--       each the first digits of its id, its host and version, and in what it differs; 0 and '' for none
--       unacknowledged: good: other living daemons, as in text, that have not acknowledged the next set in 15
--
-- A master may have forgotten leases, or remember dead ones, if its run id or replication id is not the admitted one; but
-- a replication id may be new though the server was no replica since. It gets a new incarnation in the same instant, which
-- refuses every script for the old one, and is not admitted. The same happens to a master whose clock has jumped, as more
-- than half of the living daemons say: leases ended there before their time. It happens if the highest token is below the
-- mark: the master went back to a snapshot, or another database took its place. And it happens if the master has evicted
-- keys since the last HELLO, under a policy that was set for a while. A daemon whose hello is 'mismatch' triggers
-- this as any other does: daemons that agree with the master may hold what was forgotten. A clock out of range, at which
-- keys may have expired, leaves no incarnation. Floor and highest token are kept if they exist. The highest token grows
-- with each HELLO, so that a snapshot from before the HELLO is below the daemon's mark. The highest token of a new
-- incarnation is not below this master's clock, and so above the marks of the other daemons, unless tokens ran ahead of
-- the clock.
-- A registration has the nonce of the HELLO that made it. If this daemon has not sent that nonce, another process has
-- the same daemon-id: a copy that was made while it ran. The second copy to say HELLO is told 'cloned'.
-- A daemon may ask for leases as long as the longest that was accepted here before, if the daemon that takes such leases
-- lives; for longer ones only if the guards of all living daemons wait for them. So every daemon is told the longest lease
-- that a living daemon would take. While this master may have forgotten such daemons, it tells the longest lease that any
-- guard waits for.
--
-- If format, margin or layout are replaced, the incarnation changes, though nothing is forgotten: a daemon that stood still
-- for longer than its registration lives may still use the old ones, which give other keys to its names.
--
-- The given set is stored, or goes a step further, unless another set is stored that it does not follow. An agreed set
-- follows one that is only offered, and one of an earlier generation. An offer follows another set if no registered daemon
-- lives: daemons are registered for as long as their leases may last. An offer follows an accepted or agreed set only if it
-- has a majority of its members, by id or place, so that no majority of that set goes on. In the same way an agreed set
-- follows an accepted one of its own generation, to which a snapshot may have brought this master back. The node keeps the
-- generation of a set that gave way to an offer: no earlier set is agreed on there again, as daemons of the later set may
-- live that were cut off.
-- A master that may have lost its memory takes no offer before its guard is over: until then the daemons of its set can
-- restore it. A daemon that is told 'otherset' has not changed the set; its registration does not live longer. The tag in
-- the node is 0 until the set is agreed on.
--
-- A next set exists beside the agreed set until a set of its generation or a later one is stored. It is taken only from
-- daemons of the stored set. An offered next set gives way to a later one. Only an offered one is accepted, and an accepted
-- one gives way to none; so a master that may have lost its memory accepts none, unless it is restored along with the
-- agreed set. The registration of a daemon has the tag of the next set that it gave, which is its acknowledgement. By that
-- a daemon that decides on a next set knows that all living daemons know of it.
-- A server that comes with the given set, '+', has no memory of that set's leases: it gets a new incarnation and is not
-- admitted, as if it had lost its memory. A server that has left stores the set without itself, and so refuses the calls of
-- its old set.
--
-- A daemon that is refused as 'mismatch' or 'otherset' is not registered, and no other daemon would hear of it. So it leaves
-- a record, 'r:' and its id, for people at other hosts. It decides on nothing: no script but this one and lookup reads it.
-- Whoever is refused may not fill the node: words of a record are cut, a record is written anew only after a quarter of its
-- time, of more than RECORDS records the one that ends first makes room, and a full master gets none.
--
-- A daemon that ends says so once no client relies on its leases any more, and its registration ends: daemons with other
-- limits, or of another format, need not wait for that.
--
-- Repeating is harmless: the same identity answers what is stored. A late copy only opens a guard that the change of the
-- master requires anyway, and takes no set further than its daemon knew it to be.

local clock = redis.call('TIME')
local now = tonumber(clock[1]) * 1000000 + tonumber(clock[2]) -- µs

local TOKEN_MAX = 4503599627370496 -- 2^52

local function decimal(n)
	return string.format('%.0f', n)
end

local function number(s)
	if s and #s <= 16 and string.find(s, '^%d+$') then
		return tonumber(s)
	end
	return nil
end

local function field_of(text, field)
	return string.match(text, '[\r\n]' .. field .. ':([^\r\n]*)') or ''
end

local function info(section, field)
	return field_of(redis.call('INFO', section), field)
end

local node = {}

local function answer(hello, incarnation, admitted, highest, text)
	return { 'ok', decimal(now), hello, incarnation, admitted, decimal(highest), text, node.id or '',
		node.set or '', node.places or '', node.agreement or '0', node.next or '', node.nextplaces or '',
		node.nextstep or '0', node.unacknowledged or '', node.longest or '0', node.guarded or '0', node.lacks or '',
		node.refusedcount or '0', node.refused or '' }
end

-- Adds those commands, each with its least arguments, that the login may not run, or that are not there.
local function lacking(missing, commands)
	for _, command in ipairs(commands) do
		local known, may = pcall(redis.acl_check_cmd, unpack(command))
		if not (known and may) then
			table.insert(missing, command[1])
		end
	end
	return #missing > 0
end

-- Adds what the scripts run at keys of the namespace and the login may not; true: HELLO itself needs some of it. A server
-- before Redis 7 cannot tell beforehand.
local function login_lacks(missing)
	local key = KEYS[1]
	local vital = lacking(missing, { { 'TIME' }, { 'INFO', 'server' }, { 'HGETALL', key }, { 'HSET', key, 'f', '1' },
		{ 'HDEL', key, 'f' }, { 'PERSIST', key }, { 'DEL', key } })
	lacking(missing, { { 'EXISTS', key }, { 'GET', key }, { 'HEXISTS', key, 'f' }, { 'HGET', key, 'f' },
		{ 'HINCRBY', key, 'f', '1' }, { 'HKEYS', key }, { 'HLEN', key }, { 'HMGET', key, 'f' }, { 'HSCAN', key, '0' },
		{ 'MGET', key }, { 'PEXPIRE', key, '1' }, { 'PTTL', key }, { 'SET', key, '1' }, { 'TYPE', key },
		{ 'ZADD', key, '1', 'm' }, { 'ZCARD', key }, { 'ZRANGE', key, '0', '0' }, { 'ZREM', key, 'm' },
		{ 'ZREVRANGE', key, '0', '0' }, { 'ZSCORE', key, 'm' } })
	return vital
end

local candidate, given_tag, mark = string.match(ARGV[1], '^(%x+)(%x%x%x%x%x%x%x%x) (%d+)$')
mark = number(mark)
local wanted, margin, layout, live_ms = number(ARGV[4]), number(ARGV[5]), ARGV[6], number(ARGV[7])
local guards = number(ARGV[21])
local token, step, next_step = number(ARGV[3]), number(ARGV[14]), number(ARGV[17])
if not (mark and token and wanted and margin and live_ms and step and next_step and guards) or guards < wanted or
	math.max(mark, token) > TOKEN_MAX * 2 then
	return { 'error', decimal(now), 'ERR malformed call' }
end

local missing = {}
local vital = redis.acl_check_cmd and login_lacks(missing)
if #missing > 0 then
	node.lacks = 'NOPERM the login of the daemon may not run ' .. table.concat(missing, ', ')
end
if vital then
	return { 'error', decimal(now), node.lacks }
end
local replication = redis.call('INFO', 'replication')
if field_of(replication, 'role') ~= 'master' then
	return answer('replica', '', '0', 0, '')
end
-- Tokens begin at the clock. What this one says could not be told as a token, nor as a time.
if now > TOKEN_MAX or now <= 0 then
	redis.call('HDEL', KEYS[1], 'incarnation')
	local year = 1970 + math.floor(now / 31556952000000)
	now = 0
	return answer('clock', '', '0', 0, 'the year ' .. decimal(year))
end
-- With a hash tag in the namespace all keys are in one slot.
if info('cluster', 'cluster_enabled') == '1' and string.sub(KEYS[1], 1, 1) ~= '{' then
	return answer('cluster', '', '0', 0, '')
end
if info('memory', 'maxmemory_policy') ~= 'noeviction' then
	return answer('evicting', '', '0', 0, '')
end

if live_ms == 0 then
	redis.call('HDEL', KEYS[1], 'd:' .. ARGV[2], 'h:' .. ARGV[2], 'l:' .. ARGV[2], 'r:' .. ARGV[2])
	return answer('left', '', '0', 0, '')
end

local live, dead, records, stale, jumped = {}, {}, {}, {}, 0
local flat = redis.call('HGETALL', KEYS[1])
for i = 1, #flat, 2 do
	node[flat[i]] = flat[i + 1]
end
-- A full master refuses the first write that needs memory. This one changes nothing.
if node.highest and not node.lacks then
	local same = redis.pcall('HSET', KEYS[1], 'highest', node.highest)
	node.lacks = type(same) == 'table' and string.find(same.err or '', '^OOM') and same.err or nil
end
-- Computed below, not fields of the node.
node.unacknowledged, node.longest, node.guarded, node.refusedcount, node.refused = nil, nil, nil, nil, nil

local RECORDS, RECORD_US = 32, 30000000

-- Limits may change if no other daemon lives that agreed to the old ones.
local longest_ms = math.max(live_ms, (number(node.lease_max) or 0) + (number(node.margin) or 0))
local latest, shortened = now + 2 * longest_ms * 1000, {}
for field, value in pairs(node) do
	local what, daemon = string.match(field, '^([dl]):(.*)$')
	local deadline, rest = string.match(value, '^(%d+)(.*)$')
	deadline = number(deadline)
	if daemon and daemon ~= ARGV[2] then
		local alive = deadline and deadline > now
		if alive and deadline > latest then
			-- This clock went back. The daemon may live, or its report of a jump may hold; but not for that long.
			table.insert(shortened, field)
			table.insert(shortened, decimal(latest) .. rest)
		end
		table.insert(not alive and dead or what == 'd' and live or {}, field)
		if not alive and what == 'd' then
			table.insert(dead, 'h:' .. daemon)
		end
		jumped = jumped + (alive and what == 'l' and 1 or 0)
	elseif string.find(field, '^r:') then
		local ends = number(string.match(value, '^%d+'))
		local alive = ends and ends > now and ends <= now + RECORD_US
		table.insert(alive and records or stale, field)
	end
end

local run, replid = info('server', 'run_id'), field_of(replication, 'master_replid')
if run == '' or replid == '' then
	-- Without them two servers would count as one, and a restart would not be noticed.
	return { 'error', decimal(now), 'ERR INFO tells no run_id or no master_replid: take a Redis or Valkey that does' }
end
local incarnation, tag = string.match(node.incarnation or '', '^(%x%x%x%x%x%x%x%x%x%x%x%x%x%x%x%x)(%x*)$')
tag = tag and #tag == 8 and tag or '00000000'
local highest, floor = number(node.highest) or 0, number(node.floor) or 0
local stats = redis.call('INFO', 'stats')
local evicted, received = field_of(stats, 'evicted_keys'), field_of(stats, 'total_net_repl_input_bytes')
-- A master takes a new replication id for its first replica, and some time after its last one has left. What it
-- remembers is the same then. A server that was a replica shows that: by the id that it followed, and by what it read.
local renamed = received ~= '' and node.received == received and
	string.find(field_of(replication, 'master_replid2'), '^0+$')
local doubted = incarnation == ARGV[9]
local lost = not incarnation or node.run ~= run or node.replid ~= replid and not renamed or
	highest < mark or node.evicted and node.evicted ~= evicted
local changed = lost or doubted and 2 * (jumped + 1) > #live + 1

-- A registration with another incarnation is out of date.
local of, nonce = string.match(node['d:' .. ARGV[2]] or '', '^%d+ %d+ %d+ (%x+) (%x+)')
if not changed and of == incarnation and not string.find(ARGV[10], nonce, 1, true) then
	return answer('cloned', '', '0', 0, run)
end

-- A word that a daemon told, for people: cut, and without bytes that are none of a word.
local function plain(text, most)
	return (string.gsub(string.sub(text, 1, most), '[^!-~]', '?'))
end

-- The first two words of one text that the other one lacks.
local function only(one, other)
	local has, words = {}, {}
	for word in string.gmatch(other, '[^; ]+') do
		has[word] = true
	end
	for word in string.gmatch(one, '[^; ]+') do
		if not has[word] and #words < 2 then
			table.insert(words, plain(word, 80))
		end
	end
	return #words > 0 and table.concat(words, ' ') or nil
end

-- In what this daemon differs from those that the master goes by; '' if in nothing.
local function difference(what, ours, theirs, unit)
	if ours == theirs then
		return ''
	end
	theirs = theirs or '?'
	local one, other = only(ours, theirs), only(theirs, ours)
	if not one and not other then
		return what .. ' in another order; '
	end
	return what .. ' ' .. (one and one .. unit or 'none') .. ', the others ' .. (other and other .. unit or 'none') .. '; '
end

local function drop_records()
	if #stale > 0 then
		redis.call('HDEL', KEYS[1], unpack(stale, 1, math.min(#stale, 1000)))
	end
end

-- Leaves a record of this daemon, which is refused. Its last words are why. The secret of its messages is not in it.
local function leave_record(why)
	local field, first = 'r:' .. ARGV[2], nil
	if not string.find(ARGV[2], '^%x+$') or #ARGV[2] ~= 32 then
		return
	end
	local host, version, pid, start, settings, address =
		string.match(ARGV[20], '^(%S+) (%S+) (%d+) (%d+) (%S+) (%S+)')
	local known = number(string.match(node[field] or '', '^%d+'))
	if known and known <= now + RECORD_US and known > now + RECORD_US * 3 / 4 then
		return
	end
	for _, other in ipairs(records) do
		local ends = string.match(node[other], '^%d+')
		if other ~= field and (not first or number(ends) < number(string.match(node[first], '^%d+')) or
			ends == string.match(node[first], '^%d+') and other < first) then
			first = other
		end
	end
	local words = { decimal(now + RECORD_US), plain(host or '?', 64), plain(version or '?', 16), plain(pid or '0', 10),
		plain(start or '0', 12), plain(settings or '?', 256), plain(address or '?', 256),
		decimal(math.floor(now / 1000)), string.sub(why, 1, 250) }
	-- A full master refuses it.
	local left = redis.pcall('HSET', KEYS[1], field, table.concat(words, ' '))
	if type(left) == 'table' then
		return
	elseif first and #records >= RECORDS and not (known and known > now) then
		table.insert(stale, first)
	end
	drop_records()
end

-- The daemons that an operator has to look for: their hosts, or else their ids, which daemon.started in their logs has.
local function named(daemons)
	local names, most = {}, 3
	table.sort(daemons)
	for i = 1, math.min(#daemons, most) do
		local id = string.sub(daemons[i], 3)
		local about = string.match(node['h:' .. id] or '', '^%d+ (%S+ %S+)')
		names[i] = string.sub(id, 1, 8) .. (about and ' on ' .. about or '')
	end
	return table.concat(names, ', ') .. (#daemons > most and ' and ' .. #daemons - most .. ' more' or '')
end

local admitted = node.admitted == '1'
local function forget()
	incarnation, admitted, node.forgot = candidate, false, decimal(now)
	highest = math.max(highest, mark, now)
	redis.call('HSET', KEYS[1], 'run', run, 'replid', replid, 'incarnation', incarnation .. tag, 'admitted', '0',
		'forgot', node.forgot, 'highest', decimal(highest))
	redis.call('DEL', KEYS[2])
	for field in pairs(node) do
		if string.find(field, '^l:') then
			redis.call('HDEL', KEYS[1], field)
		end
	end
end

local agreed = node.format == ARGV[19] and node.margin == ARGV[5] and node.layout == layout
local refused = not agreed and #live > 0 and node.incarnation
if not refused or lost or #shortened > 0 then
	-- The hash must not expire. And after a first write that needs no memory a full master takes the others, too.
	redis.call('PERSIST', KEYS[1])
	if #shortened > 0 then
		redis.call('HSET', KEYS[1], unpack(shortened))
	end
	if node.evicted ~= evicted then
		redis.call('HSET', KEYS[1], 'evicted', evicted)
	end
	if not lost and node.replid ~= replid then
		redis.call('HSET', KEYS[1], 'replid', replid)
	end
	if node.received ~= received then
		redis.call('HSET', KEYS[1], 'received', received)
	end
end
if changed and (lost or not refused) then
	forget()
elseif doubted and not refused then
	redis.call('HSET', KEYS[1], 'l:' .. ARGV[2], decimal(now + live_ms * 1000))
end
if refused then
	local why = difference('clock-margin', ARGV[5], node.margin, ' ms') ..
		difference('format', ARGV[19], node.format, '') .. difference('rules and guard', layout, node.layout, '')
	node.guarded = node.lease_max
	leave_record(string.sub(why, 1, -3))
	return answer('mismatch', '', '0', highest, why .. 'alive there: ' .. named(live))
end
local trusts = not admitted and ARGV[8] == '1'

local OFFERED, ACCEPTED, AGREED = 1, 2, 3
local LEFT, INSISTED = 3, 4
local set, agreement = ARGV[12], node.set and number(node.agreement) or 0
node.id = node.id or ARGV[11]

local function generation(text)
	return number(string.match(text or '', '^%d+')) or 0
end

local function member(text, id)
	return string.find(text, ' ' .. id .. ':', 1, true) or string.find(text, ' ' .. id .. '+', 1, true)
end

-- Whether the set has a majority of the members of the stored one: by their ids, or by their places, as a member that lost
-- its memory may have another id by now.
local function outvotes()
	local n, both, places = 0, 0, string.gmatch(node.places or '', '%S+')
	local given = ' ' .. (string.match(ARGV[13], '^(.-) |') or ARGV[13]) .. ' '
	for id in string.gmatch(node.set, ' (%x+)[:+]') do
		local place = places() or ''
		local named = member(set, id)
			or place ~= '' and string.find(given, ' ' .. place .. ' ', 1, true)
		n = n + 1
		both = both + (named and 1 or 0)
	end
	return both > n / 2
end

-- Whether the daemons of the other set have had as long as a registration lives to come back, which is longer than the
-- guard.
local function remembers()
	local since = number(node.forgot) or 0
	return admitted or trusts or since <= now and now - since > live_ms * 1000
end

local function follows()
	local id = step == AGREED and ARGV[11] or node.id
	if step == AGREED and next_step == LEFT and not member(set, id) then
		return node.set and agreement == AGREED and generation(node.set) < generation(set)
	elseif not member(set, id) then
		return false
	end
	if step == AGREED then
		local later = generation(set) >= (number(node.generation) or 0)
		local abandoned = agreement == ACCEPTED and generation(set) == generation(node.set) and #live == 0 and
			remembers() and outvotes()
		return not node.set or (agreement <= OFFERED or abandoned) and later or generation(node.set) < generation(set)
	end
	return step == OFFERED and remembers() and (not node.set or #live == 0 and (agreement <= OFFERED or outvotes()))
end

local function register(deadline)
	redis.call('HSET', KEYS[1], 'd:' .. ARGV[2], deadline .. ' ' .. ARGV[4] .. ' ' .. ARGV[21] .. ' ' .. incarnation .. ' ' ..
		string.sub(ARGV[10], 1, 16) .. (node.next and node.next == ARGV[15] and ' ' .. ARGV[18] or ''),
		'h:' .. ARGV[2], ARGV[19] .. ' ' .. ARGV[20] .. ' ' .. decimal(math.floor(now / 1000)))
end

local function unacknowledged()
	local daemons = {}
	for _, field in ipairs(live) do
		if node.next and (node.next ~= ARGV[15] or string.match(node[field], '(%x+)$') ~= ARGV[18]) then
			table.insert(daemons, field)
		end
	end
	return named(daemons)
end

-- The other daemons that were refused here lately: how many, and what the first few differ in.
local function tell_refused()
	local texts, most = {}, 3
	table.sort(records)
	for _, field in ipairs(records) do
		local host, version, why = string.match(node[field], '^%d+ (%S+) (%S+) %d+ %d+ %S+ %S+ %d+ (.*)$')
		if host and field ~= 'r:' .. ARGV[2] then
			table.insert(texts, string.sub(field, 3, 10) .. ' on ' .. host .. ' ' .. version .. ': ' .. why)
		end
	end
	node.refusedcount = decimal(#texts)
	node.refused = table.concat(texts, ' | ', 1, math.min(#texts, most)) ..
		(#texts > most and ' | and ' .. #texts - most .. ' more' or '')
end

-- Two next sets of one generation are ordered by their texts.
local function before(one, other)
	local a, b = generation(one), generation(other)
	return a < b or a == b and one < other
end

-- restored: this server has just been given the agreed set again. It takes an accepted next set along, so that daemons do
-- not restore only the set before it.
local function take_next(restored)
	local other = node.next and node.next ~= ARGV[15]
	local stored = node.next and number(node.nextstep) or 0
	if ARGV[15] == '' or set ~= node.set or agreement ~= AGREED or generation(ARGV[15]) <= generation(set) then
		return
	elseif next_step == ACCEPTED and (restored or stored == OFFERED and not other and remembers()) then
		stored = ACCEPTED
	elseif not node.next or other and stored == OFFERED and
		(next_step == INSISTED or before(node.next, ARGV[15])) then
		stored = OFFERED
	else
		return
	end
	node.next, node.nextplaces, node.nextstep = ARGV[15], ARGV[16], decimal(stored)
	redis.call('HSET', KEYS[1], 'next', node.next, 'nextplaces', node.nextplaces, 'nextstep', node.nextstep)
end

-- The longest lease that may be asked for, and the longest that guards have to wait for.
local function lease_terms()
	local longest, guarded, least = { wanted }, wanted, guards
	local taken, known = 0, guards
	for _, field in ipairs(live) do
		local lease, waits = string.match(node[field], '^%d+ (%d+) (%d+) ')
		lease, waits = number(lease) or 0, number(waits) or 0
		table.insert(longest, lease)
		guarded, least, known = math.max(guarded, lease), math.min(least, waits), math.max(known, waits)
	end
	local before = number(node.lease_max) or 0
	for _, lease in ipairs(longest) do
		taken = math.max(taken, (lease <= before or lease <= least) and lease or 0)
	end
	return taken, admitted and guarded or math.max(guarded, known)
end

local had, restored = agreement, false
if set ~= '' and set ~= node.set then
	if follows() then
		if string.find(set, ' ' .. ARGV[11] .. '+', 1, true) and step == AGREED then
			forget()
		end
		node.id = step == AGREED and ARGV[11] or node.id
		restored = not node.set
		if step == OFFERED and agreement > OFFERED then
			node.generation = decimal(generation(node.set))
			redis.call('HSET', KEYS[1], 'generation', node.generation)
		end
		node.set, node.places, agreement, had, tag = set, ARGV[13], step, 0, '00000000'
	elseif node.set then
		if node['d:' .. ARGV[2]] then
			register(string.match(node['d:' .. ARGV[2]], '^%d*'))
		end
		-- Its own list may not be whole yet.
		leave_record('masters another list, the others ' .. (string.gsub(node.places or '?', '[^ -~]', '?')))
		return answer('otherset', '', '0', 0, named(live))
	end
elseif set ~= '' then
	agreement = math.max(agreement, step)
end
if step == AGREED and set == node.set then
	tag = given_tag
	if had < AGREED then
		-- By then all members have told their tokens; later a majority of this set may know fewer than the last set
		-- did.
		highest = math.max(highest, token)
		floor = highest
		redis.call('HSET', KEYS[1], 'floor', decimal(floor))
	end
end
node.agreement = decimal(agreement)
if node.next and (not node.set or generation(node.next) <= generation(node.set)) then
	redis.call('HDEL', KEYS[1], 'next', 'nextplaces', 'nextstep')
	node.next, node.nextplaces, node.nextstep = nil, nil, nil
end
take_next(restored)
node.unacknowledged = unacknowledged()
if not agreed then
	incarnation = candidate
end

redis.call('HSET', KEYS[1], 'incarnation', incarnation .. tag, 'id', node.id)
if node.set then
	redis.call('HSET', KEYS[1], 'set', node.set, 'places', node.places or '', 'agreement', node.agreement)
end
if not admitted then
	highest = math.max(highest, token)
	if trusts then
		floor = math.max(floor, highest, now)
		highest, admitted = floor, true
		redis.call('HSET', KEYS[1], 'floor', decimal(floor), 'admitted', '1')
	end
end
highest = highest + 1
tell_refused()
if node['r:' .. ARGV[2]] then
	table.insert(stale, 1, 'r:' .. ARGV[2])
end
drop_records()
if #dead > 0 then
	redis.call('HDEL', KEYS[1], unpack(dead))
end
local lease_max, guarded = lease_terms()
node.longest, node.guarded = decimal(lease_max), decimal(guarded)
redis.call('HSET', KEYS[1], 'format', ARGV[19], 'lease_max', node.longest, 'margin', ARGV[5], 'layout', layout,
	'ttl_max', decimal(lease_max + margin), 'highest', decimal(highest))
register(decimal(now + live_ms * 1000))
return answer('good', incarnation, admitted and '1' or '0', highest, run)
