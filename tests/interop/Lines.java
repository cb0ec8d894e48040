import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** The lines of a puppet (tests/interop/puppet.py), for the libraries of Java. C: the library's client. */
abstract class Lines<C> {
	/** An error reply; everything else that is thrown means that the library gave up. */
	static final class Refused extends Exception {
		private static final long serialVersionUID = 1;

		Refused(String text) {
			super(text);
		}
	}

	private final Map<String, C> clients = new ConcurrentHashMap<>();

	abstract C open(String name, boolean shared) throws Exception;

	abstract Object call(C client, String verb, String[] words) throws Exception;

	abstract void close(C client) throws Exception;

	static synchronized void say(Object... words) {
		StringBuilder line = new StringBuilder();
		for (Object word : words)
			line.append(String.valueOf(word).strip().replaceAll("\\s+", " ")).append(' ');
		System.out.println(line.toString().strip());
		System.out.flush();
	}

	private static Object plain(Object value) {
		return value instanceof byte[] bytes ? new String(bytes, StandardCharsets.UTF_8) : value;
	}

	private static void tell(String number, Object value) {
		if (value == null) {
			say(number, "null");
		} else if (value instanceof Long) {
			say(number, "int", value);
		} else if (value instanceof List<?> list) {
			List<Object> words = new ArrayList<>(List.of(number, "list"));
			list.forEach(item -> words.add(plain(item)));
			say(words.toArray());
		} else {
			say(number, "text", plain(value));
		}
	}

	private void perform(String[] words) {
		String number = words[0], name = words[2];
		try {
			switch (words[1]) {
			case "open" -> {
				clients.put(name, open(name, words[3].equals("shared")));
				say(number, "ok");
			}
			case "close" -> {
				close(clients.get(name));
				say(number, "ok");
			}
			default -> tell(number, call(clients.get(name), words[3], List.of(words).subList(4, words.length)
					.toArray(new String[0])));
			}
		} catch (Refused refused) {
			say(number, "refused", refused.getMessage());
		} catch (Exception error) {
			say(number, "broken", error);
		}
	}

	void run(String library) throws Exception {
		say("0 ready", library);
		BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
		for (String line = lines.readLine(); line != null; line = lines.readLine()) {
			String[] words = line.split(" ");
			if (words[1].equals("call"))
				new Thread(() -> perform(words)).start();
			else
				perform(words);
		}
		System.exit(0);
	}
}
