package kvtree

import (
	"blobio/internal/base/fault"
	"encoding/binary"
	"fmt"
	"math"
	"strings"
)

// PackedSize returns the length in bytes of the packed form. It returns the same errors as Pack.
func PackedSize(t *Tree) (int64, error) { return packedSize(t, 1) }

func packedSize(t *Tree, depth int) (int64, error) {
	if depth > topDepth {
		return 0, fmt.Errorf("more than %d levels: %w", topDepth, ErrTooLarge)
	}
	size := int64(countLen)
	if t == nil {
		return size, nil
	}
	for _, e := range t.elems {
		if e.sub == nil {
			continue
		}
		if strings.IndexByte(e.key, 0) >= 0 {
			return 0, fault.Usage("key %.80q holds a NUL byte", e.key)
		}
		n := int64(countLen)
		if len(e.sub.elems) > 0 {
			var err error
			if n, err = packedSize(e.sub, depth+1); err != nil {
				return 0, err
			}
		}
		size += int64(len(e.key)) + 1 + n
	}
	return size, nil
}

// Pack returns the packed form, with elements in list order. The error wraps fault.ErrUsage if a key has a NUL byte, or
// ErrTooLarge if there are more than 2^20 levels, for example in a tree that contains itself.
func Pack(t *Tree) ([]byte, error) {
	size, err := PackedSize(t)
	if err != nil {
		return nil, err
	}
	if size > math.MaxInt {
		return nil, fmt.Errorf("a tree of %d bytes: %w", size, ErrTooLarge)
	}
	return appendTree(make([]byte, 0, size), t), nil
}

// appendTree appends the packed form of a tree. packedSize must have accepted the tree.
func appendTree(b []byte, t *Tree) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(t.Len()))
	if t == nil {
		return b
	}
	for i := len(t.elems) - 1; i >= 0; i-- {
		if e := &t.elems[i]; e.sub != nil {
			b = append(append(b, e.key...), 0)
			b = appendTree(b, e.sub)
		}
	}
	return b
}

// Unpack reads a packed tree and keeps the order of its elements. The tree must fill all of b. SCR's function reverses the order
// at each level, and SCR's file reader reverses it again. Offsets in errors are offsets in b.
func Unpack(b []byte, o *Options) (*Tree, error) {
	opts, err := o.fill()
	if err != nil {
		return nil, err
	}
	if int64(len(b)) > opts.MaxBytes {
		return nil, opts.fault(0, "packed tree", ErrTooLarge, "%d bytes, limit %d", len(b), opts.MaxBytes)
	}
	t, end, _, err := unpack(b, 0, &opts)
	if err == nil && end < len(b) {
		return nil, opts.fault(int64(end), "packed tree", ErrCorrupt, "%d bytes after the root", len(b)-end)
	}
	return t, err
}
