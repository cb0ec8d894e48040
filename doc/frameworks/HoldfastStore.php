<?php
/* A store of Symfony's Lock: see FRAMEWORKS.md. */
use Symfony\Component\Lock\BlockingStoreInterface;
use Symfony\Component\Lock\Exception\LockConflictedException;
use Symfony\Component\Lock\Exception\LockStorageException;
use Symfony\Component\Lock\Key;

final class HoldfastStore implements BlockingStoreInterface
{
    public function __construct(private \Redis $redis) // a client of its own: connect(), no pconnect(), OPT_READ_TIMEOUT -1
    {
        $redis->rawCommand('SESSION', 'ONLOSS', 'NEXT'); // a loss is the answer to the next request, and ends no connection
    }

    private function ask(string $verb, Key $key, string ...$more)
    {
        if (!$key->hasState(__CLASS__)) {
            $key->setState(__CLASS__, bin2hex(random_bytes(8)));
            $key->markUnserializable(); // the lock is this process'
        }
        $this->redis->clearLastError();
        try {
            $answer = $this->redis->rawCommand($verb, (string) $key, 'OWNER', $key->getState(__CLASS__), ...$more);
        } catch (\RedisException $refused) {
            if (preg_match('/^(NOTHELD|LOST) /', $refused->getMessage())) {
                return $verb === 'LOCK' ? $this->ask($verb, $key, ...$more) : false; // of a loss a LOCK is told once
            }
            throw new LockStorageException($refused->getMessage(), 0, $refused);
        }
        if ($this->redis->getLastError() !== null) { // an ERR, which is no exception
            throw new LockStorageException($this->redis->getLastError());
        }
        return $answer;
    }

    public function save(Key $key)
    {
        if (!$this->exists($key) && $this->ask('LOCK', $key, 'WAIT', '0') === false) {
            throw new LockConflictedException();
        }
    }

    public function waitAndSave(Key $key)
    {
        if (!$this->exists($key) && $this->ask('LOCK', $key) === false) { // the daemon's rule for the name may bound the wait
            throw new LockConflictedException();
        }
    }

    public function exists(Key $key)
    {
        return $key->hasState(__CLASS__) && $this->ask('CHECK', $key) > 0;
    }

    public function putOffExpiration(Key $key, float $ttl)
    {
        if (!$this->exists($key)) {
            throw new LockConflictedException();
        }
    }

    public function delete(Key $key)
    {
        $this->ask('UNLOCK', $key);
    }
}
