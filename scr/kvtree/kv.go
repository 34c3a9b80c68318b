package kvtree

import (
	"blobio/internal/base/fault"
	"reflect"
	"strconv"
	"strings"
)

// At returns the tree below a path of keys, nil if there is none. No keys: t itself.
func (t *Tree) At(keys ...string) *Tree {
	for _, k := range keys {
		if t = t.Get(k); t == nil {
			return nil
		}
	}
	return t
}

// Touch returns the tree below a path of keys, made where it is not there.
func (t *Tree) Touch(keys ...string) *Tree {
	for _, k := range keys {
		next := t.live(k)
		if next == nil {
			next = t.Set(k, &Tree{})
		}
		t = next
	}
	return t
}

// SetAt makes sub the tree below a path of keys, as Set does for the last of them, and returns it. Without
// keys nothing is done.
func (t *Tree) SetAt(sub *Tree, keys ...string) *Tree {
	if len(keys) == 0 {
		return nil
	}
	last := len(keys) - 1
	return t.Touch(keys[:last]...).Set(keys[last], sub)
}

// SetKV makes sure that val is one of the values of key, and returns the tree below it. Other values stay.
func (t *Tree) SetKV(key, val string) *Tree { return t.Touch(key, val) }

// GetKV returns the tree below a value of a key, nil if there is none.
func (t *Tree) GetKV(key, val string) *Tree { return t.At(key, val) }

// UnsetKV removes a value of a key, and the key when that was its last.
func (t *Tree) UnsetKV(key, val string) {
	sub := t.Get(key)
	sub.Unset(val)
	if sub.Len() == 0 {
		t.Unset(key)
	}
}

// SetKVInt is SetKV of a decimal number.
func (t *Tree) SetKVInt(key string, val int) *Tree { return t.SetKV(key, strconv.Itoa(val)) }

// GetKVInt is GetKV of a decimal number.
func (t *Tree) GetKVInt(key string, val int) *Tree { return t.GetKV(key, strconv.Itoa(val)) }

// UnsetKVInt is UnsetKV of a decimal number.
func (t *Tree) UnsetKVInt(key string, val int) { t.UnsetKV(key, strconv.Itoa(val)) }

// Setf is SetAt with the keys made from arguments. format holds one of the formats of the reference for each
// key, with spaces between them: %s, %d, %lld, %lu, %llu, %#x, %#lx, %f. (Its %p is not taken: an
// address means nothing in a file.) An argument may be a string, or a number of any type that the format is
// for. The error wraps fault.ErrUsage; nothing was set then.
func (t *Tree) Setf(sub *Tree, format string, args ...any) (*Tree, error) {
	keys, err := keysf(format, args)
	if err != nil {
		return nil, err
	}
	return t.SetAt(sub, keys...), nil
}

// Getf is At with the keys made as Setf makes them. The tree is nil if there is none.
func (t *Tree) Getf(format string, args ...any) (*Tree, error) {
	keys, err := keysf(format, args)
	if err != nil {
		return nil, err
	}
	return t.At(keys...), nil
}

// keysf makes keys from arguments.
func keysf(format string, args []any) ([]string, error) {
	verbs := strings.FieldsFunc(format, func(r rune) bool { return r == ' ' })
	if len(verbs) != len(args) || len(verbs) == 0 {
		return nil, fault.Usage("format %q is for %d keys, not for %d", format, len(verbs), len(args))
	}
	keys := make([]string, len(args))
	for i, verb := range verbs {
		key, ok := keyf(verb, args[i])
		if !ok {
			return nil, fault.Usage("format %q: no key from %s and %T", format, verb, args[i])
		}
		keys[i] = key
	}
	return keys, nil
}

// keyf makes one key.
func keyf(verb string, arg any) (string, bool) {
	v := reflect.ValueOf(arg)
	switch verb {
	case "%s":
		if v.Kind() == reflect.String {
			return v.String(), true
		}
	case "%f":
		if v.CanFloat() {
			return formatDouble(v.Float()), true
		}
	case "%d", "%lld":
		if v.CanInt() {
			return strconv.FormatInt(v.Int(), 10), true
		}
		if v.CanUint() {
			return strconv.FormatUint(v.Uint(), 10), true
		}
	case "%lu", "%llu", "%#x", "%#lx":
		var n uint64
		switch {
		case v.CanUint():
			n = v.Uint()
		case v.CanInt() && v.Int() >= 0:
			n = uint64(v.Int())
		default:
			return "", false
		}
		if strings.HasPrefix(verb, "%#") {
			return formatHex(n), true
		}
		return strconv.FormatUint(n, 10), true
	}
	return "", false
}
