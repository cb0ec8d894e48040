import java.util.ArrayList;
import java.util.List;

import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/** A rival (tests/interop/rivals/run) by Redisson's RLock. */
final class Main extends Rival {
	private final Config config;
	private final RedissonClient shared;
	private final List<RedissonClient> owned = new ArrayList<>(); /* of each thread that has its own */

	private Main(Config config, RedissonClient shared, String[] arguments) {
		super(locker(shared, arguments[1]), arguments);
		this.config = config;
		this.shared = shared;
	}

	private static Locker locker(RedissonClient client, String name) {
		RLock lock = client.getLock(name);
		return new Locker(lock::lock, lock::unlock);
	}

	@Override
	Locker contender(String name, int me, boolean own) {
		if (own && owned.size() == me)
			owned.add(Redisson.create(config));
		return locker(own ? owned.get(me) : shared, name);
	}

	public static void main(String[] arguments) throws Exception {
		Config config = new Config();
		config.setLockWatchdogTimeout(3000);
		config.useSingleServer().setAddress("redis://127.0.0.1:" + arguments[0]);
		new Main(config, Redisson.create(config), arguments).run();
	}
}
