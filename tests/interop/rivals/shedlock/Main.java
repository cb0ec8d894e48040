import java.time.Duration;
import java.time.Instant;
import java.util.Optional;

import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.SimpleLock;
import net.javacrumbs.shedlock.provider.redis.spring.RedisLockProvider;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;

/** A rival (tests/interop/rivals/run) by ShedLock with its provider for Redis. It knows no wait, so this asks again. */
final class Main {
	private final RedisLockProvider provider;
	private final String name;
	private SimpleLock held;

	private Main(RedisLockProvider provider, String name) {
		this.provider = provider;
		this.name = name;
	}

	private void lock() throws InterruptedException {
		for (;;) {
			// A lock ends after ten seconds.
			Optional<SimpleLock> lock =
					provider.lock(new LockConfiguration(Instant.now(), name, Duration.ofSeconds(10), Duration.ZERO));
			if (lock.isPresent()) {
				held = lock.get();
				return;
			}
			Thread.sleep(5);
		}
	}

	private void unlock() {
		held.unlock();
	}

	public static void main(String[] arguments) throws Exception {
		LettuceConnectionFactory connections = new LettuceConnectionFactory("127.0.0.1", Integer.parseInt(arguments[0]));
		connections.afterPropertiesSet();
		connections.start();
		// Its keys are "job-lock:default:NAME".
		Main main = new Main(new RedisLockProvider(connections), arguments[1]);
		new Rival(new Rival.Locker(main::lock, main::unlock), arguments).run();
	}
}
