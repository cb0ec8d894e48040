import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;

/** What the rivals of Java (tests/interop/rivals/run) have in common. Their clock is CLOCK_MONOTONIC. */
class Rival {
	/** What a lock can do. */
	interface Step {
		void perform() throws Exception;
	}

	/** A lock of the library; the thread that takes it gives it back. */
	record Locker(Step lock, Step unlock) {
	}

	private final Locker locker;
	private final String name;
	private final Path counter;
	private final Path inside;

	/** arguments: of the program */
	Rival(Locker locker, String[] arguments) {
		this.locker = locker;
		this.name = arguments[1];
		this.counter = Path.of(arguments[2]);
		this.inside = Path.of(arguments[2] + ".inside");
	}

	static void say(String line) {
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

	/** The lock of that name for one of the threads that contend, with its own client or that of all. */
	Locker contender(String name, int me, boolean own) {
		throw new UnsupportedOperationException("contend");
	}

	/** So many threads want nothing but a lock; form says with which client, and whether it is the lock of all. */
	private void contend(int threads, long ms, String form) throws InterruptedException {
		Contest contest = new Contest(threads);
		for (int i = 0; i < threads; i++) {
			boolean each = form.equals("each");
			contest.enter(i, contender(each ? name + "-" + i : name, i, !form.equals("shared")), each ? i : 0);
		}
		say(contest.run(ms));
	}

	/** One lock after the other, for so long, each of a new name or all of one. */
	private void spin(long ms, boolean fresh) throws Exception {
		long begun = System.nanoTime();
		int done = 0;
		for (; System.nanoTime() - begun < ms * 1_000_000; done++) {
			Locker lock = contender(fresh ? "spin-" + begun + "-" + done : "spin", 0, false);
			lock.lock().perform();
			lock.unlock().perform();
		}
		say("spun " + done);
	}

	private void perform(String[] words) throws Exception {
		switch (words[0]) {
		case "lock" -> {
			say("locking");
			locker.lock().perform();
			say("locked " + System.nanoTime());
		}
		case "unlock" -> {
			long before = System.nanoTime();
			locker.unlock().perform();
			say("unlocked " + before);
		}
		case "contend" -> contend(Integer.parseInt(words[1]), Long.parseLong(words[2]), words[3]);
		case "spin" -> spin(Long.parseLong(words[1]), words[2].equals("new"));
		default -> {
			int overlaps = 0, rounds = Integer.parseInt(words[1]);
			for (int i = 0; i < rounds; i++) {
				locker.lock().perform();
				overlaps += increment();
				locker.unlock().perform();
			}
			say("counted " + rounds + " overlaps " + overlaps);
		}
		}
	}

	void run() throws Exception {
		say("ready");
		BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
		for (String line = lines.readLine(); line != null; line = lines.readLine())
			perform(line.split(" "));
		System.exit(0);
	}
}
