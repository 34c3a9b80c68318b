package edge

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"unsafe"

	"blobio/blob"
	"blobio/cdf5"
	"blobio/comm"
	"blobio/decomp"
	"blobio/internal/base/fault"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestCodeOfAnError(t *testing.T) {
	disk := &fs.PathError{Op: "write", Path: "/x", Err: syscall.ENOSPC}
	damage := &fault.FormatError{File: "f.0000", Offset: 12, Field: "magic", Msg: "bad", Err: fault.ErrChecksum}
	for _, c := range []struct {
		err  error
		want Code
		file string
		off  int64
	}{
		{nil, OK, "", -1},
		{errors.New("whatever"), IO, "", -1},
		{disk, Space, "/x", -1},
		{&comm.RankError{Rank: 3, Err: disk}, Space, "/x", -1},
		{fmt.Errorf("open: %w", damage), Checksum, "f.0000", 12},
		{&fs.PathError{Op: "open", Path: "/y", Err: syscall.ENOENT}, NotFound, "/y", -1},
		{&fs.PathError{Op: "open", Path: "/y", Err: syscall.EACCES}, Access, "/y", -1},
		{&os.LinkError{Op: "rename", Old: "a", New: "b", Err: syscall.EEXIST}, Exist, "b", -1},
		{errors.Join(fault.ErrBroken, damage), Broken, "f.0000", 12},
		{&comm.PanicError{Value: "x"}, Internal, "", -1},
		{fmt.Errorf("x: %w", comm.ErrMismatch), Mismatch, "", -1},
		{Usage("n is %d", 3), Invalid, "", -1},
		{fault.ErrTooLarge, Memory, "", -1},
	} {
		file, off := Where(c.err)
		if got := CodeOf(c.err); got != c.want || file != c.file || off != c.off {
			t.Errorf("%v: %d %q %d, want %d %q %d", c.err, got, file, off, c.want, c.file, c.off)
		}
	}
}

// The header and the Fortran module must have the same numbers.
func TestCodesAreThoseOfTheHeader(t *testing.T) {
	header, err := os.ReadFile("../../blobio.h")
	if err != nil {
		t.Fatal(err)
	}
	module, err := os.ReadFile("../../fortran/blobio.f90")
	if err != nil {
		t.Fatal(err)
	}
	for name, code := range map[string]Code{
		"EHANDLE": Handle, "EINVAL": Invalid, "ESTATE": State, "ERANGE": Range, "EEXIST": Exist, "ENOTFOUND": NotFound,
		"EACCESS": Access, "ENOSPACE": Space, "EIO": IO, "EMEMORY": Memory, "ETRUNCATED": Truncated, "ECHECKSUM": Checksum,
		"ECORRUPT": Corrupt, "EVERSION": Version, "EUNSUPPORTED": Unsupported, "ENOTFORMAT": NotFormat, "ENOTCOMMITTED": NotCommitted,
		"EMISSING": Missing, "EMAPS": MapMismatch, "EBROKEN": Broken, "EINUSE": InUse, "EMISMATCH": Mismatch, "ENOMPI": NoMPI,
		"EFORKED": Forked, "EFAULT": Fault, "EINTERNAL": Internal, "ESMALL": Small, "ESTOPPED": Stopped, "EDIED": Died, "HELD_BACK": HeldBack,
	} {
		if want := fmt.Sprintf("BLOBIO_%s = %d", name, code); !strings.Contains(string(header), want) {
			t.Errorf("blobio.h has no %q", want)
		}
		if want := fmt.Sprintf("blobio_%s = %d", strings.ToLower(name), code); !strings.Contains(string(module), want) {
			t.Errorf("blobio.f90 has no %q", want)
		}
	}
}

func TestTableNeverGivesAWordTwice(t *testing.T) {
	var table Table[int]
	var wg sync.WaitGroup
	var mu sync.Mutex
	seen := map[uintptr]bool{}
	for range 4 {
		wg.Go(func() {
			for i := range 500 {
				h := table.Add(i)
				mu.Lock()
				if seen[h] || h == 0 {
					t.Errorf("word %#x again", h)
				}
				seen[h] = true
				mu.Unlock()
				if v, err := table.Get(h); err != nil || v != i {
					t.Errorf("Get: %v %v", v, err)
				}
				if v, err := table.Take(h); err != nil || v != i {
					t.Errorf("Take: %v %v", v, err)
				}
				if _, err := table.Take(h); !errors.Is(err, ErrHandle) {
					t.Errorf("Take again: %v", err)
				}
			}
		})
	}
	wg.Wait()
	if table.Len() != 0 {
		t.Errorf("%d words are left", table.Len())
	}
	if table.Add(7); !slices.Equal(table.All(), []int{7}) {
		t.Errorf("values %v", table.All())
	}
}

func TestOptions(t *testing.T) {
	w, err := WriteOptions("layout=process, subfiles=4\tretain=flush\nbuffer=64K memory=2G,force=yes grouping=roundrobin records=12 durability=none commit=rename aggregators=2 own_min=1K stripe_size=1M stripe_count=8 compress=zstd:3 incomplete=fill")
	if err != nil {
		t.Fatal(err)
	}
	if w.Layout != blob.ProcessCentric || w.Subfiles != 4 || w.Retain != blob.LendUntilFlush || w.Buffer != 64<<10 || w.Memory != 2<<30 ||
		!w.Force || !w.FillIncomplete || w.Records != 12 || w.Durability != blob.DurableNone || w.Renames != math.MaxInt || w.Grouping.String() != "roundrobin" ||
		w.Compress.String() != "zstd:3" || w.Aggregators != 2 || w.OwnMin != 1<<10 || w.Stripe != (blob.Stripe{Size: 1 << 20, Count: 8}) {
		t.Errorf("%+v", w)
	}
	if w, err := WriteOptions(""); err != nil || w.Retain != blob.CopyOnPut {
		t.Errorf("default: %+v %v", w, err)
	}
	c, err := ConvertOptions("format=process vars=A:B first_record=2 end_record=5 ranks=3")
	if err != nil || !c.Blobs || c.Layout != blob.ProcessCentric || !cmp.Equal(c.Vars, []string{"A", "B"}) || *c.Records != (blob.Range{First: 2, End: 5}) {
		t.Errorf("%+v %v", c, err)
	}
	for _, s := range []string{
		"x", "=1", "layout=", "layout=canonical", "layout=variable layout=process", "subfiles=-1", "subfiles=x", "subfiles=99999999999",
		"memory=1X", "memory=99999999999G", "memory=K", "buffer=2G", "buffer=1", "retain=never", "force=maybe", "colour=red", "grouping=none", "records=1.5", "layout=process compress=zip", "layout=process compress=zstd:9",
	} {
		if _, err := WriteOptions(s); !errors.Is(err, fault.ErrUsage) {
			t.Errorf("WriteOptions(%q): %v, want ErrUsage", s, err)
		}
	}
	for _, s := range []string{"first_record=3", "format=zip", "ranks=-3", "compress=zstd", "format=process compress=x"} {
		if _, err := ConvertOptions(s); !errors.Is(err, fault.ErrUsage) {
			t.Errorf("ConvertOptions(%q): %v, want ErrUsage", s, err)
		}
	}
	for _, s := range []string{"memory=1", "verify=yes", "verify=", "verify=never verify=whole"} {
		if _, err := ReadOptions(s); !errors.Is(err, fault.ErrUsage) {
			t.Errorf("ReadOptions(%q): %v, want ErrUsage", s, err)
		}
	}
	for s, want := range map[string]blob.Verification{"": blob.VerifyOnce, "verify=whole": blob.VerifyWhole, "verify=once": blob.VerifyOnce, "verify=always": blob.VerifyAlways, "verify=never workers=1": blob.VerifyNever} {
		if o, err := ReadOptions(s); err != nil || o.Verify != want {
			t.Errorf("ReadOptions(%q): %+v %v", s, o, err)
		}
	}
	if o, err := CheckOptions("quick=1"); err != nil || !o.Quick {
		t.Errorf("CheckOptions: %+v %v", o, err)
	}
}

func FuzzWriteOptions(f *testing.F) {
	f.Add("layout=process,memory=2G")
	f.Fuzz(func(t *testing.T, s string) {
		if o, err := WriteOptions(s); err == nil && o.Validate() != nil {
			t.Errorf("%q: %+v", s, o)
		}
	})
}

// Runs must give the position of each element in memory order, and Pack and Unpack must agree with them.
func TestDofAgainstASimpleOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		row := rapid.Int64Range(0, 5).Draw(t, "row")
		list := rapid.SliceOf(rapid.Int64Range(0, 20)).Draw(t, "compdof")
		d, err := NewDof(list, 20, row)
		if err != nil {
			t.Fatal(err)
		}
		var want, got []int64
		var packed []int32
		memory := make([]int32, len(list))
		for i, c := range list {
			memory[i] = int32(i + 1)
			if c != 0 {
				want = append(want, c-1)
				packed = append(packed, int32(i+1))
			}
		}
		for _, r := range d.Runs {
			if row > 0 && r.Offset/row != (r.End()-1)/row {
				t.Fatalf("run %v crosses rows of %d", r, row)
			}
			for k := range r.Length {
				got = append(got, r.Offset+k)
			}
		}
		if !cmp.Equal(got, want) || d.Kept != int64(len(want)) || d.Elems != int64(len(list)) || d.Holes() != (len(want) != len(list)) {
			t.Fatalf("%+v of %v", d, list)
		}
		if !d.Holes() {
			return
		}
		out := make([]int32, len(packed))
		d.Pack(Bytes(out), Bytes(memory), 4)
		if len(packed) > 0 && !cmp.Equal(out, packed) {
			t.Fatalf("packed %v, want %v", out, packed)
		}
		back := make([]int32, len(list))
		d.Unpack(Bytes(back), Bytes(out), 4)
		for i, c := range list {
			if c == 0 && back[i] != 0 || c != 0 && back[i] != memory[i] {
				t.Fatalf("unpacked %v of %v", back, memory)
			}
		}
	})
	for _, c := range []int64{-1, 21} {
		if _, err := NewDof([]int64{1, c}, 20, 0); !errors.Is(err, fault.ErrUsage) || !strings.Contains(err.Error(), "compdof[1]") {
			t.Errorf("compdof %d: %v", c, err)
		}
	}
}

func TestForeignMemory(t *testing.T) {
	buf := []float64{1, 2, 3}
	p := uintptr(unsafe.Pointer(&buf[0]))
	v, err := View(cdf5.Double, p, 3)
	if err != nil || !cmp.Equal(v, any(buf)) {
		t.Errorf("View: %v %v", v, err)
	}
	if err := Store(p, 9.0); err != nil || buf[0] != 9 {
		t.Errorf("Store: %v %v", buf, err)
	}
	for _, c := range []struct {
		p    uintptr
		n    int64
		want error
	}{{0, 1, fault.ErrUsage}, {p, -1, fault.ErrUsage}, {p + 1, 1, fault.ErrUsage}, {8, 1, ErrFault}, {p, 1 << 62, ErrFault}, {0, 0, nil}} {
		if _, err := View(cdf5.Double, c.p, c.n); !errors.Is(err, c.want) {
			t.Errorf("View(%#x, %d): %v, want %v", c.p, c.n, err, c.want)
		}
	}
	text := []byte("hello\x00")
	if s, err := String("x", uintptr(unsafe.Pointer(&text[0]))); err != nil || s != "hello" {
		t.Errorf("String: %q %v", s, err)
	}
	if err := PutString("x", uintptr(unsafe.Pointer(&text[0])), 4, "world"); !errors.Is(err, ErrSmall) || string(text) != "wor\x00o\x00" {
		t.Errorf("PutString: %q %v", text, err)
	}
	dst := make([]int8, 2)
	if err := Convert(dst, []int64{1, 300}, false); !errors.Is(err, fault.ErrRange) {
		t.Errorf("Convert: %v", err)
	}
	if err := Convert(dst, "ab", true); !errors.Is(err, fault.ErrUsage) {
		t.Errorf("Convert of text: %v", err)
	}
	for typ := cdf5.Byte; typ <= cdf5.UInt64; typ++ {
		s, err := Make(typ, 3)
		if n, _, ok := cdf5.SliceLen(s); err != nil || !ok || n != 3 || len(Bytes(s)) != 3*typ.Size() {
			t.Errorf("Make(%v): %T %v", typ, s, err)
		}
	}
	if _, err := Make(cdf5.Double, 1<<62); !errors.Is(err, fault.ErrTooLarge) {
		t.Errorf("Make of too much: %v", err)
	}
	if r := Runs([]int64{3}, []int64{4}); !cmp.Equal(r, []decomp.Req{{Offset: 3, Length: 4}}) {
		t.Errorf("Runs: %v", r)
	}
}
