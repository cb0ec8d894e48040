<?php
// A puppet (tests/interop/puppet.py) of phpredis.
require __DIR__ . '/lines.php';

perform([
    'name' => 'phpredis ' . phpversion('redis'),
    'open' => function ($host, $port) {
        $client = new Redis();
        $client->connect($host, $port);
        return $client;
    },
    // An error reply is an exception, but for those with the code ERR: they are false, as null is, and kept as the last
    // error. A status is true.
    'call' => function ($client, $words) {
        $client->clearLastError();
        try {
            $value = $client->rawCommand(...$words);
        } catch (RedisException $error) {
            if (preg_match('/^[A-Z]+ /', $error->getMessage())) {
                throw new Refused($error->getMessage());
            }
            throw $error;
        }
        if ($value === false && $client->getLastError() !== null) {
            throw new Refused($client->getLastError());
        }
        return $value === false ? null : ($value !== true ? $value : ($words[0] === 'PING' ? 'PONG' : 'OK'));
    },
]);
