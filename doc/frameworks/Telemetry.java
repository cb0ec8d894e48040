/* Times of locks for OpenTelemetry: see FRAMEWORKS.md. */
import holdfast.Holdfast;
import holdfast.Lock;
import holdfast.LockLostException;
import holdfast.LockObserver;
import io.opentelemetry.api.GlobalOpenTelemetry;
import io.opentelemetry.api.common.AttributeKey;
import io.opentelemetry.api.common.Attributes;
import io.opentelemetry.api.metrics.DoubleHistogram;
import io.opentelemetry.api.trace.Span;
import java.time.Duration;

final class Telemetry {
    /** The times of all locks of a client. The name as an attribute would make a series for each lock. */
    static void observe(Holdfast hf) {
        hf.observe(new LockObserver() {
            private final DoubleHistogram waits = times("wait");
            private final DoubleHistogram holds = times("hold");

            @Override
            public void held(String name, long token, Duration waited) {
                record(waits, waited, "hold");
            }

            @Override
            public void released(String name, long token, Duration held) {
                record(holds, held, "release");
            }

            @Override
            public void lost(LockLostException loss, Duration held) {
                record(holds, held, "loss");
            }
        });
    }

    private static DoubleHistogram times(String what) {
        return GlobalOpenTelemetry.getMeter("holdfast").histogramBuilder("holdfast.lock." + what).setUnit("s").build();
    }

    private static void record(DoubleHistogram times, Duration took, String outcome) {
        times.record(took.toNanos() / 1e9, Attributes.of(AttributeKey.stringKey("outcome"), outcome));
    }

    /** The wait is a span, the child of the caller's. */
    static Lock lock(Holdfast hf, String name, Duration wait) throws InterruptedException {
        Span span = GlobalOpenTelemetry.getTracer("holdfast").spanBuilder("wait " + name).startSpan();
        try {
            return hf.lock(name, wait);
        } catch (RuntimeException failed) {
            span.recordException(failed);
            throw failed;
        } finally {
            span.end();
        }
    }
}
