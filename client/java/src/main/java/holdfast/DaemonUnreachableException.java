package holdfast;

/** No holdfastd answers. The message says where it was looked for, and why it failed. */
public final class DaemonUnreachableException extends HoldfastException {
    private static final long serialVersionUID = 1;

    private final boolean passes;

    DaemonUnreachableException(String message) {
        this(message, true);
    }

    private DaemonUnreachableException(String message, boolean passes) {
        super(message);
        this.passes = passes;
    }

    /** Of a daemon for which it does not help to try again. */
    DaemonUnreachableException lasting() {
        return new DaemonUnreachableException(getMessage(), false);
    }

    /** False if this user may not use the socket, or if what answers is no holdfastd. */
    @Override
    public boolean isTransient() {
        return passes;
    }

    @Override
    HoldfastException here() {
        return caused(new DaemonUnreachableException(getMessage(), passes), this);
    }
}
