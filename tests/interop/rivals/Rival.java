import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.locks.Lock;

/** What the rivals of Java (tests/interop/rivals/run) have in common. Their clock is CLOCK_MONOTONIC. */
class Rival {
	final Lock lock;
	private final Path counter;
	private final Path inside;

	Rival(Lock lock, String counter) {
		this.lock = lock;
		this.counter = Path.of(counter);
		this.inside = Path.of(counter + ".inside");
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

	void contend(int threads, long ms, boolean own) throws InterruptedException {
		throw new UnsupportedOperationException("contend");
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

	void run() throws IOException, InterruptedException {
		say("ready");
		BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
		for (String line = lines.readLine(); line != null; line = lines.readLine())
			perform(line.split(" "));
		System.exit(0);
	}
}
