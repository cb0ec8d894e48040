package holdfast;

import java.time.Duration;

/** What is known of a wait that lasts. */
public final class Waiting {
    private final String name;
    private final Holder holder;
    private final long position;
    private final Duration waited;

    Waiting(String name, Holder holder, long position, Duration waited) {
        this.name = name;
        this.holder = holder;
        this.position = position;
        this.waited = waited;
    }

    /** The name of the lock. */
    public String name() {
        return name;
    }

    /** Who has it; null: nobody, or this user may not see it. */
    public Holder holder() {
        return holder;
    }

    /** In the queue of the daemon, and of this package behind it; 0: not known. */
    public long position() {
        return position;
    }

    /** Since the lock was asked for. */
    public Duration waited() {
        return waited;
    }

    /** For people. */
    @Override
    public String toString() {
        return "waiting for " + name + " for " + waited.toMillis() + " ms" + (position == 0 ? "" : ", number " + position + " in line")
                + (holder == null ? "" : "; the holder is " + holder);
    }
}
