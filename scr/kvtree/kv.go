package kvtree

import (
	"blobio/internal/base/fault"
	"reflect"
	"strconv"
	"strings"
)

// At returns the tree below a path of keys, or nil if a key does not exist. Without keys it returns t.
func (t *Tree) At(keys ...string) *Tree {
	for _, k := range keys {
		if t = t.Get(k); t == nil {
			return nil
		}
	}
	return t
}

// Touch returns the tree below a path of keys. It creates missing elements.
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

// SetAt sets sub as the tree below a path of keys, and returns sub. It calls Set for the last key. Without keys it does nothing.
func (t *Tree) SetAt(sub *Tree, keys ...string) *Tree {
	if len(keys) == 0 {
		return nil
	}
	last := len(keys) - 1
	return t.Touch(keys[:last]...).Set(keys[last], sub)
}

// SetKV adds val to the values of key, and returns the tree below val. Other values are kept.
func (t *Tree) SetKV(key, val string) *Tree { return t.Touch(key, val) }

// GetKV returns the tree below a value of a key, or nil if the value does not exist.
func (t *Tree) GetKV(key, val string) *Tree { return t.At(key, val) }

// UnsetKV removes a value of a key. If no value is left, it removes the key too.
func (t *Tree) UnsetKV(key, val string) {
	sub := t.Get(key)
	sub.Unset(val)
	if sub.Len() == 0 {
		t.Unset(key)
	}
}

// SetKVInt is SetKV for a decimal number.
func (t *Tree) SetKVInt(key string, val int) *Tree { return t.SetKV(key, strconv.Itoa(val)) }

// GetKVInt is GetKV for a decimal number.
func (t *Tree) GetKVInt(key string, val int) *Tree { return t.GetKV(key, strconv.Itoa(val)) }

// UnsetKVInt is UnsetKV for a decimal number.
func (t *Tree) UnsetKVInt(key string, val int) { t.UnsetKV(key, strconv.Itoa(val)) }

// Setf is SetAt with keys made from arguments. format has one format for each key, separated by spaces: %s, %d, %lld, %lu, %llu,
// %#x, %#lx or %f, as in SCR. %p is not supported, because addresses are meaningless in files. An argument is a string, or a
// number of any type that suits the format. If Setf fails, it sets nothing, and the error wraps fault.ErrUsage.
func (t *Tree) Setf(sub *Tree, format string, args ...any) (*Tree, error) {
	keys, err := keysf(format, args)
	if err != nil {
		return nil, err
	}
	return t.SetAt(sub, keys...), nil
}

// Getf is At with keys made from arguments, as Setf makes them. It returns nil if a key does not exist.
func (t *Tree) Getf(format string, args ...any) (*Tree, error) {
	keys, err := keysf(format, args)
	if err != nil {
		return nil, err
	}
	return t.At(keys...), nil
}

func keysf(format string, args []any) ([]string, error) {
	verbs := strings.FieldsFunc(format, func(r rune) bool { return r == ' ' })
	if len(verbs) != len(args) || len(verbs) == 0 {
		return nil, fault.Usage("format %q is for %d keys, but there are %d arguments", format, len(verbs), len(args))
	}
	keys := make([]string, len(args))
	for i, verb := range verbs {
		key, ok := keyf(verb, args[i])
		if !ok {
			return nil, fault.Usage("format %q: %s cannot format an argument of type %T", format, verb, args[i])
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
