// Times of locks for OpenTelemetry: see FRAMEWORKS.md.

package recipes

import (
	"context"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"holdfast.example/holdfast"
)

// Observe records the times of all locks of a client. The name as an attribute would make a series for each lock.
func Observe(hf *holdfast.Client) (stop func()) {
	times := func(what, outcome string) func(time.Duration) {
		all, _ := otel.Meter("holdfast").Float64Histogram("holdfast.lock."+what, metric.WithUnit("s"))
		with := metric.WithAttributes(attribute.String("outcome", outcome))
		return func(took time.Duration) { all.Record(context.Background(), took.Seconds(), with) }
	}
	waits, releases, losses := times("wait", "hold"), times("hold", "release"), times("hold", "loss")
	return hf.Observe(holdfast.Hooks{
		Hold:    func(_ string, _ int64, waited time.Duration) { waits(waited) },
		Release: func(_ string, _ int64, held time.Duration) { releases(held) },
		Loss:    func(_ *holdfast.Lost, _ int64, held time.Duration) { losses(held) },
	})
}

// Lock is the call of the package, whose wait is a span: the child of the caller's.
func Lock(ctx context.Context, hf *holdfast.Client, name string, opts ...holdfast.Option) (*holdfast.Lock, error) {
	ctx, span := otel.Tracer("holdfast").Start(ctx, "wait "+name)
	defer span.End()
	lock, err := hf.Lock(ctx, name, opts...)
	if err != nil {
		span.RecordError(err)
	}
	return lock, err
}
