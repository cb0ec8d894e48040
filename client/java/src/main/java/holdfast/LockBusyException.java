package holdfast;

/** Another locker has the lock. */
public abstract class LockBusyException extends HoldfastException {
    private static final long serialVersionUID = 1;

    LockBusyException(String message) {
        super(message);
    }
}
