<?php
// A puppet (tests/interop/puppet.py) of Predis.
require 'Predis/Autoloader.php';
require __DIR__ . '/lines.php';

Predis\Autoloader::register();

perform([
    'name' => 'Predis ' . Predis\Client::VERSION,
    'open' => fn ($host, $port) => new Predis\Client(['host' => $host, 'port' => $port]),
    'call' => function ($client, $words) {
        $value = $client->executeRaw($words, $refused);
        if ($refused) {
            throw new Refused($value);
        }
        return $value;
    },
]);
