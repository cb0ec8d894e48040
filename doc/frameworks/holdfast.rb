# Locks for Rails: see FRAMEWORKS.md.
require "redis"

module Holdfast
  SOCKET = ENV.fetch("HOLDFAST_SOCKET", "/run/holdfast/holdfast.sock")

  # What the block answers; false if another locker has the name for all of `wait`, in seconds.
  def self.with_lock(name, wait: 5)
    redis = Redis.new(path: SOCKET, reconnect_attempts: 0, read_timeout: wait + 10)
    return false unless redis.call("LOCK", name, "WAIT", (wait * 1000).to_i)
    yield redis
  ensure
    redis&.close
  end
end
