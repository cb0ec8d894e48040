package holdfast;

/** Another locker has the lock, and it was not granted in the time that the caller wanted to wait, which may be none. */
public final class LockTimeoutException extends LockBusyException {
    private static final long serialVersionUID = 1;

    LockTimeoutException(String message) {
        super(message);
    }

    @Override
    HoldfastException here() {
        return caused(new LockTimeoutException(getMessage()), this);
    }
}
