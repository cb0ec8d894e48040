package holdfast;

import java.util.Set;

/** The daemon cannot or will not grant the lock, and says why. It never means that another locker has it. */
public final class LockRefusedException extends HoldfastException {
    private static final long serialVersionUID = 1;
    /** Refusals that pass: the others want the program or the configuration to be changed. */
    private static final Set<String> PASSING = Set.of("NOMASTER", "GUARD", "MASTERERR", "DRAINING", "LIMIT", "DEADLOCK", "LOST");

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

    /** True if the code is NOMASTER, GUARD, MASTERERR, DRAINING, LIMIT or DEADLOCK, but for a name that is too long. */
    @Override
    public boolean isTransient() {
        return PASSING.contains(code) && !text.startsWith("bad name");
    }

    @Override
    HoldfastException here() {
        return caused(new LockRefusedException(code, text), this);
    }
}
