"""What is proven with every library, written once. A scene's docstring is its name, with the library's in it.

A scene gets a stage: the place (tests/e2e/harness.py) with a Redis and a holdfastd of its own, and the library's
puppet connected to it over TCP. Beside the puppet the scenes use connections of the tests' own
(stage.peer()), which share no code with any library.
"""

import re
import threading
import time

import harness
import libraries
from harness import PATIENCE, WHOLE_MS, expect, expect_between, expect_not_before

TOKEN_MAX = 2 ** 53
LEASE_MS = 2000
# Longer than the default read timeout of every library but Lettuce.
LONG = 6.0
# How much earlier than it says a library may give up, by its own clock and rounding.
GRAIN = 0.1


def expect_kind(outcome, *kinds):
    if outcome.kind not in kinds:
        raise AssertionError("expected %s, got %r" % (" or ".join(kinds), outcome))
    return outcome.value


def expect_refused(outcome, code):
    expect_kind(outcome, "refused")
    expect(outcome.code, code)


def expect_token(token, above=0):
    expect_between(token, above + 1, TOKEN_MAX, "token")
    return token


def expect_own_answers(stage, client, calls=20):
    """Many requests at once, each of which must get the answer to itself and not its neighbour's."""
    pending = [(text, stage.puppet.begin(client, "ECHO", text)) for text in map("own-{}".format, range(calls))]
    for text, call in pending:
        outcome = call.result()
        expect_kind(outcome, "text")
        expect(outcome.value, text)


def waiters(stage, name):
    return stage.peer()("INSPECT", name)["waiters"]


def await_waiter(stage, name):
    """Waits until somebody waits for the name."""
    harness.until("somebody waits for " + name, lambda: waiters(stage, name))


def only_if(applies):
    """Marks a scene that not every library can play."""
    def mark(scene):
        scene.applies = applies
        return scene
    return mark


def expect_introduced(stage, client, form, lib_name):
    """What the library told the daemon by itself."""
    about = expect_kind(stage.puppet.call(client, "CLIENT", "INFO"), "text")
    stage.comment("%s: %s" % (stage.puppet.version, about))
    fields = dict(field.partition("=")[::2] for field in about.split())
    expect(fields["resp"], str(form), "the protocol in " + about)
    expect(fields["lib-name"].strip('"').partition("(")[0], lib_name, "the library's name in " + about)


def scene_handshake(stage):
    """{library} connects as it does by default and is answered"""
    stage.puppet.open("a")
    expect(expect_kind(stage.puppet.call("a", "PING"), "text"), "PONG")
    expect(expect_kind(stage.puppet.call("a", "ECHO", "hello"), "text"), "hello")
    expect(expect_kind(stage.puppet.call("a", "SELECT", "0"), "text"), "OK")
    expect("redis_version" in expect_kind(stage.puppet.call("a", "INFO"), "text"), True, "redis_version in INFO")
    expect_introduced(stage, "a", stage.library.resp, stage.library.lib_name)
    expect_refused(stage.puppet.call("a", "NONSENSE"), "ERR")
    if stage.library.shares:
        stage.puppet.open("b", "shared")
        expect(expect_kind(stage.puppet.call("b", "PING"), "text"), "PONG")
        expect_introduced(stage, "b", stage.library.resp_pool, stage.library.lib_name_pool)


def scene_lock(stage):
    """LOCK, CHECK and UNLOCK of {library} get the documented answers"""
    stage.puppet.open("a")
    token = expect_token(expect_kind(stage.puppet.call("a", "LOCK", "a", "WAIT", "0"), "int"))
    expect_between(expect_kind(stage.puppet.call("a", "CHECK", "a"), "int"), 1, LEASE_MS)
    expect_refused(stage.puppet.call("a", "LOCK", "a", "WAIT", "0"), "HELD")
    expect(expect_kind(stage.puppet.call("a", "UNLOCK", "a", "TOKEN", token), "int"), 0)
    expect_refused(stage.puppet.call("a", "UNLOCK", "a"), "NOTHELD")
    expect_kind(stage.puppet.call("a", "CHECK", "a"), "null")
    again, valid = expect_kind(stage.puppet.call("a", "LOCK", "a", "VALIDITY"), "list")
    expect_token(int(again), above=token)
    expect_between(int(valid), 1, LEASE_MS)
    expect(expect_kind(stage.puppet.call("a", "UNLOCK", "a"), "int"), 0)


def scene_kinds(stage):
    """{library} shares a lock, takes permits and several locks at once, and gets the documented answers"""
    first, second = stage.puppet.open("first"), stage.puppet.open("second")

    def ask(kind, client, *words):
        return expect_kind(stage.puppet.call(client, *words), kind)

    token = expect_token(ask("int", first, "LOCK", "a", "SHARED"))
    expect_token(ask("int", second, "LOCK", "a", "SHARED"))
    expect_refused(stage.puppet.call(first, "LOCK", "a"), "UPGRADE")
    expect(ask("int", first, "DOWNGRADE", "a"), token)
    expect(ask("int", first, "UNLOCK", "a"), 0)
    expect(ask("int", second, "UNLOCK", "a"), 0)
    expect_token(ask("int", first, "LOCK", "s", "LIMIT", "3", "PERMITS", "2"))
    ask("null", second, "LOCK", "s", "LIMIT", "3", "PERMITS", "2", "RETRIES", "0")
    expect_refused(stage.puppet.call(second, "LOCK", "s", "WAIT", "0"), "WRONGKIND")
    expect_token(ask("int", second, "LOCK", "b"))
    ask("null", first, "MLOCK", "2", "a", "b", "WAIT", "0")
    expect(ask("int", second, "UNLOCK", "b"), 0)
    for one in ask("list", first, "MLOCK", "2", "a", "b"):
        expect_token(int(one))
    expect(ask("int", first, "MUNLOCK", "3", "a", "b", "c"), 2)


def scene_latch(stage):
    """{library} makes a latch, awaits it, and goes on when it is open"""
    first, second = stage.puppet.open("first"), stage.puppet.open("second")
    call = stage.puppet.call
    expect(expect_kind(call(first, "LATCH", "l", "SET", "1"), "int"), 1)
    expect_kind(call(second, "LATCH", "l", "AWAIT", "WAIT", "0"), "null")
    expect_refused(call(first, "LATCH", "m", "DOWN"), "ERR")
    turn = stage.puppet.begin(second, "LATCH", "l", "AWAIT", "WAIT", "1500")
    harness.until("it is awaited", lambda: stage.peer()("INSPECT", "l")["waiters"])
    expect(expect_kind(call(first, "LATCH", "l", "DOWN"), "int"), 0)
    expect(expect_kind(turn.result(), "int"), 0)


def scene_resume(stage):
    """{library} comes back over another connection, and holds what it held"""
    peer = stage.peer()
    stage.puppet.open("first")
    secret = expect_kind(stage.puppet.call("first", "SESSION", "GRACE", "45000"), "text")
    token = expect_token(expect_kind(stage.puppet.call("first", "LOCK", "a"), "int"))
    stage.puppet.close("first")
    expect(peer("LOCK", "a", "WAIT", "0"), None)
    stage.puppet.open("second")
    expect(expect_kind(stage.puppet.call("second", "SESSION", "RESUME", secret), "int"), 1)
    expect_between(expect_kind(stage.puppet.call("second", "CHECK", "a", "TOKEN", token), "int"), 1, LEASE_MS)
    expect(expect_kind(stage.puppet.call("second", "UNLOCK", "a", "TOKEN", token), "int"), 0)
    expect_token(peer("LOCK", "a", "WAIT", "0"), above=token)


def scene_contended(stage):
    """{library} waits its turn within its read timeout, and is told when it does not come"""
    holder = stage.puppet.open("holder")
    waiter = stage.puppet.open("waiter")
    first = expect_token(expect_kind(stage.puppet.call(holder, "LOCK", "a"), "int"))
    expect_kind(stage.puppet.call(waiter, "LOCK", "a", "WAIT", "0"), "null")
    outcome = stage.puppet.call(waiter, "LOCK", "a", "WAIT", "300")
    expect_kind(outcome, "null")
    expect_not_before(outcome.took, 0.3, "the end of WAIT 300", WHOLE_MS)
    turn = stage.puppet.begin(waiter, "LOCK", "a", "WAIT", "1500")
    await_waiter(stage, "a")
    expect(turn.pending(), True, "it waits while the other holds")
    expect(expect_kind(stage.puppet.call(holder, "UNLOCK", "a"), "int"), 0)
    expect_token(expect_kind(turn.result(), "int"), above=first)
    expect_kind(stage.puppet.call(holder, "LOCK", "a", "WAIT", "0"), "null")
    expect(expect_kind(stage.puppet.call(waiter, "UNLOCK", "a"), "int"), 0)


def scene_late(stage):
    """{library}'s own connection past its read timeout: one holder at most, every answer its own"""
    play_late(stage, "one", stage.library.late)


@only_if(lambda library: library.tries)
def scene_exhausted(stage):
    """{library} sends a LOCK again until it has no try left: nothing stays behind"""
    peer = stage.peer()
    first = expect_token(peer("LOCK", "slow"))
    client = stage.puppet.open("a", "shared", patient=False)
    output = stage.daemon.output
    mark = output.mark()
    least = stage.library.tries * stage.library.timeout
    outcome = stage.puppet.begin(client, "LOCK", "slow").result(PATIENCE + 2 * least)
    expect_kind(outcome, "broken")
    stage.comment(repr(outcome))
    expect_not_before(outcome.took, least, "the error", GRAIN)
    opened = [line for line in output.text().split("\n")[mark:] if re.search(r"client\.open .*address=127\.", line)]
    expect(len(opened), stage.library.tries, "connections, one for each try")
    expect(waiters(stage, "slow"), [], "waiters after the last try")
    expect(peer("UNLOCK", "slow"), 0)
    expect_token(stage.peer("next")("LOCK", "slow", "WAIT", "0"), above=first)
    expect_own_answers(stage, client)


@only_if(lambda library: library.late_pool)
def scene_late_pool(stage):
    """{library}'s pool past its read timeout: one holder at most, every answer its own"""
    play_late(stage, "shared", stage.library.late_pool)


def play_late(stage, kind, late):
    peer = stage.peer()
    first = expect_token(peer("LOCK", "slow"))
    client = stage.puppet.open("a", kind, patient=False)
    turn = stage.puppet.begin(client, "LOCK", "slow")
    await_waiter(stage, "slow")
    {
        libraries.NEVER: late_never,
        libraries.GIVES_UP: late_gives_up,
        libraries.LINGERS: late_lingers,
        libraries.SENDS_AGAIN: late_sends_again,
        libraries.KEEPS: late_keeps,
        libraries.BEHIND: late_behind,
    }[late](stage, peer, client, turn, first)
    usable = (kind == "shared" or late in (libraries.NEVER, libraries.SENDS_AGAIN, libraries.KEEPS)
              ) and not stage.library.hasty
    expect_own_answers(stage, client if usable else stage.puppet.open("after"))
    expect_token(stage.peer()("LOCK", "slow", "WAIT", "5000"), above=first)


def late_never(stage, peer, client, turn, first):
    """No timeout: however long it takes, the answer comes when the lock does."""
    expect(turn.done.wait(LONG), False, "waiting")
    expect(peer("UNLOCK", "slow"), 0)
    expect_token(expect_kind(turn.result(), "int"), above=first)
    expect(stage.peer()("LOCK", "slow", "WAIT", "0"), None, "for somebody else")
    expect(expect_kind(stage.puppet.call(client, "UNLOCK", "slow"), "int"), 0)


def expect_given_up(stage, turn):
    outcome = turn.result(PATIENCE + stage.library.timeout)
    expect_kind(outcome, "broken")
    stage.comment(repr(outcome))
    expect_not_before(outcome.took, stage.library.timeout, "the error", GRAIN)


def late_gives_up(stage, peer, client, turn, first):
    """An error at the timeout, the connection closed: its wait has ended, and the lock is not granted to it."""
    expect_given_up(stage, turn)
    # Some tell it before they close.
    harness.until("its wait has ended", lambda: not waiters(stage, "slow"))
    expect(peer("UNLOCK", "slow"), 0)
    expect_token(stage.peer("next")("LOCK", "slow", "WAIT", "0"), above=first)
    expect(stage.peer("next")("UNLOCK", "slow"), 0)


def late_lingers(stage, peer, client, turn, first):
    """An error at the timeout and at each call after it, but the connection stays open, and the wait goes on, until the
    program closes the client: then a lock that was granted meanwhile is given back."""
    expect_given_up(stage, turn)
    expect_kind(stage.puppet.call(client, "CHECK", "slow"), "broken")
    expect(len(waiters(stage, "slow")), 1, "waiters after the timeout")
    expect(peer("UNLOCK", "slow"), 0)
    expect(stage.peer("next")("LOCK", "slow", "WAIT", "0"), None, "while the client is not closed")
    expect_kind(stage.puppet.call(client, "CHECK", "slow"), "broken")
    stage.puppet.close(client)
    expect_token(stage.peer("next")("LOCK", "slow", "WAIT", 5 * LEASE_MS), above=first)
    expect(stage.peer("next")("UNLOCK", "slow"), 0)


def late_sends_again(stage, peer, client, turn, first):
    """The second LOCK is the one that waits and gets it; the first has gone with its connection."""
    before = waiters(stage, "slow")[0]["session"]

    def another():
        return [waiter["session"] != before for waiter in waiters(stage, "slow")] == [True]

    harness.until("another session waits, alone", another, PATIENCE + stage.library.timeout)
    expect(turn.pending(), True, "waiting beyond the timeout")
    expect(peer("UNLOCK", "slow"), 0)
    expect_token(expect_kind(turn.result(), "int"), above=first)
    expect(stage.peer()("LOCK", "slow", "WAIT", "0"), None, "for somebody else")
    expect_between(expect_kind(stage.puppet.call(client, "CHECK", "slow"), "int"), 1, LEASE_MS)
    expect(expect_kind(stage.puppet.call(client, "UNLOCK", "slow"), "int"), 0)


def late_keeps(stage, peer, client, turn, first):
    """The caller gets an error, but the connection lives on and the wait with it. So a lock can be granted that nobody
    knows of: it is held by that connection alone, a second LOCK there says so, and UNLOCK gives it back."""
    expect(turn.done.wait(stage.library.timeout / 2), False, "waiting")
    expect_given_up(stage, turn)
    expect(len(waiters(stage, "slow")), 1, "waiters after the timeout")
    behind = stage.puppet.begin(client, "ECHO", "behind")
    expect(peer("UNLOCK", "slow"), 0)
    if stage.library.hasty:
        harness.until("it is granted", lambda: stage.peer()("INSPECT", "slow")["holders"])
    else:
        expect(expect_kind(behind.result(), "text"), "behind")
    expect(stage.peer()("LOCK", "slow", "WAIT", "0"), None, "for somebody else")
    expect_refused(insist(stage, client, "LOCK", "slow"), "HELD")
    released = insist(stage, client, "UNLOCK", "slow")
    # What it gave up on may have been done.
    expect(released.value == 0 or stage.library.hasty and released.code == "NOTHELD", True, repr(released))


def late_behind(stage, peer, client, turn, first):
    """The same, and each answer from then on is that to the request before: the program gets the token for its ECHO. Only
    closing the connection helps."""
    expect_given_up(stage, turn)
    expect(len(waiters(stage, "slow")), 1, "waiters after the timeout")
    expect(peer("UNLOCK", "slow"), 0)
    token = expect_token(expect_kind(stage.puppet.call(client, "ECHO", "one"), "int"), above=first)
    expect(expect_kind(stage.puppet.call(client, "ECHO", "two"), "text"), "one")
    stage.puppet.close(client)
    expect_token(stage.peer("next")("LOCK", "slow", "WAIT", 5 * LEASE_MS), above=token)
    expect(stage.peer("next")("UNLOCK", "slow"), 0)


def insist(stage, client, *words):
    """A timeout of less than a second may be over on a busy machine without anybody's fault."""
    for _ in range(20):
        outcome = stage.puppet.call(client, *words)
        if outcome.kind != "broken" or not stage.library.hasty:
            break
    return outcome


@only_if(lambda library: library.patient)
def scene_patient(stage):
    """{library}, set up for a LOCK that waits, waits longer than its read timeout and gets it"""
    peer = stage.peer()
    first = expect_token(peer("LOCK", "slow"))
    client = stage.puppet.open("a", patient=True)
    turn = stage.puppet.begin(client, "LOCK", "slow")
    await_waiter(stage, "slow")
    expect(turn.done.wait(stage.library.timeout + 2), False, "waiting")
    expect(peer("UNLOCK", "slow"), 0)
    expect_token(expect_kind(turn.result(), "int"), above=first)
    expect(stage.peer()("LOCK", "slow", "WAIT", "0"), None, "for somebody else")
    expect(expect_kind(stage.puppet.call(client, "UNLOCK", "slow"), "int"), 0)


RACERS = 24


def race_offsets(spread):
    """From before to after, the denser the nearer to zero."""
    for n in range(RACERS):
        x = (2 * n + 1) / RACERS - 1
        yield spread * x * abs(x)


def unlock_at(peer, client, moment):
    time.sleep(max(0, moment - time.monotonic()))
    expect(peer("UNLOCK", client), 0)


def race_by_timeout(stage, peer, turns):
    """Each lock becomes free about when the library's timeout is over."""
    middle = max(turn.began for turn in turns.values()) + stage.library.timeout
    for client, offset in zip(turns, race_offsets(0.8)):
        unlock_at(peer, client, middle + offset)


def race_by_closing(stage, peer, turns):
    """Each lock becomes free about when another thread of the program closes the connection."""
    for client, offset in zip(turns, race_offsets(0.3)):
        now = time.monotonic()
        if offset > 0:
            stage.puppet.send("close", client)
        unlock_at(peer, client, now + max(0, offset))
        if offset < 0:
            time.sleep(-offset)
            stage.puppet.send("close", client)


def scene_race(stage):
    """{library} gives up at the moment it is granted: what it did not get is given back"""
    late = stage.library.late_pool or stage.library.late
    by_itself = late in (libraries.GIVES_UP, libraries.SENDS_AGAIN)
    peer = stage.peer()
    clients = ["c%d" % n for n in range(RACERS)]
    first = {client: expect_token(peer("LOCK", client)) for client in clients}
    for client in clients:
        stage.puppet.open(client, "shared" if by_itself else "one")
        expect_own_answers(stage, client, 1)  # connected and warm, so that all begin to wait at once
    turns = {client: stage.puppet.begin(client, "LOCK", client) for client in clients}
    for client in clients:
        await_waiter(stage, client)
    (race_by_timeout if by_itself else race_by_closing)(stage, peer, turns)
    got = [judge_race(stage, client, turns[client], first[client], by_itself) for client in clients]
    stage.comment("%d of %d were told that they hold it" % (sum(got), len(got)))
    expect(sum(got) > 0, True, "somebody got it in time")
    if late != libraries.SENDS_AGAIN:
        expect(sum(got) < len(got), True, "somebody did not get it in time")


def judge_race(stage, client, turn, first, by_itself):
    """Whether it was told that it holds the lock; if not, somebody else can have it."""
    outcome = turn.result()
    # Null: the library closed its sending direction only, which makes a wait one of WAIT 0.
    expect_kind(outcome, "int", "broken", *([] if by_itself else ["null"]))
    if outcome.kind == "int":
        expect_token(outcome.value, above=first)
    if outcome.kind == "int" and by_itself:
        expect(stage.peer()("LOCK", client, "WAIT", "0"), None, "for somebody else")
        expect(expect_kind(stage.puppet.call(client, "UNLOCK", client), "int"), 0)
    other = stage.peer("other")
    expect_token(other("LOCK", client, "WAIT", 5 * LEASE_MS), above=outcome.value if outcome.kind == "int" else first)
    expect(other("UNLOCK", client), 0)
    if by_itself:
        expect_own_answers(stage, client, 3)
    return outcome.kind == "int"


class Umpire:
    """Watches one lock as the threads of a program see it: from the answer of LOCK until UNLOCK is sent."""

    def __init__(self):
        self.lock = threading.Lock()
        self.holder = None
        self.token = 0
        self.grants = 0
        self.answers = {}
        self.faults = []

    def enter(self, who, token):
        with self.lock:
            if self.holder is not None:
                self.faults.append("thread %s has it while %s has it" % (who, self.holder))
            if token <= self.token:
                self.faults.append("token %d after %d" % (token, self.token))
            self.holder, self.token = who, token
            self.grants += 1

    def leave(self):
        with self.lock:
            self.holder = None

    def note(self, answer):
        with self.lock:
            self.answers[answer] = self.answers.get(answer, 0) + 1


ENOUGH_GRANTS = 5


def walk(stage, umpire, who, until, latest):
    """One thread of a program that shares a client. In a pool the UNLOCK may go out on a connection that is not the
    holder's, and is refused; it is sent until it went out on the right one. The threads go on until `until`, and a slow
    machine until there were enough grants."""
    while not umpire.faults and time.monotonic() < (until if umpire.grants >= ENOUGH_GRANTS else latest):
        outcome = stage.puppet.call("shared", "LOCK", "common", "WAIT", "200")
        umpire.note(outcome.code or outcome.kind)
        if outcome.kind != "int":
            continue
        umpire.enter(who, outcome.value)
        time.sleep(0.005)  # the work
        umpire.leave()
        for _ in range(1000):
            released = stage.puppet.call("shared", "UNLOCK", "common", "TOKEN", outcome.value)
            umpire.note("UNLOCK: %s" % (released.code or released.kind))
            if released.kind == "int":
                break


@only_if(lambda library: library.shares)
def scene_shared(stage):
    """threads that share one client of {library} never both hold"""
    stage.puppet.open("shared", "shared")
    umpire = Umpire()
    begun = time.monotonic()
    threads = [threading.Thread(target=walk, args=(stage, umpire, n, begun + 2, begun + 60)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    stage.comment(umpire.answers)
    expect(umpire.faults, [])
    expect(set(umpire.answers) - {"int", "null", "HELD", "UNLOCK: int", "UNLOCK: NOTHELD"}, set(), "other answers")
    expect(umpire.grants >= ENOUGH_GRANTS, True, "%d grants are enough" % umpire.grants)
    expect_own_answers(stage, "shared")


def scene_order(stage):
    """answers of {library} stay in order around a LOCK that waits in vain"""
    peer = stage.peer()
    expect_token(peer("LOCK", "taken"))
    stage.puppet.open("shared", "shared")
    turn = stage.puppet.begin("shared", "LOCK", "taken", "WAIT", "700")
    expect_own_answers(stage, "shared", 40)
    expect_kind(turn.result(), "null")
    expect_own_answers(stage, "shared")


def scene_loss(stage):
    """{library} notices a lost lock by its connection"""
    client = stage.puppet.open("a")
    first = expect_token(expect_kind(stage.puppet.call(client, "LOCK", "brief", "MAXHOLD", "300"), "int"))
    stage.daemon.output.wait(r"lock\.lost .*name=brief")
    if stage.library.notice == "event":
        stage.puppet.event(client)
    outcome = stage.puppet.call(client, "CHECK", "brief")
    expect_kind(outcome, *{"error": ["broken"], "event": ["null", "broken"], "silent": ["null"],
                           "chance": ["null", "broken"]}[stage.library.notice])
    outcome = stage.puppet.call(client, "UNLOCK", "brief")
    expect(outcome.code == "NOTHELD" or outcome.kind == "broken", True, "UNLOCK of a lost lock: %r" % outcome)
    expect_token(stage.peer()("LOCK", "brief", "WAIT", "0"), above=first)
    expect_own_answers(stage, stage.puppet.open("b"))


def scene_loss_waiting(stage):
    """{library} notices a lost lock also while it waits for another"""
    peer = stage.peer()
    expect_token(peer("LOCK", "other"))
    client = stage.puppet.open("a")
    first = expect_token(expect_kind(stage.puppet.call(client, "LOCK", "brief", "MAXHOLD", "400"), "int"))
    turn = stage.puppet.begin(client, "LOCK", "other")
    stage.daemon.output.wait(r"lock\.lost .*name=brief")
    expect_token(stage.peer()("LOCK", "brief", "WAIT", "0"), above=first)
    # Some libraries connect again and repeat the LOCK, in a new session: they may have it, but not the lost one.
    expect(turn.done.wait(1.0) and expect_kind(turn.outcome, "broken") is None, False)
    expect(peer("UNLOCK", "other"), 0)
    if turn.pending():
        expect_kind(turn.result(), "int", "broken")
    if turn.outcome.kind == "int":
        expect(peer("LOCK", "other", "WAIT", "0"), None, "for somebody else")
        expect_kind(stage.puppet.call(client, "CHECK", "brief"), "null")
    else:
        expect_token(peer("LOCK", "other", "WAIT", "0"))
    stage.comment(repr(turn.outcome))


SCENES = (scene_handshake, scene_lock, scene_kinds, scene_latch, scene_resume, scene_contended, scene_order, scene_shared,
          scene_loss, scene_loss_waiting, scene_race, scene_late, scene_late_pool, scene_exhausted,
          scene_patient)
