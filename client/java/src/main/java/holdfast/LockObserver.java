package holdfast;

import java.time.Duration;

/**
 * Is told what happens to the locks of a client, of several names for each: for metrics and traces. All observers are called by one
 * thread of this package, in the order of what has happened.
 */
public interface LockObserver {
    /** A wait lasts: after a second, and then every five seconds. */
    default void waits(Waiting waiting) {
    }

    /** A lock was granted, so long after it was asked for. */
    default void held(String name, long token, Duration waited) {
    }

    /** A lock was given back, so long after its grant. */
    default void released(String name, long token, Duration held) {
    }

    /** A lock was lost, so long after its grant. */
    default void lost(LockLostException loss, Duration held) {
    }
}
