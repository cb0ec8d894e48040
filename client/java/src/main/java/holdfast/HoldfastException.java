package holdfast;

/** What this package throws of its own. Its message says what happened, where, and what to do. */
public abstract class HoldfastException extends RuntimeException {
    private static final long serialVersionUID = 1;

    HoldfastException(String message) {
        super(message);
    }

    /** Whether the same call may succeed later, so that a program may try again. */
    public boolean isTransient() {
        return true;
    }

    /** The same with the stack of the thread that is to throw it: the engine's thread has made it. */
    abstract HoldfastException here();

    static <T extends HoldfastException> T caused(T here, HoldfastException by) {
        here.initCause(by);
        return here;
    }
}
