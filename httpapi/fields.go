package httpapi

import (
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/braidmq/braid"
)

// fieldNames are the API's names of fields that the library calls otherwise.
type fieldNames map[string]string

var (
	jobFields = fieldNames{
		"job name": "name", "dedupe key": "dedupe.key", "dedupe window": "dedupe.ttlMs", "timeout": "timeoutMs", "delay": "delayMs",
		"metadata key": "metadata",
	}
	scheduleFields = fieldNames{
		"job name": "jobName", "tz": "zone", "every": "everyMs", "schedule key": "key", "timeout": "timeoutMs", "metadata key": "metadata",
	}
	ackFields    = fieldNames{"message": "error.message", "delay": "delayMs"}
	keyFields    = fieldNames{"job name": "name", "dedupe key": "key"}
	filterFields = fieldNames{"queue": "filter.queue", "name": "filter.name", "metadata": "filter.metadata", "metadata key": "filter.metadata"}
)

// of is the API's name of a field of the library's.
func (names fieldNames) of(field string) string {
	if name, known := names[field]; known {
		return name
	}
	const value = "metadata value of "
	if key, found := strings.CutPrefix(field, value); found {
		parent := "metadata"
		if under, known := names["metadata key"]; known {
			parent = under
		}
		return parent + "." + clip(key)
	}
	return field
}

// named tells a refusal of the library in the words of the request: with its field's
// name in the API, and where in the request that is. Other errors stay as they are.
func named(err error, place string, names fieldNames) error {
	var bad *braid.InvalidError
	if !errors.As(err, &bad) {
		return err
	}
	field := names.of(bad.Field)
	if place != "" {
		field = place + "." + field
	}
	told := braid.InvalidError{Field: field, Value: bad.Value, Reason: bad.Reason}
	return &Error{Status: http.StatusBadRequest, Code: CodeInvalid, Field: field, Message: told.Error()}
}

// item is the place of an item of a list.
func item(list string, i int) string { return list + "[" + strconv.Itoa(i) + "]" }
