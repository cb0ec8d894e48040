package holdfast;

import java.io.IOException;
import java.net.ProtocolFamily;
import java.net.SocketAddress;
import java.net.StandardProtocolFamily;
import java.nio.channels.SocketChannel;

/** Unix sockets of Java 16 and later, which a class for Java 11 cannot name. */
final class UnixSocket {
    static final String MISSING = "before Java 16 there are no Unix sockets: set HOLDFAST_URL to the host:port of a daemon";

    private UnixSocket() {
    }

    private static IOException missing(Exception why) {
        return new IOException(MISSING, why);
    }

    static SocketAddress address(String path) throws IOException {
        try {
            return (SocketAddress) Class.forName("java.net.UnixDomainSocketAddress").getMethod("of", String.class).invoke(null, path);
        } catch (ReflectiveOperationException old) {
            throw missing(old);
        }
    }

    static SocketChannel open() throws IOException {
        try {
            return (SocketChannel) SocketChannel.class.getMethod("open", ProtocolFamily.class)
                    .invoke(null, StandardProtocolFamily.valueOf("UNIX"));
        } catch (ReflectiveOperationException | IllegalArgumentException old) {
            throw missing(old);
        }
    }
}
