/* Locks of ShedLock: see FRAMEWORKS.md. */
import holdfast.Holdfast;
import holdfast.Lock;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.LockProvider;
import net.javacrumbs.shedlock.core.SimpleLock;

final class HoldfastLockProvider implements LockProvider {
    private final Holdfast hf = Holdfast.open();

    @Override
    public Optional<SimpleLock> lock(LockConfiguration job) {
        try {
            Lock lock = hf.request("shedlock/" + job.getName()).maxHold(job.getLockAtMostFor()).tryLock();
            return Optional.ofNullable(lock).map(held -> () -> release(held, job.getLockAtLeastUntil()));
        } catch (InterruptedException stopped) {
            Thread.currentThread().interrupt();
            return Optional.empty();
        }
    }

    /** Keeps the lock for lockAtLeastFor, while this process lives. */
    private static void release(Lock lock, Instant earliest) {
        long left = Duration.between(Instant.now(), earliest).toMillis();
        if (left > 0) {
            CompletableFuture.delayedExecutor(left, TimeUnit.MILLISECONDS).execute(lock::close);
        } else {
            lock.close();
        }
    }
}
