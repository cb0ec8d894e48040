import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;

import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.config.Config;

/** A rival (tests/interop/rivals/run) by Redisson's RLock. */
final class Main extends Rival {
	private final Config config;
	private final List<RLock> owned = new ArrayList<>(); /* the same lock, each of another client */

	private Main(Config config, String name, String counter) {
		super(Redisson.create(config).getLock(name), counter);
		this.config = config;
	}

	/** What threads did among themselves that want nothing but the lock. */
	private static final class Tally {
		private long former, changes, acquisitions; /* whoever holds the lock counts */
		private volatile boolean counts, over;

		private void contend(RLock lock, CountDownLatch done) {
			while (!over) {
				lock.lock();
				if (counts) {
					acquisitions++;
					changes += former == Thread.currentThread().getId() ? 0 : 1;
				}
				former = Thread.currentThread().getId();
				lock.unlock();
			}
			done.countDown();
		}
	}

	/** So many threads for so many ms, behind as many that warm them up; each its own client, or all the same. */
	@Override
	void contend(int threads, long ms, boolean own) throws InterruptedException {
		Tally tally = new Tally();
		CountDownLatch done = new CountDownLatch(threads);
		for (int i = 0; i < threads; i++) {
			if (own && owned.size() == i)
				owned.add(Redisson.create(config).getLock(((RLock) lock).getName()));
			RLock mine = own ? owned.get(i) : (RLock) lock;
			new Thread(() -> tally.contend(mine, done)).start();
		}
		Thread.sleep(ms);
		tally.counts = true;
		Thread.sleep(ms);
		tally.over = true;
		done.await();
		say("contended " + tally.changes + " of " + tally.acquisitions);
	}

	public static void main(String[] arguments) throws IOException, InterruptedException {
		Config config = new Config();
		config.setLockWatchdogTimeout(3000);
		config.useSingleServer().setAddress("redis://127.0.0.1:" + arguments[0]);
		new Main(config, arguments[1], arguments[2]).run();
	}
}
