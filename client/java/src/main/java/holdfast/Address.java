package holdfast;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Where a daemon is: the path of a Unix socket, or host and port with user and password.
 */
final class Address {
    static final String DEFAULT_SOCKET = "/run/holdfast/holdfast.sock";
    static final int DEFAULT_PORT = 5625;

    private final String path; // "" for TCP
    private final String host;
    private final int port;
    private final String user;
    private final String password; // "": no login
    private final Secure tls; // null: plain
    /**
     * Null: the program or $HOLDFAST_URL names the address. Else it is the standard address: the socket of this user's own daemon
     * if that is there, else path. "": $XDG_RUNTIME_DIR is not set.
     */
    private final String own;

    Address(String path, String host, int port, String user, String password, Secure tls, String own) {
        this.path = path;
        this.host = host;
        this.port = port;
        this.user = user;
        this.password = password;
        this.tls = tls;
        this.own = own;
    }

    Address(String path, String host, int port, String user, String password, Secure tls) {
        this(path, host, port, user, password, tls, null);
    }

    String path() {
        return path;
    }

    String host() {
        return host;
    }

    int port() {
        return port;
    }

    String user() {
        return user;
    }

    String password() {
        return password;
    }

    Secure tls() {
        return tls;
    }

    private List<Object> fields() {
        return Arrays.asList(path, host, port, user, password, tls, own);
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Address && fields().equals(((Address) other).fields());
    }

    @Override
    public int hashCode() {
        return fields().hashCode();
    }

    boolean standard() {
        return own != null;
    }

    boolean unix() {
        return !path.isEmpty();
    }

    /** Without user and password. */
    @Override
    public String toString() {
        return unix() ? "unix:" + path : (tls == null ? "tcp://" : "tls://") + (host.indexOf(':') < 0 ? host : "[" + host + "]") + ":" + port;
    }

    /** That of $HOLDFAST_URL, else the standard address. */
    static Address choose(Map<String, String> environment) {
        String where = environment.getOrDefault("HOLDFAST_URL", "");
        if (!where.isEmpty()) {
            return parse(where, "HOLDFAST_URL");
        }
        String runtime = environment.getOrDefault("XDG_RUNTIME_DIR", "");
        String own = runtime.startsWith("/") ? runtime + "/holdfast/holdfast.sock" : "";
        return new Address(DEFAULT_SOCKET, "", 0, "", "", null, own);
    }

    /** Where to connect now: of the standard address, the socket that is there. */
    Address now() {
        if (!standard()) {
            return this;
        }
        return ofPath(!own.isEmpty() && Files.exists(Path.of(own)) && fault(Path.of(own)).isEmpty() ? own : path, "");
    }

    /**
     * Empty: only root and this user can have put the socket there. The variable outlives su and sudo -E, and may name the
     * directory of another user, whose daemon could grant what is held elsewhere. /run/holdfast is root's in any case.
     */
    private static String fault(Path own) {
        try {
            for (Path directory : List.of(own.getParent().getParent(), own.getParent())) {
                int mode = (int) Files.getAttribute(directory, "unix:mode");
                if (!trusted(directory) || !trusted(directory, LinkOption.NOFOLLOW_LINKS)) {
                    return "its directory belongs to another user";
                }
                if ((mode & 01002) == 02) {
                    return "everybody may write to its directory";
                }
            }
            return trusted(own, LinkOption.NOFOLLOW_LINKS) ? "" : "it belongs to another user";
        } catch (IOException | UnsupportedOperationException strange) {
            return "it cannot be looked at";
        }
    }

    /** Of root or of this user, to whom this process belongs. */
    private static boolean trusted(Path path, LinkOption... options) throws IOException {
        int uid = (int) Files.getAttribute(path, "unix:uid", options);
        return uid == 0 || uid == (int) Files.getAttribute(Path.of("/proc/self"), "unix:uid");
    }

    /** For an error: no socket of the standard address is there. */
    String missing() {
        String fault = own.isEmpty() || !Files.exists(Path.of(own)) ? "" : fault(Path.of(own));
        if (!fault.isEmpty()) {
            return "$XDG_RUNTIME_DIR/holdfast/holdfast.sock is not taken, " + fault + ", and " + path + " is not there";
        }
        return own.isEmpty() ? path + " is not there" : "neither $XDG_RUNTIME_DIR/holdfast/holdfast.sock nor " + path + " is there";
    }

    /** For an error: " (from HOLDFAST_URL)" if that has named this address. */
    String from(Map<String, String> environment) {
        String where = environment.getOrDefault("HOLDFAST_URL", "");
        try {
            return !where.isEmpty() && parse(where, "").toString().equals(toString()) ? " (from HOLDFAST_URL)" : "";
        } catch (IllegalArgumentException wrong) {
            return ""; // a client with an address of its own does not read it
        }
    }

    /** For an error: what to do if the daemon is not at the standard address, but elsewhere. */
    String elsewhere() {
        return standard() ? " If it is elsewhere, set HOLDFAST_URL" : "";
    }

    /** IllegalArgumentException: it is no address. Its text never has what was read: that may have a password. */
    static Address parse(String where, String label) {
        for (String scheme : new String[] {"unix://", "unix:"}) {
            if (where.startsWith(scheme)) {
                return ofPath(where.substring(scheme.length()), label);
            }
        }
        for (String scheme : new String[] {"tcp://", "redis://"}) {
            if (where.startsWith(scheme)) {
                return ofHost(where.substring(scheme.length()), label);
            }
        }
        for (String scheme : new String[] {"tls://", "rediss://"}) {
            if (where.startsWith(scheme)) {
                return ofTls(where.substring(scheme.length()), label);
            }
        }
        if (where.contains("://")) {
            throw bad(label, "only unix://, tcp://, redis://, tls:// and rediss:// are known");
        }
        if (where.startsWith("/") || where.startsWith(".")) {
            return ofPath(where, label);
        }
        if (where.indexOf(':') < 0) {
            throw bad(label, "it is neither a path (with a /) nor host:port nor a URL");
        }
        return ofHost(where, label);
    }

    private static Address ofPath(String path, String label) {
        if (path.isEmpty()) {
            throw bad(label, "the path of the socket is empty");
        }
        return new Address(path, "", 0, "", "", null);
    }

    private static Address ofHost(String text, String label) {
        int slash = text.indexOf('/');
        String behind = slash < 0 ? "" : text.substring(slash + 1);
        if (!behind.isEmpty() && !behind.equals("0")) {
            throw bad(label, "after the port only /0 is allowed: there is one space of names");
        }
        String place = slash < 0 ? text : text.substring(0, slash);
        int at = place.lastIndexOf('@');
        String user = "";
        String password = "";
        if (at >= 0) {
            String login = place.substring(0, at);
            int colon = login.indexOf(':');
            user = decoded(colon < 0 ? login : login.substring(0, colon), label);
            password = colon < 0 ? "" : decoded(login.substring(colon + 1), label);
            if (password.isEmpty()) {
                throw bad(label, "there is a user but no password: redis://user:password@host:port");
            }
            place = place.substring(at + 1);
        }
        int colon = place.lastIndexOf(':');
        boolean literal = place.startsWith("[") || place.indexOf(':') != colon; // an IPv6 address
        boolean port = colon >= 0 && (!literal || place.lastIndexOf("]:") == colon - 1);
        String host = port ? place.substring(0, colon) : place;
        if (host.startsWith("[") && host.endsWith("]")) {
            host = host.substring(1, host.length() - 1);
        }
        if (host.isEmpty()) {
            throw bad(label, "the host is missing");
        }
        return new Address("", host, port ? portOf(place.substring(colon + 1), label) : DEFAULT_PORT, user, password,
                null);
    }

    private static Address ofTls(String text, String label) {
        int mark = text.indexOf('?');
        Address plain = ofHost(mark < 0 ? text : text.substring(0, mark), label);
        Map<String, String> options = new HashMap<>(Map.of("ca", "", "certificate", "", "key", "", "name", ""));
        for (String option : mark < 0 ? new String[0] : text.substring(mark + 1).split("&")) {
            int equals = option.indexOf('=');
            String key = equals < 0 ? option : option.substring(0, equals);
            if (options.replace(key, equals < 0 ? "" : decoded(option.substring(equals + 1), label)) == null) {
                throw bad(label, "after the ? only ca=, certificate=, key= and name= are known, with & between them");
            }
        }
        if (options.get("certificate").isEmpty() != options.get("key").isEmpty()) {
            throw bad(label, "certificate= and key= are needed together");
        }
        Secure tls = new Secure(options.get("ca"), options.get("certificate"), options.get("key"), options.get("name"));
        return new Address("", plain.host, plain.port, plain.user, plain.password, tls);
    }

    private static int portOf(String text, String label) {
        if (text.matches("[0-9]{1,5}")) {
            int port = Integer.parseInt(text);
            if (port > 0 && port < 65536) {
                return port;
            }
        }
        throw bad(label, "the port is a number from 1 to 65535");
    }

    private static String decoded(String text, String label) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        for (int i = 0; i < bytes.length; i++) {
            if (bytes[i] != '%') {
                out.write(bytes[i]);
                continue;
            }
            int high = i + 2 < bytes.length ? Character.digit(bytes[i + 1], 16) : -1;
            int low = i + 2 < bytes.length ? Character.digit(bytes[i + 2], 16) : -1;
            if (high < 0 || low < 0) {
                throw bad(label, "it has a % that is not %XX");
            }
            out.write(high * 16 + low);
            i += 2;
        }
        return out.toString(StandardCharsets.UTF_8);
    }

    private static IllegalArgumentException bad(String label, String why) {
        return new IllegalArgumentException(label + ": " + why);
    }
}
