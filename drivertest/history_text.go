package drivertest

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/braidmq/braid/driver"
)

// render writes a value as text: every field that is not empty, bytes as text,
// pointers followed. Two values have one text only if they are the same, but for
// nil and empty, which are.
func render(v any) string {
	var b strings.Builder
	renderTo(&b, reflect.ValueOf(v))
	return b.String()
}

func renderTo(b *strings.Builder, v reflect.Value) {
	switch v.Kind() {
	case reflect.Invalid:
		b.WriteString("none")
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			b.WriteString("none")
			return
		}
		if err, ok := v.Interface().(error); ok {
			b.WriteString(errorText(err))
			return
		}
		renderTo(b, v.Elem())
	case reflect.Struct:
		renderStruct(b, v)
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			b.WriteString(strconv.Quote(string(v.Bytes())))
			return
		}
		renderList(b, v.Len(), func(i int) { renderTo(b, v.Index(i)) })
	case reflect.Map:
		keys := v.MapKeys()
		slices.SortFunc(keys, func(x, y reflect.Value) int { return strings.Compare(x.String(), y.String()) })
		renderList(b, len(keys), func(i int) {
			renderTo(b, keys[i])
			b.WriteByte(':')
			renderTo(b, v.MapIndex(keys[i]))
		})
	case reflect.String:
		b.WriteString(strconv.Quote(v.String()))
	case reflect.Int, reflect.Int32, reflect.Int64:
		b.WriteString(strconv.FormatInt(v.Int(), 10))
	default:
		fmt.Fprint(b, v.Interface())
	}
}

func renderList(b *strings.Builder, n int, item func(i int)) {
	b.WriteByte('[')
	for i := range n {
		if i > 0 {
			b.WriteByte(' ')
		}
		item(i)
	}
	b.WriteByte(']')
}

func renderStruct(b *strings.Builder, v reflect.Value) {
	t := v.Type()
	if t.NumField() == 2 && t.Field(1).Name == "Set" { // a driver.Opt
		if !v.Field(1).Bool() {
			b.WriteString("absent")
			return
		}
		renderTo(b, v.Field(0))
		return
	}
	b.WriteByte('{')
	first := true
	for i := range v.NumField() {
		f := v.Field(i)
		if f.IsZero() || (f.Kind() == reflect.Slice || f.Kind() == reflect.Map) && f.Len() == 0 {
			continue
		}
		if !first {
			b.WriteByte(' ')
		}
		first = false
		if field := t.Field(i); !field.Anonymous {
			b.WriteString(field.Name)
			b.WriteByte(':')
		}
		renderTo(b, f)
	}
	b.WriteByte('}')
}

// errorText names an error by what its kind promises, without the words, in
// which stores may differ.
func errorText(err error) string {
	var state *driver.StateError
	var invalid *driver.InvalidError
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, &state):
		return fmt.Sprintf("refused(%v %v)", state.Err, state.State)
	case errors.As(err, &invalid):
		return "invalid(" + invalid.Field + ")"
	case errors.Is(err, driver.ErrNotFound):
		return "not found"
	case errors.Is(err, driver.ErrLockLost):
		return "lock lost"
	}
	return "error(" + err.Error() + ")"
}
