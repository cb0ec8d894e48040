import java.util.ArrayList;
import java.util.List;

import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.retry.ExponentialBackoffRetry;

/** A rival (tests/interop/rivals/run) by Curator's InterProcessMutex, at a ZooKeeper. */
final class Main extends Rival {
	private final String server;
	private final CuratorFramework shared;
	private final List<CuratorFramework> owned = new ArrayList<>(); /* of each thread that has its own */

	private Main(String server, CuratorFramework shared, String[] arguments) {
		super(locker(shared, arguments[1]), arguments);
		this.server = server;
		this.shared = shared;
	}

	private static CuratorFramework connect(String server) {
		CuratorFramework client = CuratorFrameworkFactory.newClient(server, new ExponentialBackoffRetry(1000, 3));
		client.start();
		return client;
	}

	private static Locker locker(CuratorFramework client, String name) {
		InterProcessMutex mutex = new InterProcessMutex(client, "/locks/" + name);
		return new Locker(mutex::acquire, mutex::release);
	}

	@Override
	Locker contender(String name, int me, boolean own) {
		if (own && owned.size() == me)
			owned.add(connect(server));
		return locker(own ? owned.get(me) : shared, name);
	}

	public static void main(String[] arguments) throws Exception {
		String server = "127.0.0.1:" + arguments[0];
		new Main(server, connect(server), arguments).run();
	}
}
