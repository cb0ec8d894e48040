package holdfast;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The holds that wait for one name, as a lock or as a semaphore of n permits. The front alone waits at the daemon, since a session may
 * wait for a limited number of names, and a crowd of threads may want one. The next is sent when the front has the lock, or waits no
 * more. The core alone uses it.
 */
final class Queue {
    private static final class Name {
        int fronts;
        final Set<Hold> behind = new LinkedHashSet<>(); // in the order in which they came
    }

    private final Map<List<String>, Name> names = new HashMap<>();

    /** The name, and the limit if it is a semaphore. */
    private static List<String> key(Hold hold) {
        return hold.limit == null ? List.of(hold.key.name()) : List.of(hold.key.name(), hold.limit);
    }

    /**
     * The hold waits from now on. True: as a front, which is to be sent; so is one with an owner of the caller's own, since the daemon
     * sees whether it would wait for itself.
     */
    boolean enter(Hold hold, Claim claim) {
        hold.limit = Terms.valueOf(claim.words, "LIMIT");
        hold.refused = false;
        Name name = names.computeIfAbsent(key(hold), none -> new Name());
        hold.front = name.fronts == 0 || claim.tries() || claim.shared;
        hold.behind = !hold.front;
        if (hold.front) {
            name.fronts++;
        } else {
            name.behind.add(hold);
        }
        return hold.front;
    }

    /** One that stands behind becomes a front. */
    void stepOut(Hold hold) {
        Name name = names.get(key(hold));
        name.behind.remove(hold);
        name.fronts++;
        hold.front = true;
        hold.behind = false;
    }

    /** The hold waits no more. Those that are to be sent now: all, if the daemon has refused it, since each has to hear that. */
    List<Hold> leave(Hold hold) {
        List<Hold> next = new ArrayList<>(1);
        if (!hold.front && !hold.behind) {
            return next;
        }
        Name name = names.get(key(hold));
        name.fronts -= hold.front ? 1 : 0;
        name.behind.remove(hold);
        hold.front = false;
        hold.behind = false;
        while (!name.behind.isEmpty() && (hold.refused || name.fronts == 0)) {
            Hold first = name.behind.iterator().next();
            stepOut(first);
            next.add(first);
        }
        if (name.fronts == 0) {
            names.remove(key(hold));
        }
        return next;
    }

    /** How many stand behind the front up to this one; 0: it is the front. */
    int place(Hold hold) {
        int place = 0;
        for (Hold other : hold.behind ? behind(hold) : List.<Hold>of()) {
            place++;
            if (other == hold) {
                break;
            }
        }
        return place;
    }

    /** Those behind the front. */
    Collection<Hold> behind(Hold front) {
        Name name = names.get(key(front));
        return name == null ? List.of() : name.behind;
    }
}
