package demo

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// filename is a path as the file system spells it, which may be any bytes. In JSON it
// is a string where that loses nothing, and {"base64": …} elsewhere.
type filename string

type encodedFilename struct {
	Base64 string `json:"base64"`
}

// MarshalJSON implements [json.Marshaler].
func (n filename) MarshalJSON() ([]byte, error) {
	if !utf8.ValidString(string(n)) {
		return json.Marshal(encodedFilename{base64.StdEncoding.EncodeToString([]byte(n))})
	}
	var buf bytes.Buffer
	encoder := json.NewEncoder(&buf)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(string(n)); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

// UnmarshalJSON implements [json.Unmarshaler].
func (n *filename) UnmarshalJSON(data []byte) error {
	if !bytes.HasPrefix(data, []byte("{")) {
		return json.Unmarshal(data, (*string)(n))
	}
	var encoded encodedFilename
	if err := json.Unmarshal(data, &encoded); err != nil {
		return err
	}
	raw, err := base64.StdEncoding.DecodeString(encoded.Base64)
	if err != nil {
		return fmt.Errorf("braid: file name: %w", err)
	}
	*n = filename(raw)
	return nil
}

// String returns the name for people: quoted if a terminal would not show it as it is.
func (n filename) String() string {
	if utf8.ValidString(string(n)) && !strings.ContainsFunc(string(n), func(r rune) bool { return !strconv.IsPrint(r) }) {
		return string(n)
	}
	return strconv.Quote(string(n))
}
