import java.time.Duration;
import java.util.concurrent.locks.Lock;

import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.integration.redis.util.RedisLockRegistry;

/** A rival (tests/interop/rivals/run) by the RedisLockRegistry of Spring Integration. */
final class Main {
	private Main() {
	}

	public static void main(String[] arguments) throws Exception {
		LettuceConnectionFactory connections = new LettuceConnectionFactory("127.0.0.1", Integer.parseInt(arguments[0]));
		connections.afterPropertiesSet();
		connections.start();
		// Its keys are "locks:NAME"; a lock ends after ten seconds.
		RedisLockRegistry registry = new RedisLockRegistry(connections, "locks", 10000);
		registry.setIdleBetweenTries(Duration.ofMillis(5));
		Lock lock = registry.obtain(arguments[1]);
		new Rival(new Rival.Locker(lock::lock, lock::unlock), arguments).run();
	}
}
