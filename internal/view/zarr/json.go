package zarr

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"blobio/cdf5"
)

type object []member

type member struct {
	name  string
	value any
}

// MarshalJSON implements json.Marshaler.
func (o object) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, m := range o {
		name, err := json.Marshal(m.name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(m.value)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, name...), ':'), value...)
	}
	return append(b, '}'), nil
}

// ascii encodes a value as JSON without bytes over 0x7f.
func ascii(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	out := make([]byte, 0, b.Len())
	for _, r := range b.String() { // only strings contain non-ASCII characters
		switch {
		case r < utf8.RuneSelf:
			out = append(out, byte(r))
		case r >= 0x10000:
			r -= 0x10000
			out = fmt.Appendf(out, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
	}
	return out, nil
}

// text decodes text from a file: UTF-8, or else ISO 8859-1.
func text(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	r := make([]rune, len(s))
	for i := range len(s) {
		r[i] = rune(s[i])
	}
	return string(r)
}

// attributes returns the attributes of a group or an array, except for the attributes whose names are in but.
func attributes(list []cdf5.Att, but ...string) object {
	out := object{}
next:
	for i := range list {
		name := text(list[i].Name)
		for _, b := range but {
			if name == b {
				continue next
			}
		}
		out = append(out, member{name, attribute(&list[i])})
	}
	return out
}

func attribute(a *cdf5.Att) any {
	if s, ok := a.Value.(string); ok {
		return text(strings.TrimRight(s, "\x00"))
	}
	n := int(a.Len())
	if n == 1 {
		return number(a.Value, 0)
	}
	out := make([]any, max(n, 0))
	for i := range out {
		out[i] = number(a.Value, i)
	}
	return out
}
