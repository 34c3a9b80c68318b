package redset

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"blobio/internal/crashtest"
	"blobio/internal/vfs"
)

// mapFS is a file system whose files can be mapped: the map is a copy, which is made unusable at its end.
type mapFS struct {
	vfs.FS
	mu   sync.Mutex
	maps int // made
	open int // of these, not ended
}

func mapped(fsys vfs.FS) *mapFS { return &mapFS{FS: fsys} }

type mapFile struct {
	vfs.File
	fs *mapFS
}

func (m *mapFS) file(f vfs.File, err error) (vfs.File, error) {
	if err != nil {
		return nil, err
	}
	return mapFile{f, m}, nil
}

func (m *mapFS) Create(name string) (vfs.File, error)         { return m.file(m.FS.Create(name)) }
func (m *mapFS) Open(name string) (vfs.File, error)           { return m.file(m.FS.Open(name)) }
func (m *mapFS) OpenRW(name string) (vfs.File, error)         { return m.file(m.FS.OpenRW(name)) }
func (m *mapFS) FileMeta(name string) (vfs.Meta, error)       { return vfs.MetaOf(m.FS, name) }
func (m *mapFS) SetFileMeta(name string, meta vfs.Meta) error { return vfs.SetMeta(m.FS, name, meta) }

func (f mapFile) Map(off, n int64) (*vfs.Mapping, error) {
	b := make([]byte, n)
	if k, err := f.ReadAt(b, off); int64(k) < n {
		return nil, errors.Join(io.ErrUnexpectedEOF, err)
	}
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	f.fs.maps++
	f.fs.open++
	return vfs.NewMapping(b, nil, func() error {
		f.fs.mu.Lock()
		defer f.fs.mu.Unlock()
		f.fs.open--
		clear(b)
		return nil
	}), nil
}

// mapSizes are sizes of files that are mapped, or nearly.
var mapSizes = [][]int{{50000}, {minMap, 17000}, {0, 33333}, {minMap - 1}}

// TestMappedIsRead: files that are mapped and files that are read give the same redundancy, and the same rebuilt files; no
// map remains.
func TestMappedIsRead(t *testing.T) {
	rng := rand.New(rand.NewSource(5))
	all := [][][]int{mapSizes, {{200000}, {3 * localPiece}, {1}, {localPiece + 1, minMap, 7}}}
	for range crashtest.Times(1, 5) {
		var sizes [][]int
		for range 4 {
			sizes = append(sizes, []int{rng.Intn(300000), rng.Intn(40000)})
		}
		all = append(all, sizes)
	}
	for _, sizes := range all {
		for _, o := range append(crashSchemes, Options{Scheme: Single}) {
			base := newCluster(t, o, sizes)
			view := mapped(base.fs)
			must(t, base.encode("shared", base.own))
			want := fromMem(t, base.fs, ".")
			must(t, base.encode("shared", func(int) vfs.FS { return view }))
			same(t, fromMem(t, view.FS, "."), want)
			if o.Scheme != Single {
				base.lose(t, 1)
				if _, err := base.recover("shared", func(int) vfs.FS { return view }); err != nil {
					t.Fatal(err)
				}
				same(t, fromMem(t, view.FS, "."), want)
			}
			if view.maps == 0 || view.open != 0 {
				t.Errorf("%s: %d maps, of which %d remain", o.label(), view.maps, view.open)
			}
		}
	}
}

// TestManyMaps: of more files than are held open, only as many are mapped.
func TestManyMaps(t *testing.T) {
	sizes := make([][]int, 3)
	for r := range sizes {
		for range maxOpen + 9 {
			sizes[r] = append(sizes[r], minMap)
		}
	}
	for _, o := range []Options{{Scheme: XOR}, {Scheme: Partner}} {
		cl := newCluster(t, o, sizes)
		view := mapped(cl.fs)
		must(t, cl.encode("shared", func(int) vfs.FS { return view }))
		want := fromMem(t, cl.fs, ".")
		cl.lose(t, 2)
		if _, err := cl.recover("shared", func(int) vfs.FS { return view }); err != nil {
			t.Fatal(err)
		}
		same(t, fromMem(t, cl.fs, "."), want)
		if view.open != 0 {
			t.Errorf("%d maps remain", view.open)
		}
	}
}

// onDisk is the cluster in directories of the operating system, entered.
func onDisk(t *testing.T, cl *cluster) {
	t.Helper()
	dir := t.TempDir()
	t.Chdir(dir)
	for name, b := range fromMem(t, cl.fs, ".") {
		must(t, errors.Join(os.MkdirAll(filepath.Dir(name), 0o777), os.WriteFile(name, b, 0o666)))
	}
	cl.fs = vfs.OS
}

func needMap(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f")
	must(t, os.WriteFile(name, []byte("x"), 0o666))
	f, err := vfs.OS.Open(name)
	must(t, err)
	defer f.Close()
	m, err := vfs.Map(f, 0, 1)
	if err != nil {
		t.Skipf("files cannot be mapped on %s: %v", runtime.GOOS, err)
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
}

// TestTruncatedWhileMapped: a file that becomes shorter while it is mapped is an error that names it, on all ranks, and not the
// end of the process.
func TestTruncatedWhileMapped(t *testing.T) {
	needMap(t)
	for _, o := range append(crashSchemes, Options{Scheme: Single}) {
		for _, when := range []vfs.OpKind{vfs.OpMap, vfs.OpWrite} { // once it is mapped; once something was written
			if o.Scheme == Single && when == vfs.OpWrite {
				continue // writes next to nothing
			}
			t.Run(fmt.Sprint(o.label(), when), func(t *testing.T) {
				cl := newCluster(t, o, [][]int{{900000}, {900001}, {900002}, {900003}})
				onDisk(t, cl)
				var once sync.Once
				isMapped, cut := false, false
				var mu sync.Mutex
				f := vfs.NewFault(vfs.OS, func(op vfs.Op) error {
					mu.Lock()
					defer mu.Unlock()
					if op.Kind == vfs.OpMap && strings.HasSuffix(op.Name, "f0") {
						isMapped = true
						return nil // the file is cut at the next operation, whatever it is
					}
					if isMapped && (when == vfs.OpMap || op.Kind == when && op.N > 10000) && op.Kind != vfs.OpStat {
						once.Do(func() {
							cut = true
							if err := os.Truncate("n1/f0", 5); err != nil {
								t.Error(err)
							}
						})
					}
					return nil
				})
				err := cl.encode("shared", func(int) vfs.FS { return f })
				if o.Scheme == Single && cut && err == nil {
					return // the file was cut when it had been summed already: nothing reads it again
				}
				if !cut || err == nil || !strings.Contains(err.Error(), ErrChanged.Error()) || !strings.Contains(err.Error(), "n1/f0") {
					t.Errorf("cut %v, error %v, want ErrChanged of n1/f0", cut, err)
				}
				left, _ := filepath.Glob("n*/rs.*")
				if len(left) > 0 {
					t.Errorf("%v is there", left)
				}
			})
		}
	}
}

// cutCoder cuts a file before it codes.
type cutCoder struct {
	coder
	cut func()
}

func (c cutCoder) code(out, in [][]byte) error {
	c.cut()
	return c.coder.code(out, in)
}

// TestCutInTheMiddle: a file cut between the checksum and the use of its bytes is one that could not be read, with its
// name; the others' outcomes are whole.
func TestCutInTheMiddle(t *testing.T) {
	needMap(t)
	const n = 3 * localPiece
	lay := newLayout(XOR, 1, [][]int64{{n}, {n}, {n}})
	t.Chdir(t.TempDir())
	e := &engine{lay: lay, me: -1}
	b := make([]byte, n)
	for m := range 3 {
		rand.New(rand.NewSource(int64(m))).Read(b)
		name := fmt.Sprint("f", m)
		must(t, os.WriteFile(name, b, 0o666))
		s := &store{in: newLogical(vfs.OS, false)}
		s.in.add(name, n)
		e.stores = append(e.stores, s)
		e.ext = append(e.ext, lay.extents([]int64{n}))
	}
	j := &job{c: 0, code: cutCoder{xorCoder{}, func() {
		if err := os.Truncate("f1", 0); err != nil {
			t.Error(err)
		}
	}}}
	for _, el := range lay.elems(0) {
		if el.parity {
			j.out = append(j.out, el)
		} else {
			j.in = append(j.in, el)
		}
	}
	e.jobs = []*job{j}
	must(t, e.run(t.Context()))
	for x, el := range j.in {
		o := e.in[0][x]
		if o.bad != (el.member == 1) {
			t.Errorf("member %d: bad %v", el.member, o.bad)
		}
		if el.member != 1 {
			whole, err := os.ReadFile(fmt.Sprint("f", el.member))
			must(t, err)
			if want := crc32.ChecksumIEEE(whole[el.off:][:lay.chunk]); o.crc[0] != want {
				t.Errorf("member %d: sum %#x, want %#x", el.member, o.crc[0], want)
			}
		} else if o.err == nil || !strings.Contains(o.err.Error(), "f1") {
			t.Errorf("error %v does not name f1", o.err)
		}
	}
	for _, s := range e.stores {
		if err := s.close(); err != nil {
			t.Error(err)
		}
	}
}

// TestSurvivorCut: a survivor that becomes shorter while others are rebuilt is lost too, or was whole in time: never is
// anything rebuilt of what is not there.
func TestSurvivorCut(t *testing.T) {
	needMap(t)
	for _, o := range []Options{{Scheme: XOR}, {Scheme: RS, K: 2}, {Scheme: Partner}} {
		t.Run(o.label(), func(t *testing.T) {
			cl := newCluster(t, o, [][]int{{900000}, {900001}, {900002}, {900003}})
			whole := fromMem(t, cl.fs, ".")
			onDisk(t, cl)
			must(t, cl.encode("shared", cl.own))
			must(t, os.RemoveAll("n1"))
			var once sync.Once
			f := vfs.NewFault(vfs.OS, func(op vfs.Op) error {
				if op.Kind == vfs.OpWrite && op.N > 10000 {
					once.Do(func() {
						if err := os.Truncate("n3/f0", 5); err != nil {
							t.Error(err)
						}
					})
				}
				return nil
			})
			_, err := cl.recover("shared", func(int) vfs.FS { return f })
			if err != nil {
				if !as(err, new(*LostError)) {
					t.Errorf("error %v, want a LostError", err)
				}
				return
			}
			for name, want := range whole {
				got, err := os.ReadFile(name)
				if err != nil || len(got) != len(want) && name != "n3/f0" || len(got) == len(want) && string(got) != string(want) {
					t.Errorf("%s is not as it was (%v)", name, err)
				}
			}
		})
	}
}

// TestGuarded: a fault elsewhere is not taken for one of a view.
func TestGuarded(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("the panic was swallowed")
		}
	}()
	var p *[1 << 20]byte
	guarded([][]byte{make([]byte, 10), nil}, func() { _ = touch(p[:]) })
}
