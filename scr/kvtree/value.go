package kvtree

import (
	"errors"
	"math"
	"strconv"
	"strings"
)

// Value gives access to the value of a key, as text or as a number.
type Value struct {
	tree *Tree
	key  string
}

// Value gives access to the value of a key. The key need not exist.
func (t *Tree) Value(key string) Value { return Value{t, key} }

// set makes text the only value of the key. null is the null flag of the tree below the value. It must be as SCR would set
// it.
func (v Value) set(text string, null bool) {
	if v.tree == nil {
		return
	}
	v.tree.Unset(v.key)
	sub := v.tree.Set(v.key, &Tree{})
	if null {
		sub.Set(text, nil)
	} else {
		sub.Set(text, &Tree{})
	}
}

// SetStr makes x the only value of the key.
func (v Value) SetStr(x string) { v.set(x, false) }

// Str returns the value as text. The errors of all getters are *valueError. Their class is ErrMissing (no key or no value),
// ErrCorrupt (several values, or not a number) or ErrRange.
func (v Value) Str() (string, error) {
	sub := v.tree.Get(v.key)
	if sub == nil {
		return "", &valueError{Key: v.key, Msg: "no such key", Err: ErrMissing}
	}
	switch n := sub.Len(); n {
	case 0:
		return "", &valueError{Key: v.key, Msg: "no value", Err: ErrMissing}
	case 1:
		text, _ := sub.First()
		return text, nil
	default:
		return "", &valueError{Key: v.key, Msg: strconv.Itoa(n) + " values, want one", Err: ErrCorrupt}
	}
}

// SetInt makes x the only value, in decimal. C programs read it as a 32-bit number; for larger numbers use SetInt64.
func (v Value) SetInt(x int) { v.set(strconv.Itoa(x), false) }

// Int returns the first value of the key, read as a decimal number ("010" is 10). As in SCR, further values are ignored.
func (v Value) Int() (int, error) {
	sub := v.tree.Get(v.key)
	if sub.Len() == 0 {
		_, err := v.Str()
		return 0, err
	}
	text, _ := sub.First()
	n, err := strconv.ParseInt(strings.TrimLeft(text, space), 10, strconv.IntSize)
	return int(n), numberError(v.key, text, err)
}

// SetInt64 makes x the only value, in decimal.
func (v Value) SetInt64(x int64) { v.set(strconv.FormatInt(x, 10), true) }

// Int64 returns the value as a number. The text is decimal, or hexadecimal after 0x, or octal after 0.
func (v Value) Int64() (int64, error) {
	text, err := v.Str()
	if err != nil {
		return 0, err
	}
	sign, digits, base := number(text)
	n, err := strconv.ParseInt(sign+digits, base, 64)
	return n, numberError(v.key, text, err)
}

// SetUint64 makes x the only value, in decimal.
func (v Value) SetUint64(x uint64) { v.set(strconv.FormatUint(x, 10), true) }

// Uint64 is like Int64, for numbers that are not negative.
func (v Value) Uint64() (uint64, error) { return v.uint(64) }

// SetCRC32 makes a CRC-32 the only value. Its text is 0x and hexadecimal digits without leading zeros; the text of 0 is 0.
func (v Value) SetCRC32(x uint32) { v.set(formatHex(uint64(x)), true) }

// CRC32 returns the CRC-32 that SetCRC32 set.
func (v Value) CRC32() (uint32, error) {
	n, err := v.uint(32)
	return uint32(n), err
}

// SetDouble makes x the only value, with six decimals.
func (v Value) SetDouble(x float64) { v.set(formatDouble(x), true) }

// Double returns the value as a floating-point number. inf and nan are valid.
func (v Value) Double() (float64, error) {
	text, err := v.Str()
	if err != nil {
		return 0, err
	}
	trimmed := strings.TrimLeft(text, space)
	if strings.EqualFold(strings.TrimLeft(trimmed, "+-"), "nan") { // C prints a sign before nan
		return math.NaN(), nil
	}
	x, err := strconv.ParseFloat(trimmed, 64)
	return x, numberError(v.key, text, err)
}

func (v Value) uint(bits int) (uint64, error) {
	text, err := v.Str()
	if err != nil {
		return 0, err
	}
	sign, digits, base := number(text)
	n, err := strconv.ParseUint(digits, base, bits)
	if err == nil && sign == "-" && n > 0 {
		err = strconv.ErrRange
	}
	return n, numberError(v.key, text, err)
}

// space are the characters that C's isspace accepts.
const space = " \t\n\v\f\r"

// number splits the text of a number into sign, digits and base, as strtol with base 0 does.
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
	if digits != "" && (digits[0] == '-' || digits[0] == '+') { // the text has two signs
		digits = ""
	}
	return sign, digits, base
}

// numberError returns the error for a text that is not a number or is out of range.
func numberError(key, text string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, strconv.ErrRange):
		return &valueError{Key: key, Text: text, Msg: "does not fit the requested type", Err: ErrRange}
	default:
		return &valueError{Key: key, Text: text, Msg: "not a number", Err: ErrCorrupt}
	}
}

// formatHex is C's %#x.
func formatHex(n uint64) string {
	if n == 0 {
		return "0"
	}
	return "0x" + strconv.FormatUint(n, 16)
}

// formatDouble is C's %f.
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
