package dataset

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"unicode/utf8"

	"blobio/cdf5"
	"blobio/internal/cli"
)

// jsonText is text without trailing NULs. JSON strings are Unicode only. So text that is not valid UTF-8 becomes an object
// {"latin1": s}, where each character of s, U+0000 to U+00FF, is a byte.
type jsonText string

// MarshalJSON implements json.Marshaler.
func (t jsonText) MarshalJSON() ([]byte, error) {
	s := strings.TrimRight(string(t), "\x00")
	if utf8.ValidString(s) {
		return json.Marshal(s)
	}
	runes := make([]rune, len(s))
	for i := range len(s) {
		runes[i] = rune(s[i])
	}
	return json.Marshal(struct {
		Latin1 string `json:"latin1"`
	}{string(runes)})
}

// jsonAtts are attributes as a JSON object, in file order: text as jsonText, numbers as arrays. Values that JSON cannot represent
// as numbers are "NaN", "Infinity", "-Infinity".
type jsonAtts []cdf5.Att

// MarshalJSON implements json.Marshaler.
func (l jsonAtts) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i := range l {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := json.Marshal(l[i].Name)
		if err != nil {
			return nil, err
		}
		b.Write(name)
		b.WriteByte(':')
		if s, ok := l[i].Value.(string); ok {
			text, err := json.Marshal(jsonText(s))
			if err != nil {
				return nil, err
			}
			b.Write(text)
			continue
		}
		b.WriteByte('[')
		for k := range reflect.ValueOf(l[i].Value).Len() {
			if k > 0 {
				b.WriteByte(',')
			}
			b.Write(appendJSONValue(nil, l[i].Value, k, nil))
		}
		b.WriteByte(']')
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// appendJSONValue appends element i of data exactly, or null for the fill value.
func appendJSONValue(b []byte, data any, i int, fill any) []byte {
	if isFill(data, i, fill) {
		return append(b, "null"...)
	}
	var x float64
	bits := 64
	switch d := data.(type) {
	case []float32:
		x, bits = float64(d[i]), 32
	case []float64:
		x = d[i]
	default:
		return appendInteger(b, data, i)
	}
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return append(cli.AppendFloat(append(b, '"'), x, 7), '"')
	}
	return cli.AppendShortest(b, x, bits)
}
