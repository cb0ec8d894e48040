import java.util.concurrent.CountDownLatch;

/** Threads that want nothing but a lock, for a time that counts and as long before it: a JVM gets warm. */
final class Contest {
	/** What the holders of one lock have seen. */
	private static final class Tally {
		private int previous = -1;
		private long changes, acquisitions;
	}

	private final Thread[] threads;
	private final Tally[] tallies;
	private final CountDownLatch done;
	private volatile boolean counts, over;

	Contest(int threads) {
		this.threads = new Thread[threads];
		this.tallies = new Tally[threads];
		this.done = new CountDownLatch(threads);
		for (int i = 0; i < threads; i++)
			tallies[i] = new Tally();
	}

	/** A thread with its lock; those with the same number of a lock contend for it. */
	void enter(int me, Rival.Locker locker, int lock) {
		threads[me] = new Thread(() -> {
			try {
				while (!over)
					hold(me, locker, tallies[lock]);
			} catch (Exception error) {
				error.printStackTrace();
				System.exit(1);
			}
			done.countDown();
		});
	}

	private void hold(int me, Rival.Locker locker, Tally tally) throws Exception {
		locker.lock().perform();
		if (counts) {
			tally.acquisitions++;
			tally.changes += tally.previous == me ? 0 : 1;
		}
		tally.previous = me;
		locker.unlock().perform();
	}

	/** The answer to `contend`. */
	String run(long ms) throws InterruptedException {
		for (Thread thread : threads)
			thread.start();
		Thread.sleep(ms);
		counts = true;
		Thread.sleep(ms);
		over = true;
		done.await();
		long changes = 0, acquisitions = 0;
		for (Tally tally : tallies) {
			changes += tally.changes;
			acquisitions += tally.acquisitions;
		}
		return "contended " + changes + " of " + acquisitions;
	}
}
