package redisstore

import (
	"encoding/binary"
	"errors"
	"math"
	"strconv"

	"github.com/braidmq/braid/driver"
)

// What is stored is packed big-endian, so that Lua's struct library reads it too: int32
// and int64 in fixed width, texts behind their length.

// zeroTime stands where a packed time is absent.
const zeroTime = "\x00\x00\x00\x00\x00\x00\x00\x00"

// errCorrupt tells that stored bytes are not what this program writes.
var errCorrupt = errors.New("a stored record is damaged, or of another program")

// packTime returns a time as its 8 bytes.
func packTime(t driver.Time) string {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], uint64(t))
	return string(b[:])
}

// The most that the width of a length can tell.
const (
	width1 = math.MaxUint8
	width2 = math.MaxUint16
	width4 = math.MaxUint32
)

// appendLength appends a length, in the width that can tell up to most. What is longer is
// refused: its length would be taken for a shorter one, and what follows for something
// else.
func appendLength(b []byte, field string, length int, most uint64) ([]byte, error) {
	if uint64(length) > most {
		return b, &driver.InvalidError{Field: field, Value: strconv.Itoa(length),
			Reason: "is longer than the store can keep; the limit is " + strconv.FormatUint(most, 10)}
	}
	switch most {
	case width1:
		return append(b, byte(length)), nil
	case width2:
		return binary.BigEndian.AppendUint16(b, uint16(length)), nil
	}
	return binary.BigEndian.AppendUint32(b, uint32(length)), nil
}

// packedText is a text on its way into a record, under the name of its field.
type packedText struct{ field, text string }

// appendTexts appends texts, each behind its length, in the width that can tell up to most.
func appendTexts(b []byte, most uint64, texts ...packedText) ([]byte, error) {
	for _, t := range texts {
		var err error
		if b, err = appendLength(b, t.field, len(t.text), most); err != nil {
			return b, err
		}
		b = append(b, t.text...)
	}
	return b, nil
}

// unpacker reads packed values one after the other. The first that is not there sets
// bad, and all that follow are zero.
type unpacker struct {
	rest string
	bad  bool
}

// take returns the next n bytes.
func (u *unpacker) take(n int) string {
	if n < 0 || n > len(u.rest) {
		u.bad, u.rest = true, ""
		return ""
	}
	taken := u.rest[:n]
	u.rest = u.rest[n:]
	return taken
}

func (u *unpacker) uint(width int) (n uint64) {
	for _, b := range []byte(u.take(width)) {
		n = n<<8 | uint64(b)
	}
	return n
}

func (u *unpacker) byte() byte        { return byte(u.uint(1)) }
func (u *unpacker) int32() int32      { return int32(u.uint(4)) }
func (u *unpacker) int64() int64      { return int64(u.uint(8)) }
func (u *unpacker) time() driver.Time { return driver.Time(u.int64()) }

// text reads a text behind its length of so many bytes.
func (u *unpacker) text(width int) string { return u.take(int(u.uint(width))) }

// err tells whether something was missing, or something is left.
func (u *unpacker) err() error {
	if u.bad || u.rest != "" {
		return errCorrupt
	}
	return nil
}
