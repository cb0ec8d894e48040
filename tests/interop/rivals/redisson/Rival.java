import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;

import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.config.Config;

/** A rival (tests/interop/rivals/run) by Redisson's RLock. Its clock is CLOCK_MONOTONIC. */
final class Rival {
	private final RLock lock;
	private final Path counter;
	private final Path inside;

	private Rival(RLock lock, String counter) {
		this.lock = lock;
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

	private void perform(String[] words) throws IOException {
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

	public static void main(String[] arguments) throws IOException {
		Config config = new Config();
		config.setLockWatchdogTimeout(3000);
		config.useSingleServer().setAddress("redis://127.0.0.1:" + arguments[0]);
		Rival rival = new Rival(Redisson.create(config).getLock(arguments[1]), arguments[2]);
		say("ready");
		BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
		for (String line = lines.readLine(); line != null; line = lines.readLine())
			rival.perform(line.split(" "));
		System.exit(0);
	}
}
