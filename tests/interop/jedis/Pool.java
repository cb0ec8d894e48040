import java.time.Duration;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.RedisClient;
import redis.clients.jedis.commands.ProtocolCommand;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.exceptions.JedisException;
import redis.clients.jedis.executors.RetryableCommandExecutor;
import redis.clients.jedis.providers.PooledConnectionProvider;

/**
 * The pool test (tests/e2e/pools.py) of Jedis: its pool, which takes any connection for each command, with retries. A
 * connection that is lost while the daemon cannot be reached is an error all the same, and the request sent again here.
 */
final class Pool {
	private Pool() {
	}

	@SuppressWarnings("deprecation") // of sendCommand; what replaces it takes the same words
	private static Object send(RedisClient client, String verb, String... words) throws InterruptedException {
		for (;;) {
			try {
				return client.sendCommand((ProtocolCommand) verb::getBytes, words);
			} catch (JedisDataException refusal) {
				throw refusal;
			} catch (JedisException lost) {
				System.out.println("again");
				Thread.sleep(5);
			}
		}
	}

	public static void main(String[] arguments) throws Exception {
		HostAndPort address = new HostAndPort("127.0.0.1", Integer.parseInt(arguments[0]));
		PooledConnectionProvider pool = new PooledConnectionProvider(address, DefaultJedisClientConfig.builder()
				.socketTimeoutMillis(Integer.parseInt(arguments[2])).build());
		RedisClient client = RedisClient.builder().hostAndPort(address).connectionProvider(pool)
				.commandExecutor(new RetryableCommandExecutor(pool, 20000, Duration.ofMinutes(10))).build();
		PoolTasks.perform((verb, words) -> send(client, verb, words), Integer.parseInt(arguments[1]));
	}
}
