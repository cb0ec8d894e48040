package holdfast;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * The bytes of requests, and of answers in RESP3. An answer is a String, a Long, a Failure, a List, or null; a push is a Push.
 */
final class Wire {
    private static final int BULK_MAX = 1 << 20;
    private static final int ITEMS_MAX = 1 << 14;
    private static final int DEPTH_MAX = 8;

    /** An error answer. */
    static final class Failure {
        private final String code;
        private final String text;

        Failure(String code, String text) {
            this.code = code;
            this.text = text;
        }

        String code() {
            return code;
        }

        String text() {
            return text;
        }

        static Failure of(String line) {
            int space = line.indexOf(' ');
            return space < 0 ? new Failure(line, "") : new Failure(line.substring(0, space), line.substring(space + 1));
        }
    }

    /** What the daemon tells unasked. */
    static final class Push {
        private final List<Object> items;

        Push(List<Object> items) {
            this.items = items;
        }

        List<Object> items() {
            return items;
        }

        String text(int at) {
            return at < items.size() && items.get(at) instanceof String ? (String) items.get(at) : "";
        }
    }

    private byte[] bytes = new byte[1024];
    private int from; // of what is not read yet
    private int end;

    static byte[] encode(List<String> words) {
        List<byte[]> parts = new ArrayList<>(words.size());
        int length = 16;
        for (String word : words) {
            byte[] part = word.getBytes(StandardCharsets.UTF_8);
            parts.add(part);
            length += part.length + 16;
        }
        byte[] out = new byte[length];
        int at = put(out, 0, ("*" + words.size() + "\r\n").getBytes(StandardCharsets.US_ASCII));
        for (byte[] part : parts) {
            at = put(out, at, ("$" + part.length + "\r\n").getBytes(StandardCharsets.US_ASCII));
            at = put(out, at, part);
            at = put(out, at, new byte[] {'\r', '\n'});
        }
        return Arrays.copyOf(out, at);
    }

    private static int put(byte[] out, int at, byte[] part) {
        System.arraycopy(part, 0, out, at, part.length);
        return at + part.length;
    }

    void clear() {
        from = end = 0;
    }

    void add(byte[] data, int length) {
        if (end + length > bytes.length) {
            int kept = end - from;
            byte[] room = kept + length > bytes.length ? new byte[Integer.highestOneBit(kept + length) * 2] : bytes;
            System.arraycopy(bytes, from, room, 0, kept);
            bytes = room;
            from = 0;
            end = kept;
        }
        System.arraycopy(data, 0, bytes, end, length);
        end += length;
    }

    /** Reads the next answer or push into out[0]. False: more bytes are needed. ProtocolException: it is none. */
    boolean next(Object[] out) throws ProtocolException {
        int before = from;
        try {
            out[0] = read(0);
            return true;
        } catch (Incomplete incomplete) {
            from = before;
            return false;
        }
    }

    private Object read(int depth) throws ProtocolException, Incomplete {
        String line = line();
        if (line.isEmpty() || depth > DEPTH_MAX) {
            throw new ProtocolException(line);
        }
        String rest = line.substring(1);
        switch (line.charAt(0)) {
            case '+':
                return rest;
            case '-':
                return Failure.of(rest);
            case '_':
                return null;
            case ':':
                return number(rest);
            case '$':
                return bulk(number(rest));
            case '*':
            case '~':
                return items(number(rest), depth);
            case '%':
                return items(2 * number(rest), depth);
            case '>':
                return new Push(items(number(rest), depth));
            default:
                throw new ProtocolException(line);
        }
    }

    private List<Object> items(long count, int depth) throws ProtocolException, Incomplete {
        if (count < 0) {
            return null;
        }
        if (count > ITEMS_MAX) {
            throw new ProtocolException(count + " items");
        }
        List<Object> items = new ArrayList<>((int) count);
        for (long i = 0; i < count; i++) {
            items.add(read(depth + 1));
        }
        return items;
    }

    private String bulk(long length) throws ProtocolException, Incomplete {
        if (length < 0) {
            return null;
        }
        if (length > BULK_MAX) {
            throw new ProtocolException(length + " bytes");
        }
        if (end - from < length + 2) {
            throw Incomplete.INCOMPLETE;
        }
        String text = new String(bytes, from, (int) length, StandardCharsets.UTF_8);
        from += (int) length + 2;
        return text;
    }

    private String line() throws ProtocolException, Incomplete {
        for (int at = from; at + 1 < end; at++) {
            if (bytes[at] == '\r' && bytes[at + 1] == '\n') {
                String line = new String(bytes, from, at - from, StandardCharsets.UTF_8);
                from = at + 2;
                return line;
            }
        }
        if (end - from > BULK_MAX) {
            throw new ProtocolException("a line without end");
        }
        throw Incomplete.INCOMPLETE;
    }

    private static long number(String text) throws ProtocolException {
        try {
            return Long.parseLong(text);
        } catch (NumberFormatException bad) {
            throw new ProtocolException(text);
        }
    }

    /** What answers is no holdfastd. */
    static final class ProtocolException extends Exception {
        private static final long serialVersionUID = 1;

        ProtocolException(String what) {
            super("not an answer of holdfastd: " + what.substring(0, Math.min(what.length(), 80)));
        }
    }

    private static final class Incomplete extends Exception {
        private static final long serialVersionUID = 1;
        static final Incomplete INCOMPLETE = new Incomplete();

        private Incomplete() {
            super(null, null, false, false);
        }
    }
}
