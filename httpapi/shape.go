package httpapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"time"
)

// The decoder of the standard library is lenient where a request must not be: it takes
// fields in another case, takes the last of two, makes half a surrogate pair another
// character, and does not tell which item of a batch it failed at. So a body is held
// against the type of its request first.

// checkShape says what in a body, which is valid JSON, does not fit the type.
func checkShape(raw []byte, of reflect.Type) error {
	s := &shape{raw: raw}
	return s.value(of)
}

// shape reads one body from front to back.
type shape struct {
	raw  []byte
	next int
	path []step // where in the request it is
}

// step is one part of a path: a field, or the index of an item.
type step struct {
	field string
	index int // where field is empty
}

// place is the path as errors write it: jobs[3].delayMs.
func (s *shape) place() string {
	var out strings.Builder
	for _, p := range s.path {
		switch {
		case p.field == "":
			fmt.Fprintf(&out, "[%d]", p.index)
		case out.Len() == 0:
			out.WriteString(clip(p.field))
		default:
			out.WriteString("." + clip(p.field))
		}
	}
	return out.String()
}

func (s *shape) refuse(format string, args ...any) error {
	return invalid(s.place(), format, args...)
}

// inside checks what stands below a step.
func (s *shape) inside(p step, check func() error) error {
	s.path = append(s.path, p)
	err := check()
	s.path = s.path[:len(s.path)-1]
	return err
}

var (
	rawType  = reflect.TypeFor[json.RawMessage]()
	timeType = reflect.TypeFor[Time]()
)

// value checks the next value.
func (s *shape) value(of reflect.Type) error {
	if of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	first := s.peek()
	if of == rawType || first == 'n' { // anything, and null, which is as good as absent
		s.literal()
		return nil
	}
	if of == timeType {
		return s.time()
	}
	switch of.Kind() {
	case reflect.Struct:
		return s.object(first, func(name string) (reflect.Type, error) {
			if field, known := fieldsOf(of)[name]; known {
				return field, nil
			}
			for other := range fieldsOf(of) {
				if strings.EqualFold(other, name) {
					return nil, s.refuse("is not a field of this request; write %s", other)
				}
			}
			return nil, s.refuse("is not a field of this request; see %sopenapi.json", Prefix)
		})
	case reflect.Map:
		return s.object(first, func(string) (reflect.Type, error) { return of.Elem(), nil })
	case reflect.Slice:
		return s.array(first, of.Elem())
	case reflect.String:
		if first != '"' {
			return s.wrong("a string")
		}
		_, err := s.text()
		return err
	case reflect.Bool:
		if first != 't' && first != 'f' {
			return s.wrong("true or false")
		}
		s.literal()
		return nil
	}
	return s.number(first, of)
}

// wrong refuses the next value, which is of another kind than it should be.
func (s *shape) wrong(instead string) error {
	return s.refuse("cannot be %s; use %s", clip(string(s.literal())), instead)
}

func (s *shape) object(first byte, field func(name string) (reflect.Type, error)) error {
	if first != '{' {
		return s.wrong("a JSON object")
	}
	seen := make(map[string]bool)
	for s.next++; s.peek() != '}'; s.comma() {
		name, err := s.text()
		if err != nil {
			return err
		}
		s.peek()
		s.next++ // the colon
		err = s.inside(step{field: name}, func() error {
			if seen[name] {
				return s.refuse("is given twice; give it once")
			}
			seen[name] = true
			of, err := field(name)
			if err != nil {
				return err
			}
			return s.value(of)
		})
		if err != nil {
			return err
		}
	}
	s.next++
	return nil
}

func (s *shape) array(first byte, items reflect.Type) error {
	if first != '[' {
		return s.wrong("a JSON array")
	}
	i := 0
	for s.next++; s.peek() != ']'; s.comma() {
		if err := s.inside(step{index: i}, func() error { return s.value(items) }); err != nil {
			return err
		}
		i++
	}
	s.next++
	return nil
}

func (s *shape) number(first byte, of reflect.Type) error {
	isNumber := first == '-' || '0' <= first && first <= '9'
	if of.Kind() == reflect.Float64 {
		if !isNumber {
			return s.wrong("a number")
		}
		literal := string(s.literal())
		if _, err := strconv.ParseFloat(literal, 64); err != nil {
			return s.refuse("cannot be %s; use a number that fits 64 bits", clip(literal))
		}
		return nil
	}
	if !isNumber {
		return s.wrong("a whole number")
	}
	literal := string(s.literal())
	if _, err := strconv.ParseInt(literal, 10, of.Bits()); err != nil {
		return s.refuse("cannot be %s; use a whole number that fits %d bits, without fraction or exponent", clip(literal), of.Bits())
	}
	return nil
}

func (s *shape) time() error {
	literal := s.literal()
	var t time.Time
	if literal[0] != '"' || t.UnmarshalJSON(literal) != nil {
		return s.refuse("cannot be %s; use a time such as %q", clip(string(literal)), "2026-01-31T09:00:00Z")
	}
	return nil
}

// text reads the next value, which is a string.
func (s *shape) text() (string, error) {
	s.peek()
	literal := s.literal()
	inner := literal[1 : len(literal)-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return string(inner), nil
	}
	if half := halfPair(inner); half != "" {
		return "", s.refuse("has %s, half a surrogate pair, which is no character; leave it out", half)
	}
	var text string
	if err := json.Unmarshal(literal, &text); err != nil {
		return "", s.refuse("is no string: %v", err)
	}
	return text, nil
}

// halfPair finds an escape for half of a surrogate pair without its other half.
func halfPair(inner []byte) string {
	for i := 0; i < len(inner); i++ {
		if inner[i] != '\\' {
			continue
		}
		i++
		if inner[i] != 'u' {
			continue
		}
		first := codeUnit(inner[i:])
		if first>>11 == 0xD800>>11 {
			second := rune(0)
			if first < 0xDC00 && i+6 < len(inner) && inner[i+5] == '\\' && inner[i+6] == 'u' {
				second = codeUnit(inner[i+6:])
			}
			if second>>10 != 0xDC00>>10 {
				return string(inner[i-1 : i+5])
			}
			i += 6
		}
		i += 4
	}
	return ""
}

// codeUnit reads u and four digits.
func codeUnit(digits []byte) rune {
	n, _ := strconv.ParseUint(string(digits[1:5]), 16, 16) // the JSON is valid
	return rune(n)
}

// peek skips space, and returns what comes next.
func (s *shape) peek() byte {
	for {
		switch c := s.raw[s.next]; c {
		case ' ', '\t', '\n', '\r':
			s.next++
		default:
			return c
		}
	}
}

// comma skips what stands behind an item, unless it was the last.
func (s *shape) comma() {
	if s.peek() == ',' {
		s.next++
	}
}

// literal reads the next value as it is written; peek has skipped the space before.
func (s *shape) literal() []byte {
	from := s.next
	depth := 0
	for s.next < len(s.raw) {
		switch s.raw[s.next] {
		case '{', '[':
			depth++
			s.next++
		case '}', ']':
			if depth == 0 {
				return s.raw[from:s.next]
			}
			depth--
			s.next++
		case '"':
			s.skipString()
		case ',', ':', ' ', '\t', '\n', '\r':
			if depth == 0 {
				return s.raw[from:s.next]
			}
			s.next++
			continue
		default: // a part of a number or a word, which is no end yet
			s.next++
			continue
		}
		if depth == 0 {
			break
		}
	}
	return s.raw[from:s.next]
}

func (s *shape) skipString() {
	for s.next++; s.raw[s.next] != '"'; s.next++ {
		if s.raw[s.next] == '\\' {
			s.next++
		}
	}
	s.next++
}

var knownFields sync.Map // of a request's type: its fields' types by name

// fieldsOf returns the types of a struct's fields by their names in JSON.
func fieldsOf(t reflect.Type) map[string]reflect.Type {
	if known, ok := knownFields.Load(t); ok {
		return known.(map[string]reflect.Type)
	}
	fields := make(map[string]reflect.Type)
	for i := range t.NumField() {
		field := t.Field(i)
		if field.Anonymous {
			for name, of := range fieldsOf(field.Type) {
				fields[name] = of
			}
			continue
		}
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		fields[name] = field.Type
	}
	knownFields.Store(t, fields)
	return fields
}
