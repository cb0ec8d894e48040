package holdfast;

import holdfast.Wire.Failure;
import holdfast.Wire.Push;
import java.io.ByteArrayOutputStream;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.function.BiConsumer;
import java.util.function.Consumer;

/**
 * The conversation with the daemon, without I/O. Bytes and times go in, bytes and calls come out.
 *
 * <pre>
 *     engine                                   core                                     engine
 *       receive(bytes, now)  ────────▶  ┌───────────────────────┐  ────▶  output    bytes to send
 *       acquire, release     ────────▶  │ hold  (name, owner)   │  ────▶  calls     what to tell the callers
 *       tick(now)            ────────▶  │  ├ users    claims    │  ────▶  wake()    when tick() is due
 *       connected, cut       ────────▶  │  └ waiting  claims    │
 *                                       └───────────────────────┘
 * </pre>
 *
 * All times are nanoseconds of Clock. One thread at a time may use it. It must not read a clock, do I/O or call a caller:
 * what callers are told is put into calls.
 */
final class Core {
    static final long MS = 1_000_000;
    static final long SECOND = 1000 * MS;
    /** For so long the daemon keeps the session after the connection was lost. */
    static final long GRACE = 10 * SECOND;
    /** For so long a caller looks for a daemon that is away. */
    static final long PATIENCE = 5 * SECOND;
    /** By so much the daemon may answer a WAIT late: a hand-over, a busy host. */
    static final long SLACK = 2 * SECOND;
    /** Without an answer for so long, a connection counts as lost. */
    static final long SILENCE = 5 * SECOND;
    private static final long RETRY = 200 * MS; // until a LOCK is sent again to a daemon that ends
    private static final long CHECK_MIN = 20 * MS;
    /** By so much before the announced deadline a holder that cannot ask is told. */
    private static final long EARLY = 20 * MS;

    /** So long after a deadline, a look at it shows that this process stood still. */
    private static final long STOOD = 100 * MS;
    /** For the daemon's answer if this process stood still until the deadline that it was told. */
    static final long LATE = SECOND;

    private interface Handler {
        void answered(Object value, long now);
    }

    /** Something, and when it was sent or is due. */
    private static final class Timed<T> {
        final T it;
        final long at;

        Timed(T it, long at) {
            this.it = it;
            this.at = at;
        }
    }

    /** Stands for an answer that did not come because the connection was lost. */
    private static final Object CUT = new Object();
    /** The error of a further name of a request that has to give back those that it has: see Line. */
    static final HoldfastException YIELD = new LockRefusedException("LIMIT", "waiters-per-session");
    /** What an older daemon says, which pushes no time. */
    private static final String UNTOLD = "VALIDITY and ASYNC exclude each other";
    private static final Handler IGNORE = (value, now) -> { };

    final Map<Hold.Key, Hold> holds = new HashMap<>();
    List<Runnable> calls = new ArrayList<>();
    ByteArrayOutputStream output = new ByteArrayOutputStream();
    boolean online; // there is a connection
    boolean answered; // and a daemon has answered there
    volatile boolean served; // a daemon has answered, over this connection or an earlier one
    private boolean tells; // the daemon tells with a grant for how long it is good
    boolean stalled; // the connection has to be closed; cutWhy says why
    int failures; // connections in a row at which no daemon answered
    HoldfastException cutWhy;

    String place; // for messages: where it connects
    private final List<String> hello;
    private final String bind; // "": the session is not bound
    private final boolean tcp;
    private final Wire input = new Wire();
    private final Object[] read = new Object[1];
    private final Deque<Timed<Handler>> sent = new ArrayDeque<>();
    private final Map<String, Hold> asking = new HashMap<>(); // by id
    private final PriorityQueue<Timed<Hold>> due = new PriorityQueue<>((a, b) -> Long.compare(a.at, b.at));
    private final Line line = new Line();
    private final Queue queue = new Queue();
    private final Looks looks = new Looks();
    private long cutSince;
    private long heard;
    private long ids;
    private String secret = "";
    private boolean bound;

    /** hello: the first request. bind: the start time of this process for SESSION BIND, or "". */
    Core(String place, List<String> hello, String bind, boolean tcp) {
        this.place = place;
        this.cutWhy = unreachable("it does not answer");
        this.hello = hello;
        this.bind = bind;
        this.tcp = tcp;
    }

    DaemonUnreachableException unreachable(String why) {
        return new DaemonUnreachableException("cannot reach holdfastd at " + place + ": " + why);
    }

    // --- the connection ----------------------------------------------------------------------------------------------

    /** There is a new connection: output gets its first bytes. */
    void connected(long now) {
        online = true;
        stalled = false;
        tells = true;
        heard = now;
        input.clear();
        send(now, this::helloAnswered, hello);
        if (!secret.isEmpty()) {
            // Other connections of the process may be in a bound session: RESUME would close them.
            send(now, this::resumed, List.of("SESSION", bound ? "JOIN" : "RESUME", secret));
        }
        if (!bind.isEmpty()) {
            send(now, this::bound, List.of("SESSION", "BIND", bind));
        }
        send(now, this::graced, List.of("SESSION", "GRACE", ms(GRACE)));
        send(now, IGNORE, List.of("SESSION", "ONLOSS", "PUSH"));
        for (Hold hold : List.copyOf(holds.values())) {
            hold.checking = false;
            for (String id : hold.cancelled) {
                send(now, IGNORE, List.of("CANCEL", id));
            }
            if (hold.token != 0) {
                check(hold, now);
            } else if (!hold.asked.isEmpty()) {
                lock(hold, now);
            } else if (hold.waiting.isEmpty() && hold.lost.isEmpty()) {
                end(hold, now);
            } else if (!hold.waiting.isEmpty() && !hold.behind) {
                ask(hold, now);
            }
        }
    }

    /** The connection is lost. failed: it could not be made. */
    void cut(long now, HoldfastException why, boolean failed) {
        if (answered) {
            cutSince = now;
        }
        failures = answered ? 0 : failures + 1;
        online = answered = stalled = false;
        cutWhy = why;
        output.reset();
        List<Timed<Handler>> unanswered = List.copyOf(sent);
        sent.clear();
        for (Timed<Handler> one : unanswered) {
            one.it.answered(CUT, now);
        }
        for (Hold hold : List.copyOf(holds.values())) {
            for (Claim claim : List.copyOf(hold.waiting)) {
                if (failed && claim.until <= now) {
                    fail(claim, why, now);
                }
            }
            rouse(hold, now);
        }
    }

    /** Nothing is held and nothing waits: the session ends with the connection. */
    void quit(long now) {
        send(now, IGNORE, List.of("QUIT"));
        secret = "";
        bound = false;
    }

    /** Takes what the daemon sent. ProtocolException: it is no holdfastd. */
    void receive(byte[] bytes, int length, long now) throws Wire.ProtocolException {
        heard = now;
        input.add(bytes, length);
        while (!stalled && input.next(read)) {
            if (read[0] instanceof Push) {
                pushed((Push) read[0], now);
            } else if (sent.isEmpty()) {
                stall(refusal(read[0])); // the daemon says why it closes the connection
            } else {
                sent.poll().it.answered(read[0], now);
            }
        }
    }

    private static boolean hasCode(Object value, String code) {
        return value instanceof Failure && ((Failure) value).code().equals(code);
    }

    private HoldfastException refusal(Object value) {
        if (!(value instanceof Failure)) {
            return unreachable("it answered what it was not asked");
        }
        Failure failure = (Failure) value;
        return new LockRefusedException(failure.code(), failure.text());
    }

    private void stall(HoldfastException why) {
        stalled = true;
        cutWhy = why;
    }

    private void send(long now, Handler handler, List<String> words) {
        if (online) {
            output.writeBytes(Wire.encode(words));
            sent.add(new Timed<>(handler, now));
        } else {
            handler.answered(CUT, now);
        }
    }

    private void helloAnswered(Object value, long now) {
        if (value == CUT) {
            return;
        }
        answered = value instanceof List && ((List<?>) value).size() > 1 && "holdfast".equals(((List<?>) value).get(1));
        if (answered) {
            String text = "connected to holdfastd at " + place + (served ? " again" : "");
            Level level = served ? Level.INFO : Level.DEBUG;
            calls.add(() -> Seen.LOG.log(level, text));
            served = true;
            return;
        }
        boolean refused = value instanceof Failure && !((Failure) value).text().startsWith("unknown command");
        stall(refused ? refusal(value) : unreachable("what answers there is not holdfastd, but perhaps Redis: a Redis "
                + "belongs under masters: in holdfast.yml").lasting());
        if (hasCode(value, "DRAINING") || hasCode(value, "LIMIT")) {
            return; // that may pass
        }
        for (Hold hold : List.copyOf(holds.values())) {
            for (Claim claim : List.copyOf(hold.waiting)) {
                fail(claim, cutWhy, now);
            }
        }
    }

    private void resumed(Object value, long now) {
        if (value instanceof Failure) {
            secret = ""; // CHECK of each hold will show that the session is gone
        }
    }

    private void bound(Object value, long now) {
        if (value != CUT) {
            bound = value instanceof Long; // else the grace alone keeps the session
        }
    }

    private void graced(Object value, long now) {
        if (value != CUT) {
            secret = value instanceof String ? (String) value : ""; // else the daemon allows no grace: a cut is a loss
        }
    }

    // --- what callers ask for ----------------------------------------------------------------------------------------

    /** Begins a claim. Claims of one name and owner share the hold. */
    void acquire(Claim claim, long now) {
        Hold hold = holds.computeIfAbsent(new Hold.Key(claim.name, claim.owner), Hold::new);
        claim.hold = hold;
        hold.lost.clear();
        hold.lostToken = 0;
        line.join(claim, hold, !hold.used() && hold.asked.isEmpty());
        hold.waiting.add(claim);
        if (claim.tells && !claim.tries()) {
            claim.lookAt = now + Looks.FIRST;
            rouse(hold, claim.lookAt);
        }
        if (!hold.users.isEmpty()) {
            give(hold);
        } else if (hold.token == 0 && hold.asked.isEmpty() && !hold.behind && (hold.front || queue.enter(hold, claim))) {
            ask(hold, now);
        }
        rouse(hold, answered ? claim.until : now);
        moveUp(now);
    }

    /** Ends a claim whose caller is not told. */
    void abandon(Claim claim, long now) {
        drop(claim, now);
    }

    private void moveUp(long now) {
        for (Hold hold = line.next(); hold != null; hold = line.next()) {
            ask(hold, now);
        }
    }

    /** Ends a claim, whatever its state is. */
    void release(Claim claim, long now) {
        claim.releasing = true;
        drop(claim, now);
    }

    private void drop(Claim claim, long now) {
        Claim.State was = claim.state;
        Hold hold = claim.hold;
        line.end(claim);
        claim.state = Claim.State.OVER;
        if (hold == null || was == Claim.State.OVER) {
            if (hold != null && hold.lost.remove(claim)) {
                settle(hold, now);
            }
            freed(claim);
            return;
        }
        if (was == Claim.State.HELD) {
            hold.users.remove(claim);
        } else {
            leave(hold, claim, now);
        }
        if (hold.used()) {
            freed(claim);
        } else {
            hold.freed.add(claim);
            settle(hold, now);
        }
        moveUp(now);
    }

    private void leave(Hold hold, Claim claim, long now) {
        boolean first = hold.waiting.get(0) == claim;
        hold.waiting.remove(claim);
        if (first && claim.late != 0 && hold.asked.isEmpty() && hold.token == 0 && !hold.waiting.isEmpty()) {
            ask(hold, now); // the next claim of this owner has a longer wait
            return;
        }
        if (first && !hold.asked.isEmpty()) {
            send(now, IGNORE, List.of("CANCEL", hold.asked));
            hold.cancelled.add(hold.asked);
            asked(hold, "");
            line.end(hold);
            if (!hold.waiting.isEmpty()) {
                ask(hold, now);
            }
        }
    }

    /** Sends EXTEND or DOWNGRADE for a held claim; answered gets null, or why it failed. */
    void command(Claim claim, String verb, List<String> words, long now, Consumer<HoldfastException> answered) {
        if (claim.state != Claim.State.HELD) {
            calls.add(() -> answered.accept(claim.error));
            return;
        }
        Hold hold = claim.hold;
        long token = hold.token;
        List<String> request = new ArrayList<>(List.of(verb, claim.name));
        request.addAll(words);
        request.addAll(List.of("OWNER", claim.owner, "TOKEN", Long.toString(token)));
        send(now, (value, then) -> {
            HoldfastException error = null;
            if (value == CUT) {
                error = unreachable("the connection was lost before the answer to " + verb);
            } else if (value instanceof Failure) {
                boolean lost = hasCode(value, "LOST") || hasCode(value, "NOTHELD");
                error = lost ? loss(claim, value) : refusal(value);
                if (lost && hold.token == token) {
                    lose(hold, (LockLostException) error, then);
                }
            } else if (value instanceof Long && hold.token == token && verb.equals("EXTEND")) {
                told(hold, now, (Long) value, then);
            }
            HoldfastException told = error;
            calls.add(() -> answered.accept(told));
        }, request);
    }

    /** A daemon that stands still is noticed: over TCP always, on a Unix socket if something waits or is held. */
    private boolean listens() {
        return online && (tcp || !holds.isEmpty());
    }

    /** When tick() is due. */
    long wake() {
        long at = due.isEmpty() ? Long.MAX_VALUE : due.peek().at;
        return listens() ? Math.min(at, (sent.isEmpty() ? heard : Math.max(sent.peek().at, heard)) + SILENCE) : at;
    }

    /** Does what is due. */
    void tick(long now) {
        while (!due.isEmpty() && due.peek().at <= now) {
            Timed<Hold> first = due.poll();
            Hold hold = first.it;
            if (hold.due == first.at) {
                hold.due = Long.MAX_VALUE;
                for (Claim claim : List.copyOf(hold.waiting)) {
                    tickWaiting(hold, claim, now);
                }
                if (!hold.users.isEmpty()) {
                    tickHeld(hold, now);
                } else if (!hold.lost.isEmpty()) {
                    tickLost(hold, now);
                }
            }
        }
        if (listens() && !stalled) {
            if (!sent.isEmpty() && now >= Math.max(sent.peek().at, heard) + SILENCE) {
                stall(unreachable("no answer for " + SILENCE / SECOND + " s"));
            } else if (sent.isEmpty() && now >= heard + SILENCE) {
                send(now, IGNORE, List.of("PING"));
            }
        }
    }

    /** What was lost is given up at the latest when the time is over that its users were told. */
    private void tickLost(Hold hold, long now) {
        if (now >= hold.lostUntil) {
            hold.lost.clear();
        }
        settle(hold, now);
    }

    private void tickWaiting(Hold hold, Claim claim, long now) {
        if (claim.late != 0) {
            if (now >= claim.late) {
                fail(claim, timeout(claim, null), now);
            } else {
                rouse(hold, claim.late);
            }
            return;
        }
        look(hold, claim, now);
        long end = claim.bounded ? claim.until + SLACK : Long.MAX_VALUE;
        HoldfastException why = online ? unreachable("it does not answer") : cutWhy;
        if (answered && hold.behind && now >= claim.until) {
            queue.stepOut(hold); // it tries once: the daemon knows why it was not its turn
            ask(hold, now);
        }
        boolean stands = answered && line.has(hold);
        if (stands) {
            end = claim.until;
        } else if (!answered) {
            end = Math.min(end, Math.max(cutSince, claim.since) + PATIENCE);
        } else if (hold.behind) {
            end = claim.until;
        } else if (hold.trouble != null) {
            why = hold.trouble;
            end = Math.min(end, hold.troubleSince + PATIENCE);
            if (now < end && hold.asked.isEmpty()) {
                ask(hold, now);
            }
            rouse(hold, now + RETRY);
        }
        if (now >= end && stands) {
            timedOut(claim, now);
        } else if (now >= end) {
            fail(claim, why, now);
        } else if (end != Long.MAX_VALUE) {
            rouse(hold, end);
        }
    }

    private void tickHeld(Hold hold, long now) {
        boolean asks = online && !hold.checking;
        if (now >= hold.deadline - (asks ? 0 : hold.early)) {
            tickOverdue(hold, now);
            return;
        }
        if (asks && now >= hold.checkAt) {
            check(hold, now);
            asks = false;
        }
        rouse(hold, asks ? Math.min(hold.checkAt, hold.deadline) : hold.deadline - hold.early);
    }

    /**
     * The announced deadline has passed. That is a loss if the daemon was asked for a later one, or could not be, all the time. A
     * process that stood still has not asked, and the daemon may have renewed the lock: it is asked now.
     */
    private void tickOverdue(Hold hold, long now) {
        boolean asks = online && !hold.checking;
        if (!hold.doubted && (asks || now >= hold.deadline + STOOD)) {
            hold.doubted = true;
            hold.late = now + LATE;
        }
        if (!hold.doubted || now >= hold.late) {
            lose(hold, overdue(hold, now), now);
            return;
        }
        if (asks && now >= hold.checkAt) {
            check(hold, now);
            asks = false;
        }
        rouse(hold, asks ? Math.min(hold.late, hold.checkAt) : hold.late);
    }

    /** Why the announced deadline has passed, as far as it is known here: it is a little earlier than the daemon's own. */
    private LockLostException overdue(Hold hold, long now) {
        List<String> words = hold.users.get(0).words;
        String bound = Terms.valueOf(words, "MAXHOLD");
        if (Terms.valueOf(words, "LEASE") != null) {
            return new LockLostException(hold.key.name(), hold.token, "lease", "its lease is over");
        }
        if (bound != null && now - hold.grantedAt > Long.parseLong(bound) * MS * 9 / 10) {
            return new LockLostException(hold.key.name(), hold.token, "maxhold", "its longest time is over");
        }
        if (!answered) {
            return new LockLostException(hold.key.name(), hold.token, "unreachable",
                    "the daemon was away until the announced deadline (" + cutWhy.getMessage() + ")");
        }
        if (hold.checking) {
            return new LockLostException(hold.key.name(), hold.token, "unreachable",
                    "the daemon did not answer until the announced deadline");
        }
        return new LockLostException(hold.key.name(), hold.token, "expired", "the daemon could not renew it in time");
    }

    // --- a hold ------------------------------------------------------------------------------------------------------

    private void asked(Hold hold, String id) {
        asking.remove(hold.asked);
        hold.asked = id;
        if (!id.isEmpty()) {
            asking.put(id, hold);
        }
    }

    /** Sends LOCK, or has the hold stand in the line. */
    private void ask(Hold hold, long now) {
        if (!line.mayAsk(hold, hold.waiting.get(0))) {
            hold.trouble = null;
            rouse(hold, hold.waiting.get(0).until);
            return;
        }
        hold.askedAt = now;
        asked(hold, hold.key.owner() + "." + Long.toString(++ids, 36));
        lock(hold, now);
    }

    /** Sends LOCK for the first claim that waits; after a cut again with the same id, which keeps its place. */
    private void lock(Hold hold, long now) {
        Claim claim = hold.waiting.get(0);
        String id = hold.asked;
        List<String> words = new ArrayList<>(List.of("LOCK", claim.name));
        words.addAll(claim.words);
        words.addAll(List.of("OWNER", claim.owner, "ASYNC", id));
        if (tells) {
            words.add("VALIDITY");
        }
        if (claim.bounded) {
            words.addAll(List.of("WAIT", ms(Math.max(0, claim.until - now))));
        }
        hold.known |= online;
        hold.sentAt = now;
        send(now, (value, then) -> locked(hold, id, value, then), words);
    }

    private void locked(Hold hold, String id, Object value, long now) {
        if (value == CUT || !hold.asked.equals(id)) {
            return;
        }
        if ("QUEUED".equals(value)) {
            line.leave(hold);
            moveUp(now);
            return;
        }
        if (value instanceof Long) {
            granted(hold, List.of(value), now);
            return;
        }
        if (value instanceof List && isGrant((List<?>) value)) {
            granted(hold, (List<?>) value, now);
            return;
        }
        if (value instanceof Failure && ((Failure) value).text().startsWith(UNTOLD)) {
            tells = false;
            lock(hold, now);
            return;
        }
        asked(hold, "");
        Claim claim = hold.waiting.get(0);
        if (Line.isFull(value, claim) && line.refused(hold)) {
            if (hold.follows) {
                fail(claim, YIELD, now);
            } else {
                rouse(hold, claim.until);
                moveUp(now);
            }
            return;
        }
        line.end(hold);
        if (!(value instanceof Failure)) {
            if (!claim.bounded) {
                bound(hold, now);
            }
            timedOut(claim, now);
        } else if (hasCode(value, "LOST")) {
            ask(hold, now); // an earlier loss, which the session had not been told
        } else if (hasCode(value, "DRAINING")
                || hasCode(value, "ERR") && hold.trouble == null && claim.since < cutSince) {
            // The daemon ends, and another begins; or it has not noticed yet that the old connection is gone, whose LOCK has
            // this id.
            hold.troubleSince = hold.trouble == null ? now : hold.troubleSince;
            hold.trouble = refusal(value);
            rouse(hold, now + RETRY);
        } else {
            fail(claim, refusal(value), now);
        }
        moveUp(now);
    }

    /** The daemon's rule for the name bounds a wait without a bound of its own: that is so for all of the queue. */
    private void bound(Hold hold, long now) {
        for (Hold other : queue.behind(hold)) {
            Claim claim = other.waiting.get(0);
            if (!claim.bounded) {
                claim.bounded = true;
                claim.until = claim.since + now - hold.askedAt;
                rouse(other, claim.until);
            }
        }
    }

    /** The hold has the lock, or waits no more. */
    private void stepAside(Hold hold, long now) {
        for (Hold next : queue.leave(hold)) {
            ask(next, now);
        }
    }

    private LockTimeoutException timeout(Claim claim, Holder holder) {
        String text = "another locker has the lock " + claim.name
                + (claim.wait == 0 ? "" : ", and kept it for " + claim.wait / MS + " ms");
        Hold ours = ours(claim);
        if (ours != null) {
            text += String.format("; this process holds it itself, for %.1fs: is a close missing?", (Clock.now() - ours.grantedAt) / 1e9);
        } else if (holder != null) {
            text += "; the holder is " + holder;
        }
        return new LockTimeoutException(text, claim.name, holder);
    }

    /** What this process has of the name itself; null: nothing. */
    private Hold ours(Claim claim) {
        for (Hold hold : holds.values()) {
            if (hold.token != 0 && hold.key.name().equals(claim.name)) {
                return hold;
            }
        }
        return null;
    }

    /** The wait is over. The error names the holder, for whom the daemon is asked now. */
    private void timedOut(Claim claim, long now) {
        if (claim.tries() || ours(claim) != null) {
            fail(claim, timeout(claim, null), now);
        } else if (claim.late == 0) {
            claim.late = now + Looks.ANSWER;
            rouse(claim.hold, claim.late);
            looks.ask(claim.name, now, this::ask, () -> {
                if (claim.state == Claim.State.WAITING) {
                    fail(claim, timeout(claim, looks.holder(claim.name)), now);
                }
            });
        }
    }

    private void ask(BiConsumer<Object, Long> answered, List<String> words) {
        send(heard, (value, then) -> answered.accept(value, then), words);
    }

    /** Asks who has the name, if that is due, and tells the caller. */
    private void look(Hold hold, Claim claim, long now) {
        if (now >= claim.lookAt) {
            claim.lookAt = now + Looks.EVERY;
            if (answered) {
                looks.ask(claim.name, now, this::ask, () -> waits(claim, looks.holder(claim.name), position(hold)));
            } else {
                waits(claim, null, 0);
            }
        }
        rouse(hold, claim.lookAt);
    }

    private void waits(Claim claim, Holder holder, long position) {
        if (claim.state == Claim.State.WAITING && claim.late == 0) {
            Waiting told = new Waiting(claim.name, holder, position, Duration.ofNanos(Math.max(0, Clock.now() - claim.since)));
            calls.add(() -> claim.caller.waits(claim, told));
        }
    }

    /** Among those that wait at the daemon, and behind the front that this process has there; 0: not known. */
    private long position(Hold hold) {
        long[] place = {0};
        int behind = queue.place(hold);
        looks.waiters(hold.key.name(), (owner, position) -> {
            boolean ours = behind == 0 ? owner.equals(hold.key.owner()) : holds.containsKey(new Hold.Key(hold.key.name(), owner));
            if (ours && place[0] == 0) {
                place[0] = position + behind;
            }
        });
        return place[0];
    }

    private static boolean isGrant(List<?> told) {
        return (told.size() == 1 || told.size() == 2) && told.stream().allMatch(Long.class::isInstance);
    }

    /**
     * told: the token, and the ms for which it is good from the sending of LOCK on. If the wait took too much of them, or an
     * older daemon told none, it is asked.
     */
    private void granted(Hold hold, List<?> told, long now) {
        long token = (Long) told.get(0);
        long ms = told.size() > 1 ? (Long) told.get(1) : 0;
        asked(hold, "");
        line.granted(hold, hold.waiting.get(0));
        moveUp(now);
        hold.token = token;
        hold.doubted = false;
        hold.trouble = null;
        hold.grantedAt = now;
        if (now < hold.sentAt + ms * MS / 3) {
            told(hold, hold.sentAt, ms, now);
            give(hold);
            moveUp(now);
        } else {
            check(hold, now);
        }
        stepAside(hold, now);
    }

    private void check(Hold hold, long now) {
        long token = hold.token;
        hold.checking = true;
        send(now, (value, then) -> checked(hold, token, now, value, then),
                List.of("CHECK", hold.key.name(), "OWNER", hold.key.owner(), "TOKEN", Long.toString(token)));
    }

    private void checked(Hold hold, long token, long asked, Object value, long now) {
        if (hold.token != token || value == CUT) {
            return;
        }
        hold.checking = false;
        if (value instanceof Long) {
            told(hold, asked, (Long) value, now);
            if (!hold.waiting.isEmpty() && now >= hold.deadline) {
                check(hold, now); // this process stood still until the deadline that it was told
            } else {
                give(hold);
                moveUp(now);
            }
        } else if (hold.used()) {
            lose(hold, loss(hold.any(), value), now);
        }
    }

    private void told(Hold hold, long asked, long ms, long now) {
        hold.deadline = asked + ms * MS;
        hold.early = Math.min(EARLY, ms * MS / 10);
        hold.checkAt = asked + Math.max(CHECK_MIN, ms * MS / 3);
        hold.doubted &= hold.deadline <= now;
        rouse(hold, Math.min(hold.checkAt, hold.deadline));
    }

    private void give(Hold hold) {
        for (Claim claim : hold.waiting) {
            claim.token = hold.token;
            claim.state = Claim.State.HELD;
            calls.add(() -> claim.caller.settled(claim));
            if (!claim.more) {
                line.end(claim);
            }
        }
        hold.users.addAll(hold.waiting);
        hold.waiting.clear();
    }

    private void fail(Claim claim, HoldfastException error, long now) {
        claim.error = error;
        if (claim.hold != null) {
            claim.hold.refused = error instanceof LockRefusedException && error != YIELD;
        }
        drop(claim, now);
        calls.add(() -> claim.caller.settled(claim));
    }

    /** The loss that the daemon's answer shows. */
    private static LockLostException loss(Claim claim, Object value) {
        Hold hold = claim.hold;
        long token = hold == null ? claim.token : hold.token;
        if (hasCode(value, "LOST")) {
            return lossOf(claim.name, token, ((Failure) value).text());
        }
        return new LockLostException(claim.name, token, "session",
                "the daemon does not know of it any more: it was stopped, it lost its state, or the connection was cut for "
                        + "too long");
    }

    private static LockLostException lossOf(String name, long token, String text) {
        int space = text.indexOf(' ');
        return new LockLostException(name, token, space < 0 ? text : text.substring(0, space), text.substring(space + 1));
    }

    /** All that have it, or wait for its first CHECK, are told. */
    private void lose(Hold hold, LockLostException error, long now) {
        if (now < hold.deadline - hold.early) {
            hold.lost.addAll(hold.users);
            hold.lostToken = hold.token;
            hold.lostUntil = hold.deadline - hold.early;
        }
        for (Claim claim : hold.users) {
            claim.error = error;
            claim.state = Claim.State.OVER;
            calls.add(() -> claim.caller.lost(claim));
        }
        hold.users.forEach(line::end);
        hold.waiting.forEach(line::end);
        for (Claim claim : hold.waiting) {
            claim.error = error;
            claim.state = Claim.State.OVER;
            calls.add(() -> claim.caller.settled(claim));
        }
        hold.users.clear();
        hold.waiting.clear();
        settle(hold, now);
        moveUp(now);
    }

    private void settle(Hold hold, long now) {
        if (!hold.used()) {
            hold.token = 0;
            asked(hold, "");
            line.end(hold);
            if (!hold.lost.isEmpty()) {
                rouse(hold, hold.lostUntil);
            } else if (hold.known) {
                end(hold, now);
            } else {
                forget(hold);
            }
            stepAside(hold, now);
        }
    }

    private void forget(Hold hold) {
        hold.freed.forEach(this::freed);
        hold.due = Long.MIN_VALUE; // nothing is due any more
        holds.remove(hold.key, hold);
    }

    /**
     * Makes the daemon forget the hold. It may have counted a LOCK twice whose answer was cut off: so this is repeated until
     * none is left. What was lost is given up with its token: then another locker may have a broken lock at once.
     */
    private void end(Hold hold, long now) {
        hold.ending++;
        List<String> request = new ArrayList<>(List.of("UNLOCK", hold.key.name(), "OWNER", hold.key.owner()));
        if (hold.lostToken != 0) {
            request.addAll(List.of("TOKEN", Long.toString(hold.lostToken)));
        }
        send(now, (value, then) -> ended(hold, value, then), request);
    }

    private void ended(Hold hold, Object value, long now) {
        for (Claim claim : hold.freed) {
            if (hasCode(value, "LOST") && claim.error == null && claim.token != 0) {
                claim.error = lossOf(claim.name, claim.token, ((Failure) value).text());
            }
            freed(claim);
        }
        hold.freed.clear();
        hold.ending--;
        if (value == CUT || hold.used() || !hold.lost.isEmpty() || hold.ending > 0) {
            return; // after a cut it is sent again over the next connection
        }
        if (value instanceof Long && (Long) value > 0) {
            end(hold, now);
        } else {
            forget(hold);
        }
    }

    private void freed(Claim claim) {
        if (claim.releasing) {
            claim.releasing = false;
            calls.add(() -> claim.caller.freed(claim));
        }
    }

    private void pushed(Push push, long now) {
        switch (push.text(0)) {
            case "lost": {
                Hold hold = holds.get(new Hold.Key(push.text(1), push.text(2)));
                if (hold != null && hold.used() && push.items().size() > 4 && Long.valueOf(hold.token).equals(push.items().get(3))) {
                    lose(hold, lossOf(hold.key.name(), hold.token, push.text(4)), now);
                }
                break;
            }
            case "grant": {
                Hold hold = asking.get(push.text(1));
                List<?> told = push.items().subList(Math.min(2, push.items().size()), push.items().size());
                if (hold != null && isGrant(told)) {
                    granted(hold, told, now);
                }
                break;
            }
            case "failed": {
                Hold hold = asking.get(push.text(1));
                if (hold != null) {
                    locked(hold, push.text(1), push.text(2).isEmpty() ? null : new Failure(push.text(2), push.text(3)), now);
                }
                break;
            }
            default: // events that nobody has asked for
        }
    }

    /** The core looks at the hold then, if not earlier. */
    private void rouse(Hold hold, long at) {
        if (at < hold.due) {
            hold.due = at;
            due.add(new Timed<>(hold, at));
        }
    }

    static String ms(long ns) {
        return Long.toString((ns + MS - 1) / MS);
    }
}
