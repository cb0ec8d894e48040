import holdfast.DaemonUnreachableException;
import holdfast.Holder;
import holdfast.Holdfast;
import holdfast.HoldfastException;
import holdfast.Lock;
import holdfast.LockBusyException;
import holdfast.LockLostException;
import holdfast.LockRefusedException;
import holdfast.LockRequest;
import holdfast.LockTimeoutException;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;

/** A program that uses the package for Java as README.md says: it does what it is told line by line. */
public final class Player {
    private interface Call {
        String run() throws Exception;
    }

    private static final Map<String, Lock> LOCKS = new ConcurrentHashMap<>();
    private static final Map<String, Holder> HOLDERS = new ConcurrentHashMap<>(); // of those that were not granted
    private static final Holdfast HF = Holdfast.open();

    private Player() {
    }

    private static void say(String text) {
        synchronized (System.out) {
            System.out.println(text);
            System.out.flush();
        }
    }

    private static Duration duration(String text) {
        return text.equals("forever") ? Duration.ofSeconds(Long.MAX_VALUE)
                : text.equals("long") ? Duration.ofDays(366) : Duration.ofNanos((long) (Double.parseDouble(text) * 1e9));
    }

    private static String plain(String text) {
        return URLDecoder.decode(text.replace("+", "%2B"), StandardCharsets.UTF_8);
    }

    private static LockRequest request(List<String> words) {
        LockRequest request = HF.request(plain(words.get(0)));
        for (String word : words.subList(1, words.size())) {
            String value = word.substring(word.indexOf('=') + 1);
            request = switch (word.substring(0, word.indexOf('='))) {
                case "wait" -> request.waiting(duration(value));
                case "lease" -> request.lease(duration(value));
                case "max_hold" -> request.maxHold(duration(value));
                case "limit" -> request.limit(Integer.parseInt(value));
                case "permits" -> request.permits(Integer.parseInt(value));
                case "shared" -> request.shared();
                case "owner" -> request.owner(plain(value));
                case "why" -> request.why(plain(value));
                case "watch" -> request.onWait(waiting -> say(value + " waits "
                        + (waiting.holder() == null ? "-" : waiting.holder().pid()) + " " + waiting.position() + " "
                        + waiting.waited().toMillis()));
                default -> throw new IllegalStateException(word);
            };
        }
        return request;
    }

    private static String outcome(Call call) {
        try {
            return call.run();
        } catch (IllegalArgumentException wrong) {
            return "invalid 0 " + wrong.getMessage();
        } catch (HoldfastException error) {
            String word = error instanceof LockTimeoutException timeout && (Exception) timeout instanceof LockBusyException ? "timeout"
                    : error instanceof LockBusyException ? "busy"
                    : error instanceof LockLostException lost ? "lost:" + lost.reason()
                    : error instanceof LockRefusedException refused ? "refused:" + refused.code()
                    : error instanceof DaemonUnreachableException ? "unreachable" : "other";
            return word + (error.isTransient() ? " 1 " : " 0 ") + error.getMessage();
        } catch (Exception other) {
            return "other 0 " + other;
        }
    }

    private static String lock(String id, List<String> words) throws Exception {
        Lock lock;
        try {
            lock = request(words).lock();
        } catch (LockTimeoutException late) {
            if (late.holder() != null) {
                HOLDERS.put(id, late.holder());
            }
            throw late;
        }
        LOCKS.put(id, lock);
        lock.onLost(loss -> say(id + " told " + loss.reason()));
        return "held " + lock.token();
    }

    private static String crowd(List<String> words) {
        AtomicInteger inside = new AtomicInteger();
        AtomicInteger most = new AtomicInteger();
        ConcurrentLinkedQueue<Throwable> errors = new ConcurrentLinkedQueue<>();
        int count = Integer.parseInt(words.get(0));
        List<CompletableFuture<?>> all = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            all.add(HF.request(words.get(1).split(",")).waiting(duration(words.get(2))).lockAsync().thenAccept(lock -> {
                most.accumulateAndGet(inside.incrementAndGet(), Math::max);
                Thread.yield();
                inside.decrementAndGet();
                lock.close();
            }).exceptionally(error -> {
                errors.add(error);
                return null;
            }));
        }
        CompletableFuture.allOf(all.toArray(CompletableFuture[]::new)).join();
        return count - errors.size() + " " + most + " " + (errors.isEmpty() ? "-" : errors.peek().getMessage());
    }

    /** One lock after the other, for so long, each of a new name or all of one; tests/bench asks. */
    private static String spin(long ms, boolean fresh) throws InterruptedException {
        long begun = System.nanoTime();
        int done = 0;
        for (; System.nanoTime() - begun < ms * 1_000_000; done++) {
            HF.lock(fresh ? "spin-" + begun + "-" + done : "spin").close();
        }
        return Integer.toString(done);
    }

    private static String holder(Holder holder) {
        return holder == null ? "nobody" : "pid " + holder.pid() + " " + holder.token() + " " + holder.why();
    }

    private static String ok(Runnable call) {
        call.run();
        return "ok";
    }

    private static void perform(String line) {
        List<String> words = Arrays.asList(line.split(" "));
        String id = words.get(0);
        List<String> rest = words.subList(2, words.size());
        Call call = switch (words.get(1)) {
            case "lock" -> () -> lock(id, rest);
            case "crowd" -> () -> crowd(rest);
            case "spin" -> () -> spin(Long.parseLong(rest.get(0)), rest.get(1).equals("new"));
            case "holder" -> () -> holder(HOLDERS.get(id));
            case "valid" -> () -> Long.toString(LOCKS.get(id).validFor().toMillis());
            case "check" -> () -> ok(LOCKS.get(id)::checkHeld);
            case "extend" -> () -> ok(() -> LOCKS.get(id).extend(duration(rest.get(0))));
            case "unlock" -> () -> ok(LOCKS.get(id)::close);
            default -> throw new IllegalStateException(line);
        };
        Thread thread = new Thread(() -> say(id + " " + words.get(1) + " " + outcome(call)));
        thread.setDaemon(true);
        thread.start();
    }

    public static void main(String[] arguments) throws Exception {
        say("- ready");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            perform(line);
        }
    }
}
