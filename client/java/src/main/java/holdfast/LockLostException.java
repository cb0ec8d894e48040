package holdfast;

/** A lock was held and is not held any more, although it was not closed. Other work may have met what it protected. */
public final class LockLostException extends HoldfastException {
    private static final long serialVersionUID = 1;
    private final String name;
    private final long token;
    private final String reason;
    private final String text;

    LockLostException(String name, long token, String reason, String text) {
        super("the lock " + name + " is lost: " + text);
        this.name = name;
        this.token = token;
        this.reason = reason;
        this.text = text;
    }

    /** The name of the lock. */
    public String name() {
        return name;
    }

    /** The token that it had. */
    public long token() {
        return token;
    }

    /**
     * One word. The daemon's: expired, taken, refused, lease, maxhold, broken, cloned; section 4.6 of PROTOCOL.md explains
     * them. Or what this package found: session (the daemon does not know the lock any more), unreachable (the daemon
     * could not be asked in time), closed (the client was closed).
     */
    public String reason() {
        return reason;
    }

    @Override
    HoldfastException here() {
        return caused(new LockLostException(name, token, reason, text), this);
    }
}
