package fti_test

import (
	"bytes"
	"context"
	"crypto/md5"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"blobio/cmd/blobio/internal/clitest"
	"blobio/ffformat"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
)

// ffToys makes two checkpoints of three variables: variable 1 has int32 values, variable 2 grew and then shrank, and variable 3
// has doubles and is not in the first checkpoint.
func ffToys(t *testing.T) (dir, one, two string) {
	t.Helper()
	dir = t.TempDir()
	var a, c []byte
	for i := range 100 {
		a = binary.LittleEndian.AppendUint32(a, uint32(i-50))
		c = binary.LittleEndian.AppendUint64(c, math.Float64bits(float64(i)/8))
	}
	b := bytes.Repeat([]byte("checkpoint "), 40)
	one = ffWrite(t, filepath.Join(dir, "Ckpt1-Rank0.fti"), 1,
		[]ffPart{{1, 0, 0, 400, a}, {2, 0, 0, 200, b[:200]}}, []ffPart{{2, 1, 200, 240, b[200:440]}})
	a = bytes.Clone(a)
	a[40], a[41] = 7, 7
	two = ffWrite(t, filepath.Join(dir, "Ckpt2-Rank0.fti"), 2,
		[]ffPart{{1, 0, 0, 400, a}, {2, 0, 0, 200, b[:90]}}, []ffPart{{2, 1, 200, 240, nil}}, []ffPart{{3, 0, 0, 800, c}})
	return dir, one, two
}

// dumped returns the values that ff dump prints as JSON, one per line.
func dumped(t *testing.T, args ...string) (lines string) {
	t.Helper()
	var d struct{ Values []json.RawMessage }
	clitest.Check(t, json.Unmarshal([]byte(clitest.Good(t, append([]string{"ff", "dump", "--json"}, args...)...)), &d))
	for _, v := range d.Values {
		lines += string(v) + "\n"
	}
	return lines
}

// ffPart is a container of a test checkpoint file.
type ffPart struct {
	id, number int32
	dptr, room int64
	data       []byte // nil: no content
}

// ffWrite writes a checkpoint file of layout F from the format's description alone. Its checksum follows the writer's rule, which
// FTI's reader rejects if a container is empty.
func ffWrite(t *testing.T, path string, ckpt int32, blocks ...[]ffPart) string {
	t.Helper()
	le := binary.LittleEndian
	var data, meta []byte
	all := md5.New()
	for _, b := range blocks {
		head := le.AppendUint32(nil, uint32(len(b)))
		size, records := uint64(0), []byte(nil)
		for _, c := range b {
			r := le.AppendUint32(nil, uint32(c.id))
			r = le.AppendUint32(r, uint32(c.number))
			has := byte(0)
			if c.data != nil {
				has = 1
			}
			r = append(r, has, 0)
			for _, v := range []int64{c.dptr, int64(len(data)), int64(len(c.data)), c.room} {
				r = le.AppendUint64(r, uint64(v))
			}
			sum := md5.Sum(c.data)
			all.Write(sum[:])
			records = append(records, append(r, sum[:]...)...)
			data = append(append(data, c.data...), make([]byte, c.room-int64(len(c.data)))...)
			size += uint64(c.room)
		}
		meta = append(append(meta, le.AppendUint64(head, size)...), records...)
	}
	total := uint64(len(data) + len(meta) + 106)
	checksum := append([]byte(hex.EncodeToString(all.Sum(nil))), 0)
	stamp := le.AppendUint32(nil, 123456789)
	sizes := le.AppendUint64(nil, total)
	sizes = le.AppendUint64(sizes, uint64(len(meta)+106))
	sizes = le.AppendUint64(sizes, uint64(len(data)))
	sizes = le.AppendUint64(sizes, total)
	none := le.AppendUint64(nil, math.MaxUint64)
	my := md5.New()
	for _, p := range [][]byte{checksum, stamp, sizes, none, none} {
		my.Write(p)
	}
	fb := append(checksum, my.Sum(nil)...)
	fb = le.AppendUint32(fb, uint32(ckpt))
	for _, p := range [][]byte{sizes, none, none, stamp, {0}} {
		fb = append(fb, p...)
	}
	clitest.Check(t, os.WriteFile(path, append(append(data, meta...), fb...), 0o666))
	return path
}

// ffWhole reports whether Check has no findings in a file.
func ffWhole(fsys vfs.FS, name string) bool {
	f, err := fsys.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return false
	}
	for x := range ffformat.Check(context.Background(), f, size, name, nil) {
		if x.Severity != fault.Note {
			return false
		}
	}
	return true
}
