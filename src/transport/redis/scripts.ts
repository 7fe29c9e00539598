/**
 * A worker takes its place at every stream in KEYS: the stream and its group are made when they are not there, and
 * consumers that are not alive are removed with everything that is pending for them. Returns the keys that hold something
 * else than a stream; those are left alone. ARGV: group, consumer, prefix of the keys of those alive.
 */
export const joinScript = `
local refused = {}
for _, key in ipairs(KEYS) do
  local kind = redis.call('TYPE', key)['ok']
  if kind ~= 'stream' and kind ~= 'none' then
    table.insert(refused, key)
  else
    redis.pcall('XGROUP', 'CREATE', key, ARGV[1], '0', 'MKSTREAM')
    redis.call('XGROUP', 'CREATECONSUMER', key, ARGV[1], ARGV[2])
    for _, consumer in ipairs(redis.call('XINFO', 'CONSUMERS', key, ARGV[1])) do
      local name = consumer[2]
      if name ~= ARGV[2] and redis.call('EXISTS', ARGV[3] .. name) == 0 then
        redis.call('XGROUP', 'DELCONSUMER', key, ARGV[1], name)
      end
    end
  end
end
return refused`;

/**
 * Finds out whether anybody alive reads the stream in KEYS. When nobody does, the stream is removed, so that the next
 * request for it fails at once. Gives 1, or 0, the last id that a worker was given, and which of the ids in ARGV the
 * stream held. A consumer in ARGV leaves first, and what nobody has taken is given too. ARGV: group, prefix of the keys
 * of those alive, consumer or nothing, ids.
 */
export const surveyScript = `
local key, group, leaving = KEYS[1], ARGV[1], ARGV[3]
local last
if redis.call('EXISTS', key) == 1 then
  for _, info in ipairs(redis.call('XINFO', 'GROUPS', key)) do
    if info[2] == group then last = info[8] end
  end
end
if not last then return {0, '', {}, {}} end
if leaving ~= '' then redis.call('XGROUP', 'DELCONSUMER', key, group, leaving) end
for _, consumer in ipairs(redis.call('XINFO', 'CONSUMERS', key, group)) do
  if redis.call('EXISTS', ARGV[2] .. consumer[2]) == 1 then return {1, last, {}, {}} end
end
local held, left = {}, {}
for index = 4, #ARGV do
  if #redis.call('XRANGE', key, ARGV[index], ARGV[index]) == 1 then table.insert(held, ARGV[index]) end
end
if leaving ~= '' then left = redis.call('XRANGE', key, '(' .. last, '+', 'COUNT', 1000) end
redis.call('DEL', key)
return {0, last, held, left}`;

/**
 * Removes a request from the stream in KEYS. Gives whether the stream held it, and the last id that a worker was given.
 * ARGV: group, id.
 */
export const recallScript = `
local last = ''
if redis.call('EXISTS', KEYS[1]) == 1 then
  for _, info in ipairs(redis.call('XINFO', 'GROUPS', KEYS[1])) do
    if info[2] == ARGV[1] then last = info[8] end
  end
end
if last == '' then return {0, ''} end
return {redis.call('XDEL', KEYS[1], ARGV[2]), last}`;
