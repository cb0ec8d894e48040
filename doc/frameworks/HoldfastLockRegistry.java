/* Locks of Spring Integration: see FRAMEWORKS.md. */
import holdfast.Holdfast;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.Lock;
import org.springframework.integration.support.locks.LockRegistry;

final class HoldfastLockRegistry implements LockRegistry<Lock> { // before Spring Integration 7: LockRegistry
    private final Holdfast hf = Holdfast.open();
    private final Map<String, Lock> locks = new ConcurrentHashMap<>(); // as many as there are keys

    @Override
    public Lock obtain(Object key) {
        return locks.computeIfAbsent("spring/" + key, name -> hf.request(name).asJavaLock());
    }
}
