import holdfast.DaemonUnreachableException;
import holdfast.Holdfast;
import holdfast.Lock;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.atomic.AtomicInteger;

/** The counter (tests/interop/check-counter) by client/java: a thread for each client. */
final class Counter {
	private final Path counter;
	private final Path tokens;
	private final AtomicInteger counted = new AtomicInteger();

	private Counter(Path folder) {
		counter = folder.resolve("counter");
		tokens = folder.resolve("tokens");
	}

	private void work(Holdfast hf, long end) {
		for (int n = 0; n == 0 || System.nanoTime() - end < 0;) {
			try (Lock lock = hf.lock("counter")) {
				Files.writeString(counter, String.valueOf(Integer.parseInt(Files.readString(counter)) + 1));
				Files.writeString(tokens, lock.token() + "\n", StandardOpenOption.CREATE, StandardOpenOption.APPEND);
				counted.incrementAndGet();
				n++;
			} catch (DaemonUnreachableException busy) {
				continue; // a busy machine is slow
			} catch (IOException | InterruptedException error) {
				throw new IllegalStateException(error);
			}
		}
	}

	public static void main(String[] arguments) throws InterruptedException {
		Counter counter = new Counter(Path.of(arguments[0]));
		Thread[] clients = new Thread[Integer.parseInt(arguments[1])];
		long end = System.nanoTime() + (long) (Double.parseDouble(arguments[2]) * 1e9);
		Holdfast hf = Holdfast.open();
		for (int i = 0; i < clients.length; i++) {
			clients[i] = new Thread(() -> counter.work(hf, end));
			clients[i].start();
		}
		for (Thread client : clients)
			client.join();
		System.out.println("counted " + counter.counted);
		System.exit(0);
	}
}
