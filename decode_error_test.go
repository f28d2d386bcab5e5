package braid

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
)

type shouting string

func (s *shouting) UnmarshalText(text []byte) error {
	if strings.ToUpper(string(text)) != string(text) {
		return errors.New("too quiet: " + string(text))
	}
	*s = shouting(text)
	return nil
}

type orderLine struct {
	SKU  shouting  `json:"sku"`
	Due  time.Time `json:"due"`
	Size int8      `json:"size"`
	Next *orderLine
	Tags map[string]shouting `json:"tags"`
}

type order struct {
	Lines []orderLine `json:"lines"`
	orderMeta
}

type orderMeta struct{ At time.Time }

// Errors of runs are stored and shown where payloads are hidden.
func TestADecodeErrorNamesTheFieldAndNotTheValue(t *testing.T) {
	for payload, want := range map[string]string{
		`{"At":"secret"}`:                            `field "At" of braid.order does not take this JSON string: it is a time.Time`,
		`{"At":4711}`:                                `field "At" of braid.order does not take this JSON number: it is a time.Time`,
		`{"at":{"secret":1}}`:                        `field "at" of braid.order does not take this JSON object: it is a time.Time`,
		`{"lines":[{},{"due":"secret"}]}`:            `field "lines[1].due" of braid.order does not take this JSON string: it is a time.Time`,
		`{"lines":[{"sku":"secret"}]}`:               `field "lines[0].sku" of braid.order does not take this JSON string: it is a braid.shouting`,
		`{"lines":[{"next":{"sku":"secret"}}]}`:      `field "lines[0].next.sku" of braid.order does not take this JSON string: it is a braid.shouting`,
		`{"lines":[{"tags":{"secret":"secret"}}]}`:   `field "lines[0].tags" of braid.order does not take this JSON object: it is a map[string]braid.shouting`,
		`{"lines":[{"size":4711}]}`:                  `field "lines.size" of braid.order does not take a JSON number: it is an int8`,
		`{"lines":"secret"}`:                         `field "lines" of braid.order does not take a JSON string: it is a []braid.orderLine`,
		`"secret"`:                                   `cannot read a JSON string as braid.order`,
		`{"lines":secret}`:                           `cannot read it as braid.order: it is not valid JSON at byte 10`,
		strings.Repeat(`{"Next":`, 3) + `{"sku":"s"`: `cannot read it as braid.order: it is not valid JSON at byte 34`,
	} {
		_, err := decode[order]([]byte(payload))
		if err == nil || err.Error() != want {
			t.Errorf("%s:\n got %v\nwant %s", payload, err, want)
		}
	}
	_, err := decode[order]([]byte(`{"At":"secret"}`))
	var parse *time.ParseError
	if !errors.As(err, &parse) || parse.Value != `"secret"` && parse.Value != "secret" {
		t.Errorf("the chain of %v has no time.ParseError", err)
	}
	_, err = decode[int8]([]byte(`4711`))
	var mismatch *json.UnmarshalTypeError
	if !errors.As(err, &mismatch) || err.Error() != "cannot read a JSON number as int8" {
		t.Errorf("got %v", err)
	}
}
