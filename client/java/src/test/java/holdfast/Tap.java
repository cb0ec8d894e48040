package holdfast;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.Arrays;
import java.util.Comparator;
import java.util.concurrent.Callable;

/** Runs the tests, and prints TAP. A test is a method that begins with "test"; arguments choose those that contain one. */
public final class Tap {
    private static final Class<?>[] SUITES = {UnitTests.class, LockTests.class, LineTests.class, FaultTests.class, SeenTests.class, ReadmeTests.class};
    private static int number;
    private static int failed;

    public static void main(String[] wanted) throws Exception {
        if (wanted.length > 0 && wanted[0].equals("--child")) {
            Child.main(Arrays.copyOfRange(wanted, 1, wanted.length));
            return;
        }
        for (Class<?> suite : SUITES) {
            Method[] methods = suite.getDeclaredMethods();
            Arrays.sort(methods, Comparator.comparing(Method::getName));
            for (Method test : methods) {
                boolean chosen = wanted.length == 0 || Arrays.stream(wanted).anyMatch(test.getName()::contains);
                if (chosen && test.getName().startsWith("test") && Modifier.isStatic(test.getModifiers())) {
                    run(suite, test);
                }
            }
        }
        System.out.println("1.." + number);
        System.exit(number > 0 && failed == 0 ? 0 : 1);
    }

    private static void run(Class<?> suite, Method test) throws IllegalAccessException {
        String name = suite.getSimpleName() + "." + test.getName();
        long begun = System.nanoTime();
        number++;
        try {
            test.invoke(null);
            System.out.printf("ok %d - java %s (%.1f s)%n", number, name, (System.nanoTime() - begun) / 1e9);
        } catch (InvocationTargetException wrapped) {
            if (wrapped.getCause() instanceof Skip skip) {
                System.out.printf("ok %d - java %s # SKIP %s%n", number, name, skip.getMessage());
                return;
            }
            failed++;
            wrapped.getCause().printStackTrace(System.out);
            System.out.printf("not ok %d - java %s%n", number, name);
        }
    }

    static final class Skip extends RuntimeException {
        private static final long serialVersionUID = 1;

        Skip(String why) {
            super(why);
        }
    }

    static void comment(String text) {
        System.out.println("# " + text);
    }

    static void check(boolean right, Object what) {
        if (!right) {
            throw new AssertionError(what);
        }
    }

    static void equal(Object got, Object wanted) {
        check(wanted.equals(got), "expected " + wanted + ", got " + got);
    }

    static <T extends Throwable> T raises(Class<T> kind, Callable<?> call) {
        Object result;
        try {
            result = call.call();
        } catch (Throwable thrown) {
            if (kind.isInstance(thrown)) {
                return kind.cast(thrown);
            }
            throw new AssertionError("expected " + kind.getSimpleName(), thrown);
        }
        throw new AssertionError("expected " + kind.getSimpleName() + ", got " + result);
    }

    private Tap() {
    }
}
