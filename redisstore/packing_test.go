package redisstore

import (
	"errors"
	"strings"
	"testing"

	"github.com/braidmq/braid/driver"
)

func TestALengthBeyondItsWidthIsRefused(t *testing.T) {
	for _, c := range []struct {
		length int
		most   uint64
		packed string // empty: refused
	}{
		{0, width1, "\x00"}, {255, width1, "\xff"}, {256, width1, ""},
		{65_535, width2, "\xff\xff"}, {65_536, width2, ""},
		{65_536, width4, "\x00\x01\x00\x00"},
	} {
		packed, err := appendLength(nil, "field", c.length, c.most)
		if c.packed != "" {
			if err != nil || string(packed) != c.packed {
				t.Errorf("%d of %d: packed %q, %v; want %q", c.length, c.most, packed, err, c.packed)
			}
			continue
		}
		var invalid *driver.InvalidError
		if !errors.As(err, &invalid) || invalid.Field != "field" || !strings.Contains(invalid.Reason, "limit") || len(packed) != 0 {
			t.Errorf("%d of %d: packed %q, %v; want an InvalidError", c.length, c.most, packed, err)
		}
	}
}
