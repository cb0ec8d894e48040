#!/usr/bin/env python3
"""Several locks at once, end to end: MLOCK and MUNLOCK, and waits that wait for themselves."""

import re
import select
import threading

import harness
import resp
from harness import boottime, expect, expect_between, expect_code, took

LONG = 45000  # ms; a wait that something else has to end


def pair(place, **options):
    """A daemon that grants locks already."""
    redis = place.redis()
    return redis, place.daemon(master=redis, **options).admitted()


def expect_tokens(answer, count):
    """All of them are given; as numbers."""
    if not isinstance(answer, list) or len(answer) != count:
        raise AssertionError("expected %d tokens, got %r" % (count, answer))
    for token in answer:
        expect_between(token, 1, 2 ** 53)
    return answer


def expect_deadlock(answer, *names):
    """A circle of so many waits, which the text names from its end back to itself."""
    expect_code(answer, "DEADLOCK")
    who = re.findall(r"session (\d+)", answer)
    expect(re.findall(r"waits for ([^ ,]+)", answer), list(names), "names in %r" % answer)
    expect(len(who), len(names) + 1, "sessions in %r" % answer)
    expect(who[-1], who[0], "the circle's end in %r" % answer)


# --- circles ----------------------------------------------------------------------------------------------------

def test_circle_of_two(place):
    """two sessions lock a,b and b,a: one is refused at once, with the circle's name, and the other goes on"""
    _, daemon = pair(place)
    first, second = daemon.client(), daemon.client()
    second("CLIENT", "SETNAME", "second")
    expect_between(first("LOCK", "a"), 1, 2 ** 53)
    expect_between(second("LOCK", "b"), 1, 2 ** 53)
    first.send("LOCK", "b", "WAIT", LONG)
    daemon.queued("b")
    asked = boottime()
    answer = second("LOCK", "a", "WAIT", LONG)
    took(boottime() - asked, 0.01, "until DEADLOCK")
    expect_deadlock(answer, "a", "b")
    expect("(second)" in answer, True, "the client's name in %r" % answer)
    daemon.output.wait(r"lock\.deadlock name=a session=\d+ .*text=\"%s\"" % re.escape(answer.split(" ", 1)[1]))
    expect(daemon.info()["locks_deadlocked"], "1")
    expect(second("UNLOCK", "b"), 0)
    expect_between(first.reply(), 1, 2 ** 53)
    expect(first("UNLOCK", "a"), 0)
    expect(first("UNLOCK", "b"), 0)


def test_circle_of_three(place):
    """of three sessions that wait for each other the last one is refused, and the others follow one by one"""
    _, daemon = pair(place)
    names = ["a", "b", "c"]
    clients = [daemon.client() for _ in names]
    for client, name in zip(clients, names):
        expect_between(client("LOCK", name), 1, 2 ** 53)
    for client, name in zip(clients[:2], names[1:]):
        client.send("LOCK", name)
        daemon.queued(name)
    expect_deadlock(clients[2]("LOCK", "a"), "a", "b", "c")
    expect(clients[2]("UNLOCK", "c"), 0)
    expect_between(clients[1].reply(), 1, 2 ** 53)
    expect(clients[1]("MUNLOCK", 2, "b", "c"), 2)
    expect_between(clients[0].reply(), 1, 2 ** 53)


def test_circle_of_kinds(place):
    """a circle may lead over readers, a writer who waits for them, and permits of which too few are left"""
    _, daemon = pair(place)
    reader, writer, other = (daemon.client() for _ in range(3))
    expect_between(reader("LOCK", "a", "SHARED"), 1, 2 ** 53)
    expect_between(other("LOCK", "s", "LIMIT", 3, "PERMITS", 2), 1, 2 ** 53)
    writer.send("LOCK", "a", "WAIT", LONG)
    daemon.queued("a")
    other.send("LOCK", "a", "SHARED", "WAIT", LONG)
    daemon.queued("a", 2)
    expect_deadlock(reader("LOCK", "s", "LIMIT", 3, "PERMITS", 2), "s", "a")
    one = reader("LOCK", "s", "LIMIT", 3)
    expect_between(one, 1, 2 ** 53, "the permit that is left")
    expect(reader("UNLOCK", "a"), 0)
    expect_between(writer.reply(), 1, 2 ** 53)
    expect(writer("UNLOCK", "a"), 0)
    expect_between(other.reply(), 1, 2 ** 53)


def test_no_circle(place):
    """a session that can still unlock, or only tries, is in no circle"""
    _, daemon = pair(place)
    first, second, helper = daemon.client(), daemon.client(), daemon.client()
    helper("SESSION", "JOIN", first("SESSION", "SECRET"))
    expect_between(first("LOCK", "a"), 1, 2 ** 53)
    expect_between(second("LOCK", "b"), 1, 2 ** 53)
    first.send("LOCK", "b")
    daemon.queued("b")
    expect(second("LOCK", "a", "WAIT", 0), None)
    second.send("LOCK", "a")
    daemon.queued("a")
    expect(helper("UNLOCK", "a"), 0)
    expect_between(second.reply(), 1, 2 ** 53)
    expect(second("UNLOCK", "b"), 0)
    expect_between(first.reply(), 1, 2 ** 53)


def test_circle_by_a_lost_connection(place):
    """the circle is closed when the connection that could have unlocked is gone"""
    _, daemon = pair(place)
    first, second, helper = daemon.client(), daemon.client(), daemon.client()
    helper("SESSION", "JOIN", first("SESSION", "SECRET"))
    expect_between(first("LOCK", "a"), 1, 2 ** 53)
    expect_between(second("LOCK", "b"), 1, 2 ** 53)
    first.send("LOCK", "b")
    daemon.queued("b")
    second.send("LOCK", "a")
    daemon.queued("a")
    helper.close()
    expect_deadlock(first.reply(), "b", "a")
    expect(first("UNLOCK", "a"), 0)
    expect_between(second.reply(), 1, 2 ** 53)


def test_circle_with_a_bundle(place):
    """MLOCK that waits for somebody who waits for it is refused, and holds nothing"""
    _, daemon = pair(place)
    first, second = daemon.client(), daemon.client()
    expect_between(first("LOCK", "c"), 1, 2 ** 53)
    expect_between(second("LOCK", "b"), 1, 2 ** 53)
    second.send("LOCK", "c")
    daemon.queued("c")
    expect_deadlock(first("MLOCK", 2, "b", "a"), "b", "c")
    expect(first("MUNLOCK", 2, "a", "b"), 0)
    expect(first("UNLOCK", "c"), 0)
    expect_between(second.reply(), 1, 2 ** 53)


# --- all or none ------------------------------------------------------------------------------------------------

def test_tokens(place):
    """MLOCK answers with a token for each name, in their order, in every form; each is a hold of its own"""
    _, daemon = pair(place)
    last = {}
    for form in ("inline", 2, 3):
        client = daemon.client(form)
        tokens = expect_tokens(client("MLOCK", 3, "c", "a", "b", "WAIT", 0), 3)
        for name, token in zip("cab", tokens):
            expect_between(client("CHECK", name, "TOKEN", token), 1, harness.LEASE_MS)
            expect(token > last.get(name, 0), True, "tokens of %s grow" % name)
            last[name] = token
        expect(client("UNLOCK", "a"), 0)
        expect(client("MUNLOCK", 3, "a", "b", "c"), 2)
        expect(client("MUNLOCK", 3, "a", "b", "c"), 0)


def test_all_or_none(place):
    """with one name busy MLOCK gets none of them, and neither does it keep any when its WAIT is over"""
    _, daemon = pair(place)
    holder, client, other = daemon.client(), daemon.client(), daemon.client()
    expect_between(holder("LOCK", "b"), 1, 2 ** 53)
    for wait in (0, 30):
        expect(client("MLOCK", 3, "a", "b", "c", "WAIT", wait), None)
        for name in "ac":
            expect_code(client("UNLOCK", name), "NOTHELD")
            expect_between(other("LOCK", name, "WAIT", 0), 1, 2 ** 53)
            expect(other("UNLOCK", name), 0)
    client.send("MLOCK", 3, "a", "b", "c", "WAIT", LONG)
    daemon.queued("b")
    expect(holder("UNLOCK", "b"), 0)
    expect_tokens(client.reply(), 3)


def test_names(place):
    """a name twice is an error, one that is held already is -HELD and named; nothing is taken then"""
    _, daemon = pair(place)
    client, other = daemon.client(), daemon.client()
    expect_code(client("MLOCK", 2, "a", "a"), "ERR")
    expect_between(client("LOCK", "b"), 1, 2 ** 53)
    answer = client("MLOCK", 2, "a", "b")
    expect_code(answer, "HELD")
    expect(" b " in answer, True, "the name in %r" % answer)
    expect(client("MLOCK", 2, "a", "b", "OWNER", "t", "WAIT", 0), None)
    expect_between(other("LOCK", "a", "WAIT", 0), 1, 2 ** 53)


def test_gone(place):
    """a client that dies while its MLOCK waits leaves nothing behind, not even for a moment"""
    _, daemon = pair(place, tcp=True)
    holder, other = daemon.client(), daemon.client()
    expect_between(holder("LOCK", "b"), 1, 2 ** 53)
    client = daemon.client(tcp=True)
    client.send("MLOCK", 2, "a", "b")
    daemon.queued("b")
    expect(other("LOCK", "a", "WAIT", 0), None)
    other.send("LOCK", "a")
    daemon.queued("a")
    client.reset()
    expect_between(other.reply(), 1, 2 ** 53)


def test_end_of_file(place):
    """an end of file makes a waiting MLOCK a single try, which is answered"""
    _, daemon = pair(place)
    holder, client = daemon.client(), daemon.client("inline")
    expect_between(holder("LOCK", "b"), 1, 2 ** 53)
    client.send("MLOCK", 2, "a", "b")
    daemon.queued("b")
    client.socket.shutdown(1)
    expect(client.reply(), None)
    expect(client.closed(), True)


def test_drain(place):
    """a daemon that shuts down answers a waiting MLOCK with -DRAINING"""
    _, daemon = pair(place)
    holder, client = daemon.client(), daemon.client()
    expect_between(holder("LOCK", "b"), 1, 2 ** 53)
    client.send("MLOCK", 2, "a", "b")
    daemon.queued("b")
    daemon.process.signal(15)
    expect_code(client.reply(), "DRAINING")
    expect(daemon.process.wait(), 0)


class Watch:
    """Sees every command that a master is given."""

    def __init__(self, place, redis):
        self.redis = redis
        self.line = place.keep(resp.Client(redis.socket))
        expect(self.line("MONITOR"), "OK")

    def scripts(self, key):
        """The scripts that have been run with such a key among others, since it was asked for last."""
        self.redis("ECHO", "until here")
        runs = []
        while True:
            text = self.line.reply()
            if "until here" in text:
                return runs
            script = re.search(r'"evalsha" "(\w+)"', text, re.I)
            if script and key in text:
                runs.append(script.group(1))


def test_one_call(place):
    """names that share a master are taken with one script call, and given back with one"""
    redis, daemon = pair(place)
    client = daemon.client()
    # A call has 64 at most, and what the daemon was asked for in the beginning may be given back at the same time.
    names = ["name-%d" % n for n in range(60)]
    watch = Watch(place, redis)
    expect_tokens(client("MLOCK", len(names), *names, "WAIT", 0), len(names))
    expect(len(watch.scripts("{name-")), 1, "script calls of MLOCK with 60 names")
    expect(client("MUNLOCK", len(names), *names), len(names))
    harness.until("60 keys gone", lambda: not redis("KEYS", "holdfast:{name-*}"))
    expect(len(watch.scripts("{name-")), 1, "script calls of MUNLOCK with 60 names")


# --- many -------------------------------------------------------------------------------------------------------

class Table:
    """Sessions that take names together, over and over, and hold them while others are answered."""

    def __init__(self):
        self.held = set()
        self.last = {}
        self.workers = []

    def seat(self, daemon, names, rounds):
        self.workers.append([daemon.client(), names, rounds])

    def ask(self, client, names):
        client.send("MLOCK", len(names), *names, "WAIT", LONG)

    def take(self, client, names):
        for name, token in zip(names, expect_tokens(client.reply(), len(names))):
            expect(name in self.held, False, "%s is held twice" % name)
            expect(token > self.last.get(name, 0), True, "tokens of %s grow" % name)
            self.held.add(name)
            self.last[name] = token

    def give(self, worker):
        client, names, _ = worker
        self.held.difference_update(names)
        expect(client("MUNLOCK", len(names), *names), len(names))
        worker[2] -= 1
        if worker[2]:
            self.ask(client, names)

    def run(self):
        for client, names, _ in self.workers:
            self.ask(client, names)
        by_socket = {worker[0].socket: worker for worker in self.workers}
        holding = []
        while any(worker[2] for worker in self.workers):
            ready = select.select(list(by_socket), [], [], 0 if holding else harness.PATIENCE)[0]
            expect(ready != [] or holding != [], True, "somebody goes on")
            for client, names, _ in (by_socket[one] for one in ready):
                self.take(client, names)
            for worker in holding:
                self.give(worker)
            holding = [by_socket[one] for one in ready]
        for worker in holding:
            self.give(worker)


def test_philosophers(place):
    """eight sessions of one daemon that take two neighbouring names, and one that takes all, never stop"""
    _, daemon = pair(place)
    names = ["fork-%d" % n for n in range(8)]
    table = Table()
    for n in range(8):
        table.seat(daemon, [names[n - 1], names[n]], 40)
    table.seat(daemon, names[::-1], 20)
    table.run()


def test_two_daemons(place):
    """sessions of two daemons that take the same names in opposite orders, over and over, never stop"""
    redis = place.redis()
    daemons = [place.daemon("d%d" % n, master=redis, config="handoff: { streak: 1 }\n").admitted() for n in (1, 2)]
    table = Table()
    for n, names in enumerate((["a", "b", "c"], ["c", "b", "a"], ["b", "c"], ["c", "a"])):
        table.seat(daemons[n % 2], names, 60)
    table.run()


def test_three_masters(place):
    """MLOCK takes its names at a majority of three masters, and two daemons in opposite orders never stop"""
    masters = [place.redis("redis%d" % n) for n in range(3)]
    daemons = [place.daemon("d%d" % n, master=masters).admitted() for n in (1, 2)]
    client = daemons[0].client()
    watches = [Watch(place, master) for master in masters]
    expect_tokens(client("MLOCK", 3, "x", "y", "z", "WAIT", LONG), 3)
    # Two of three answers are enough, and tokens on which the first ones do not agree are asked for again.
    runs = [[], [], []]

    def everywhere():
        for known, watch in zip(runs, watches):
            known += watch.scripts("{x}")
        return all(runs)

    harness.until("MLOCK is known at each master", everywhere)
    expect([known.count(known[0]) for known in runs], [1, 1, 1], "script calls of MLOCK at each master")
    expect(daemons[1].client()("MLOCK", 2, "w", "z", "WAIT", 0), None)
    expect(client("MUNLOCK", 3, "x", "y", "z"), 3)
    table = Table()
    for n, names in enumerate((["a", "b"], ["b", "a"])):
        table.seat(daemons[n], names, 25)
    table.run()


def test_plain_locks_in_between(place):
    """sessions that lock one name after the other, in any order, among MLOCKs: DEADLOCK is all that stops them"""
    _, daemon = pair(place)
    refused, done, odd = [], [], []

    def work(number):
        order = ["a", "b"] if number % 2 else ["b", "a"]
        with resp.Client(daemon.socket) as client:
            for turn in range(60):
                if (number + turn) % 3 == 0:
                    answer = client("MLOCK", 2, *order, "WAIT", LONG)
                    held = 2 if isinstance(answer, list) else 0
                else:
                    client("LOCK", order[0], "WAIT", LONG)
                    answer = client("LOCK", order[1], "WAIT", LONG)
                    held = 2 if isinstance(answer, int) else 1
                if held < 2 and getattr(answer, "code", "") != "DEADLOCK":
                    odd.append(answer)
                (done if held == 2 else refused).append(1)
                if client("MUNLOCK", 2, "a", "b") != held:
                    odd.append("MUNLOCK after %r" % answer)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(harness.PATIENCE)
        expect(thread.is_alive(), False, "somebody waits for ever")
    expect(odd, [])
    harness.comment("%d times both, %d times DEADLOCK" % (len(done), len(refused)))
    expect(len(done) > 0, True)


if __name__ == "__main__":
    harness.main(globals())
