import holdfast.Holdfast;
import holdfast.LockTimeoutException;
import io.opentelemetry.api.GlobalOpenTelemetry;
import io.opentelemetry.api.common.AttributeKey;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.context.Scope;
import io.opentelemetry.sdk.OpenTelemetrySdk;
import io.opentelemetry.sdk.metrics.SdkMeterProvider;
import io.opentelemetry.sdk.metrics.data.HistogramPointData;
import io.opentelemetry.sdk.metrics.data.MetricData;
import io.opentelemetry.sdk.testing.exporter.InMemoryMetricReader;
import io.opentelemetry.sdk.testing.exporter.InMemorySpanExporter;
import io.opentelemetry.sdk.trace.SdkTracerProvider;
import io.opentelemetry.sdk.trace.data.SpanData;
import io.opentelemetry.sdk.trace.export.SimpleSpanProcessor;
import java.time.Duration;
import java.time.Instant;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.Lock;
import net.javacrumbs.shedlock.core.DefaultLockingTaskExecutor;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.LockingTaskExecutor;
import net.javacrumbs.shedlock.core.LockingTaskExecutor.TaskResult;

/** Uses the adapters for Java of doc/frameworks as their frameworks do, and prints what the test wants to see. */
final class Main {
	private Main() {
	}

	private static void spring() throws Exception {
		HoldfastLockRegistry here = new HoldfastLockRegistry();
		HoldfastLockRegistry there = new HoldfastLockRegistry(); // as another host has
		here.executeLocked("a", () -> {
			Lock again = here.obtain("a");
			System.out.println("again " + again.tryLock());
			again.unlock();
			System.out.println("thread " + CompletableFuture.supplyAsync(() -> here.obtain("a").tryLock()).get());
			System.out.println("host " + there.obtain("a").tryLock());
		});
		there.executeLocked("a", Duration.ofSeconds(60), () -> System.out.println("then"));
	}

	private static LockConfiguration job(Duration least) {
		return new LockConfiguration(Instant.now(), "nightly", Duration.ofMinutes(10), least);
	}

	private static TaskResult<String> attempt(LockingTaskExecutor executor, LockConfiguration job) {
		try {
			return executor.executeWithLock(() -> "ran", job);
		} catch (Throwable failed) {
			throw new IllegalStateException(failed);
		}
	}

	private static void shedlock() {
		LockingTaskExecutor here = new DefaultLockingTaskExecutor(new HoldfastLockProvider());
		LockingTaskExecutor there = new DefaultLockingTaskExecutor(new HoldfastLockProvider());
		Duration least = Duration.ofSeconds(1);
		long began = System.nanoTime();
		// ShedLock does not ask for a lock that the thread has.
		here.executeWithLock((Runnable) () -> System.out.println("meanwhile "
				+ CompletableFuture.supplyAsync(() -> attempt(there, job(least)).wasExecuted()).join()), job(least));
		TaskResult<String> result;
		do {
			result = attempt(there, job(Duration.ZERO));
		} while (!result.wasExecuted());
		long ms = (System.nanoTime() - began) / 1_000_000;
		System.out.println("later " + result.getResult() + (ms >= least.toMillis() ? "" : " after only " + ms + " ms"));
	}

	private static void telemetry() throws Exception {
		InMemorySpanExporter spans = InMemorySpanExporter.create();
		InMemoryMetricReader metrics = InMemoryMetricReader.create();
		OpenTelemetrySdk.builder()
				.setTracerProvider(SdkTracerProvider.builder().addSpanProcessor(SimpleSpanProcessor.create(spans)).build())
				.setMeterProvider(SdkMeterProvider.builder().registerMetricReader(metrics).build()).buildAndRegisterGlobal();
		Holdfast hf = Holdfast.open();
		Telemetry.observe(hf);
		Span caller = GlobalOpenTelemetry.getTracer("caller").spanBuilder("caller").startSpan();
		try (Scope scope = caller.makeCurrent(); holdfast.Lock lock = Telemetry.lock(hf, "b", Duration.ofSeconds(60))) {
			Telemetry.lock(hf, "b", Duration.ofMillis(50)).close();
		} catch (LockTimeoutException expected) {
			System.out.println("timeout");
		} finally {
			caller.end();
		}
		for (SpanData span : spans.getFinishedSpanItems()) {
			System.out.println(span.getName() + " " + span.getParentSpanId().equals(caller.getSpanContext().getSpanId()) + " "
					+ span.getEvents().size());
		}
		TreeSet<String> sums = new TreeSet<>();
		while (sums.size() < 2) { // observers have a thread of their own
			sums.clear();
			for (MetricData metric : metrics.collectAllMetrics()) {
				for (HistogramPointData point : metric.getHistogramData().getPoints()) {
					Object outcome = point.getAttributes().get(AttributeKey.stringKey("outcome"));
					sums.add(metric.getName() + " " + metric.getUnit() + " " + outcome + " " + point.getCount());
				}
			}
		}
		sums.forEach(System.out::println);
	}

	public static void main(String[] arguments) throws Exception {
		switch (arguments[0]) {
			case "spring":
				spring();
				break;
			case "shedlock":
				shedlock();
				break;
			default:
				telemetry();
		}
	}
}
