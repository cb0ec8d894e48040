package holdfast;

/** No holdfastd answers. The message says where it was looked for, and why it failed. */
public final class DaemonUnreachableException extends HoldfastException {
    private static final long serialVersionUID = 1;

    DaemonUnreachableException(String message) {
        super(message);
    }

    @Override
    HoldfastException here() {
        return caused(new DaemonUnreachableException(getMessage()), this);
    }
}
