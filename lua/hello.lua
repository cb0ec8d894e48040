-- hello: who are you, and do you remember us? Registers the daemon; opens a guard where memory may be lost.
--
-- KEYS  1: node; 2: reclaimed
-- ARGV  1: incarnation to use if this is another memory, and the mark (node.inc); 2: daemon-id; 3: highest
--       token known; 4: longest lease (ms); 5: clock margin (ms); 6: layout (hash of key templates); 7: how long
--       the registration lives (ms); 8: '1' trusts this master without a guard; 9: an incarnation that is not to
--       be trusted any more, whatever it remembers: its clock leapt, leases ended before their time;
--       10: the nonce of this greeting, 16 hexadecimal digits, and behind it, each after a space, those of
--       greetings before it
-- Reply {'error', time, text} or {'ok', time, greeting, incarnation, admitted, highest, text}
--       greeting: good | replica | cluster | evicting | mismatch | cloned; incarnation is '' unless good
--       text: good: the run id of the server; mismatch: the limits stored and given
--
-- A master whose run id or replication id is not the one admitted may have forgotten leases or remember dead
-- ones: it gets a new incarnation in the same instant, which refuses every script meant for the old one, and is
-- not admitted; so does one whose incarnation is disowned, and one whose highest token is below the mark: it went back
-- to a snapshot, or another database took its place. Floor and highest token are kept if they are there. The highest
-- token grows with each greeting, so that a snapshot from before it is behind the daemon's mark; a new incarnation's is
-- above this master's clock, too, and with it above the marks of the other daemons, unless tokens ran ahead of it.
-- A registration bears the nonce of the greeting that made it. When that is none of those this daemon has sent,
-- another process has the same daemon-id: a copy that was made while it ran. The second to come is told.
-- Limits and layout that are replaced take the incarnation along, though nothing is forgotten: a daemon that stood
-- still for longer than its registration lives may still go by the old ones, which give other keys to its names.
-- Repeating is harmless: the same identity answers what is stored; a copy that comes late only opens a guard
-- that the master's change has earned anyway.

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

local function info(section, field)
	local text = redis.call('INFO', section)
	return string.match(text, '[\r\n]' .. field .. ':([^\r\n]*)') or ''
end

local function greet(greeting, incarnation, admitted, highest, text)
	return { 'ok', decimal(now), greeting, incarnation, admitted, decimal(highest), text }
end

local candidate, mark = string.sub(ARGV[1], 1, -18), number(string.sub(ARGV[1], -16))
local lease_max, margin, layout, live_ms = number(ARGV[4]), number(ARGV[5]), ARGV[6], number(ARGV[7])
local token = number(ARGV[3])
if not (mark and token and lease_max and margin and live_ms) or math.max(mark, token) > TOKEN_MAX * 2 then
	return { 'error', decimal(now), 'ERR malformed call' }
end

if info('replication', 'role') ~= 'master' then
	return greet('replica', '', '0', 0, '')
end
if info('cluster', 'cluster_enabled') == '1' then
	return greet('cluster', '', '0', 0, '')
end
if info('memory', 'maxmemory_policy') ~= 'noeviction' then
	return greet('evicting', '', '0', 0, '')
end

local node, live, dead = {}, {}, {}
local flat = redis.call('HGETALL', KEYS[1])
for i = 1, #flat, 2 do
	node[flat[i]] = flat[i + 1]
end

local run, replid = info('server', 'run_id'), info('replication', 'master_replid')
if run == '' or replid == '' then
	-- Two that tell none would be taken for one, and its next life for this one.
	return { 'error', decimal(now), 'ERR INFO tells no run_id or no master_replid: take a Redis or Valkey that does' }
end
local incarnation, highest, floor = node.incarnation, number(node.highest) or 0, number(node.floor) or 0
local changed = not incarnation or node.run ~= run or node.replid ~= replid or incarnation == ARGV[9] or highest < mark

-- What another memory says of us is out of date.
local of, nonce = string.match(node['d:' .. ARGV[2]] or '', ' (%x+) (%x+)$')
if not changed and of == incarnation and not string.find(ARGV[10], nonce, 1, true) then
	return greet('cloned', '', '0', 0, '')
end

-- Limits may change once no other daemon that agreed to the old ones lives.
local longest_ms = math.max(live_ms, (number(node.lease_max) or 0) + (number(node.margin) or 0))
for field, value in pairs(node) do
	local daemon = string.match(field, '^d:(.*)$')
	local deadline = number(string.match(value, '^%d+'))
	if daemon and daemon ~= ARGV[2] then
		local alive = deadline and deadline > now and deadline <= now + 2 * longest_ms * 1000
		table.insert(alive and live or dead, field)
	end
end

local function limits(l, j, hash)
	return 'longest lease ' .. l .. ' ms, clock-margin ' .. j .. ' ms, rules ' .. hash
end

local agreed = node.lease_max == ARGV[4] and node.margin == ARGV[5] and node.layout == layout
if not agreed and #live > 0 and node.incarnation then
	local stored = limits(node.lease_max or '?', node.margin or '?', node.layout or '?')
	return greet('mismatch', '', '0', 0, 'theirs: ' .. stored .. '; here: ' .. limits(ARGV[4], ARGV[5], layout))
end

-- The hash must not expire; and after a first write that needs no memory a full master takes the others too.
redis.call('PERSIST', KEYS[1])

local admitted = node.admitted == '1'
if changed then
	incarnation, admitted = candidate, false
	highest = math.max(highest, mark, now)
	redis.call('HSET', KEYS[1], 'run', run, 'replid', replid, 'incarnation', incarnation, 'admitted', '0')
	redis.call('DEL', KEYS[2])
elseif not agreed then
	incarnation = candidate
	redis.call('HSET', KEYS[1], 'incarnation', incarnation)
end
if not admitted then
	highest = math.max(highest, token)
	if ARGV[8] == '1' then
		floor = math.max(floor, highest, now)
		highest, admitted = floor, true
		redis.call('HSET', KEYS[1], 'floor', decimal(floor), 'admitted', '1')
	end
end
highest = highest + 1
if #dead > 0 then
	redis.call('HDEL', KEYS[1], unpack(dead))
end
redis.call('HSET', KEYS[1], 'lease_max', ARGV[4], 'margin', ARGV[5], 'layout', layout,
	'ttl_max', decimal(lease_max + margin), 'highest', decimal(highest), 'd:' .. ARGV[2],
	decimal(now + live_ms * 1000) .. ' ' .. incarnation .. ' ' .. string.sub(ARGV[10], 1, 16))
return greet('good', incarnation, admitted and '1' or '0', highest, run)
