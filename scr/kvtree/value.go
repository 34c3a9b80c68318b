package kvtree

import (
	"errors"
	"math"
	"strconv"
	"strings"
)

// Val returns the only value of a key. The error is a *ValueError: no such key, no value, several values.
func (t *Tree) Val(key string) (string, error) {
	sub := t.Get(key)
	if sub == nil {
		return "", &ValueError{Key: key, Msg: "no such key", Err: ErrMissing}
	}
	switch n := sub.Len(); n {
	case 0:
		return "", &ValueError{Key: key, Msg: "no value", Err: ErrMissing}
	case 1:
		v, _ := sub.First()
		return v, nil
	default:
		return "", &ValueError{Key: key, Msg: strconv.Itoa(n) + " values, want one", Err: ErrCorrupt}
	}
}

// set makes text the only value of a key. null is how the reference leaves the tree below the value.
func (t *Tree) set(key, text string, null bool) {
	if t == nil {
		return
	}
	t.Unset(key)
	sub := t.make(key)
	if null {
		sub.Set(text, nil)
	} else {
		sub.make(text)
	}
}

// SetStr makes v the only value of a key.
func (t *Tree) SetStr(key, v string) { t.set(key, v, false) }

// Str returns the only value of a key. Errors of this and the other typed getters are *ValueError: a class of
// ErrMissing (no key or no value), ErrCorrupt (several values, or text that is not a number) or ErrRange.
func (t *Tree) Str(key string) (string, error) { return t.Val(key) }

// SetInt makes v the only value of a key, in decimal. C programs read it into 32 bits: see SetInt64.
func (t *Tree) SetInt(key string, v int) { t.set(key, strconv.Itoa(v), false) }

// Int returns the first value of a key, read as a decimal number ("010" is 10). As in the reference further
// values are no error.
func (t *Tree) Int(key string) (int, error) {
	sub := t.Get(key)
	if sub.Len() == 0 {
		_, err := t.Val(key)
		return 0, err
	}
	text, _ := sub.First()
	n, err := strconv.ParseInt(strings.TrimLeft(text, space), 10, strconv.IntSize)
	return int(n), numberError(key, text, err)
}

// SetInt64 makes v the only value of a key, in decimal.
func (t *Tree) SetInt64(key string, v int64) { t.set(key, strconv.FormatInt(v, 10), true) }

// Int64 returns the only value of a key: decimal, hexadecimal after 0x, or octal after 0.
func (t *Tree) Int64(key string) (int64, error) {
	text, err := t.Val(key)
	if err != nil {
		return 0, err
	}
	sign, digits, base := number(text)
	n, err := strconv.ParseInt(sign+digits, base, 64)
	return n, numberError(key, text, err)
}

// SetUint64 makes v the only value of a key, in decimal.
func (t *Tree) SetUint64(key string, v uint64) { t.set(key, strconv.FormatUint(v, 10), true) }

// Uint64 is Int64 of numbers that are not negative.
func (t *Tree) Uint64(key string) (uint64, error) { return t.uint(key, 64) }

// SetBytes makes a number of bytes the only value of a key, in decimal.
func (t *Tree) SetBytes(key string, n uint64) { t.SetUint64(key, n) }

// Bytes returns the number of bytes that SetBytes set.
func (t *Tree) Bytes(key string) (uint64, error) { return t.uint(key, 64) }

// SetCRC32 makes a CRC-32 the only value of a key: 0x and hexadecimal digits without leading zeros, but 0 for zero.
func (t *Tree) SetCRC32(key string, crc uint32) { t.set(key, formatHex(uint64(crc)), true) }

// CRC32 returns the CRC-32 that SetCRC32 set.
func (t *Tree) CRC32(key string) (uint32, error) {
	n, err := t.uint(key, 32)
	return uint32(n), err
}

// SetDouble makes v the only value of a key, with six decimals.
func (t *Tree) SetDouble(key string, v float64) { t.set(key, formatDouble(v), true) }

// Double returns the only value of a key as a floating-point number; inf and nan are numbers.
func (t *Tree) Double(key string) (float64, error) {
	text, err := t.Val(key)
	if err != nil {
		return 0, err
	}
	trimmed := strings.TrimLeft(text, space)
	if strings.EqualFold(strings.TrimLeft(trimmed, "+-"), "nan") { // C prints the sign of a NaN
		return math.NaN(), nil
	}
	v, err := strconv.ParseFloat(trimmed, 64)
	return v, numberError(key, text, err)
}

func (t *Tree) uint(key string, bits int) (uint64, error) {
	text, err := t.Val(key)
	if err != nil {
		return 0, err
	}
	sign, digits, base := number(text)
	n, err := strconv.ParseUint(digits, base, bits)
	if err == nil && sign == "-" && n > 0 {
		err = strconv.ErrRange
	}
	return n, numberError(key, text, err)
}

// space is what isspace says is one.
const space = " \t\n\v\f\r"

// number takes a number apart as strtol with base 0 does.
func number(text string) (sign, digits string, base int) {
	digits = strings.TrimLeft(text, space)
	if digits != "" && (digits[0] == '-' || digits[0] == '+') {
		sign, digits = digits[:1], digits[1:]
	}
	switch {
	case len(digits) > 2 && digits[0] == '0' && digits[1]|0x20 == 'x':
		digits, base = digits[2:], 16
	case len(digits) > 1 && digits[0] == '0':
		digits, base = digits[1:], 8
	default:
		base = 10
	}
	if digits != "" && (digits[0] == '-' || digits[0] == '+') { // a second sign
		digits = ""
	}
	return sign, digits, base
}

// numberError tells a number out of range from what is none.
func numberError(key, text string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, strconv.ErrRange):
		return &ValueError{Key: key, Text: text, Msg: "does not fit the type asked for", Err: ErrRange}
	default:
		return &ValueError{Key: key, Text: text, Msg: "not a number", Err: ErrCorrupt}
	}
}

// formatHex is %#x of C.
func formatHex(n uint64) string {
	if n == 0 {
		return "0"
	}
	return "0x" + strconv.FormatUint(n, 16)
}

// formatDouble is %f of C.
func formatDouble(v float64) string {
	switch {
	case math.IsInf(v, 1):
		return "inf"
	case math.IsInf(v, -1):
		return "-inf"
	case math.IsNaN(v):
		return "nan"
	}
	return strconv.FormatFloat(v, 'f', 6, 64)
}
