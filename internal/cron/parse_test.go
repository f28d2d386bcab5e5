package cron

import (
	"errors"
	"strings"
	"testing"

	"github.com/braidmq/braid/driver"
)

func bitsOf(values ...int) (set uint64) {
	for _, v := range values {
		set |= 1 << v
	}
	return set
}

func mustParse(t testing.TB, expr string) Schedule {
	t.Helper()
	s, err := Parse(expr, Options{Seconds: true})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestFieldsParseToTheirValues(t *testing.T) {
	minute := func(s Schedule) uint64 { return s.minute }
	month := func(s Schedule) uint64 { return s.month }
	dow := func(s Schedule) uint64 { return s.dow }
	second := func(s Schedule) uint64 { return s.second }
	for _, c := range []struct {
		expr  string
		field func(Schedule) uint64
		want  uint64
	}{
		{"5 * * * *", minute, bitsOf(5)},
		{" 05\t*  * * * ", minute, bitsOf(5)},
		{"1,3-5,58 * * * *", minute, bitsOf(1, 3, 4, 5, 58)},
		{"*/20 * * * *", minute, bitsOf(0, 20, 40)},
		{"5/20 * * * *", minute, bitsOf(5, 25, 45)},
		{"10-30/10 * * * *", minute, bitsOf(10, 20, 30)},
		{"*/60 * * * *", minute, bitsOf(0)},
		{"3/59 * * * *", minute, bitsOf(3)},
		{"* * * * */7", dow, bitsOf(0)},
		{"* * * JAN,mar,Dec *", month, bitsOf(1, 3, 12)},
		{"* * * apr-JUN *", month, bitsOf(4, 5, 6)},
		{"* * * * MON-fri", dow, bitsOf(1, 2, 3, 4, 5)},
		{"* * * * 7", dow, bitsOf(0)},
		{"* * * * 0,7", dow, bitsOf(0)},
		{"* * * * 5-7", dow, bitsOf(0, 5, 6)},
		{"* * * * FRI-SUN", dow, bitsOf(0, 5, 6)},
		{"* * * * 0-7", dow, bitsOf(0, 1, 2, 3, 4, 5, 6)},
		{"* * * * */2", dow, bitsOf(0, 2, 4, 6)},
		{"* * * * 7/3", dow, bitsOf(0, 3, 6)},
		{"* * ? * ?", dow, bitsOf(0, 1, 2, 3, 4, 5, 6)},
		{"5 * * * *", second, bitsOf(0)},
		{"*/30 5 * * * *", second, bitsOf(0, 30)},
		{"*/30 5 * * * *", minute, bitsOf(5)},
	} {
		if got := c.field(mustParse(t, c.expr)); got != c.want {
			t.Errorf("%q: got the set %b, want %b", c.expr, got, c.want)
		}
	}
}

func TestDescriptorsStandForFields(t *testing.T) {
	for descriptor, fields := range map[string]string{
		"@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0",
		"@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@hourly": "0 * * * *", "@Daily": "0 0 * * *",
	} {
		if mustParse(t, descriptor) != mustParse(t, fields) {
			t.Errorf("%s is not %q", descriptor, fields)
		}
	}
}

func TestWildcardOrStepInHourOrMinuteMakesAnInterval(t *testing.T) {
	for expr, interval := range map[string]bool{
		"0 9 * * *": false, "0,30 9-17 * * *": false, "0-59 2 * * *": false, "*/5 0 9 * * *": false,
		"0 9 */2 */3 *": false, "* 9 * * *": true, "0 * * * *": true, "*/5 9 * * *": true, "0 */2 * * *": true,
		"0 9-17/2 * * *": true, "5/10 9 * * *": true, "0,*/30 9 * * *": true,
	} {
		if got := mustParse(t, expr).interval; got != interval {
			t.Errorf("%q: interval is %v, want %v", expr, got, interval)
		}
	}
}

func TestBadExpressionsAreRefusedWithFieldValueAndAdvice(t *testing.T) {
	for expr, want := range map[string][]string{
		"":                                      {"empty", "0 9 * * *"},
		"   ":                                   {"empty"},
		"* * * *":                               {"4 fields", "minute, hour"},
		"* * * * * *":                           {"6 fields", "seconds by option"},
		"* * * * * * *":                         {"7 fields"},
		"60 * * * *":                            {"minute", `"60"`, "0 to 59"},
		"* 24 * * *":                            {"hour", `"24"`, "0 to 23"},
		"* * 0 * *":                             {"day of month", `"0"`, "1 to 31"},
		"* * 32 * *":                            {"day of month", `"32"`, "1 to 31"},
		"* * * 13 *":                            {"month", `"13"`, "JAN to DEC"},
		"* * * foo *":                           {"month", `"foo"`, "JAN to DEC"},
		"* * * * 8":                             {"day of week", `"8"`, "SUN to SAT"},
		"-5 * * * *":                            {"minute", `"-5"`},
		"+5 * * * *":                            {"minute", `"+5"`},
		"1-2-3 * * * *":                         {"minute", `"1-2-3"`},
		"5- * * * *":                            {"minute", `"5-"`},
		"30-10 * * * *":                         {"minute", `"30-10"`, "two ranges"},
		"*/0 * * * *":                           {"minute", `"*/0"`, "at least 1"},
		"*/ * * * *":                            {"minute", `"*/"`, "step"},
		"*/x * * * *":                           {"minute", `"*/x"`, "step"},
		"*/+5 * * * *":                          {"minute", `"*/+5"`, "step"},
		"*/5/5 * * * *":                         {"minute", `"*/5/5"`, "step"},
		"*/61 * * * *":                          {"minute", `"*/61"`, "step", "1 to 60"},
		"*/999999999999 0 3 2 *":                {"minute", `"*/999999999999"`, "1 to 60"},
		"0 0 */32 * *":                          {"day of month", "1 to 31"},
		strings.Repeat("0,", 300) + "0 * * * *": {"609 bytes", "limit is 512"},
		"1,,2 * * * *":                          {"minute", "empty list entry"},
		", * * * *":                             {"minute", "empty list entry"},
		"? * * * *":                             {"minute", "use *"},
		"** * * * *":                            {"minute", `"**"`},
		"999999999999999999999 * * * *":         {"minute", "0 to 59"},
		"@every 5m":                             {"@daily", "every"},
		"@reboot":                               {"@daily"},
		"TZ=Europe/Berlin 0 9 * * *":            {"tz argument"},
		"CRON_TZ=UTC 0 9 * * *":                 {"tz argument"},
		"cron_tz=UTC":                           {"tz argument"},
		"TZ=UTC":                                {"tz argument"},
	} {
		_, err := Parse(expr, Options{})
		var invalid *driver.InvalidError
		if !errors.As(err, &invalid) {
			t.Errorf("%q: got error %v, want an InvalidError", expr, err)
			continue
		}
		if invalid.Field != "cron" || invalid.Value != expr {
			t.Errorf("%q: the error names field %q and value %q", expr, invalid.Field, invalid.Value)
		}
		for _, part := range want {
			if !strings.Contains(invalid.Reason, part) {
				t.Errorf("%q: %q does not say %q", expr, invalid.Reason, part)
			}
		}
	}
	if _, err := Parse("61 * * * * *", Options{Seconds: true}); err == nil || !strings.Contains(err.Error(), "second") {
		t.Errorf("a bad second: got %v", err)
	}
}

func FuzzParseNeverPanicsAndNextMovesOn(f *testing.F) {
	for _, expr := range []string{"* * * * *", "*/5 0-7 1,2 JAN-MAR/2 7", "@daily", "0 0 30 2 *", "5/7 ? ? ? ?"} {
		f.Add(expr)
	}
	loc, err := Location("America/New_York")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, expr string) {
		s, err := Parse(expr, Options{Seconds: true})
		if err != nil {
			return
		}
		after := driver.Time(1_700_000_000_000).Std()
		if next, ok := s.Next(after, loc); ok && !next.After(after) {
			t.Errorf("%q: %v is not after %v", expr, next, after)
		}
	})
}
