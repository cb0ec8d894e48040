<?php
// The pool test (tests/e2e/pools.py) of phpredis: persistent connections, of which each process of PHP has its pool. After
// an error the connection is closed, since it may be one answer behind; the request is sent again here.
const TASKS = 10;
const NAMES = ['deploy', 'report', 'import', 'orders'];
[, $port, $operations, $timeout] = array_map('intval', $argv);

function connect($port, $timeout)
{
    $client = new Redis();
    $client->pconnect('127.0.0.1', $port, 5);
    $client->setOption(Redis::OPT_READ_TIMEOUT, $timeout / 1000);
    return $client;
}

/** Until there is an answer. Null: another client has it. */
function send(...$words)
{
    static $client;
    for (;;) {
        try {
            $client ??= connect($GLOBALS['port'], $GLOBALS['timeout']);
            $client->clearLastError();
            $value = $client->rawCommand(...$words);
            $refusal = $value === false ? $client->getLastError() : null;
            if ($refusal === null) {
                return $value === false ? null : $value;
            }
            if (!str_starts_with($refusal, 'ERR the same request came again')) {
                throw new Exception($refusal);
            }
            echo "again\n"; // the daemon met an older copy of this request behind it
        } catch (RedisException $error) {
            if (preg_match('/^[A-Z]+ /', $error->getMessage())) {
                throw $error;
            }
            echo "again\n";
            $client?->close();
            $client = null;
            usleep(5000);
        }
    }
}

function operate($name, $task)
{
    $me = bin2hex(random_bytes(16));
    $token = send('LOCK', $name, 'WAIT', '120000', 'AS', $me);
    echo "enter $name $task $token\n";
    usleep(random_int(0, 10000));
    echo "leave $name $task\n";
    $left = send('UNLOCK', $name, 'TOKEN', $token, 'AS', $me);
    if ($left !== 0) {
        throw new Exception('UNLOCK answers ' . var_export($left, true));
    }
}

for ($task = 0; $task < TASKS; $task++) {
    if (pcntl_fork() === 0) {
        for ($i = 0; $i < intdiv($operations, TASKS); $i++) {
            $name = NAMES[array_rand(NAMES)];
            try {
                operate($name, $task);
            } catch (Exception $error) {
                echo "failed $name $task {$error->getMessage()}\n";
            }
        }
        exit(0);
    }
}
while (pcntl_wait($status) > 0) {
}
