<?php
/* Uses the adapters for PHP of doc/frameworks as their frameworks do, and prints what the test wants to see. */
set_error_handler(static function (int $level, string $text, string $file) {
    return str_starts_with($file, '/usr/share/php/'); // what this PHP deprecates in the frameworks
});
[, $what, $recipe, $socket] = $argv;
require $what === 'symfony' ? 'Symfony/Component/Lock/autoload.php' : 'Illuminate/Cache/autoload.php';
require $recipe;

function client(string $socket): Redis
{
    $redis = new Redis();
    $redis->connect($socket);
    $redis->setOption(Redis::OPT_READ_TIMEOUT, -1);
    return $redis;
}

function say(string $what, $value): void
{
    echo $what, ' ', var_export($value, true), "\n";
}

function symfony(string $socket): void
{
    $here = new Symfony\Component\Lock\LockFactory(new HoldfastStore(client($socket)));
    $there = new Symfony\Component\Lock\LockFactory(new HoldfastStore(client($socket)));
    $mine = $here->createLock('a');
    say('mine', $mine->acquire());
    $mine->refresh();
    say('again', $mine->acquire());
    $other = $there->createLock('a');
    say('other', $other->acquire());
    say('second', $here->createLock('a')->acquire());
    say('held', $mine->isAcquired());
    $mine->release();
    say('released', $mine->isAcquired());
    say('then', $other->acquire(true));
    $admin = client($socket);
    $told = [];
    $holder = $admin->rawCommand('INSPECT', 'a');
    array_walk_recursive($holder, static function ($word) use (&$told) {
        $told[] = $word;
    });
    $admin->rawCommand('BREAK', 'a', 'TOKEN', $told[array_search('token', $told, true) + 1]);
    try {
        $other->refresh();
    } catch (Symfony\Component\Lock\Exception\LockConflictedException $lost) {
        say('lost', true);
    }
    say('held', $other->isAcquired());
}

function laravel(string $socket): void
{
    $mine = new HoldfastLock(client($socket), 'b');
    say('mine', $mine->get());
    say('twice', $mine->get());
    $other = new HoldfastLock(client($socket), 'b', 60);
    say('other', $other->get());
    try {
        $other->block(1);
    } catch (Illuminate\Contracts\Cache\LockTimeoutException $late) {
        say('late', true);
    }
    say('released', $mine->release());
    say('again', $mine->release());
    say('then', $other->block(60, static fn () => 'works'));
    say('free', $mine->get(static fn () => 'works, too'));
}

$what($socket);
