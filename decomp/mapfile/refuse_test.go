package mapfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"blobio/decomp"
	"blobio/internal/base/fault"
)

func TestSniffRefuses(t *testing.T) {
	bp := make([]byte, 300) // the footer of ADIOS 1 and of ADIOS 2 BP3
	for i, off := range []uint64{40, 120, 200} {
		binary.LittleEndian.PutUint64(bp[272+8*i:], off)
	}
	bp[299] = 3
	bp2 := append(make([]byte, 200), "ADIOS-BP v2.8.3\x00\x00\x00\x00\x00\x00\x00\x00\x00........"...)
	for _, c := range []struct {
		name  string
		data  []byte
		class error
		say   string
	}{
		{"empty", nil, fault.ErrTruncated, "empty"},
		{"BP3", bp, fault.ErrUnsupported, "ADIOS BP3"},
		{"BP3 with a tag", bp2, fault.ErrUnsupported, "ADIOS BP3"},
		{"BP4", append([]byte("ADIOS-BP v2.8.3 Index Table"), make([]byte, 100)...), fault.ErrUnsupported, "ADIOS BP index"},
		{"gzip", append([]byte("\x1f\x8b\x08"), make([]byte, 100)...), fault.ErrNotFormat, "gzip"},
		{"text", []byte("hello, world"), fault.ErrNotFormat, `begins with "hello, world"`},
		{"CDF of another version", []byte("CDF\x07xxxxxxxx"), nil, ""},
	} {
		_, err := Read(bytes.NewReader(c.data), int64(len(c.data)), c.name)
		if err == nil || c.class != nil && !errors.Is(err, c.class) || !strings.Contains(err.Error(), c.say) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	dir := t.TempDir()
	if _, err := Open(dir); !errors.Is(err, fault.ErrNotFormat) {
		t.Errorf("a directory: %v", err)
	}
	must(os.WriteFile(filepath.Join(dir, "md.idx"), nil, 0o600))
	if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), "BP4") {
		t.Errorf("a directory of ADIOS: %v", err)
	}
	if _, err := Open(filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	if _, err := Open(); !errors.Is(err, fault.ErrUsage) {
		t.Error(err)
	}
	one, two := filepath.Join(dir, "1.dat"), filepath.Join(dir, "2.dat")
	for p, s := range map[string]string{one: "version 2001 npes 3 ndims 1\n5\n", two: "version 2001 npes 4 ndims 1\n5\n"} {
		must(os.WriteFile(p, []byte(s), 0o600))
	}
	if f, err := Open(one, one); err != nil || len(f.Maps) != 2 {
		t.Errorf("%+v, %v", f, err)
	}
	if _, err := Open(one, two); !errors.Is(err, fault.ErrUsage) {
		t.Errorf("other numbers of processes: %v", err)
	}
}

// small returns a small file of two maps. The second map has fillers.
func small(t testing.TB) *File {
	a, b := decomp.Regular([]int64{4, 6}, 3), decomp.Regular([]int64{30}, 3)
	f := need(FromMaps(a, b))
	f.Maps[1].FillStarts = []int64{1, 0, 1}
	f.Maps[0].Elems = a
	f.CommandLine = "test"
	return f
}

// A truncated file gives a typed error and no panic.
func TestTruncated(t *testing.T) {
	for name, data := range both(t, small(t)) {
		step := max(1, len(data)/3000)
		for n := 0; n < len(data); n += step {
			if _, err := Read(bytes.NewReader(data[:n]), int64(n), name); err == nil {
				t.Fatalf("%s cut at %d of %d is accepted", name, n, len(data))
			}
		}
	}
}

func both(t testing.TB, f *File) map[string][]byte {
	var h bytes.Buffer
	must(WriteHDF5(&h, f, nil))
	return map[string][]byte{"CDF": writeCDF(t, f, nil), "HDF5": h.Bytes()}
}

// patch returns the file with the four bytes before or after a mark replaced.
func patch(t *testing.T, data []byte, at int, v uint32) []byte {
	t.Helper()
	out := bytes.Clone(data)
	binary.BigEndian.PutUint32(out[at:], v)
	return out
}

func TestRefusesBadMaps(t *testing.T) {
	data := writeCDF(t, small(t), nil)
	// order in the file: D1.nreqs fill_starts offsets lengths raw_nreqs raw_offsets, D2. ...
	at := cdfHeaderAlign
	reqs := at + 2*4*3
	for _, c := range []struct {
		name  string
		data  []byte
		class error
		say   string
	}{
		{"nreqs too large", patch(t, data, at, 1<<30), fault.ErrCorrupt, "the sum of D1.nreqs"},
		{"nreqs too small", patch(t, data, at, 0), fault.ErrCorrupt, "the sum of D1.nreqs"},
		{"nreqs negative", patch(t, data, at, 1<<31), fault.ErrCorrupt, "D1.nreqs[0]"},
		{"fill start", patch(t, data, at+12, 99), fault.ErrCorrupt, "D1.fill_starts[0]: 99"},
		{"fill start one too large", patch(t, data, at+12, 3), fault.ErrCorrupt, "D1.fill_starts[0]: 3"},
		{"offset", patch(t, data, reqs, 24), fault.ErrRange, "D1.offsets[0]"},
		{"negative offset", patch(t, data, reqs+4, 1<<31), fault.ErrRange, "rank 0: request 1"},
		{"no processes", bytes.Replace(data, []byte("decomp_nprocs"), []byte("nothing_procs"), 1), fault.ErrNotFormat, "decomp_nprocs"},
		{"no map", bytes.Replace(bytes.Replace(data, []byte("num_decomp"), []byte("num_nothin"), 1), []byte("D1.dims"), []byte("D9.dims"), 1),
			fault.ErrNotFormat, "num_decomp"},
		{"a map that nothing counts", bytes.Replace(bytes.Replace(data, []byte("num_decomp"), []byte("num_nothin"), 1), []byte("D2.dims"), []byte("D9.dims"), 1),
			fault.ErrCorrupt, "attribute D2.dims: missing"},
		{"no lengths", bytes.Replace(data, []byte("D1.lengths"), []byte("D9.lengths"), 1), fault.ErrCorrupt, "D1.lengths"},
		{"no dims", bytes.Replace(data, []byte("D1.dims"), []byte("D9.dims"), 1), fault.ErrCorrupt, "D1.dims: missing"},
	} {
		_, err := Read(bytes.NewReader(c.data), int64(len(c.data)), c.name)
		if !errors.Is(err, c.class) || !strings.Contains(err.Error(), c.say) {
			t.Errorf("%s: %v, want %v saying %q", c.name, err, c.class, c.say)
		}
	}
	var fe *fault.FormatError
	_, err := Read(bytes.NewReader(patch(t, data, reqs+4, 24)), int64(len(data)), "x")
	if !errors.As(err, &fe) || fe.Offset != int64(reqs+4) {
		t.Errorf("%v, want the offset %#x", err, reqs+4)
	}
}

// Programs that copy variables drop the dimension num_decomp, because no variable uses it.
func TestNoNumDecomp(t *testing.T) {
	for format, data := range both(t, small(t)) {
		want := need(Read(bytes.NewReader(data), int64(len(data)), format))
		if n := bytes.Count(data, []byte("num_decomp")); n != 1 {
			t.Fatalf("%s: %d times num_decomp", format, n)
		}
		data = bytes.Replace(data, []byte("num_decomp"), []byte("num_nothin"), 1)
		got := need(Read(bytes.NewReader(data), int64(len(data)), format))
		if !bytes.Equal(writeCDF(t, got, nil), writeCDF(t, want, nil)) {
			t.Errorf("%s: other maps", format)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, data := range both(f, small(f)) {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<18 {
			return
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		file, err := Read(bytes.NewReader(data), int64(len(data)), "x")
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > 1<<30 {
			t.Fatalf("%d bytes of memory for a file of %d", used, len(data))
		}
		if err != nil {
			return
		}
		for i := range file.Maps {
			r := &file.Maps[i]
			need(r.Map(2, Options{Slice: reference, Unsorted: true}))
		}
	})
}

// Open must refuse a pipe, because opening a pipe blocks the program.
func TestOpenRefusesWhatIsNoFile(t *testing.T) {
	t.Chdir(t.TempDir())
	l, err := net.Listen("unix", "socket.nc")
	if err != nil {
		t.Skip(err)
	}
	defer l.Close()
	if _, err := Open("socket.nc"); !errors.Is(err, fault.ErrUsage) {
		t.Errorf("Open of a socket: %v", err)
	}
}
