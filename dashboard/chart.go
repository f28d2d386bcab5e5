package dashboard

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// The drawing area of a chart, which a page stretches to the room that it has.
const (
	chartWidth  = 600.0
	chartHeight = 100.0
)

// chart is a picture of numbers over time. Its marks are SVG, its words HTML.
type chart struct {
	ID, Title string
	Summary   string // for those who do not see it
	Top       string // what the upper edge stands for
	Left, Mid string // what the left edge and the middle stand for
	Empty     bool   // there is nothing to draw
	Legend    []legend
	Bars      []bar
	Lines     []line
}

type legend struct{ Class, Text string }

// bar is a stack of rectangles over one step of time.
type bar struct {
	Title string
	Parts []part
}

type part struct {
	Class               string
	X, Y, Width, Height string
}

// line is a path, broken where there is no value.
type line struct{ Class, Path string }

// series are numbers that belong together, one per step; NaN: none.
type series struct {
	class, label string
	values       []float64
}

// axis is the time that a chart shows.
type axis struct {
	from time.Time // of the first step
	step time.Duration
	n    int
}

func (a axis) at(i int) time.Time { return a.from.Add(time.Duration(i) * a.step) }

// index returns in which step a time lies.
func (a axis) index(t time.Time) (int, bool) {
	i := int(t.Sub(a.from) / a.step)
	return i, !t.Before(a.from) && i < a.n
}

// none are values that are not there.
func (a axis) none() []float64 {
	values := make([]float64, a.n)
	for i := range values {
		values[i] = math.NaN()
	}
	return values
}

// newChart prepares a chart whose greatest value is most, told by unit.
func (a axis) newChart(id, title string, most float64, unit func(float64) string, all []series) (c chart, top float64) {
	top = ceiling(most)
	c = chart{ID: id, Title: title, Top: unit(top), Empty: most <= 0,
		Left: a.from.Format("15:04"), Mid: a.at(a.n / 2).Format("15:04")}
	for _, s := range all {
		c.Legend = append(c.Legend, legend{s.class, s.label})
	}
	return c, top
}

// bars draws series on top of each other.
func (a axis) bars(id, title string, unit func(float64) string, all ...series) chart {
	most := 0.0
	for i := range a.n {
		sum := 0.0
		for _, s := range all {
			sum += s.values[i]
		}
		most = max(most, sum)
	}
	c, top := a.newChart(id, title, most, unit, all)
	width := chartWidth / float64(a.n)
	for i := range a.n {
		b, y := bar{Title: a.at(i).Format("15:04")}, chartHeight
		for _, s := range all {
			if s.values[i] <= 0 {
				continue
			}
			height := max(s.values[i]/top*chartHeight, 1)
			y -= height
			b.Title += fmt.Sprintf(", %s %s", unit(s.values[i]), s.label)
			b.Parts = append(b.Parts, part{s.class, coordinate(float64(i)*width + 0.5), coordinate(y), coordinate(width - 1), coordinate(height)})
		}
		if b.Parts != nil {
			c.Bars = append(c.Bars, b)
		}
	}
	return c
}

// lines draws series beside each other.
func (a axis) lines(id, title string, unit func(float64) string, all ...series) chart {
	most := 0.0
	for _, s := range all {
		for _, v := range s.values {
			if !math.IsNaN(v) {
				most = max(most, v)
			}
		}
	}
	c, top := a.newChart(id, title, most, unit, all)
	width := chartWidth / float64(a.n)
	for _, s := range all {
		var path strings.Builder
		drawing := false
		for i, v := range s.values {
			if math.IsNaN(v) {
				drawing = false
				continue
			}
			x, y := (float64(i)+0.5)*width, chartHeight-v/top*chartHeight
			if drawing {
				fmt.Fprintf(&path, "L%s %s", coordinate(x), coordinate(y))
			} else { // a value without neighbours is a short dash
				fmt.Fprintf(&path, "M%s %sL%s %s", coordinate(x-width/4), coordinate(y), coordinate(x), coordinate(y))
			}
			drawing = true
		}
		if path.Len() > 0 {
			c.Lines = append(c.Lines, line{s.class, path.String()})
		}
	}
	return c
}

func coordinate(v float64) string { return fmt.Sprintf("%.1f", v) }

// ceiling returns a round number that is not less than v.
func ceiling(v float64) float64 {
	if v <= 0 {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(v)))
	for _, factor := range []float64{1, 2, 2.5, 5, 10} {
		if rounded := factor * power; rounded >= v {
			return rounded
		}
	}
	return 10 * power
}
