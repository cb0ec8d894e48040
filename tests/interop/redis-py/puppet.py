"""A puppet (tests/interop/puppet.py) of redis-py."""

import lines
import redis

lines.perform("redis-py", redis, redis.Redis, redis.RedisError)
