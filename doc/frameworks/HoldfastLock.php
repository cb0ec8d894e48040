<?php
/* A lock of Laravel: see FRAMEWORKS.md. */
use Illuminate\Cache\Lock;
use Illuminate\Contracts\Cache\LockTimeoutException;

final class HoldfastLock extends Lock
{
    public function __construct(private \Redis $redis, $name, $seconds = 0, $owner = null) // the client as above
    {
        parent::__construct($name, $seconds, $owner);
        $redis->rawCommand('SESSION', 'ONLOSS', 'NEXT');
    }

    private function ask(string $verb, string ...$more)
    {
        $this->redis->clearLastError();
        try {
            $answer = $this->redis->rawCommand($verb, $this->name, 'OWNER', $this->owner, ...$more);
        } catch (\RedisException $refused) {
            if (preg_match('/^(NOTHELD|LOST) /', $refused->getMessage())) {
                return $verb === 'LOCK' ? $this->ask($verb, ...$more) : false; // of a loss a LOCK is told once
            }
            throw $refused;
        }
        if ($this->redis->getLastError() !== null) { // an ERR, which is no exception
            throw new \RuntimeException($this->redis->getLastError());
        }
        return $answer;
    }

    private function take(int $wait): bool
    {
        $lease = $this->seconds > 0 ? ['LEASE', (string) ($this->seconds * 1000)] : [];
        return !($this->ask('CHECK') > 0) && $this->ask('LOCK', 'WAIT', (string) $wait, ...$lease) !== false;
    }

    public function acquire()
    {
        return $this->take(0);
    }

    public function block($seconds, $callback = null)
    {
        if (!$this->take($seconds * 1000)) {
            throw new LockTimeoutException();
        }
        if ($callback === null) {
            return true;
        }
        try {
            return $callback();
        } finally {
            $this->release();
        }
    }

    public function release()
    {
        return $this->ask('UNLOCK') !== false;
    }

    public function forceRelease()
    {
        $this->release(); // what another process has is an administrator's business: holdfast break
    }

    protected function getCurrentOwner()
    {
        return $this->ask('CHECK') > 0 ? $this->owner : '';
    }
}
