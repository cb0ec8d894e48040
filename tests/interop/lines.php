<?php
// The lines of a puppet (tests/interop/puppet.py), for the libraries of PHP. PHP has no threads: each client is a process,
// and this one passes the lines on.

function say($number, ...$words)
{
    echo implode(' ', preg_split('/\s+/', implode(' ', [$number, ...$words]), -1, PREG_SPLIT_NO_EMPTY)), "\n";
}

function tell($number, $value)
{
    if ($value === null) {
        say($number, 'null');
    } elseif (is_int($value)) {
        say($number, 'int', $value);
    } elseif (is_array($value)) {
        say($number, 'list', ...array_map(fn ($item) => is_array($item) ? '-' : $item, $value));
    } else {
        say($number, 'text', $value);
    }
}

/** An error reply; everything else that is thrown means that the library gave up. */
final class Refused extends Exception
{
}

/** A client: answers what it is told until its standard input ends. */
function serve($library)
{
    $client = $library['open']('127.0.0.1', (int) $GLOBALS['argv'][2]);
    while (($line = fgets(STDIN)) !== false) {
        $words = explode(' ', rtrim($line));
        $number = array_shift($words);
        try {
            tell($number, $library['call']($client, $words));
        } catch (Refused $error) {
            say($number, 'refused', $error->getMessage());
        } catch (Exception $error) {
            say($number, 'broken', get_class($error), $error->getMessage());
        }
    }
}

final class Client
{
    private $process;
    private $pipes;
    private $pending = [];

    public function __construct($port)
    {
        $command = [PHP_BINARY, $GLOBALS['argv'][0], 'client', $port];
        $this->process = proc_open($command, [['pipe', 'r'], ['pipe', 'w'], STDERR], $this->pipes);
    }

    public function output()
    {
        return $this->pipes[1];
    }

    public function send($number, $words)
    {
        $this->pending[$number] = true;
        fwrite($this->pipes[0], "$number " . implode(' ', $words) . "\n");
    }

    /** Passes a line on; false: there will be no more. */
    public function hear()
    {
        $line = fgets($this->pipes[1]);
        if ($line !== false) {
            unset($this->pending[(int) $line]);
            echo $line;
        }
        return $line !== false;
    }

    /** At once, as a program ends. */
    public function close()
    {
        proc_terminate($this->process, 9);
        while ($this->hear()) {
        }
        proc_close($this->process);
        foreach (array_keys($this->pending) as $number) {
            say($number, 'broken closed');
        }
    }
}

/** Whether there is another line. */
function obey(&$clients, $port)
{
    $line = fgets(STDIN);
    if ($line === false) {
        return false;
    }
    $words = explode(' ', rtrim($line));
    [$number, $verb, $name] = array_splice($words, 0, 3);
    if ($verb === 'open') {
        $clients[$name] = new Client($port);
        say($number, 'ok');
    } elseif ($verb === 'close') {
        $clients[$name]->close();
        unset($clients[$name]);
        say($number, 'ok');
    } else {
        $clients[$name]->send((int) $number, $words);
    }
    return true;
}

/** library: name; open(host, port) -> client; call(client, words) -> reply */
function perform($library)
{
    if ($GLOBALS['argv'][1] === 'client') {
        serve($library);
        return;
    }
    $clients = [];
    say(0, 'ready', $library['name']);
    for ($more = true; $more;) {
        $ready = ['' => STDIN] + array_map(fn ($client) => $client->output(), $clients);
        $none = null;
        stream_select($ready, $none, $none, null);
        foreach (array_keys($ready) as $name) {
            if ($name === '') {
                $more = obey($clients, $GLOBALS['argv'][1]);
            } elseif (isset($clients[$name])) {
                $clients[$name]->hear();
            }
        }
    }
    foreach ($clients as $client) {
        $client->close();
    }
}
