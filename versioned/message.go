package versioned

import (
	"blobio/internal/fault"
	"encoding/binary"
	"slices"
)

// message is what a rank tells all others when a version is committed. It goes from rank to rank only, all of the same build: never to a file.
type message struct {
	failed  bool
	number  int64 // of the version, and its label: all ranks pass the same
	label   string
	time    int64     // of rank 0
	changed int64     // bytes of chunks that are new
	file    *fileInfo // of the leader of a process
	dead    []string  // files that no version needs any more
}

func (m *message) encode() []byte {
	le := binary.LittleEndian
	str := func(b []byte, s string) []byte { return append(binary.AppendUvarint(b, uint64(len(s))), s...) }
	b := make([]byte, 0, 160)
	b = append(b, byte(btoi(m.failed)), byte(btoi(m.file != nil)))
	b = le.AppendUint64(b, uint64(m.time))
	b = le.AppendUint64(b, uint64(m.changed))
	b = str(binary.AppendVarint(b, m.number), m.label)
	b = binary.AppendUvarint(b, uint64(len(m.dead)))
	for _, n := range m.dead {
		b = str(b, n)
	}
	if f := m.file; f != nil {
		b = str(str(b, f.Name), f.Sum)
		for _, v := range [...]int64{int64(f.Node), int64(f.Gen), f.Born, f.From, f.Size} {
			b = binary.AppendVarint(b, v)
		}
		b = binary.AppendUvarint(b, uint64(len(f.Segs)))
		for _, s := range f.Segs {
			b = binary.AppendUvarint(b, uint64(s))
		}
	}
	return b
}

// decode reads what encode has made.
func (m *message) decode(b []byte) error {
	*m = message{}
	ok := len(b) >= 18
	if !ok {
		return fault.At("", int64(len(b)), "message", ErrTruncated, "%d bytes, want 18", len(b))
	}
	m.failed = b[0] != 0
	file := b[1] != 0
	m.time, m.changed = int64(binary.LittleEndian.Uint64(b[2:])), int64(binary.LittleEndian.Uint64(b[10:]))
	all := len(b)
	b = b[18:]
	count := func() int { // no more than bytes that follow: each thing has one at least
		v, n := binary.Uvarint(b)
		if n <= 0 || v > uint64(len(b)-n) {
			ok = false
			return 0
		}
		b = b[n:]
		return int(v)
	}
	str := func() string {
		n := count()
		s := string(b[:n])
		b = b[n:]
		return s
	}
	number := func() int64 {
		v, n := binary.Varint(b)
		if n <= 0 {
			ok = false
			return 0
		}
		b = b[n:]
		return v
	}
	m.number, m.label = number(), str()
	for n := count(); ok && n > 0; n-- {
		m.dead = append(m.dead, str())
	}
	if file && ok {
		f := &fileInfo{Name: str(), Sum: str()}
		f.Node, f.Gen, f.Born, f.From, f.Size = int(number()), int(number()), number(), number(), number()
		for n := count(); ok && n > 0; n-- {
			v, k := binary.Uvarint(b)
			if ok = k > 0; ok {
				b = b[k:]
				f.Segs = append(f.Segs, int(v))
			}
		}
		m.file = f
	}
	if !ok || len(b) > 0 {
		return fault.At("", int64(all-len(b)), "message", ErrCorrupt, "%d bytes", all)
	}
	return nil
}

// differ is the error of ranks that want different versions.
func differ(name string, rank int, number int64, label string, number0 int64, label0 string) error {
	return fault.Usage("array %s: rank %d commits version %d %q, rank 0 %d %q", name, rank, number, label, number0, label0)
}

// splitZero splits names that are ended by zeros.
func splitZero(b []byte) (out []string) {
	for len(b) > 0 {
		i := slices.Index(b, 0)
		out, b = append(out, string(b[:i])), b[i+1:]
	}
	return out
}
