# A puppet (tests/interop/puppet.py) of Ruby's redis. Threads may share a client; it is one connection.
require "redis"

PORT = ARGV.last.to_i
VOICE = Mutex.new
$stdout.sync = true

def say(number, *words)
  line = [number, *words].join(" ").split.join(" ")
  VOICE.synchronize { puts line }
end

def tell(number, value)
  case value
  when nil then say(number, "null")
  when Integer then say(number, "int", value)
  when Array then say(number, "list", *value)
  else say(number, "text", value)
  end
end

def call(number, client, words)
  tell(number, client.call(*words))
rescue Redis::CommandError => error
  say(number, "refused", error.message)
rescue Redis::BaseError, IOError, SystemCallError => error
  say(number, "broken", error.class, error.message)
end

clients = {}
say(0, "ready ruby-redis", Redis::VERSION)
$stdin.each_line do |line|
  number, verb, name, *words = line.split
  case verb
  when "open"
    clients[name] = Redis.new(host: "127.0.0.1", port: PORT)
    say(number, "ok")
  when "close"
    clients[name].close
    say(number, "ok")
  else
    Thread.new { call(number, clients[name], words) }
  end
end
exit!(0)
