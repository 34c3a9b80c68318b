package redset

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"blobio/internal/base/durable"
	"blobio/internal/base/vfs"
)

// TestEncodeDurable checks that the files that Encode wrote survive a power loss.
func TestEncodeDurable(t *testing.T) {
	for _, o := range schemes {
		cl := newCluster(t, o, even[:5])
		cl.fs = afterCut(t, cl.fs)
		must(t, cl.encode("shared", cl.own))
		same(t, fromMem(t, cl.fs.(*vfs.Mem).CrashClone(vfs.CrashOptions{}), "."), fromMem(t, cl.fs, "."))
	}
}

// TestEncodeOrder checks that a redundancy file is renamed after the files that belong to it, because a redundancy file is
// trusted when it has its name.
func TestEncodeOrder(t *testing.T) {
	for _, o := range schemes {
		cl := newCluster(t, o, even[:5])
		last := make([]string, cl.n)
		must(t, cl.encode("shared", func(rank int) vfs.FS {
			return vfs.NewFault(cl.fs, func(op vfs.Op) error {
				if op.Kind == vfs.OpRename {
					last[rank] = op.New
				}
				return nil
			})
		}))
		for r, name := range last {
			if name == "" || strings.HasSuffix(name, sumSuffix) || strings.HasSuffix(name, fmt.Sprintf("/rs.%d.redset", r)) {
				t.Errorf("%v: the last file of rank %d is %q", o.Scheme, r, name)
			}
		}
	}
}

func replace(t *testing.T, fsys vfs.FS, name string, b []byte) {
	t.Helper()
	must(t, durable.Remove(fsys, name))
	must(t, vfs.WriteFile(fsys, name, b))
}

// TestRebuiltIsCompared checks that rebuilt bytes are compared with the checksum that the neighbours have. If they differ,
// Recover must return an error and change nothing.
func TestRebuiltIsCompared(t *testing.T) {
	for _, o := range []Options{{Scheme: XOR, SetSize: 4}, {Scheme: RS, SetSize: 4, K: 2}} {
		for _, mode := range []string{"shared", "isolated"} {
			cl := newCluster(t, o, even[:4])
			must(t, cl.encode("shared", cl.own))
			cl.lose(t, 1)
			for r := range cl.n {
				if r == 1 {
					continue
				}
				name := fmt.Sprintf("n%d/rs.%d%s", r, r, sumSuffix)
				b, err := vfs.ReadFile(cl.fs, name, 1<<20)
				must(t, err)
				tree, _, err := decodeTree(name, b)
				must(t, err)
				mt := tree.At("MEMBER", "1")
				if mt == nil {
					continue
				}
				crc, err := mt.At("FILE", "0", "CRC").Value("0").CRC32()
				must(t, err)
				putCRC(mt, crc^1, "FILE", "0", "CRC", "0")
				if b, err = encodeTree(tree); err != nil {
					t.Fatal(err)
				}
				replace(t, cl.fs, name, b)
			}
			before := fromMem(t, cl.fs, ".")
			_, err := cl.recover(mode, cl.own)
			var lost *LostError
			if !errors.As(err, &lost) || !strings.Contains(lost.Detail, "do not match their checksum") {
				t.Errorf("%s %s: %v", o.label(), mode, err)
			}
			same(t, fromMem(t, cl.fs, "."), before)
		}
	}
}

// again writes new content to the files, with the same names and sizes, at a later time.
func (cl *cluster) again(t *testing.T) {
	t.Helper()
	for _, names := range cl.files {
		for _, name := range names {
			b, err := vfs.ReadFile(cl.fs, name, 1<<20)
			must(t, err)
			for i := range b {
				b[i] ^= byte(i%7) + 1
			}
			replace(t, cl.fs, name, b)
			m, err := vfs.MetaOf(cl.fs, name)
			must(t, err)
			m.Mtime = m.Mtime.Add(time.Hour)
			must(t, vfs.SetMeta(cl.fs, name, m))
		}
	}
}

// ending returns the files whose names have one of the suffixes.
func ending(all map[string][]byte, with ...string) map[string][]byte {
	out := maps.Clone(all)
	maps.DeleteFunc(out, func(name string, _ []byte) bool {
		for _, w := range with {
			if strings.HasSuffix(name, w) {
				return false
			}
		}
		return true
	})
	return out
}

// TestOlderSums lets another program, which writes no checksums, replace the redundancy files. The checksums of the older encode
// must be ignored.
func TestOlderSums(t *testing.T) {
	for _, o := range []Options{{Scheme: XOR, SetSize: 4}, {Scheme: RS, SetSize: 4, K: 2}, {Scheme: Partner, SetSize: 4}} {
		cl := newCluster(t, o, even[:4])
		must(t, cl.encode("shared", cl.own))
		older := ending(fromMem(t, cl.fs, "."), sumSuffix)
		cl.again(t)
		must(t, cl.encode("shared", cl.own))
		for name, b := range older {
			replace(t, cl.fs, name, b)
		}
		whole := fromMem(t, cl.fs, ".")
		reps, err := cl.recover("isolated", cl.own)
		if err != nil {
			t.Errorf("%s: %v", o.label(), err)
			continue
		}
		for r, rep := range reps {
			if len(rep.Corrupt)+len(rep.Rebuilt) > 0 || rep.Verified {
				t.Errorf("%s: rank %d: %+v", o.label(), r, rep)
			}
		}
		same(t, fromMem(t, cl.fs, "."), whole)
	}
}

// TestOlderRedundancy lets redundancy files of an older encode with another scheme reappear. They must not be used.
func TestOlderRedundancy(t *testing.T) {
	cl := newCluster(t, Options{Scheme: XOR, SetSize: 4}, even[:4])
	must(t, cl.encode("shared", cl.own))
	xor := fromMem(t, cl.fs, ".")
	maps.DeleteFunc(xor, func(name string, _ []byte) bool { return !strings.Contains(name, ".xor.") })
	if len(xor) != cl.n {
		t.Fatal(len(xor))
	}
	cl.again(t)
	cl.o = Options{Scheme: RS, SetSize: 4, K: 2}
	must(t, cl.encode("shared", cl.own))
	whole := fromMem(t, cl.fs, ".")
	for name := range whole {
		if strings.Contains(name, ".xor.") {
			t.Errorf("%s is left of the older encode", name)
		}
	}
	for name, b := range xor {
		replace(t, cl.fs, name, b)
	}
	for _, name := range cl.files[1] {
		must(t, cl.fs.Remove(name))
	}
	flip(t, cl.fs, "n2/f0", 5)
	if _, err := cl.recover("isolated", cl.own); err != nil {
		t.Fatal(err)
	}
	got := fromMem(t, cl.fs, ".")
	for name, b := range whole {
		if !bytes.Equal(got[name], b) {
			t.Errorf("%s is not what it was", name)
		}
	}
}
