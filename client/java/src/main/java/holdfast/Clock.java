package holdfast;

import java.io.FileInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongSupplier;

/**
 * Nanoseconds that also count the time in which the host was suspended, as the daemon's deadlines do. Java has no such
 * clock: System.nanoTime stands still then. The wall clock does not, so a step of it against nanoTime is a sign to look:
 * at /proc/uptime where there is one. Elsewhere a step forward counts as a sleep: then a lock ends early, not late.
 */
final class Clock {
    private static final Clock HOST = new Clock(System::nanoTime, () -> System.currentTimeMillis() * 1_000_000, Clock::uptime);
    private static final long STEP = 5_000_000; // a difference that is worth a look
    private static final long GRAIN = 20_000_000; // /proc/uptime has hundredths of a second
    private static final int TRIES = 10; // to read two clocks at one time
    private static final long NONE = Long.MIN_VALUE; // the other clock cannot be read

    private final LongSupplier mono;
    private final LongSupplier wall;
    private final LongSupplier uptime; // -1: there is none
    private final ReentrantLock looking = new ReentrantLock();
    private volatile long slept; // sum of all suspensions
    private volatile long drift; // of the wall clock against mono, when it was looked at last
    private long offset; // of uptime against mono then

    Clock(LongSupplier mono, LongSupplier wall, LongSupplier uptime) {
        this.mono = mono;
        this.wall = wall;
        this.uptime = uptime;
        drift = ahead(wall, false);
        offset = ahead(uptime, false);
    }

    static long now() {
        return HOST.read();
    }

    long read() {
        if (Math.abs(wall.getAsLong() - mono.getAsLong() - drift) > STEP) {
            look();
        }
        return mono.getAsLong() + slept;
    }

    private void look() {
        looking.lock();
        try {
            long step = ahead(wall, true) - drift;
            long up = ahead(uptime, true);
            boolean measured = up != NONE && offset != NONE; // it is not if a program has no descriptor left
            long sleep = measured ? up - offset : step;
            if (sleep > GRAIN) {
                slept += sleep + GRAIN / 2; // rather too much than too little
                offset += measured ? sleep : 0;
            }
            drift += step;
        } finally {
            looking.unlock();
        }
    }

    /** How far another clock is ahead of mono, at most or at least. A thread that stood still between the two reads again. */
    private long ahead(LongSupplier other, boolean atMost) {
        for (int tries = 1;; tries++) {
            long before = mono.getAsLong();
            long read = other.getAsLong();
            long after = mono.getAsLong();
            if (read < 0) {
                return NONE;
            }
            if (after - before < STEP || tries == TRIES) {
                return read - (atMost ? before : after);
            }
        }
    }

    private static long uptime() {
        // Not by a channel: a thread that is interrupted could not read it.
        try (FileInputStream file = new FileInputStream("/proc/uptime")) {
            String text = new String(file.readAllBytes(), StandardCharsets.US_ASCII);
            return Math.round(Double.parseDouble(text.substring(0, text.indexOf(' '))) * 1000) * 1_000_000;
        } catch (IOException | RuntimeException none) {
            return -1;
        }
    }
}
