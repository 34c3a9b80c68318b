package redset

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
)

// child returns the tree below a path of keys, or nil.
func child(t *tree, keys ...string) *tree {
	for _, k := range keys {
		if t = t.Get(k); t == nil {
			return nil
		}
	}
	return t
}

// touch returns the tree below a path, made where it is not there.
func touch(t *tree, keys ...string) *tree {
	for _, k := range keys {
		next := t.Get(k)
		if next == nil {
			next = t.Set(k, nil)
		}
		t = next
	}
	return t
}

// attach makes sub the tree below a path.
func attach(t, sub *tree, keys ...string) {
	last := len(keys) - 1
	touch(t, keys[:last]...).Set(keys[last], sub)
}

// put makes v the only value below a path.
func put(t *tree, v any, keys ...string) {
	sub := newTree()
	sub.Set(fmt.Sprint(v), nil)
	attach(t, sub, keys...)
}

// text returns the only value of a key.
func text(t *tree, key string) (string, error) {
	v := child(t, key)
	if v.Len() != 1 {
		return "", fmt.Errorf("%s has %d values, want one", key, v.Len())
	}
	for k := range v.All() {
		return k, nil
	}
	return "", nil
}

// reader reads numbers and keeps the first error.
type reader struct {
	t   *tree
	err error
}

// int64 returns a number in lo ... hi, or lo after an error.
func (r *reader) int64(key string, lo, hi int64) int64 {
	s, err := text(r.t, key)
	var n int64
	if err == nil {
		if n, err = strconv.ParseInt(strings.TrimSpace(s), 10, 64); err != nil {
			err = fmt.Errorf("%s is %.40q, want a number", key, s)
		} else if n < lo || n > hi {
			err = fmt.Errorf("%s is %d, want %d to %d", key, n, lo, hi)
		}
	}
	if err != nil {
		if r.err == nil {
			r.err = err
		}
		return lo
	}
	return n
}

// int is int64 for what is used as an int.
func (r *reader) int(key string, lo, hi int) int { return int(r.int64(key, int64(lo), int64(hi))) }

// crc returns a CRC-32 as the reference writes one: 0x and lower-case hex digits, or 0.
func (r *reader) crc(key string) uint32 {
	s, err := text(r.t, key)
	var n uint64
	if err == nil {
		n, err = strconv.ParseUint(s, 0, 32)
	}
	if err != nil && r.err == nil {
		r.err = fmt.Errorf("%s: %w", key, err)
	}
	return uint32(n)
}

// putCRC is the reverse of reader.crc.
func putCRC(t *tree, crc uint32, keys ...string) {
	s := "0"
	if crc != 0 {
		s = fmt.Sprintf("%#x", crc)
	}
	put(t, s, keys...)
}

// recordSum returns the checksum at the end of a record.
func recordSum(record []byte) uint32 {
	if len(record) < 4 {
		return 0
	}
	return binary.BigEndian.Uint32(record[len(record)-4:])
}
