package compare

import "strconv"

// AtLeastTimes is the goal that a figure of the first system is so many times that of
// another.
func AtLeastTimes(factor float64, text, system string, figure func(*Figures) float64) Goal {
	return Goal{Text: text, Judge: func(first *Figures, others map[string]*Figures) (string, bool, bool) {
		other, ok := others[system]
		if !ok || figure(first) == 0 || figure(other) == 0 {
			return "", false, false
		}
		reached := figure(first) / figure(other)
		return strconv.FormatFloat(reached, 'f', 2, 64) + "×", reached >= factor, true
	}}
}

// AtLeast is the goal that a figure of the first system is a number or more.
func AtLeast(number float64, text string, figure func(*Figures) float64) Goal {
	return Goal{Text: text, Judge: func(first *Figures, _ map[string]*Figures) (string, bool, bool) {
		reached := figure(first)
		return count(reached), reached >= number, reached != 0
	}}
}

// AtMost is the goal that a figure of the first system is a number or less.
func AtMost(number float64, text string, figure func(*Figures) float64) Goal {
	return Goal{Text: text, Judge: func(first *Figures, _ map[string]*Figures) (string, bool, bool) {
		reached := figure(first)
		return decimal(reached), reached <= number, reached != 0
	}}
}

// Either is the goal that one of two is reached.
func Either(text string, a, b Goal) Goal {
	return Goal{Text: text, Judge: func(first *Figures, others map[string]*Figures) (string, bool, bool) {
		reachedA, metA, okA := a.Judge(first, others)
		reachedB, metB, okB := b.Judge(first, others)
		switch {
		case okA && okB:
			return reachedA + ", " + reachedB, metA || metB, true
		case okB:
			return reachedB, metB, true
		}
		return reachedA, metA, okA
	}}
}
