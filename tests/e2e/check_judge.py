#!/usr/bin/env python3
"""The judge and the reader of replies themselves: what they must find, planted."""

import os
import sys

import harness
import history
import nemesis_client
import nemesis_roles
import resp
import swarm
import talker
from harness import expect


def test_lost_count(place):
    """a write that got lost is found"""
    plan = swarm.Plan(place.path, [], ["a"], 0)
    swarm.counter_new(place.path, "a")
    swarm.judge(plan, {}, [])
    holds = [{"name": "a", "wrote": True}]
    swarm.judge(plan, {"stalled": 1}, holds)
    try:
        swarm.judge(plan, {}, holds)
    except AssertionError:
        return
    raise AssertionError("not found: %r" % (holds,))


def test_replies(place):
    """replies are read alike wherever they are split, and nonsense is refused"""
    text = b":1\r\n$-1\r\n_\r\n+OK\r\n-ERR x\r\n$2\r\nhi\r\n*2\r\n:1\r\n*0\r\n%1\r\n+a\r\n#t\r\n>1\r\n:5\r\n"
    wanted = [1, None, None, "OK", "ERR x", "hi", [1, []], {"a": True}, [5]]
    for step in (1, 2, 3, 7, len(text)):
        data, got = b"", []
        for at in range(0, len(text), step):
            data += text[at:at + step]
            while True:
                found = resp.parse(data)
                if found is None:
                    break
                got.append(found[0])
                data = data[found[1]:]
        expect(got, wanted)
    try:
        resp.parse(b"hello\r\n")
    except resp.Broken:
        return
    raise AssertionError("nonsense was taken")


def test_master(place):
    """a real master starts, counts script calls, dies and comes back empty or with its dump"""
    redis = place.redis()
    expect(redis("SET", "a", 1), "OK")
    expect(redis("EVAL", "return 1", 0), 1)
    expect(redis.script_calls(), 1)
    redis.kill()
    redis.restart()
    expect(redis("GET", "a"), None)
    expect(redis("SET", "a", 2), "OK")
    expect(redis("SAVE"), "OK")
    redis.kill()
    redis.restart()
    expect(redis("GET", "a"), "2")


def test_no_common_master(place):
    """two daemons with a master each do not exclude each other, and the judge sees it"""
    daemons = [place.daemon(name, master=place.redis("r-" + name)).admitted() for name in ("d1", "d2")]
    plan = swarm.Plan(place.path, [daemon.socket for daemon in daemons], ["counter"], 4, rounds=50, hold=0.002)
    started = swarm.Swarm(plan)
    place.ends.append(started.end)
    counts, holds = started.wait()
    expect(any(one.startswith("exclusion: ") for one in swarm.findings(plan)), True, str(len(holds)))
    expect(swarm.counter_read(place.path, "counter") < 400, True)


def test_bound_client_ends(place):
    """a client of the nemesis that is cut off when it has to stop writes down that its process, and so its hold, ends"""
    daemon = place.daemon("d1", master=place.redis()).admitted()
    plan = nemesis_client.Plan(place.path, [(daemon.socket, None)], 16, "bound", latches=False)
    ours, theirs = os.pipe()
    loop = talker.Loop(ours)
    loop.plan, loop.stopping, loop.running = plan, False, 1
    client = nemesis_roles.Bound(loop, 15)
    client.turn = lambda: client.lock("graced0", "p2/3", 0)
    client.connect()
    while client.state != "holding":
        loop.turn()
    client.hang_up()
    client.finish()
    os.close(ours)
    os.close(theirs)
    write = history.Writer(os.path.join(place.path, "client.other"))
    with resp.Client(daemon.socket) as other:
        write("ask", "graced0", 45000, "p2/3")
        write("grant", "graced0", *other("LOCK", "graced0", "LIMIT", 3, "PERMITS", 2, "WAIT", 45000, "VALIDITY"))
    write("end", "self")
    write.close()
    client.write.close()
    files = [os.path.join(place.path, name) for name in os.listdir(place.path) if name.startswith("client.")]
    history.nothing_found(history.judge(files))


@harness.busy
def test_programs(place):
    """the nemesis and the soak, which `make check` does not run, begin, play a little, and say so"""
    for words in (["nemesis.py", "--masters", "1", "--seconds", "2"], ["soak.py", "1"]):
        program = place.run(sys.executable, os.path.join(os.path.dirname(__file__), words[0]), *words[1:])
        expect((program.wait(), "ok 1 - " in program.output.text()), (0, True), program.output.tail())


if __name__ == "__main__":
    harness.main(globals())
