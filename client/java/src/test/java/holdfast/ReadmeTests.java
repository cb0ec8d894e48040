package holdfast;

import static holdfast.Tap.check;
import static holdfast.Tap.equal;
import static holdfast.Tap.raises;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** README.md: its program runs as it is there, after the commands that are there; its functions do what it says. */
final class ReadmeTests {
    private static final Path HERE = Path.of(System.getProperty("holdfast.source", "."));

    private ReadmeTests() {
    }

    private static List<String> blocks(String language) throws Exception {
        String page = Files.readString(HERE.resolve("README.md"));
        return Pattern.compile("(?s)```" + language + "\n(.*?)```").matcher(page).results().map(found -> found.group(1))
                .toList();
    }

    static void testProgram() throws Exception {
        List<String> programs = blocks("java").stream().filter(block -> block.startsWith("import")).toList();
        equal(programs.size(), 1);
        List<String> commands = new ArrayList<>(List.of("set -e"));
        for (String block : blocks("console")) {
            for (MatchResult line : Pattern.compile("(?m)^\\$ (.*)$").matcher(block).results().toList()) {
                commands.add(line.group(1).replace("/usr/src/holdfast/client/java", HERE.toAbsolutePath().toString()));
            }
        }
        equal(commands.size(), 4);
        try (Stage stage = new Stage(Stage.CALM)) {
            Path folder = Files.createDirectory(stage.folder.resolve("program"));
            Files.writeString(folder.resolve("Deploy.java"), programs.get(0));
            ProcessBuilder shell = new ProcessBuilder("sh", "-c", String.join("\n", commands)).directory(folder.toFile());
            shell.environment().put("HOLDFAST_URL", stage.socket);
            shell.environment().merge("PATH", System.getProperty("java.home") + "/bin", (path, java) -> java + ":" + path);
            Process run = shell.redirectErrorStream(true).start();
            equal(new String(run.getInputStream().readAllBytes()), "one at a time\n");
            equal(run.waitFor(), 0);
        }
    }

    static void testFunctions() throws Exception {
        String examples = Files.readString(HERE.resolve("src/test/java/holdfast/Examples.java"));
        List<String> functions = blocks("java").stream().filter(block -> !block.startsWith("import")).toList();
        equal(functions.size(), 8);
        for (String block : functions) {
            String indented = block.lines().map(line -> line.isEmpty() ? line : "    " + line)
                    .collect(Collectors.joining("\n"));
            check(examples.contains(indented), "not in Examples.java:\n" + block);
        }
    }

    static void testVersion() throws Exception {
        String makefile = Files.readString(HERE.resolve("../../Makefile"));
        MatchResult line = Pattern.compile("(?m)^VERSION := (.*)$").matcher(makefile).results().findFirst().orElseThrow();
        for (String file : List.of("pom.xml", "README.md")) {
            String text = Files.readString(HERE.resolve(file));
            check(text.contains("<version>" + line.group(1) + "</version>"), file + " has another version");
        }
    }

    static void testExamples() throws Exception {
        try (Stage stage = new Stage(Stage.CALM); Stage.Admin admin = stage.admin()) {
            Holdfast hf = stage.open(stage.socket);
            Examples.nightly(hf);
            Examples.later(hf).get(Stage.HANG, TimeUnit.SECONDS);
            Examples.kinds(hf);
            Examples.observe(hf);
            Examples.patient(hf).close();
            Examples.goOn(hf);
            equal(Examples.reports, 7);
            try (Lock other = hf.lock("nightly")) {
                Examples.nightly(hf);
                equal(Examples.reports, 7);
                equal(Examples.explain(raises(LockTimeoutException.class, () -> hf.lock("nightly", Duration.ZERO))),
                        "another locker has it");
            }
            Examples.save(hf, "first");
            Examples.save(hf, "second");
            equal(Examples.store.last, "second");
            raises(IllegalStateException.class, () -> {
                Examples.store.write("late", 1);
                return null;
            });
            lost(hf, admin);
            admin.nothingLeft();
        }
    }

    private static void lost(Holdfast hf, Stage.Admin admin) throws Exception {
        for (String how : List.of("shut down", "another leads now: closed")) {
            CompletableFuture<String> ended = new CompletableFuture<>();
            Thread leader = new Thread(() -> ended.complete(Examples.run(hf)));
            leader.start();
            CompletableFuture<Long> works = new CompletableFuture<>();
            Examples.jobs.add(() -> works.complete(1L));
            works.get(Stage.HANG, TimeUnit.SECONDS);
            if (how.endsWith("closed")) {
                hf.close();
            } else {
                leader.interrupt();
            }
            equal(ended.get(Stage.HANG, TimeUnit.SECONDS), how);
        }
        equal(Examples.explain(new LockLostException("leader", 1, "closed", "")), "it was held, and is not any more");
        Holdfast again = Holdfast.open("/nowhere/s");
        equal(Examples.explain(raises(DaemonUnreachableException.class, () -> again.tryLock("a"))), "there is no daemon");
        again.close();
    }

    static void testCopy() throws Exception {
        try (Stage stage = new Stage(Stage.CALM); Stage.Admin admin = stage.admin()) {
            Holdfast hf = stage.open(stage.socket);
            List<String> done = new ArrayList<>();
            Runnable breaks = () -> {
                try {
                    admin.ask("BREAK", "copy", "TOKEN", admin.field("holder/token", "INSPECT", "copy").toString());
                    equal(Examples.logged.get(Stage.HANG, TimeUnit.SECONDS), "stop: broken");
                } catch (Exception failed) {
                    throw new IllegalStateException(failed);
                }
            };
            LockLostException told = raises(LockLostException.class, () -> {
                Examples.copy(hf, List.of(() -> done.add("first"), breaks, () -> done.add("last")));
                return null;
            });
            equal(told.reason(), "broken");
            equal(done, List.of("first"));
        }
    }
}
