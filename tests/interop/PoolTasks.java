import java.util.Random;
import java.util.UUID;

/** The pool test (tests/e2e/pools.py) for the libraries of Java. */
final class PoolTasks {
	/** The library at work: sends a request, as often as it takes, and returns the number that is the answer. */
	interface Sender {
		Object send(String verb, String... words) throws Exception;
	}

	private static final int TASKS = 10;
	private static final String[] NAMES = {"deploy", "report", "import", "orders"};

	private PoolTasks() {
	}

	private static void operate(Sender sender, String name, int task, Random random) throws Exception {
		String me = UUID.randomUUID().toString();
		Object token = sender.send("LOCK", name, "WAIT", "120000", "AS", me); // null: another client has it
		System.out.println("enter " + name + " " + task + " " + token);
		Thread.sleep(random.nextInt(10));
		System.out.println("leave " + name + " " + task);
		Object left = sender.send("UNLOCK", name, "TOKEN", String.valueOf(token), "AS", me);
		if (!Long.valueOf(0).equals(left))
			throw new IllegalStateException("UNLOCK answers " + left);
	}

	private static void work(Sender sender, int task, int operations) {
		Random random = new Random();
		for (int i = 0; i < operations; i++) {
			String name = NAMES[random.nextInt(NAMES.length)];
			try {
				operate(sender, name, task, random);
			} catch (Exception error) {
				System.out.println("failed " + name + " " + task + " " + error);
			}
		}
	}

	static void perform(Sender sender, int operations) throws InterruptedException {
		Thread[] threads = new Thread[TASKS];
		for (int i = 0; i < TASKS; i++) {
			int task = i;
			threads[i] = new Thread(() -> work(sender, task, operations / TASKS));
			threads[i].start();
		}
		for (Thread thread : threads)
			thread.join();
		System.exit(0);
	}
}
