package braid

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// describeDecodeError names the field that did not fit, and its kind. The value, which
// the decoder's own text may have, is in the chain only: errors are kept and shown where
// payloads are hidden.
func describeDecodeError(err error, data []byte, into reflect.Type) error {
	var typeErr *json.UnmarshalTypeError
	var syntaxErr *json.SyntaxError
	switch {
	case errors.As(err, &syntaxErr):
		return fmt.Errorf("cannot read it as %v: it is not valid JSON at byte %d%.0w", into, syntaxErr.Offset, err)
	case errors.As(err, &typeErr):
		kind, _, _ := strings.Cut(typeErr.Value, " ") // behind it, a number that is out of range
		if typeErr.Field != "" {
			return fmt.Errorf("field %q of %v does not take a JSON %s: it is %s%.0w", typeErr.Field, into, kind, article(typeErr.Type), err)
		}
		return fmt.Errorf("cannot read a JSON %s as %v%.0w", kind, into, err)
	}
	path, kind, refuses := refusedField(data, into, 0)
	if path == "" {
		return fmt.Errorf("cannot read this JSON %s as %v%.0w", kind, into, err)
	}
	return fmt.Errorf("field %q of %v does not take this JSON %s: it is %s%.0w", path, into, kind, article(refuses), err)
}

// deepestField bounds how deep refusedField looks: every level is decoded again.
const deepestField = 16

// refusedField looks for the innermost field whose own decoder refuses what data has for
// it, as those of times do. It returns the path, empty if that is data itself, the kind
// of JSON that stands there, and the type that refuses it.
func refusedField(data []byte, into reflect.Type, depth int) (path, kind string, refuses reflect.Type) {
	at := into
	for at.Kind() == reflect.Pointer {
		at = at.Elem()
	}
	switch at.Kind() {
	case reflect.Struct:
		var members map[string]json.RawMessage
		if depth == deepestField || decodesItself(at) || json.Unmarshal(data, &members) != nil {
			break
		}
		for _, name := range slices.Sorted(maps.Keys(members)) {
			raw := members[name]
			field, known := fieldOf(at, name)
			if !known || fits(raw, field.Type) {
				continue
			}
			inner, kind, refuses := refusedField(raw, field.Type, depth+1)
			return joinPath(name, inner), kind, refuses
		}
	case reflect.Slice, reflect.Array:
		var items []json.RawMessage
		if depth == deepestField || decodesItself(at) || json.Unmarshal(data, &items) != nil {
			break
		}
		for i, raw := range items {
			if !fits(raw, at.Elem()) {
				inner, kind, refuses := refusedField(raw, at.Elem(), depth+1)
				return joinPath("["+strconv.Itoa(i)+"]", inner), kind, refuses
			}
		}
	}
	return "", kindOfJSON(data), into
}

func fits(raw json.RawMessage, into reflect.Type) bool {
	return json.Unmarshal(raw, reflect.New(into).Interface()) == nil
}

// decodesItself reports whether the type has a decoder of its own.
func decodesItself(t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]())
}

// fieldOf returns the field that takes the member of that name.
func fieldOf(t reflect.Type, member string) (reflect.StructField, bool) {
	for _, field := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "" {
			name = field.Name
		}
		if field.IsExported() && strings.EqualFold(name, member) {
			return field, true
		}
	}
	return reflect.StructField{}, false
}

func joinPath(outer, inner string) string {
	if inner == "" || inner[0] == '[' {
		return outer + inner
	}
	return outer + "." + inner
}

func kindOfJSON(data []byte) string {
	trimmed := strings.TrimLeft(string(data), " \t\r\n")
	if trimmed == "" {
		return "value"
	}
	switch trimmed[0] {
	case '{':
		return "object"
	case '[':
		return "array"
	case '"':
		return "string"
	case 't', 'f':
		return "bool"
	case 'n':
		return "null"
	}
	return "number"
}

// article puts a or an in front of a type's name.
func article(t reflect.Type) string {
	name := t.String()
	if strings.ContainsRune("aeiouAEIOU", rune(name[0])) {
		return "an " + name
	}
	return "a " + name
}
