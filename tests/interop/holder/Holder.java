import holdfast.Holdfast;
import java.io.IOException;

/** Holds the names of its arguments (tests/interop/outages) by client/java. */
final class Holder {
	private Holder() {
	}

	public static void main(String[] names) throws IOException, InterruptedException {
		Holdfast hf = Holdfast.open();
		for (String name : names) {
			hf.lock(name).onLost(loss -> System.out.println("lost " + name));
			System.out.println("held " + name);
			Thread.sleep(800); // so that their leases are renewed at other times
		}
		System.in.readAllBytes();
		System.exit(0);
	}
}
