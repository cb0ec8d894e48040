package holdfast;

import java.util.ArrayList;
import java.util.List;

/** A name and owner at the daemon. The core alone uses it; the deadline is for all threads. */
final class Hold {
    static final class Key {
        private final String name;
        private final String owner;

        Key(String name, String owner) {
            this.name = name;
            this.owner = owner;
        }

        String name() {
            return name;
        }

        String owner() {
            return owner;
        }

        @Override
        public boolean equals(Object other) {
            return other instanceof Key && name.equals(((Key) other).name) && owner.equals(((Key) other).owner);
        }

        @Override
        public int hashCode() {
            return 31 * name.hashCode() + owner.hashCode();
        }
    }

    final Key key;
    final List<Claim> users = new ArrayList<>(1);
    final List<Claim> waiting = new ArrayList<>(1);
    final List<Claim> freed = new ArrayList<>(1); // their release is not answered yet
    final List<Claim> lost = new ArrayList<>(0); // had it when it was lost, and may work under it still
    long lostToken; // of that; 0: none
    long lostUntil; // the deadline that they were told
    final List<String> cancelled = new ArrayList<>(0); // ids of LOCKs given up; the UNLOCK behind is not answered yet
    boolean known; // a LOCK was sent: the daemon may know of it
    String asked = ""; // the id of the LOCK that is under way
    long token; // 0: none
    String limit; // of the semaphore that is waited for; null: a lock
    boolean front; // of the queue: it waits at the daemon, or will
    boolean behind; // it stands in the queue
    boolean refused; // for a reason that holds for all of the queue
    long askedAt;
    long sentAt; // its LOCK over this connection: from then on counts the time that the grant tells
    long ticket; // its place in the line
    boolean asks; // the daemon has its LOCK, or may have it
    boolean follows; // its request has other names already
    long seen; // waits that had ended when it asked
    long grantedAt;
    volatile long deadline; // told: until then it is surely held
    long early; // by so much before that its loss is told if the daemon cannot be asked
    long checkAt;
    boolean checking;
    boolean doubted; // the deadline has passed, and until late the daemon may answer even so
    long late;
    int ending; // UNLOCKs that are not answered yet
    long troubleSince; // since when the daemon refuses for a moment, and how
    HoldfastException trouble; // null: it does not
    long due = Long.MAX_VALUE; // when the core has to look at it

    Hold(Key key) {
        this.key = key;
    }

    boolean used() {
        return !users.isEmpty() || !waiting.isEmpty();
    }

    /** One of those that it is for. */
    Claim any() {
        return users.isEmpty() ? waiting.get(0) : users.get(0);
    }
}
