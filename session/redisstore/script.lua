-- Load and Advance, each in one call that nothing comes between.
--
-- KEYS[1]  the marker of a bucket of users: a hash of
--            id       the replication id of the server that has written it
--            evicted  how many keys that server had evicted then
--            lost     when a loss was noticed, in ms since 1970 by this server's clock; 0: never
--            life     how long a token counts at most, in ms
-- KEYS[2]  a user's token: "1;UNSURE;DOUBTED;POSITIONS"
--            UNSURE   until when it is unsure, 0: not; DOUBTED until when that counts
-- ARGV[1]  how long a token counts at most, in ms, as far as the caller knows
-- ARGV[2]  "1": the caller may have lost something of this bucket
-- ARGV[3]  and those after it for Advance: in how many ms the token ends,
-- ARGV[4]  in how many ms its doubt ends, maybe below 0; "": it is not unsure,
-- ARGV[5]  and its positions, 28 bytes each: system 8, timeline 4, incarnation 8, LSN 8
--
-- Answers Load with {how a loss was noticed, ms until the loss no longer counts, ms since
-- it was noticed, ms until the token ends, 1 if it is unsure, in how many ms that ends,
-- positions}, and Advance with an OK.

local load = not ARGV[3]
if load then
	-- Where writes are refused, a write of somebody else's may have been lost. PERSIST of
	-- a key without a time to live is a write that changes nothing and is not replicated.
	-- Not for Advance: after a first write a script may go beyond the server's memory.
	local refused = redis.pcall('PERSIST', KEYS[1])
	if type(refused) == 'table' then
		return refused
	end
end
if ARGV[2] == '1' then
	redis.pcall('DEL', KEYS[1])
end

local clock = redis.call('TIME')
local now = tonumber(clock[1]) * 1000 + math.floor(tonumber(clock[2]) / 1000)

local marker = redis.pcall('HMGET', KEYS[1], 'id', 'evicted', 'lost', 'life')
if marker.err then -- somebody else's
	redis.pcall('DEL', KEYS[1])
	marker = {false, false, false, false}
end
local known = tonumber(marker[4] or nil)
local life = math.max(known or 0, tonumber(ARGV[1]))

-- What a server says of itself, found without a pattern: the text is long.
local function field(text, name)
	if type(text) == 'string' then
		local _, last = string.find(text, name, 1, true)
		return last and string.match(text, '^%w+', last + 1)
	end
end

local why, lost, id, evicted = '', tonumber(marker[3] or nil) or 0
if load then
	local replication = redis.pcall('INFO', 'replication')
	if field(replication, 'role:') == 'slave' then
		return redis.error_reply('READONLY this is a replica, although it takes writes')
	end
	id, evicted = field(replication, 'master_replid:'), field(redis.pcall('INFO', 'stats'), 'evicted_keys:')
	if not id or not evicted then
		why = 'blind'
	elseif not marker[1] then
		why = 'empty'
	elseif marker[1] ~= id then
		why = 'history'
	elseif marker[2] ~= evicted then
		why = 'evicted'
	end
	if why ~= '' then
		lost = now
	end
end
if load and why ~= '' and why ~= 'blind' then -- who is blind is asked again by the next call
	local kept = redis.pcall('HSET', KEYS[1], 'id', id, 'evicted', evicted,
		'lost', string.format('%.0f', lost), 'life', string.format('%.0f', life))
	if type(kept) == 'table' then
		redis.pcall('DEL', KEYS[1]) -- a marker that is missing says the same
	end
elseif life ~= known then
	-- Where there is no marker this makes one that names no server: the next Load
	-- takes it for none.
	redis.pcall('HSET', KEYS[1], 'life', string.format('%.0f', life))
end

-- The token that is kept.
local unsure, doubted, body, ends = 0, 0, '', 0
local have = redis.pcall('GET', KEYS[2])
if have then
	ends = redis.call('PTTL', KEYS[2])
	if ends < 0 then
		ends = life -- somebody has taken its time to live
	end
	local readable = false
	if type(have) == 'string' then
		local _, last, u, d = string.find(have, '^1;(%d+);(%d+);')
		if last and (#have - last) % 28 == 0 then
			readable, unsure, doubted, body = true, tonumber(u), tonumber(d), string.sub(have, last + 1)
		end
	end
	if not readable then -- of another version, or somebody else's
		unsure, doubted = 1, now + life
		ends = math.max(ends, life)
	end
	if doubted <= now then
		unsure, doubted = 0, 0
	end
end

if load then
	local counts = lost > 0 and lost + life - now or 0
	return {why, counts, now - lost, ends, unsure > 0 and 1 or 0, unsure - now, body}
end

-- Compares bytes: the order of strings is a matter of locales.
local function after(a, b, from, to)
	for i = from, to do
		local x, y = string.byte(a, i), string.byte(b, i)
		if x ~= y then
			return x > y
		end
	end
	return false
end

-- The rule of session.Token.Merge.
local function add(list, p)
	for i, old in ipairs(list) do
		if string.sub(old, 1, 8) == string.sub(p, 1, 8) then
			if after(p, old, 9, 12) then
				list[i] = p
			elseif not after(old, p, 9, 12) then
				local incarnation = after(p, old, 13, 20) and p or old
				local lsn = after(p, old, 21, 28) and p or old
				list[i] = string.sub(old, 1, 12) .. string.sub(incarnation, 13, 20) .. string.sub(lsn, 21, 28)
			end
			return
		end
	end
	list[#list + 1] = p
end

if ARGV[4] ~= '' and tonumber(ARGV[3]) >= ends then
	-- The doubt covers what the new token does not name, for as long as that counts. A
	-- position of before a change of primary would keep a user who only reads on the
	-- primary for as long as they come.
	local named = {}
	for i = 1, #body, 28 do
		for k = 1, #ARGV[5], 28 do
			if string.sub(body, i, i + 7) == string.sub(ARGV[5], k, k + 7) then
				named[#named + 1] = string.sub(body, i, i + 27)
			end
		end
	end
	body = table.concat(named)
end
ends = math.max(ends, tonumber(ARGV[3]))
if ARGV[4] ~= '' then
	unsure = math.max(unsure, now + tonumber(ARGV[4]), 1)
	doubted = math.max(doubted, now + tonumber(ARGV[3]))
end
local list = {}
for _, from in ipairs({body, ARGV[5]}) do
	for i = 1, #from, 28 do
		add(list, string.sub(from, i, i + 27))
	end
end
table.sort(list, function(a, b) return after(b, a, 1, 8) end)
while #list > 3 do
	table.remove(list)
	unsure = math.max(unsure, 1)
end
if unsure > 0 and #list == 3 then
	doubted = now + ends -- it may have come from this merge
end
body = table.concat(list)
local value = string.format('1;%.0f;%.0f;', unsure, doubted) .. body
local kept = redis.pcall('SET', KEYS[2], value, 'PX', string.format('%.0f', ends))
if kept.err then
	redis.pcall('DEL', KEYS[1]) -- out of memory: from now on everybody of this bucket is unsure
	return kept
end
return redis.status_reply('OK')
