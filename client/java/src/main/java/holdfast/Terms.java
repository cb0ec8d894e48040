package holdfast;

import java.nio.CharBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Objects;

/** What the daemon takes. The rest is refused here, in the words of the packages for other languages. */
final class Terms {
    static final Duration LONGEST = Duration.ofDays(365);
    /** Of a semaphore, at most. */
    static final int PERMITS = 10_000;

    private Terms() {
    }

    static void checkName(String name) {
        checkBytes("name", name, 1, 512);
        if (name.startsWith("}")) {
            throw new IllegalArgumentException("name: it must not begin with }, as \"" + name + "\" does");
        }
    }

    /** A text that may be empty may have spaces, too. */
    static void checkBytes(String what, String text, int least, int most) {
        Objects.requireNonNull(text, () -> what + ": a String is needed, not null");
        int length;
        try {
            length = StandardCharsets.UTF_8.newEncoder().encode(CharBuffer.wrap(text)).remaining();
        } catch (CharacterCodingException half) {
            throw new IllegalArgumentException(what + ": half a surrogate pair is no UTF-8, as in \"" + text + "\"", half);
        }
        boolean control = text.chars().anyMatch(c -> Character.isISOControl(c) || c == ' ' && least > 0);
        if (length < least || length > most || control) {
            String bytes = least > 0 ? least + " to " + most + " bytes without spaces and" : "at most " + most + " bytes without";
            throw new IllegalArgumentException(what + ": " + bytes + " control characters are needed, not \"" + text + "\"");
        }
    }

    static void checkPermits(String what, int count, int most) {
        if (count < 1 || count > most) {
            throw new IllegalArgumentException(what + ": a whole number from 1 to " + most + " is needed, not " + count);
        }
    }

    /** The words of LOCK. */
    static void checkTogether(List<String> words) {
        String limit = valueOf(words, "LIMIT");
        String permits = valueOf(words, "PERMITS");
        if (limit != null && valueOf(words, "SHARED") != null) {
            throw new IllegalArgumentException("a lock is shared, or has a limit, not both");
        }
        if (permits != null && limit == null) {
            throw new IllegalArgumentException("permits needs a limit");
        }
        if (permits != null) {
            checkPermits("permits", Integer.parseInt(permits), Integer.parseInt(limit));
        }
    }

    /** The value of an option of LOCK, of SHARED a word; null: it is not there. A value may read as an option does. */
    static String valueOf(List<String> words, String option) {
        for (int i = 0; i < words.size(); i += words.get(i).equals("SHARED") ? 1 : 2) {
            if (words.get(i).equals(option)) {
                return option.equals("SHARED") ? option : words.get(i + 1);
            }
        }
        return null;
    }

    /** Milliseconds, rounded up. */
    static String ms(String what, Duration time) {
        Objects.requireNonNull(time, "the time is null: a Duration is needed");
        if (time.isNegative() || time.isZero() || time.compareTo(LONGEST) > 0) {
            throw new IllegalArgumentException(what + ": a time from 1 ms to 365 days is needed, not " + time);
        }
        return Core.ms(time.toNanos());
    }
}
