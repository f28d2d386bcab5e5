package server

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// metrics collects what the client records, and serves it in the text format of
// Prometheus. It is safe for concurrent use.
type metrics struct {
	provider *sdk.MeterProvider
	reader   *sdk.ManualReader
	version  string
	started  time.Time
	underWay func() int64 // requests of the API
}

func newMetrics(version string) *metrics {
	reader := sdk.NewManualReader()
	return &metrics{
		provider: sdk.NewMeterProvider(sdk.WithReader(reader)), reader: reader, version: version, started: time.Now(),
	}
}

// scrapePatience bounds one reading.
const scrapePatience = 8 * time.Second

// ServeHTTP answers a scrape. A gauge whose store cannot be reached is left out.
func (m *metrics) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), scrapePatience)
	defer cancel()
	var collected metricdata.ResourceMetrics
	collectErr := m.reader.Collect(ctx, &collected)
	var out exposition
	for _, scope := range collected.ScopeMetrics {
		for _, metric := range scope.Metrics {
			out.metric(metric)
		}
	}
	complete := 1.0
	if collectErr != nil {
		complete = 0
	}
	out.family("braid_scrape_complete", "gauge", "Whether every store could be read for this scrape")
	out.sample("braid_scrape_complete", nil, complete)
	out.family("braid_build_info", "gauge", "The version of the server")
	out.sample("braid_build_info", []label{{"version", m.version}, {"go", runtime.Version()}}, 1)
	out.family("process_start_time_seconds", "gauge", "When the server was started, since the epoch")
	out.sample("process_start_time_seconds", nil, float64(m.started.UnixMilli())/1000)
	out.family("braid_http_requests_in_flight", "gauge", "Requests of the HTTP API that are under way")
	out.sample("braid_http_requests_in_flight", nil, float64(m.underWay()))
	out.family("go_goroutines", "gauge", "Goroutines of the server")
	out.sample("go_goroutines", nil, float64(runtime.NumGoroutine()))
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	_, _ = w.Write(out.text.Bytes()) // the scraper may have gone
}

// exposition writes the text format.
type exposition struct{ text bytes.Buffer }

type label struct{ name, value string }

func (e *exposition) family(name, kind, help string) {
	help = strings.NewReplacer(`\`, `\\`, "\n", `\n`).Replace(help)
	fmt.Fprintf(&e.text, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
}

func (e *exposition) sample(name string, labels []label, value float64) {
	e.text.WriteString(name)
	for i, l := range labels {
		e.text.WriteByte("{,"[min(i, 1)])
		e.text.WriteString(l.name + `="` + escapeLabel.Replace(strings.ToValidUTF8(l.value, "\uFFFD")) + `"`)
	}
	if len(labels) > 0 {
		e.text.WriteByte('}')
	}
	e.text.WriteString(" " + number(value) + "\n")
}

var escapeLabel = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

func number(f float64) string {
	switch {
	case math.IsInf(f, 1):
		return "+Inf"
	case math.IsInf(f, -1):
		return "-Inf"
	}
	return strconv.FormatFloat(f, 'g', -1, 64)
}

// metric writes one metric with all of its series. Kinds that the client does not use
// are left out.
func (e *exposition) metric(m metricdata.Metrics) {
	name := seriesName(m.Name, m.Unit)
	switch data := m.Data.(type) {
	case metricdata.Sum[int64]:
		e.counter(name+"_total", m.Description, integers(data.DataPoints))
	case metricdata.Sum[float64]:
		e.counter(name+"_total", m.Description, data.DataPoints)
	case metricdata.Gauge[int64]:
		e.family(name, "gauge", m.Description)
		e.points(name, integers(data.DataPoints))
	case metricdata.Gauge[float64]:
		e.family(name, "gauge", m.Description)
		e.points(name, data.DataPoints)
	case metricdata.Histogram[float64]:
		e.family(name, "histogram", m.Description)
		for _, point := range sorted(data.DataPoints, func(p metricdata.HistogramDataPoint[float64]) attribute.Set { return p.Attributes }) {
			e.histogram(name, point)
		}
	}
}

func (e *exposition) counter(name, help string, points []metricdata.DataPoint[float64]) {
	e.family(name, "counter", help)
	e.points(name, points)
}

func (e *exposition) points(name string, points []metricdata.DataPoint[float64]) {
	for _, point := range sorted(points, func(p metricdata.DataPoint[float64]) attribute.Set { return p.Attributes }) {
		e.sample(name, labelsOf(point.Attributes), point.Value)
	}
}

func (e *exposition) histogram(name string, point metricdata.HistogramDataPoint[float64]) {
	labels := labelsOf(point.Attributes)
	var below uint64
	for i, count := range point.BucketCounts {
		below += count
		bound := math.Inf(1)
		if i < len(point.Bounds) {
			bound = point.Bounds[i]
		}
		e.sample(name+"_bucket", append(slices.Clone(labels), label{"le", number(bound)}), float64(below))
	}
	e.sample(name+"_sum", labels, point.Sum)
	e.sample(name+"_count", labels, float64(point.Count))
}

// seriesName turns a name of OpenTelemetry into one of Prometheus.
func seriesName(name, unit string) string {
	name = strings.ReplaceAll(name, ".", "_")
	if unit == "s" {
		name += "_seconds"
	}
	return name
}

func labelsOf(set attribute.Set) []label {
	labels := make([]label, 0, set.Len())
	for _, attr := range set.ToSlice() {
		labels = append(labels, label{strings.ReplaceAll(string(attr.Key), ".", "_"), attr.Value.String()})
	}
	return labels
}

func integers(points []metricdata.DataPoint[int64]) []metricdata.DataPoint[float64] {
	floats := make([]metricdata.DataPoint[float64], len(points))
	for i, p := range points {
		floats[i] = metricdata.DataPoint[float64]{Attributes: p.Attributes, Value: float64(p.Value)}
	}
	return floats
}

// sorted puts series into a fixed order, so that scrapes can be compared.
func sorted[T any](points []T, set func(T) attribute.Set) []T {
	key := func(p T) string {
		s := set(p)
		return s.Encoded(attribute.DefaultEncoder())
	}
	slices.SortFunc(points, func(a, b T) int { return cmp.Compare(key(a), key(b)) })
	return points
}
