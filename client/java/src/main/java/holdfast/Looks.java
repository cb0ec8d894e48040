package holdfast;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiConsumer;

/**
 * Who has the names that are waited for. The core alone uses it. A crowd that waits for one name asks once a second: an answer is for all
 * who ask until then.
 */
final class Looks {
    /** A wait that is shorter is no news. */
    static final long FIRST = Core.SECOND;
    static final long EVERY = 5 * Core.SECOND;
    /** For the daemon's answer when a wait is over. */
    static final long ANSWER = Core.SECOND / 2;
    private static final String WAITERS = "100";

    interface Sender {
        void send(BiConsumer<Object, Long> answered, List<String> words);
    }

    private static final class Look {
        final List<Runnable> asking = new ArrayList<>(1);
        long at;
        boolean done;
        List<?> inspect = List.of();
        List<?> fleet = List.of();
    }

    private final Map<String, Look> looks = new HashMap<>();

    /** Asks about the name unless that was done just now; told is called when the answer is there, or will not come. */
    void ask(String name, long now, Sender sender, Runnable told) {
        looks.values().removeIf(old -> old.done && now >= old.at + FIRST);
        Look look = looks.get(name);
        if (look != null && look.done) {
            told.run();
            return;
        }
        if (look != null) {
            look.asking.add(told);
            return;
        }
        Look begun = new Look();
        begun.asking.add(told);
        looks.put(name, begun);
        sender.send((value, then) -> {
            begun.inspect = value instanceof List ? (List<?>) value : List.of();
            // A daemon that waits no more has forgotten which one has the name.
            if (begun.inspect.isEmpty() || Holder.list(begun.inspect, "holder") != null) {
                answered(begun, then);
            } else {
                sender.send((all, at) -> {
                    begun.fleet = all instanceof List ? (List<?>) all : List.of();
                    answered(begun, at);
                }, List.of("INSPECT", name, "FLEET"));
            }
        }, List.of("INSPECT", name, "COUNT", WAITERS));
    }

    private static void answered(Look look, long now) {
        look.at = now;
        look.done = true;
        look.asking.forEach(Runnable::run);
        look.asking.clear();
    }

    /** After the answer; null: nobody, or not to be seen. */
    Holder holder(String name) {
        Look look = looks.get(name);
        if (look == null) {
            return null;
        }
        List<?> here = Holder.list(look.inspect, "holder");
        if (here != null) {
            return new Holder(here, "");
        }
        for (Object host : items(look.fleet, "hosts")) {
            List<?> there = Holder.list((List<?>) host, "holder");
            if (there != null) {
                return new Holder(there, Holder.text((List<?>) host, "host"));
            }
        }
        for (Object host : items(look.fleet, "holders")) {
            return new Holder(List.of(), Holder.text((List<?>) host, "host"));
        }
        return null;
    }

    /** The waiters of the name at the daemon: their owners and positions. */
    void waiters(String name, BiConsumer<String, Long> each) {
        Look look = looks.get(name);
        for (Object waiter : look == null ? List.of() : items(look.inspect, "waiters")) {
            each.accept(Holder.text((List<?>) waiter, "owner"), Holder.number((List<?>) waiter, "position", 0));
        }
    }

    private static List<?> items(List<?> map, String key) {
        List<?> items = Holder.list(map, key);
        return items == null ? List.of() : items;
    }
}
