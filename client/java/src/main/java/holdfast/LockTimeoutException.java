package holdfast;

/** Another locker has the lock, and it was not granted in the time that the caller wanted to wait, which may be none. */
public final class LockTimeoutException extends LockBusyException {
    private static final long serialVersionUID = 1;

    private final String name;
    private final Holder holder;

    LockTimeoutException(String message, String name, Holder holder) {
        super(message);
        this.name = name;
        this.holder = holder;
    }

    /** The name of the lock that was not granted. */
    public String name() {
        return name;
    }

    /** Who has it; null: nobody any more, or this user may not see it, or the lock was only tried. */
    public Holder holder() {
        return holder;
    }

    @Override
    HoldfastException here() {
        return caused(new LockTimeoutException(getMessage(), name, holder), this);
    }
}
