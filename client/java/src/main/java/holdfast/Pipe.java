package holdfast;

import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLEngineResult;

/**
 * A connection to the daemon, plain or with TLS. The handshake blocks, in the thread that connects; after it the channel does
 * not, and the engine's thread alone reads and writes.
 */
final class Pipe implements Closeable {
    final SocketChannel channel;
    private final SSLEngine tls; // null: plain
    private ByteBuffer received = ByteBuffer.allocate(0); // not decrypted yet, between position and limit
    private ByteBuffer sending = ByteBuffer.allocate(0); // encrypted, and not sent yet
    private boolean whole; // the last unwrap() did not miss bytes

    Pipe(SocketChannel channel, SSLEngine tls) {
        this.channel = channel;
        this.tls = tls;
        if (tls != null) {
            int room = tls.getSession().getPacketBufferSize();
            received = ByteBuffer.allocate(2 * room).flip();
            sending = ByteBuffer.allocate(room).flip();
        }
    }

    /** With a channel that blocks. */
    void handshake() throws IOException {
        ByteBuffer nothing = ByteBuffer.allocate(tls.getSession().getApplicationBufferSize());
        tls.beginHandshake();
        while (true) {
            switch (tls.getHandshakeStatus()) {
            case NEED_WRAP:
                wrap(ByteBuffer.allocate(0));
                break;
            case NEED_TASK:
                tasks();
                break;
            case NEED_UNWRAP:
            case NEED_UNWRAP_AGAIN:
                if (unwrap(nothing).getStatus() == SSLEngineResult.Status.BUFFER_UNDERFLOW && fill() < 0) {
                    throw new IOException("the daemon closed the connection during the TLS handshake");
                }
                break;
            default:
                return;
            }
        }
    }

    /** As SocketChannel.read(); more than once if hasMore(). */
    int read(ByteBuffer to) throws IOException {
        if (tls == null) {
            return channel.read(to);
        }
        int before = to.position();
        int got = 1;
        while (got > 0 && to.remaining() >= tls.getSession().getApplicationBufferSize()) {
            SSLEngineResult result = unwrap(to);
            if (result.getStatus() == SSLEngineResult.Status.CLOSED) {
                got = -1;
            } else if (result.getStatus() == SSLEngineResult.Status.BUFFER_UNDERFLOW) {
                got = fill();
            }
            settle(result.getHandshakeStatus());
        }
        return to.position() > before ? to.position() - before : Math.min(got, 0);
    }

    /** Whether there may be more to read although the channel reports none. */
    boolean hasMore() {
        return received.hasRemaining() && whole;
    }

    /** Sends as much of the buffer as the channel takes; false: it takes no more before it is writable again. */
    boolean write(ByteBuffer from) throws IOException {
        if (tls == null) {
            return channel.write(from) > 0;
        }
        while (from.hasRemaining() || sending.hasRemaining()) {
            if (!sending.hasRemaining()) {
                wrap(from);
            } else if (channel.write(sending) == 0) {
                return false;
            }
        }
        return true;
    }

    /** Whether something is left to be sent, beside what write() was not given. */
    boolean hasUnsent() {
        return sending.hasRemaining();
    }

    @Override
    public void close() throws IOException {
        if (tls != null && channel.isOpen() && !channel.isBlocking()) {
            try {
                tls.closeOutbound();
                wrap(ByteBuffer.allocate(0)); // the good-bye, if there is room for it
            } catch (IOException broken) {
                // the daemon finds the end without it
            }
        }
        channel.close();
    }

    private SSLEngineResult unwrap(ByteBuffer to) throws IOException {
        SSLEngineResult result = tls.unwrap(received, to);
        whole = result.getStatus() != SSLEngineResult.Status.BUFFER_UNDERFLOW;
        return result;
    }

    private int fill() throws IOException {
        received.compact();
        try {
            return channel.read(received);
        } finally {
            received.flip();
        }
    }

    private void wrap(ByteBuffer from) throws IOException {
        sending.compact();
        try {
            tls.wrap(from, sending);
        } finally {
            sending.flip();
        }
        channel.write(sending);
    }

    private void tasks() {
        for (Runnable task = tls.getDelegatedTask(); task != null; task = tls.getDelegatedTask()) {
            task.run();
        }
    }

    /** What TLS 1.3 asks for after the handshake: new keys. */
    private void settle(SSLEngineResult.HandshakeStatus status) throws IOException {
        if (status == SSLEngineResult.HandshakeStatus.NEED_TASK) {
            tasks();
        } else if (status == SSLEngineResult.HandshakeStatus.NEED_WRAP && !sending.hasRemaining()) {
            wrap(ByteBuffer.allocate(0));
        }
    }
}
