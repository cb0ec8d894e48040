-- lookup: for people: which daemons are registered here and, of one name, who has it and who waits for it.
--
-- KEYS  1: node; then, of a name: 2: its lease; 3: its queue
-- ARGV  1: 1: which daemons are registered is asked for, too
-- Reply {'ok', time, daemons, refused} or {'ok', time, daemons, refused, kind, holders, queue}
--       daemons: a line for each registered daemon that lives: its id, the end of its registration (µs), and its field
--                'h:' of the node; '-' if they are not asked for. Of a node with more than FIELDS fields only a part is read
--       refused: likewise a line for each daemon that was refused here lately: its id, the end of its record (µs), and the
--                rest of the field 'r:' of the node
--       kind:    none | exclusive | shared | permits <n> | foreign, which holdfast did not write
--       holders: a line for each: its owner, the ms until it ends by itself, and how many permits it has; of what is
--                foreign: '?', the ms, -1: never, 1, its type and its key
--       queue:   a line for each waiting daemon, in order: its id, and what it waits for, see queue.inc
--       Of each text only the lines that fit into MOST bytes are there.
--
-- It only reads, and asks for no incarnation: what a guarded master says is shown, too.
-- include: clock

local MOST = 60000
local FIELDS = 4000

local function text_of(lines)
	local bytes = 0
	for i, line in ipairs(lines) do
		bytes = bytes + #line + 1
		if bytes > MOST then
			return table.concat(lines, '\n', 1, i - 1)
		end
	end
	return table.concat(lines, '\n')
end

-- Returns the daemons, and those that were refused.
local function daemons()
	local lines, refused, node, cursor, read = {}, {}, {}, '0', 0
	if ARGV[1] ~= '1' then
		return '-', ''
	end
	repeat
		local page = redis.call('HSCAN', KEYS[1], cursor, 'COUNT', 1000)
		local flat = page[2]
		for i = 1, #flat, 2 do
			node[flat[i]] = flat[i + 1]
		end
		cursor = page[1]
		read = read + #flat / 2
	until cursor == '0' or read >= FIELDS
	for field, value in pairs(node) do
		local what, id = string.match(field, '^([dr]):(%x+)$')
		local deadline = id and tonumber(string.match(value, '^%d+'))
		if deadline and deadline > now and what == 'd' then
			table.insert(lines, id .. ' ' .. string.match(value, '^%d+') .. ' ' .. (node['h:' .. id] or '?'))
		elseif deadline and deadline > now then
			table.insert(refused, id .. ' ' .. value)
		end
	end
	table.sort(lines)
	table.sort(refused)
	return text_of(lines), text_of(refused)
end

-- The members of a group that live, with the permits of one owner together.
local function group_lines(flat)
	local kind, count, left, order = nil, {}, {}, {}
	for i = 1, #flat, 2 do
		local owner, deadline = string.match(flat[i + 1], '^(%x+:%w+) (%d+)$')
		if flat[i] == 'kind' then
			kind = flat[i + 1]
		elseif owner and tonumber(deadline) > now then
			if not count[owner] then
				table.insert(order, owner)
			end
			count[owner] = (count[owner] or 0) + 1
			left[owner] = math.ceil((tonumber(deadline) - now) / 1000)
		end
	end
	local lines = {}
	for i, owner in ipairs(order) do
		lines[i] = owner .. ' ' .. string.format('%.0f', left[owner]) .. ' ' .. count[owner]
	end
	return kind, lines
end

local function holders(key)
	local kind = redis.call('TYPE', key).ok
	if kind == 'none' then
		return 'none', ''
	end
	local left = string.format('%.0f', math.max(0, redis.call('PTTL', key)))
	local owner = kind == 'string' and string.match(redis.call('GET', key), '^%x+:%w+$')
	if owner then
		return 'exclusive', owner .. ' ' .. left .. ' 1'
	elseif kind == 'hash' then
		local group, lines = group_lines(redis.call('HGETALL', key))
		if group then
			return #lines > 0 and group or 'none', text_of(lines)
		end
	end
	return 'foreign', '? ' .. string.format('%.0f', redis.call('PTTL', key)) .. ' 1 ' .. kind .. ' ' .. key
end

local function queue(key)
	local lines = {}
	for i, daemon in ipairs(redis.call('ZRANGE', key, 0, 199)) do
		local till, form = string.match(redis.call('HGET', string.sub(key, 1, -2) .. 'w', daemon) or '',
			'^(%d+) (%S+)')
		if till and tonumber(till) > now then
			table.insert(lines, daemon .. ' ' .. form)
		end
	end
	return text_of(lines)
end

local time = string.format('%.0f', now)
local registered, refused = daemons()
if not KEYS[2] then
	return { 'ok', time, registered, refused }
end
local kind, lines = holders(KEYS[2])
return { 'ok', time, registered, refused, kind, lines, queue(KEYS[3]) }
