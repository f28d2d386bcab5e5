package driver

import (
	"encoding/base64"
	"encoding/binary"
)

// ListPosition is the place in a list behind which a page goes on: what a list
// cursor encodes, the same for every store.
type ListPosition struct {
	OrderBy   OrderBy
	Ascending bool
	Time      Time
	ID        string
}

// cursorVersion begins every encoded position.
const cursorVersion = 1

// Cursor encodes the position.
func (p ListPosition) Cursor() string {
	raw := make([]byte, 0, 11+len(p.ID))
	direction := byte(0)
	if p.Ascending {
		direction = 1
	}
	raw = append(raw, cursorVersion, byte(p.OrderBy), direction)
	raw = binary.BigEndian.AppendUint64(raw, uint64(p.Time))
	raw = append(raw, p.ID...)
	return base64.RawURLEncoding.EncodeToString(raw)
}

// Position decodes the request's cursor: absent if there is none, an
// [*InvalidError] if it is not a cursor, or one of another order or direction.
func (r *ListRequest) Position() (Opt[ListPosition], error) {
	if r.Cursor == "" {
		return Opt[ListPosition]{}, nil
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(r.Cursor)
	if err != nil || len(raw) < 12 || raw[0] != cursorVersion || raw[2] > 1 || CheckText("id", string(raw[11:]), MaxIDBytes) != nil {
		return Opt[ListPosition]{}, &InvalidError{Field: "cursor", Value: r.Cursor,
			Reason: "is not a cursor that a list returned"}
	}
	p := ListPosition{
		OrderBy: OrderBy(raw[1]), Ascending: raw[2] == 1,
		Time: Time(binary.BigEndian.Uint64(raw[3:])), ID: string(raw[11:]),
	}
	if p.OrderBy != r.OrderBy || p.Ascending != r.Ascending {
		return Opt[ListPosition]{}, &InvalidError{Field: "cursor", Value: r.Cursor,
			Reason: "belongs to a list in another order; repeat the request that it came from"}
	}
	return Some(p), nil
}

// childCursorVersion begins every encoded child cursor.
const childCursorVersion = 'c'

// ChildCursor encodes the place behind a child in a page of children, the same for
// every store.
func ChildCursor(childKey string) string {
	return base64.RawURLEncoding.EncodeToString(append([]byte{childCursorVersion}, childKey...))
}

// ParseChildCursor returns the key of the child behind which a page goes on: "" if there
// is no cursor, an [*InvalidError] if it is none.
func ParseChildCursor(cursor string) (string, error) {
	if cursor == "" {
		return "", nil
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil || len(raw) < 2 || raw[0] != childCursorVersion {
		return "", &InvalidError{Field: "cursor", Value: cursor,
			Reason: "is not a cursor that a page of children returned"}
	}
	return string(raw[1:]), nil
}
