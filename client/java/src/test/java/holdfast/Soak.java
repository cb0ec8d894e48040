package holdfast;

import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.ThreadLocalRandom;

/**
 * One thread that locks at random, and writes down what it asked and was told, in the words of tests/history/HISTORY.md.
 * Each line is one write, so that a process that is killed leaves all it knew.
 */
final class Soak implements AutoCloseable {
    private static final int NAMES = 16;
    private static final String[] FORMS = {"x", "x", "x", "s", "p1/3", "p2/3"};

    private final Holdfast hf;
    private final FileOutputStream file;
    private final long offset; // of CLOCK_BOOTTIME against System.nanoTime, which is not the clock that is tested

    Soak(Holdfast hf, String path, long offset, String kind) throws IOException {
        this.hf = hf;
        this.file = new FileOutputStream(path, true);
        this.offset = offset;
        for (String line : kind.equals("unix") ? new String[] {"open unix", "grace 10000", "graced", "bind", "bound 0"}
                : new String[] {"open tcp", "grace 10000", "graced"}) {
            write(line);
        }
    }

    private void write(String line) throws IOException {
        file.write((System.nanoTime() + offset + " " + line + "\n").getBytes(StandardCharsets.UTF_8));
    }

    /** One lock. */
    void turn() throws IOException, InterruptedException {
        ThreadLocalRandom chance = ThreadLocalRandom.current();
        String form = FORMS[chance.nextInt(FORMS.length)];
        String name = (form.startsWith("p") ? "permits" : "name") + chance.nextInt(NAMES);
        int wait = chance.nextInt(10) == 0 ? 0 : chance.nextInt(10) == 0 ? 5 : 5000;
        LockRequest request = hf.request(name).waiting(Duration.ofMillis(wait));
        request = form.equals("s") ? request.shared()
                : form.startsWith("p") ? request.limit(3).permits(form.charAt(1) - '0') : request;
        write("ask " + name + " " + wait + " " + form);
        try (Lock lock = request.lock()) {
            write("grant " + name + " " + lock.token() + " " + lock.validFor().toMillis());
            lock.onLost(loss -> {
                try {
                    write("told " + name + " " + lock.token() + " " + loss.reason());
                } catch (IOException failed) {
                    failed.printStackTrace();
                }
            });
            work(lock, name);
            write("unlock " + name);
            try {
                lock.close();
                write("unlocked " + name + " 0");
            } catch (LockLostException lost) {
                write("error UNLOCK LOST " + lost.reason());
            }
        } catch (LockTimeoutException busy) {
            write("null " + name);
        } catch (LockRefusedException refused) {
            write("error LOCK " + refused.code());
        } catch (LockLostException early) {
            write("error LOCK LOST " + early.reason());
        } catch (DaemonUnreachableException away) {
            write("end peer");
        }
    }

    private void work(Lock lock, String name) throws IOException, InterruptedException {
        ThreadLocalRandom chance = ThreadLocalRandom.current();
        int lot = chance.nextInt(100);
        if (lot < 25) {
            Thread.sleep(lot == 0 ? 50 : 1);
        }
        if (lock.isHeld()) {
            write("check " + name);
            write("valid " + name + " " + lock.validFor().toMillis());
        }
    }

    @Override
    public void close() throws IOException {
        file.close();
    }
}
