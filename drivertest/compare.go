package drivertest

import (
	"fmt"
	"reflect"
	"unicode/utf8"

	"github.com/braidmq/braid/driver"
)

// equal reports every difference between two values of one type as a failure.
// Nil and empty are the same.
func (t *T) equal(what string, got, want any) {
	t.Helper()
	for _, d := range differences(got, want) {
		t.Errorf("%s%s", what, d)
	}
}

// same reports whether two values have no differences.
func same(got, want any) bool { return len(differences(got, want)) == 0 }

// differences lists where two values differ, each as "path: got …, want …". Nil
// and empty slices and maps are the same.
func differences(got, want any) []string {
	var found []string
	differ("", reflect.ValueOf(got), reflect.ValueOf(want), &found)
	return found
}

func differ(path string, got, want reflect.Value, found *[]string) {
	report := func() { *found = append(*found, fmt.Sprintf("%s: got %s, want %s", path, show(got), show(want))) }
	if got.IsValid() != want.IsValid() || got.IsValid() && got.Type() != want.Type() {
		report()
		return
	}
	if !got.IsValid() {
		return
	}
	switch got.Kind() {
	case reflect.Pointer, reflect.Interface:
		if got.IsNil() || want.IsNil() {
			if got.IsNil() != want.IsNil() {
				report()
			}
			return
		}
		differ(path, got.Elem(), want.Elem(), found)
	case reflect.Struct:
		for i := range got.NumField() {
			name := "." + got.Type().Field(i).Name
			if got.Type().Field(i).Anonymous {
				name = ""
			}
			differ(path+name, got.Field(i), want.Field(i), found)
		}
	case reflect.Slice:
		if got.Type().Elem().Kind() == reflect.Uint8 {
			if string(got.Bytes()) != string(want.Bytes()) {
				report()
			}
			return
		}
		if got.Len() != want.Len() {
			report()
			return
		}
		for i := range got.Len() {
			differ(fmt.Sprintf("%s[%d]", path, i), got.Index(i), want.Index(i), found)
		}
	case reflect.Map:
		if got.Len() != want.Len() {
			report()
			return
		}
		for _, k := range got.MapKeys() {
			if !want.MapIndex(k).IsValid() {
				report()
				return
			}
			differ(fmt.Sprintf("%s[%v]", path, k), got.MapIndex(k), want.MapIndex(k), found)
		}
	default:
		if !reflect.DeepEqual(got.Interface(), want.Interface()) {
			report()
		}
	}
}

// show renders a value for a failure: text as text, absent ones as such, long
// ones cut.
func show(v reflect.Value) string {
	const most = 600
	var text string
	switch {
	case !v.IsValid():
		return "nothing"
	case v.Kind() == reflect.Pointer && !v.IsNil():
		return "&" + show(v.Elem())
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Uint8:
		if v.Len() == 0 {
			return "absent"
		}
		text = fmt.Sprintf("%q", v.Bytes())
	case v.Kind() == reflect.String:
		text = fmt.Sprintf("%q", v.String())
	default:
		text = fmt.Sprintf("%+v", v.Interface())
	}
	if len(text) > most {
		cut := most
		for !utf8.RuneStart(text[cut]) {
			cut--
		}
		text = fmt.Sprintf("%s… (%d bytes)", text[:cut], len(text))
	}
	return text
}

// snapshot is a job with its ledger.
type snapshot struct {
	Job    driver.Job
	Ledger []driver.Attempt
}

// snapshot reads a job that must exist, and its ledger.
func (t *T) snapshot(id string) snapshot {
	t.Helper()
	return snapshot{Job: *t.job(id), Ledger: append([]driver.Attempt(nil), t.attempts(id)...)}
}

// changed compares a job with what it was before, edited by what should have
// changed. Everything else must have stayed.
func (t *T) changed(before snapshot, edit func(s *snapshot)) snapshot {
	t.Helper()
	got, want := t.snapshot(before.Job.ID), before
	want.Ledger = append([]driver.Attempt(nil), before.Ledger...)
	edit(&want)
	if want.Job.Seq == newSeq {
		if got.Job.Seq <= before.Job.Seq {
			t.Errorf("job %q Seq: got %d, want a new one, above %d", got.Job.ID, got.Job.Seq, before.Job.Seq)
		}
		want.Job.Seq = got.Job.Seq
	}
	t.equal(fmt.Sprintf("job %q ", got.Job.ID), got, want)
	return got
}

// unchanged compares a job with what it was before.
func (t *T) unchanged(before snapshot) {
	t.Helper()
	t.changed(before, func(*snapshot) {})
}

// newSeq, as the Seq of an expected job, stands for any that is greater than the
// one before.
const newSeq = -1

// entry appends to the expected ledger; the entry's number follows from its place.
func (s *snapshot) entry(a driver.Attempt) {
	a.Attempt = int64(len(s.Ledger)) + 1
	s.Ledger = append(s.Ledger, a)
}

// ended describes a job that has reached a terminal state.
func (s *snapshot) ended(now driver.Time, state driver.State) {
	s.Job.State = state
	s.Job.FinishedAt = driver.Some(now)
	s.unlocked()
}

// unlocked describes a job that is not active any more.
func (s *snapshot) unlocked() {
	s.Job.LockedBy = ""
	s.Job.LockExpiresAt = driver.Opt[driver.Time]{}
	s.Job.CancelRequested = false
}
