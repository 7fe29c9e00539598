/**
 * A worker takes its place at every stream in KEYS: the stream and its group are made when they are not there, and
 * consumers that died with nothing left to do are removed. ARGV: group, consumer, prefix of the keys of those alive.
 */
export const joinScript = `
for _, key in ipairs(KEYS) do
  redis.pcall('XGROUP', 'CREATE', key, ARGV[1], '0', 'MKSTREAM')
  redis.call('XGROUP', 'CREATECONSUMER', key, ARGV[1], ARGV[2])
  for _, consumer in ipairs(redis.call('XINFO', 'CONSUMERS', key, ARGV[1])) do
    local name, pending = consumer[2], consumer[4]
    if pending == 0 and name ~= ARGV[2] and redis.call('EXISTS', ARGV[3] .. name) == 0 then
      redis.call('XGROUP', 'DELCONSUMER', key, ARGV[1], name)
    end
  end
end`;

/**
 * Finds out whether anybody alive reads the stream in KEYS. When nobody does, the stream is removed, so that the next
 * request for it fails at once. Gives 1, or 0 and the last id that a worker was given. With a consumer in ARGV that
 * one leaves first, and what nobody has taken is given too. ARGV: group, prefix of the keys of those alive, consumer.
 */
export const surveyScript = `
local key, group = KEYS[1], ARGV[1]
if redis.call('EXISTS', key) == 0 then return {0, '', {}} end
local groups = redis.call('XINFO', 'GROUPS', key)
local last = ''
for _, info in ipairs(groups) do
  if info[2] == group then last = info[8] end
end
if last == '' then return {0, '', {}} end
if ARGV[3] then redis.call('XGROUP', 'DELCONSUMER', key, group, ARGV[3]) end
for _, consumer in ipairs(redis.call('XINFO', 'CONSUMERS', key, group)) do
  if redis.call('EXISTS', ARGV[2] .. consumer[2]) == 1 then return {1, last, {}} end
end
local left = {}
if ARGV[3] then left = redis.call('XRANGE', key, '(' .. last, '+', 'COUNT', 1000) end
redis.call('DEL', key)
return {0, last, left}`;
