package holdfast;

import java.util.ArrayList;
import java.util.List;

/**
 * The holds for whose LOCK the daemon has no room: a session waits as often as waiters-per-session allows. The core alone uses it.
 *
 * <p>Only the first of the line is sent at a time, and it stays in the line until the daemon has taken it: so the order is kept.
 * Room is at least the number of waits that have ended since the daemon last refused one, less those sent since. So the first is
 * never left standing while the daemon has room because a wait of this session ended.
 */
final class Line {
    /** What the claims of one request have in common. */
    static final class Turn {
        private long ticket; // the place in the line; 0: none yet
        private boolean reserved; // the room of the name before is for the next
        boolean yields; // it has given back what it had of several names, and begins again in the line
    }

    private final List<Hold> stands = new ArrayList<>(); // by ticket
    private long tickets;
    private int asking; // LOCKs that the daemon has, or may have, and rooms reserved
    private long ended; // waits that have ended
    private long room;

    /** A request that waits was refused because there is no room. */
    static boolean isFull(Object value, Claim claim) {
        if (!(value instanceof Wire.Failure) || claim.tries()) {
            return false;
        }
        Wire.Failure failure = (Wire.Failure) value;
        return failure.code().equals("LIMIT") && failure.text().startsWith("waiters-per-session");
    }

    /** The claim begins, as the first of its hold or not. */
    void join(Claim claim, Hold hold, boolean first) {
        Turn turn = claim.turn;
        turn.ticket = turn.ticket == 0 ? ++tickets : turn.ticket;
        if (!first) {
            return;
        }
        hold.ticket = turn.ticket;
        hold.follows = turn.reserved;
        if (turn.reserved) {
            turn.reserved = false;
            hold.asks = true;
            hold.seen = ended;
        }
    }

    /** False: the hold stands in the line. */
    boolean mayAsk(Hold hold, Claim claim) {
        if (hold.asks) {
            return true;
        }
        if (claim.tries() || stands.isEmpty() && (!claim.turn.yields || asking == 0)) {
            send(hold);
            return true;
        }
        stand(hold);
        return false;
    }

    boolean has(Hold hold) {
        return !hold.asks && stands.contains(hold);
    }

    private void send(Hold hold) {
        hold.asks = true;
        hold.seen = ended;
        asking++;
    }

    private void stand(Hold hold) {
        if (!stands.contains(hold)) {
            int at = stands.size();
            while (at > 0 && stands.get(at - 1).ticket > hold.ticket) {
                at--;
            }
            stands.add(at, hold);
        }
    }

    /** The hold whose LOCK is to be sent now; null: none. */
    Hold next() {
        if (stands.isEmpty() || room == 0 || stands.stream().anyMatch(hold -> hold.asks)) {
            return null;
        }
        room--;
        send(stands.get(0));
        return stands.get(0);
    }

    /** The daemon has room for the hold, or it waits no more. */
    void leave(Hold hold) {
        stands.remove(hold);
    }

    /** The daemon had no room. False: no other wait is under way, and none has ended since. */
    boolean refused(Hold hold) {
        if (asking < 2 && ended == hold.seen) {
            return false;
        }
        hold.asks = false;
        asking--;
        room = ended - hold.seen;
        if (!hold.follows) {
            stand(hold);
        }
        return true;
    }

    /** The wait has its lock; the room is kept for the next name of the claim, if there is one. */
    void granted(Hold hold, Claim claim) {
        leave(hold);
        if (hold.asks && claim.more) {
            hold.asks = false;
            claim.turn.reserved = true;
        }
        end(hold);
    }

    /** The hold waits no more. */
    void end(Hold hold) {
        leave(hold);
        if (hold.asks) {
            hold.asks = false;
            ended();
        }
    }

    /** The claim has no next name, or is over. */
    void end(Claim claim) {
        if (claim.turn.reserved) {
            claim.turn.reserved = false;
            ended();
        }
    }

    private void ended() {
        asking--;
        ended++;
        room++;
    }
}
