package judges

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"blobio/ffformat"
	"blobio/internal/base/vfs"
)

// ftiSizes are the sizes of variables 1 to 5, in units, at the seven checkpoints of the
// history in FTI's documentation of the format: new, grown and shrunk ones.
var ftiSizes = [7][5]int{{1, 2, 3}, {1, 2, 3, 4}, {1, 6, 7, 4}, {1, 6, 7, 4, 5}, {1, 5, 6, 4, 5}, {1, 8, 9, 4, 5}, {1, 1, 2, 4, 5}}

// ftiData is a variable at a checkpoint; only some of it changes from one to the next.
func ftiData(ckpt, id, unit int) []byte {
	b := make([]byte, unit*ftiSizes[ckpt-1][id-1])
	for i := range len(b) / 4 {
		x := uint32(id)*16777619 + uint32(i)*2654435761
		if i/256%7 == ckpt%7 {
			x += uint32(ckpt)
		}
		binary.LittleEndian.PutUint32(b[4*i:], x)
	}
	return b
}

// ftiContent are all variables of a checkpoint.
func ftiContent(ckpt, unit int) map[string][]byte {
	vars := map[string][]byte{}
	for id := 1; id <= 5; id++ {
		if b := ftiData(ckpt, id, unit); len(b) > 0 {
			vars[strconv.Itoa(id)] = b
		}
	}
	return vars
}

// ftiRead lets the script read a file, and compares all variables.
func ftiRead(t *testing.T, py, path string, want map[string][]byte) {
	t.Helper()
	a := ask(t, py, "read_fti.py", path)
	if len(a.Vars) != len(want) {
		t.Errorf("%s: %d variables, want %d", path, len(a.Vars), len(want))
	}
	for id, b := range want {
		if !bytes.Equal(a.raw[id], b) {
			t.Errorf("%s: variable %s: %d bytes, want %d, or others", path, id, len(a.raw[id]), len(b))
		}
	}
}

// ftiRefused fails the test unless the script refuses a file.
func ftiRefused(t *testing.T, py, path, why string) {
	t.Helper()
	out, err := command(py, filepath.Join("testdata", "read_fti.py"), os.DevNull, path).CombinedOutput()
	if err == nil || !strings.Contains(string(out), why) {
		t.Errorf("%s: want it refused for %q: %v\n%s", path, why, err, tail(string(out)))
	}
}

func ftiCreate(t *testing.T, path string) vfs.File {
	t.Helper()
	f, err := vfs.OS.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func ftiOpen(t *testing.T, path string) *ffformat.Reader {
	t.Helper()
	f := openFile(t, path)
	r, err := ffformat.NewReader(f, f.size, path, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestFTIReadsWhatWeWrite: full and differential checkpoints in all layouts, with new, growing
// and shrinking variables, and their conversions and compactions.
func TestFTIReadsWhatWeWrite(t *testing.T) {
	py := python(t, "hashlib", "json", "struct")
	const unit = 4000
	for l := ffformat.LayoutA; l <= ffformat.LayoutF; l++ {
		t.Run("layout "+l.String(), func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "dCPFile-Rank0.fti")
			dst := ftiCreate(t, path)
			w, err := ffformat.NewWriter(&ffformat.Options{Layout: l, BlockSize: 1024})
			if err != nil {
				t.Fatal(err)
			}
			var prev *ffformat.Digests
			for ckpt := 1; ckpt <= 7; ckpt++ {
				vars := ftiContent(ckpt, unit)
				o := ffformat.UpdateOptions{CkptID: int32(ckpt), Timestamp: int64(ckpt) * 1e9, Prev: prev, Differential: ckpt > 1, Fresh: ckpt == 1}
				var bufs []ffformat.VarBuf
				for id := int32(1); id <= 5; id++ {
					if b := vars[strconv.Itoa(int(id))]; b != nil {
						o.Vars = append(o.Vars, ffformat.VarSize{ID: id, Size: int64(len(b))})
						bufs = append(bufs, ffformat.VarBuf{ID: id, Data: b})
					}
				}
				u, err := w.Begin(dst, o)
				if err != nil {
					t.Fatal(err)
				}
				if err := u.AddAll(t.Context(), bufs); err != nil {
					t.Fatal(err)
				}
				res, err := u.Finish(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				prev = res.Digests
				ftiRead(t, py, path, vars)
			}
			for to := ffformat.LayoutA; to <= ffformat.LayoutF; to++ {
				for verb, f := range map[string]func(dst vfs.File) (*ffformat.File, error){
					"convert": func(dst vfs.File) (*ffformat.File, error) {
						return ffformat.Convert(t.Context(), ftiOpen(t, path), dst, &ffformat.Options{Layout: to})
					},
					"compact": func(dst vfs.File) (*ffformat.File, error) {
						return ffformat.Compact(t.Context(), ftiOpen(t, path), dst, &ffformat.Options{Layout: to})
					}} {
					out := filepath.Join(dir, fmt.Sprint(verb, int(to)))
					if _, err := f(ftiCreate(t, out)); err != nil {
						t.Fatal(err)
					}
					ftiRead(t, py, out, ftiContent(7, unit))
				}
			}
			if l != ffformat.LayoutF {
				return
			}
			fast, back := filepath.Join(dir, "fast"), filepath.Join(dir, "back")
			if _, err := ffformat.Convert(t.Context(), ftiOpen(t, path), ftiCreate(t, fast), &ffformat.Options{Hash: ffformat.Fast}); err != nil {
				t.Fatal(err)
			}
			ftiRefused(t, py, fast, "no layout's file block")
			if _, err := ffformat.Convert(t.Context(), ftiOpen(t, fast), ftiCreate(t, back), &ffformat.Options{}); err != nil {
				t.Fatal(err)
			}
			ftiRead(t, py, back, ftiContent(7, unit))
		})
	}
}

// TestFTIReadsWhatWeRepair: FTI reads a repaired file whose bytes of one variable were damaged, without that
// variable; and a repaired file whose file block was cut off.
func TestFTIReadsWhatWeRepair(t *testing.T) {
	py := python(t, "hashlib", "json", "struct")
	const unit = 1000
	dir := t.TempDir()
	path := filepath.Join(dir, "whole")
	w, err := ffformat.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	dst := ftiCreate(t, path)
	for _, ckpt := range []int{6, 7} {
		u, err := w.Begin(dst, ffformat.UpdateOptions{CkptID: int32(ckpt), Timestamp: 1})
		if err != nil {
			t.Fatal(err)
		}
		for id := 1; id <= 5; id++ {
			if err := u.Add(t.Context(), int32(id), ftiData(ckpt, id, unit)); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := u.Finish(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	ftiRead(t, py, path, ftiContent(7, unit))
	whole := contents(t, path)
	flipped := bytes.Clone(whole)
	flipped[ftiOpen(t, path).File().Containers(4)[0].Fptr] ^= 1
	bad := filepath.Join(dir, "bad")
	if err := os.WriteFile(bad, flipped, 0o666); err != nil {
		t.Fatal(err)
	}
	ftiRefused(t, py, bad, "hash of")

	fix := func(name string, b []byte) string {
		out := filepath.Join(dir, name)
		if _, err := ffformat.Repair(t.Context(), bytes.NewReader(b), int64(len(b)), name, ftiCreate(t, out), nil); err != nil {
			t.Fatal(err)
		}
		return out
	}
	want := ftiContent(7, unit)
	ftiRead(t, py, fix("cut", whole[:len(whole)-90]), want)
	delete(want, "4")
	ftiRead(t, py, fix("dropped", flipped), want)
}
