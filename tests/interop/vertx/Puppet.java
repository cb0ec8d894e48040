import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.redis.client.Command;
import io.vertx.redis.client.Redis;
import io.vertx.redis.client.RedisConnection;
import io.vertx.redis.client.RedisOptions;
import io.vertx.redis.client.Request;
import io.vertx.redis.client.Response;
import io.vertx.redis.client.ResponseType;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletionException;

/** A puppet (tests/interop/puppet.py) of Vert.x. Its clients: a RedisConnection, or a Redis, which is a pool. */
final class Puppet extends Lines<Puppet.Client> {
	record Client(Redis redis, RedisConnection connection) {
	}

	private final Vertx vertx = Vertx.vertx();
	private final String url;

	private Puppet(int port) {
		url = "redis://127.0.0.1:" + port;
	}

	private static <T> T await(Future<T> future) {
		return future.toCompletionStage().toCompletableFuture().join();
	}

	@Override
	Client open(String name, boolean shared) {
		Redis redis = Redis.createClient(vertx, new RedisOptions().setConnectionString(url)
				.setMaxPoolWaiting(64)); // more requests than a scene sends at once
		return new Client(redis, shared ? null : await(redis.connect()));
	}

	private static Object plain(Response response) {
		if (response == null)
			return null;
		if (response.type() == ResponseType.NUMBER)
			return response.toLong();
		if (response.type() != ResponseType.MULTI || response.getKeys() != null && !response.getKeys().isEmpty())
			return response.toString();
		List<Object> items = new ArrayList<>();
		response.forEach(item -> items.add(plain(item)));
		return items;
	}

	@Override
	Object call(Client client, String verb, String[] words) throws Refused {
		Request request = Request.cmd(Command.create(verb));
		for (String word : words)
			request.arg(word);
		try {
			return plain(await(client.connection != null ? client.connection.send(request) : client.redis.send(request)));
		} catch (CompletionException error) {
			// What the library throws for an error reply has no public name, and a lost connection is one to it.
			String text = error.getCause().getMessage();
			if (error.getCause() instanceof Response && !text.equals("CONNECTION_CLOSED"))
				throw new Refused(text);
			throw error;
		}
	}

	@Override
	void close(Client client) {
		client.redis.close();
	}

	public static void main(String[] arguments) throws Exception {
		String version = Redis.class.getPackage().getImplementationVersion();
		new Puppet(Integer.parseInt(arguments[0])).run("Vert.x " + version);
	}
}
