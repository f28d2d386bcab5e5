package httpapi

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/braidmq/braid"
)

var update = flag.Bool("update", false, "write openapi.json anew")

// TestTheDocumentIsThatOfTheHandlers holds openapi.json against the endpoints, their
// parameters, and every field of their requests and replies.
func TestTheDocumentIsThatOfTheHandlers(t *testing.T) {
	want := generateDocument()
	if *update {
		if err := os.WriteFile("openapi.json", want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal(want, document) {
		t.Error("openapi.json does not tell what the handlers do; run go test ./httpapi -run Document -update, and look at the difference")
	}
}

type object = map[string]any

// generateDocument makes the document from the table of endpoints.
func generateDocument() []byte {
	schemas := &schemaSet{all: object{}}
	paths := object{}
	for _, e := range endpoints {
		item, _ := paths[e.path].(object)
		if item == nil {
			item = object{}
			paths[e.path] = item
		}
		item[strings.ToLower(e.method)] = operation(e, schemas)
	}
	schemas.of(reflect.TypeFor[ErrorReply]())
	schemas.of(reflect.TypeFor[QueuesEvent]())
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err := encoder.Encode(object{
		"openapi": "3.1.0",
		"info": object{
			"title": "Braid", "version": "1",
			"description": "Look at jobs, queues, schedules and flows, act on them, enqueue, and work on jobs in any language. Times are RFC 3339 in UTC; durations are milliseconds. Every error is {\"error\": {code, message, field}}.",
			"license":     object{"name": "MIT", "identifier": "MIT"},
		},
		"paths": paths,
		"components": object{
			"schemas": schemas.all,
			"securitySchemes": object{
				"token": object{"type": "http", "scheme": "bearer", "description": "One of the server's tokens. A server without tokens asks for none."},
			},
		},
		"security": []any{object{"token": []any{}}},
	})
	if err != nil {
		panic(err)
	}
	return out.Bytes()
}

var pathPart = regexp.MustCompile(`\{(\w+)\}`)

func operation(e *endpoint, schemas *schemaSet) object {
	success := object{"description": "Done."}
	switch {
	case e.reply != nil:
		success["content"] = object{"application/json": object{"schema": schemas.of(reflect.TypeOf(e.reply))}}
	case strings.HasSuffix(e.path, "/events"):
		success["description"] = "Server-sent events named queues, whose data is a QueuesEvent."
		success["content"] = object{"text/event-stream": object{"schema": object{"type": "string"}}}
	default:
		success["content"] = object{"application/json": object{"schema": object{"type": "object"}}}
	}
	op := object{
		"summary": e.summary, "tags": []string{e.tag}, "operationId": operationID(e),
		"responses": object{
			"200":     success,
			"default": object{"description": "What is wrong.", "content": object{"application/json": object{"schema": schemas.of(reflect.TypeFor[ErrorReply]())}}},
		},
	}
	if e.role != NoRoles {
		op["description"] = "Needs the role " + e.role.String() + "."
	}
	var parameters []any
	for _, part := range pathPart.FindAllStringSubmatch(e.path, -1) {
		parameters = append(parameters, object{"name": part[1], "in": "path", "required": true, "schema": object{"type": "string"},
			"description": "Percent-encoded as one segment."})
	}
	for _, p := range append(slices.Clone(e.query), storeParam) {
		parameters = append(parameters, parameterObject(p))
	}
	op["parameters"] = parameters
	if e.body != nil {
		op["requestBody"] = object{"required": true, "content": object{"application/json": object{"schema": schemas.of(reflect.TypeOf(e.body))}}}
	}
	return op
}

func operationID(e *endpoint) string {
	words := strings.FieldsFunc(strings.ToLower(e.method)+" "+strings.TrimPrefix(e.path, Prefix), func(r rune) bool { return strings.ContainsRune(" /-{}.", r) })
	for i := range words[1:] {
		words[i+1] = strings.ToUpper(words[i+1][:1]) + words[i+1][1:]
	}
	return strings.Join(words, "")
}

func parameterObject(p param) object {
	schema := object{"type": string(p.kind)}
	out := object{"name": p.name, "in": "query", "description": p.description, "schema": schema}
	switch p.kind {
	case listParam:
		schema["items"] = object{"type": "string"}
		if p.values != nil {
			schema["items"].(object)["enum"] = p.values
		}
		out["explode"] = true
	case mapParam:
		schema["additionalProperties"] = object{"type": "string"}
		out["style"], out["explode"] = "deepObject", true
	case numParam:
		schema["minimum"] = 1
	default:
		if p.values != nil {
			schema["enum"] = p.values
		}
	}
	return out
}

// schemaSet holds the schemas of named types.
type schemaSet struct{ all object }

func (s *schemaSet) of(t reflect.Type) object {
	switch t {
	case reflect.TypeFor[Time]():
		return object{"type": "string", "format": "date-time"}
	case reflect.TypeFor[time.Time]():
		panic("use Time")
	case reflect.TypeFor[json.RawMessage]():
		return object{}
	case reflect.TypeFor[braid.State]():
		return object{"type": "string", "enum": states}
	case reflect.TypeFor[braid.Outcome]():
		return object{"type": "string", "enum": []string{"completed", "retried", "failed", "stalled", "cancelled", "fanned-out"}}
	case reflect.TypeFor[Code]():
		return object{"type": "string", "enum": []Code{CodeInvalid, CodeUnauthorized, CodeForbidden, CodeNotFound, CodeNotAllowed, CodeConflict,
			CodeLockLost, CodeTimeout, CodeTooLarge, CodeMediaType, CodeListOrder, CodePartial, CodeOutcomeUnknown, CodeUnavailable, CodeInternal}}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return s.of(t.Elem())
	case reflect.String:
		return object{"type": "string"}
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Int, reflect.Int32, reflect.Int64:
		return object{"type": "integer"}
	case reflect.Float64:
		return object{"type": "number"}
	case reflect.Slice:
		return object{"type": "array", "items": s.of(t.Elem())}
	case reflect.Map:
		return object{"type": "object", "additionalProperties": s.of(t.Elem())}
	case reflect.Struct:
		return s.ofStruct(t)
	}
	panic(fmt.Sprintf("the document cannot tell %v", t))
}

func (s *schemaSet) ofStruct(t reflect.Type) object {
	name := t.Name()
	ref := object{"$ref": "#/components/schemas/" + name}
	if s.all[name] != nil {
		return ref
	}
	properties, required := object{}, []string{}
	s.all[name] = object{"type": "object", "properties": properties, "additionalProperties": false}
	s.addFields(t, properties, &required)
	if len(required) > 0 {
		slices.Sort(required)
		s.all[name].(object)["required"] = required
	}
	return ref
}

func (s *schemaSet) addFields(t reflect.Type, properties object, required *[]string) {
	for i := range t.NumField() {
		field := t.Field(i)
		if field.Anonymous {
			s.addFields(field.Type, properties, required)
			continue
		}
		tag, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if tag == "-" {
			continue
		}
		if tag == "" {
			panic(t.Name() + "." + field.Name + " has no JSON name")
		}
		schema := s.of(field.Type)
		if values := field.Tag.Get("enum"); values != "" {
			target := schema
			if items, ok := schema["items"].(object); ok {
				target = items
			}
			target["enum"] = strings.Split(values, ",")
		}
		if text := field.Tag.Get("doc"); text != "" {
			schema["description"] = text
		}
		properties[tag] = schema
		if !strings.Contains(options, "omit") {
			*required = append(*required, tag)
		}
	}
}

// TestRepliesFitTheDocument is a check of the check: what the document says is a
// schema that a reply can break.
func TestRepliesFitTheDocument(t *testing.T) {
	doc := readDocument(t)
	good := `{"id":"a","state":"waiting"}`
	if problems := doc.check("StateReply", []byte(good)); problems != nil {
		t.Errorf("%s: %v", good, problems)
	}
	for _, bad := range []string{`{"id":"a"}`, `{"id":1,"state":"waiting"}`, `{"id":"a","state":"odd"}`, `{"id":"a","state":"waiting","more":1}`, `[]`} {
		if doc.check("StateReply", []byte(bad)) == nil {
			t.Errorf("%s fits", bad)
		}
	}
}

// openDocument is the document as a test reads it.
type openDocument struct {
	paths   object
	schemas object
}

func readDocument(t *testing.T) *openDocument {
	t.Helper()
	var parsed object
	if err := json.Unmarshal(document, &parsed); err != nil {
		t.Fatal(err)
	}
	return &openDocument{paths: parsed["paths"].(object), schemas: parsed["components"].(object)["schemas"].(object)}
}

// check says how a reply breaks a schema.
func (d *openDocument) check(schema string, reply []byte) []string {
	var value any
	if err := json.Unmarshal(reply, &value); err != nil {
		return []string{err.Error()}
	}
	return d.problems(object{"$ref": "#/components/schemas/" + schema}, value, "")
}

func (d *openDocument) problems(schema object, value any, at string) (found []string) {
	if ref, ok := schema["$ref"].(string); ok {
		return d.problems(d.schemas[strings.TrimPrefix(ref, "#/components/schemas/")].(object), value, at)
	}
	wrong := func(format string, args ...any) { found = append(found, at+": "+fmt.Sprintf(format, args...)) }
	if values, ok := schema["enum"].([]any); ok && !slices.Contains(values, value) {
		wrong("%v is none of %v", value, values)
	}
	switch schema["type"] {
	case "string":
		text, ok := value.(string)
		if !ok {
			wrong("%v is no string", value)
		} else if schema["format"] == "date-time" {
			if _, err := time.Parse(time.RFC3339, text); err != nil {
				wrong("%v", err)
			}
		}
	case "integer", "number":
		if _, ok := value.(float64); !ok {
			wrong("%v is no number", value)
		}
	case "boolean":
		if _, ok := value.(bool); !ok {
			wrong("%v is no boolean", value)
		}
	case "array":
		items, ok := value.([]any)
		if !ok {
			wrong("%v is no array", value)
		}
		for i, item := range items {
			found = append(found, d.problems(schema["items"].(object), item, fmt.Sprintf("%s[%d]", at, i))...)
		}
	case "object":
		fields, ok := value.(object)
		if !ok {
			wrong("%v is no object", value)
			break
		}
		properties, _ := schema["properties"].(object)
		for _, name := range asSlice(schema["required"]) {
			if _, there := fields[name.(string)]; !there {
				wrong("%v is missing", name)
			}
		}
		for name, field := range fields {
			if property, known := properties[name].(object); known {
				found = append(found, d.problems(property, field, at+"."+name)...)
			} else if extra, ok := schema["additionalProperties"].(object); ok {
				found = append(found, d.problems(extra, field, at+"."+name)...)
			} else if schema["additionalProperties"] == false {
				wrong("%s is not in the document", name)
			}
		}
	}
	return found
}

func asSlice(v any) []any { s, _ := v.([]any); return s }

// reply returns the name of the schema of a successful reply to a request; empty if
// that is no JSON of ours.
func (d *openDocument) reply(method, pattern string) (schema string, documented bool) {
	item, _ := d.paths[pattern].(object)
	op, _ := item[strings.ToLower(method)].(object)
	if op == nil {
		return "", false
	}
	content, _ := op["responses"].(object)["200"].(object)["content"].(object)["application/json"].(object)
	if content == nil {
		return "", true
	}
	ref, _ := content["schema"].(object)["$ref"].(string)
	return strings.TrimPrefix(ref, "#/components/schemas/"), true
}

var _ http.Handler = (*Handler)(nil)
