package holdfast;

import java.io.IOException;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;

/** What the tests run in processes of their own. */
final class Child {
    private Child() {
    }

    static void main(String[] arguments) throws Exception {
        switch (arguments[0]) {
            case "hold":
                hold(arguments[1]);
                break;
            case "exit":
                Holdfast.open().lock(arguments[1]);
                System.out.println("held");
                System.exit(0);
                break;
            case "crowd":
                crowd(Integer.parseInt(arguments[1]));
                break;
            case "soak":
                soak(arguments[1], Integer.parseInt(arguments[2]), Long.parseLong(arguments[3]), arguments[4]);
                break;
            default:
                throw new IllegalArgumentException(Arrays.toString(arguments));
        }
    }

    /** Many threads lock at random, until the input ends; they write to path.NUMBER. */
    private static void soak(String path, int threads, long offset, String kind) throws Exception {
        Holdfast hf = Holdfast.open();
        AtomicBoolean ends = new AtomicBoolean();
        Thread reader = new Thread(() -> {
            try {
                while (System.in.read() >= 0) {
                    // what is said does not matter
                }
            } catch (IOException closed) {
                // that is the end, too
            }
            ends.set(true);
        });
        reader.setDaemon(true);
        reader.start();
        Stage.crowd(threads, number -> {
            try (Soak soak = new Soak(hf, path + "." + number, offset, kind)) {
                while (!ends.get()) {
                    soak.turn();
                }
            }
        });
        hf.close();
        System.exit(0);
    }

    /** Holds a lock, starts a process that outlives it, and tells its pid. */
    private static void hold(String name) throws Exception {
        Holdfast.open().lock(name);
        Process heir = new ProcessBuilder("sleep", "600").start();
        System.out.println(heir.pid());
        Thread.sleep(Long.MAX_VALUE);
    }

    /** Many virtual threads on one carrier thread: one that was pinned while it waits would stop all. */
    private static void crowd(int n) throws Exception {
        Holdfast hf = Holdfast.open();
        AtomicInteger inside = new AtomicInteger();
        AtomicInteger done = new AtomicInteger();
        Stage.crowd(n, number -> {
            try (Lock lock = hf.lock("crowd")) {
                Tap.check(inside.incrementAndGet() == 1, "two holders");
                Thread.sleep(1);
                inside.decrementAndGet();
                done.incrementAndGet();
            }
        });
        System.out.println(done);
        System.exit(0);
    }
}
