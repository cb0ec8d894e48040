import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.LettuceVersion;
import io.lettuce.core.RedisChannelHandler;
import io.lettuce.core.RedisConnectionStateAdapter;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.output.CommandOutput;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.ProtocolKeyword;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/** A puppet (tests/interop/puppet.py) of Lettuce, whose connections are made to be shared. */
final class Puppet extends Lines<StatefulRedisConnection<String, String>> {
	private record Verb(String word) implements ProtocolKeyword {
		@Override
		public byte[] getBytes() {
			return word.getBytes();
		}
	}

	/** An answer of whatever type: a number, a text, null, or a list of these. */
	private static final class Answer extends CommandOutput<String, String, Object> {
		private List<Object> list;

		Answer() {
			super(StringCodec.UTF8, null);
		}

		private void put(Object value) {
			if (list != null)
				list.add(value);
			else
				output = value;
		}

		@Override
		public void set(ByteBuffer bytes) {
			put(bytes == null ? null : codec.decodeValue(bytes));
		}

		@Override
		public void set(long number) {
			put(number);
		}

		@Override
		public void multi(int count) {
			output = list = new ArrayList<>();
		}
	}

	private final int port;

	private Puppet(int port) {
		this.port = port;
	}

	@Override
	StatefulRedisConnection<String, String> open(String name, boolean shared) {
		StatefulRedisConnection<String, String> connection =
				RedisClient.create("redis://127.0.0.1:" + port).connect();
		connection.addListener(new RedisConnectionStateAdapter() {
			@Override
			public void onRedisDisconnected(RedisChannelHandler<?, ?> gone) {
				say("0 event", name, "disconnected");
			}
		});
		return connection;
	}

	@Override
	Object call(StatefulRedisConnection<String, String> client, String verb, String[] words) throws Refused {
		CommandArgs<String, String> arguments = new CommandArgs<>(StringCodec.UTF8);
		for (String word : words)
			arguments.add(word);
		try {
			return client.sync().dispatch(new Verb(verb), new Answer(), arguments);
		} catch (RedisCommandExecutionException error) {
			throw new Refused(error.getMessage());
		}
	}

	@Override
	void close(StatefulRedisConnection<String, String> client) {
		client.close();
	}

	public static void main(String[] arguments) throws Exception {
		new Puppet(Integer.parseInt(arguments[0])).run("Lettuce " + LettuceVersion.getVersion());
	}
}
