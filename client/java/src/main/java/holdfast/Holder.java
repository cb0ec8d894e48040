package holdfast;

import java.io.Serializable;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;

/** Who has a lock, as the daemon says: of several the oldest. A text that is not known is empty. */
public final class Holder implements Serializable {
    private static final long serialVersionUID = 1;

    private final String host;
    private final String client;
    private final String address;
    private final long pid;
    private final long uid;
    private final String owner;
    private final String why;
    private final long token;
    private final Instant since;
    private final boolean withheld;

    /** From a map of INSPECT; holders of INSPECT FLEET have a host and nothing else. */
    Holder(List<?> map, String host) {
        this.host = host;
        this.client = text(map, "client");
        this.address = text(map, "address").equals("unix") ? "" : text(map, "address");
        this.pid = number(map, "pid", 0);
        this.uid = number(map, "uid", -1);
        this.owner = text(map, "owner");
        this.why = text(map, "why");
        this.token = number(map, "token", 0);
        long held = number(map, "held_ms", -1);
        this.since = held < 0 ? null : Instant.now().minusMillis(held);
        this.withheld = number(map, "withheld", 0) != 0;
    }

    /** The value of a key, whose type is that of none; else none. */
    static Object value(List<?> map, String key) {
        for (int i = 0; i + 1 < map.size(); i += 2) {
            if (key.equals(map.get(i))) {
                return map.get(i + 1);
            }
        }
        return null;
    }

    static String text(List<?> map, String key) {
        Object value = value(map, key);
        return value instanceof String ? (String) value : "";
    }

    static long number(List<?> map, String key, long none) {
        Object value = value(map, key);
        return value instanceof Long ? (Long) value : none;
    }

    static List<?> list(List<?> map, String key) {
        Object value = value(map, key);
        return value instanceof List ? (List<?>) value : null;
    }

    /** Whose daemon has the lock, if it is not the one that this process uses; it may be all that is known. */
    public String host() {
        return host;
    }

    /** The name of its connection, as Deploy:4711. */
    public String client() {
        return client;
    }

    /** Where it connects from, over TCP. */
    public String address() {
        return address;
    }

    /** Its process, on the host of the daemon; 0: not known. */
    public long pid() {
        return pid;
    }

    /** The user of the process; -1: not known. */
    public long uid() {
        return uid;
    }

    /** Its tag. */
    public String owner() {
        return owner;
    }

    /** Its remark. */
    public String why() {
        return why;
    }

    /** Its fencing token; 0: not known. */
    public long token() {
        return token;
    }

    /** When it was granted the lock; null: not known. */
    public Instant since() {
        return since;
    }

    /** It has lost the lock, and the daemon keeps it from others as long as this holder may still be working. */
    public boolean isWithheld() {
        return withheld;
    }

    /** For people: Deploy:4711 (pid 4711, uid 1000), for 3.2s. */
    @Override
    public String toString() {
        if (since == null) {
            return "a client of " + host;
        }
        List<String> about = new ArrayList<>();
        if (pid > 0) {
            about.add("pid " + pid);
        }
        if (!address.isEmpty()) {
            about.add(address);
        }
        if (uid >= 0) {
            about.add("uid " + uid);
        }
        return (client.isEmpty() ? "a client" : client) + (host.isEmpty() ? "" : " on " + host)
                + (about.isEmpty() ? "" : " (" + String.join(", ", about) + ")")
                + String.format(", for %.1fs", Duration.between(since, Instant.now()).toMillis() / 1e3);
    }
}
