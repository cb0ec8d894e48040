package recipes

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-co-op/gocron/v2"
	"github.com/google/uuid"
	"go.opentelemetry.io/otel"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"holdfast.example/holdfast"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T) *holdfast.Client {
	t.Helper()
	hf, err := holdfast.Open("")
	must(t, err)
	return hf
}

// Three schedulers, as three hosts have, want to run the job at the same moment.
func TestGocron(t *testing.T) {
	var runs atomic.Int32
	done := make(chan string, 3)
	for i := 0; i < 3; i++ {
		scheduler, err := gocron.NewScheduler(gocron.WithDistributedLocker(Locker{open(t), 2 * time.Second}))
		must(t, err)
		_, err = scheduler.NewJob(gocron.OneTimeJob(gocron.OneTimeJobStartImmediately()), gocron.NewTask(func() { runs.Add(1) }),
			gocron.WithName("report"), gocron.WithEventListeners(
				gocron.AfterJobRuns(func(_ uuid.UUID, _ string) { done <- "ran" }),
				gocron.AfterLockError(func(_ uuid.UUID, _ string, err error) { done <- fmt.Sprint(errors.Is(err, holdfast.ErrBusy)) })))
		must(t, err)
		scheduler.Start()
		t.Cleanup(func() { _ = scheduler.Shutdown() })
	}
	said := []string{<-done, <-done, <-done}
	sort.Strings(said)
	if runs.Load() != 1 || fmt.Sprint(said) != "[ran true true]" {
		t.Fatal(runs.Load(), said)
	}
}

func TestOpenTelemetry(t *testing.T) {
	spans, sums := tracetest.NewInMemoryExporter(), sdk.NewManualReader()
	otel.SetTracerProvider(trace.NewTracerProvider(trace.WithSyncer(spans)))
	otel.SetMeterProvider(sdk.NewMeterProvider(sdk.WithReader(sums)))
	hf := open(t)
	defer Observe(hf)()
	ctx, caller := otel.Tracer("caller").Start(context.Background(), "caller")
	lock, err := Lock(ctx, hf, "a", holdfast.Wait(time.Minute))
	must(t, err)
	if _, err := Lock(ctx, hf, "a", holdfast.Wait(50*time.Millisecond)); !errors.Is(err, holdfast.ErrTimeout) {
		t.Fatal(err)
	}
	must(t, lock.Unlock())
	caller.End()
	said := ""
	for _, span := range spans.GetSpans() {
		said += fmt.Sprintln(span.Name, span.Parent.SpanID() == caller.SpanContext().SpanID(), len(span.Events))
	}
	if said != "wait a true 0\nwait a true 1\ncaller false 0\n" {
		t.Fatal(said)
	}
	var found metricdata.ResourceMetrics
	must(t, sums.Collect(context.Background(), &found))
	said = ""
	for _, metric := range found.ScopeMetrics[0].Metrics {
		for _, point := range metric.Data.(metricdata.Histogram[float64]).DataPoints {
			outcome, _ := point.Attributes.Value("outcome")
			said += fmt.Sprintln(metric.Name, metric.Unit, outcome.AsString(), point.Count)
		}
	}
	if said != "holdfast.lock.wait s hold 1\nholdfast.lock.hold s release 1\n" {
		t.Fatal(said)
	}
}
