import java.util.Properties;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.RedisClient;
import redis.clients.jedis.commands.ProtocolCommand;
import redis.clients.jedis.exceptions.JedisDataException;

/** A puppet (tests/interop/puppet.py) of Jedis. Its clients: a Jedis is one connection, a RedisClient a pool. */
final class Puppet extends Lines<AutoCloseable> {
	private final int port;

	private Puppet(int port) {
		this.port = port;
	}

	@Override
	AutoCloseable open(String name, boolean shared) {
		return shared ? RedisClient.create("127.0.0.1", port) : new Jedis("127.0.0.1", port);
	}

	@SuppressWarnings("deprecation") // of sendCommand; what replaces it takes the same words
	@Override
	Object call(AutoCloseable client, String verb, String[] words) throws Refused {
		ProtocolCommand command = verb::getBytes;
		try {
			if (client instanceof RedisClient pool)
				return pool.sendCommand(command, words);
			synchronized (client) { // a Jedis is for one thread at a time
				return ((Jedis) client).sendCommand(command, words);
			}
		} catch (JedisDataException error) {
			throw new Refused(error.getMessage());
		}
	}

	@Override
	void close(AutoCloseable client) throws Exception {
		client.close();
	}

	public static void main(String[] arguments) throws Exception {
		Properties about = new Properties();
		about.load(Jedis.class.getResourceAsStream("/META-INF/maven/redis.clients/jedis/pom.properties"));
		new Puppet(Integer.parseInt(arguments[0])).run("Jedis " + about.getProperty("version"));
	}
}
