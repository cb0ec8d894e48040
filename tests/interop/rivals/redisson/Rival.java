import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;

import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.config.Config;

/** A rival (tests/interop/rivals/run) by Redisson's RLock. Its clock is CLOCK_MONOTONIC. */
final class Rival {
	private final Config config;
	private final RLock lock;
	private final List<RLock> owned = new ArrayList<>(); /* the same lock, each of another client */
	private final Path counter;
	private final Path inside;

	private Rival(Config config, String name, String counter) {
		this.config = config;
		this.lock = Redisson.create(config).getLock(name);
		this.counter = Path.of(counter);
		this.inside = Path.of(counter + ".inside");
	}

	private static void say(String line) {
		System.out.println(line);
		System.out.flush();
	}

	private int increment() throws IOException {
		int overlaps = 0;
		try {
			Files.createFile(inside);
		} catch (FileAlreadyExistsException there) {
			overlaps = 1;
		}
		Files.writeString(counter, String.valueOf(Integer.parseInt(Files.readString(counter)) + 1));
		Files.deleteIfExists(inside);
		return overlaps;
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
	private void contend(int threads, long ms, boolean own) throws InterruptedException {
		Tally tally = new Tally();
		CountDownLatch done = new CountDownLatch(threads);
		for (int i = 0; i < threads; i++) {
			if (own && owned.size() == i)
				owned.add(Redisson.create(config).getLock(lock.getName()));
			RLock mine = own ? owned.get(i) : lock;
			new Thread(() -> tally.contend(mine, done)).start();
		}
		Thread.sleep(ms);
		tally.counts = true;
		Thread.sleep(ms);
		tally.over = true;
		done.await();
		say("contended " + tally.changes + " of " + tally.acquisitions);
	}

	private void perform(String[] words) throws IOException, InterruptedException {
		switch (words[0]) {
		case "lock" -> {
			say("locking");
			lock.lock();
			say("locked " + System.nanoTime());
		}
		case "unlock" -> {
			long before = System.nanoTime();
			lock.unlock();
			say("unlocked " + before);
		}
		case "contend" -> contend(Integer.parseInt(words[1]), Long.parseLong(words[2]), words[3].equals("own"));
		default -> {
			int overlaps = 0, rounds = Integer.parseInt(words[1]);
			for (int i = 0; i < rounds; i++) {
				lock.lock();
				overlaps += increment();
				lock.unlock();
			}
			say("counted " + rounds + " overlaps " + overlaps);
		}
		}
	}

	public static void main(String[] arguments) throws IOException, InterruptedException {
		Config config = new Config();
		config.setLockWatchdogTimeout(3000);
		config.useSingleServer().setAddress("redis://127.0.0.1:" + arguments[0]);
		Rival rival = new Rival(config, arguments[1], arguments[2]);
		say("ready");
		BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
		for (String line = lines.readLine(); line != null; line = lines.readLine())
			rival.perform(line.split(" "));
		System.exit(0);
	}
}
