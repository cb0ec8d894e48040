package holdfast;

import java.util.List;

/** What one caller wants or has of one name. The core alone changes it; all threads read what is volatile. */
final class Claim {
    enum State {
        WAITING,
        HELD,
        OVER
    }

    /** What the caller is told, in the engine's thread: it must not block. */
    interface Caller {
        /** The wait is over: the claim is held, or its error says why not. */
        void settled(Claim claim);

        /** The wait lasts. */
        void waits(Claim claim, Waiting waiting);

        /** A held claim is lost; its error is a LockLostException. */
        void lost(Claim claim);

        /** The daemon has answered the release, or cannot. */
        void freed(Claim claim);
    }

    final String name;
    final String owner;
    final List<String> words; // of LOCK, without OWNER, ASYNC and WAIT
    boolean bounded; // there is a wait
    final long wait; // ns
    final long since;
    long until;
    boolean shared; // its owner is the caller's own: others may have the same name and owner
    final Caller caller;
    final Line.Turn turn;
    final boolean more; // names of the request are to come

    volatile State state = State.WAITING;
    volatile long token; // 0: not held yet
    volatile HoldfastException error;
    volatile Hold hold;
    boolean releasing; // freed() is due
    boolean tells; // somebody is told of a wait that lasts
    long lookAt = Long.MAX_VALUE; // when to ask who has the name
    long late; // until then the holder may be asked for, as the wait is over; 0: it is not

    /**
     * @param owner what the daemon knows the locker by; claims with the same name and owner share the lock
     * @param wait  ns; negative: as the daemon's rule says
     */
    Claim(String name, String owner, List<String> words, long wait, long now, Caller caller, Line.Turn turn, boolean more) {
        this.name = name;
        this.owner = owner;
        this.words = words;
        this.bounded = wait >= 0;
        this.wait = Math.max(wait, 0);
        this.since = now;
        this.until = bounded ? now + this.wait : Long.MAX_VALUE;
        this.caller = caller;
        this.turn = turn;
        this.more = more;
    }

    boolean tries() {
        return bounded && wait == 0;
    }

    /** It is not known to be lost, and not to be held. */
    boolean isOverdue() {
        return state == State.HELD && left() == 0;
    }

    /** ns for which it is surely held, from now on; 0: it is not. */
    long left() {
        Hold at = hold;
        return state == State.HELD && at != null ? Math.max(0, at.deadline - Clock.now()) : 0;
    }
}
