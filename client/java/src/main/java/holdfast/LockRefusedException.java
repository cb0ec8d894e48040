package holdfast;

/** The daemon cannot or will not grant the lock, and says why. It never means that another locker has it. */
public final class LockRefusedException extends HoldfastException {
    private static final long serialVersionUID = 1;
    private final String code;
    private final String text;

    LockRefusedException(String code, String text) {
        super("holdfastd refuses: " + code + " " + text);
        this.code = code;
        this.text = text;
    }

    /** Such as NOMASTER, GUARD, WRONGKIND, LIMIT, DRAINING or ERR; section 7 of PROTOCOL.md has all codes. */
    public String code() {
        return code;
    }

    /** The explanation, for people. */
    public String text() {
        return text;
    }

    @Override
    HoldfastException here() {
        return caused(new LockRefusedException(code, text), this);
    }
}
