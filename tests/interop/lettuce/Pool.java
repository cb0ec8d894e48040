import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisException;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.output.IntegerOutput;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.ProtocolKeyword;
import io.lettuce.core.support.ConnectionPoolSupport;
import java.time.Duration;
import org.apache.commons.pool2.impl.GenericObjectPool;
import org.apache.commons.pool2.impl.GenericObjectPoolConfig;

/**
 * The pool test (tests/e2e/pools.py) of Lettuce: its pool of connections. A command that times out is an error, and sent
 * again here. Its connection is closed, since the LOCK on it still waits: in the pool it would hold up another task.
 */
final class Pool {
	private enum Verb implements ProtocolKeyword {
		LOCK, UNLOCK;

		@Override
		public byte[] getBytes() {
			return name().getBytes();
		}
	}

	private final GenericObjectPool<StatefulRedisConnection<String, String>> pool;

	private Pool(int port, Duration timeout) {
		RedisClient client = RedisClient.create("redis://127.0.0.1:" + port);
		pool = ConnectionPoolSupport.createGenericObjectPool(() -> {
			StatefulRedisConnection<String, String> connection = client.connect();
			connection.setTimeout(timeout);
			return connection;
		}, new GenericObjectPoolConfig<>(), false);
	}

	private Long sendOnce(String verb, String... words) throws Exception {
		CommandArgs<String, String> arguments = new CommandArgs<>(StringCodec.UTF8);
		for (String word : words)
			arguments.add(word);
		StatefulRedisConnection<String, String> connection = pool.borrowObject();
		boolean answered = false;
		try {
			Long answer = connection.sync().dispatch(Verb.valueOf(verb), new IntegerOutput<>(StringCodec.UTF8), arguments);
			answered = true;
			return answer;
		} finally {
			if (answered)
				pool.returnObject(connection);
			else
				pool.invalidateObject(connection);
		}
	}

	private Long send(String verb, String... words) throws Exception {
		for (;;) {
			try {
				return sendOnce(verb, words);
			} catch (RedisCommandExecutionException refusal) {
				throw refusal;
			} catch (RedisException timedOutOrLost) {
				System.out.println("again");
				Thread.sleep(5);
			}
		}
	}

	public static void main(String[] arguments) throws Exception {
		Pool locks = new Pool(Integer.parseInt(arguments[0]), Duration.ofMillis(Integer.parseInt(arguments[2])));
		PoolTasks.perform(locks::send, Integer.parseInt(arguments[1]));
	}
}
