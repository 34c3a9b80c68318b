package bench

import (
	"bytes"
	"context"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"blobio/blob"
	"blobio/cdf5"
	"blobio/comm"
	"blobio/decomp"
	"blobio/decomp/mapfile"
	"blobio/e3smcases"
	"blobio/internal/base/h5"
	"blobio/internal/base/testfiles"
)

// vector is one run configuration of the real program.
type vector struct {
	cas     string // F, G, I, I_h1
	dir     string
	ranks   int
	records int64
	float   bool
	perNode int
	// captured means that the maps were captured from a model and are not in the repository.
	captured bool
}

func vectors() (out []vector) {
	for _, c := range []string{"F", "G", "I"} {
		out = append(out,
			vector{c, "np6_nodes1", 6, 2, false, 0, false},
			vector{c, "np4_nodes1", 4, 2, false, 0, false},
			vector{c, "np6_nodes2", 6, 2, false, 3, false})
	}
	for _, c := range []string{"F", "G"} {
		out = append(out,
			vector{c, "np16_r3", 16, 3, false, 0, true},
			vector{c, "np4_r3", 4, 3, false, 0, true},
			vector{c, "np5_r3", 5, 3, false, 0, true},
			vector{c, "np16_r3_j", 16, 3, true, 0, true},
			vector{c, "np16_r3_nodes2block", 16, 3, false, 8, true})
	}
	return append(out, vector{"I_h1", "np16_r3", 16, 3, false, 0, true})
}

func (v vector) letter() string { return v.cas[:1] }

func (v vector) String() string { return v.cas + "_" + v.dir }

// sample skips most configurations unless all are requested.
func (v vector) sample(t *testing.T, dirs ...string) {
	t.Helper()
	if os.Getenv("BLOBIO_JUDGES") == "" && os.Getenv("BLOBIO_LONG") == "" && !slices.Contains(dirs, v.dir) {
		t.Skip("set BLOBIO_JUDGES or BLOBIO_LONG for all")
	}
}

// canonical reports whether the run's canonical files of the real program exist.
func (v vector) canonical() bool { return v.dir == "np6_nodes1" || v.dir == "np16_r3" }

// maps distributes the maps of the case to ranks in the way of the real program.
func (v vector) maps(t testing.TB) []*decomp.Map {
	t.Helper()
	if v.captured {
		return loadMaps(t, testfiles.Captured(t, "maps", "map_"+strings.ToLower(v.letter())+"_case_16p.nc"), v.ranks)
	}
	name := map[string]string{"F": "f_ne2_lev8_np6.nc", "G": "g_cells120_lev6_np6.nc", "I": "i_lat24_lon36_np6.nc"}[v.letter()]
	return loadMaps(t, testfiles.Dir(t, "e3sm", "maps", name), v.ranks)
}

func loadMaps(t testing.TB, name string, ranks int) []*decomp.Map {
	t.Helper()
	f, err := mapfile.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	var maps []*decomp.Map
	for i := range f.Maps {
		m, err := f.Maps[i].Map(ranks, mapfile.Options{Slice: "reference"})
		if err != nil {
			t.Fatal(err)
		}
		maps = append(maps, m)
	}
	return maps
}

// folder returns the folder of the files that the real program wrote with one library and layout.
func (v vector) folder(t testing.TB, kind string) string {
	t.Helper()
	if v.captured {
		return testfiles.Captured(t, "vectors", "e3sm", v.letter()+"_"+kind, v.dir)
	}
	return testfiles.Dir(t, "e3sm", v.letter()+"_"+kind, v.dir)
}

// real unpacks into dir the files that the real program wrote with one library and layout.
func (v vector) real(t testing.TB, kind, dir string) []string {
	t.Helper()
	glob, err := filepath.Glob(filepath.Join(v.folder(t, kind), "*.zst"))
	if err != nil || len(glob) == 0 {
		t.Fatalf("no vectors of %v %s: %v", v, kind, err)
	}
	var names []string
	for _, g := range glob {
		name := filepath.Join(dir, strings.TrimSuffix(filepath.Base(g), ".zst"))
		if err := os.WriteFile(name, testfiles.Unzstd(t, g), 0o666); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	return names
}

// TestWrittenFilesEqualTheReference replays configurations and compares
// each file with the real program's, byte for byte.
func TestWrittenFilesEqualTheReference(t *testing.T) {
	for _, v := range vectors() {
		t.Run(v.String(), func(t *testing.T) {
			v.sample(t, "np6_nodes2")
			dir, real := t.TempDir(), t.TempDir()
			res, err := Replay(context.Background(), ReplayOptions{Case: v.cas, Maps: v.maps(t), Records: v.records, Float: v.float,
				Pattern: e3smcases.Reference, Nodes: comm.Options{RanksPerNode: v.perNode}, Dir: dir, Base: v.letter(), Verify: true,
				Options: blob.Options{Durability: blob.DurableNone}})
			if err != nil {
				t.Fatal(err)
			}
			if len(res) == 0 {
				t.Fatal("nothing written")
			}
			for _, name := range v.real(t, "pnetcdf_blob", real) {
				compareCDF(t, filepath.Join(dir, filepath.Base(name)), name)
			}
			for _, name := range v.real(t, "hdf5_blob", real) {
				compareH5(t, filepath.Join(dir, filepath.Base(name)), name)
			}
		})
	}
}

// compareCDF compares whole files, except the entries of the staggered rows that the real program never writes.
func compareCDF(t *testing.T, ours, real string) {
	t.Helper()
	a, b := read(t, ours), tight(t, real, read(t, real))
	if len(a) != len(b) {
		t.Errorf("%s: %d bytes, the real one has %d", filepath.Base(ours), len(a), len(b))
		return
	}
	h, _, err := cdf5.DecodeHeader(bytes.NewReader(b), int64(len(b)), &cdf5.DecodeOptions{File: real})
	if err != nil {
		t.Fatal(err)
	}
	padding := 0
	for i := range h.Vars {
		name := h.Vars[i].Name
		if !strings.HasSuffix(name, ".offsets") && !strings.HasSuffix(name, ".lengths") {
			continue
		}
		k := h.VarIndex(name[:strings.IndexByte(name, '.')] + ".nreqs")
		counts, _ := h.Extent(k, 0)
		off, _ := h.Extent(i, 0)
		width := h.Shape(i)[1]
		for j := range h.Shape(i)[0] {
			n := int64(int32(binary.BigEndian.Uint32(b[counts+4*j:])))
			row := off + 4*width*j
			clear(b[row+4*n : row+4*width])
			padding += int(width - n)
			for _, x := range a[row+4*n : row+4*width] {
				if x != 0 {
					t.Errorf("%s: our padding is not zero", filepath.Base(ours))
					break
				}
			}
		}
	}
	same(t, filepath.Base(ours), a, b)
}

// tight removes the padding between the header and the data of a CDF-5 file. PnetCDF 1.15 and blobio write no such padding,
// but PnetCDF 1.12 aligns the data to 512 bytes.
func tight(t *testing.T, name string, b []byte) []byte {
	t.Helper()
	h, n, err := cdf5.DecodeHeader(bytes.NewReader(b), int64(len(b)), &cdf5.DecodeOptions{File: name})
	if err != nil {
		t.Fatal(err)
	}
	begin := int64(len(b))
	for i := range h.Vars {
		begin = min(begin, h.Vars[i].Begin)
	}
	if begin == n {
		return b
	}
	if begin != (n+511)&^511 {
		t.Fatalf("%s: data begin at %d behind a header of %d bytes", name, begin, n)
	}
	for i := range h.Vars {
		h.Vars[i].Begin -= begin - n
	}
	out, err := h.AppendTo(nil, binary.BigEndian, false)
	if err != nil {
		t.Fatal(err)
	}
	return append(out, b[begin:]...)
}

// compareH5 compares the bytes of the two datasets.
func compareH5(t *testing.T, ours, real string) {
	t.Helper()
	for _, name := range []string{"header_blob", "data_blob"} {
		same(t, filepath.Base(ours)+" "+name, dataset(t, ours, name), dataset(t, real, name))
	}
}

func dataset(t *testing.T, path, name string) []byte {
	t.Helper()
	b := read(t, path)
	f, err := h5.NewFile(bytes.NewReader(b), int64(len(b)), path)
	if err != nil {
		t.Fatal(err)
	}
	d, err := f.Dataset("/" + name)
	if err != nil {
		t.Fatal(err)
	}
	off, ok := d.Offset()
	if !ok {
		t.Fatalf("%s: %s is not contiguous", path, name)
	}
	return b[off : off+d.Bytes()]
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func same(t *testing.T, what string, a, b []byte) {
	t.Helper()
	if len(a) != len(b) {
		t.Errorf("%s: %d bytes, the real one has %d", what, len(a), len(b))
		return
	}
	for i := range a {
		if a[i] != b[i] {
			t.Errorf("%s: byte %#x is %02x, the real one has %02x", what, i, a[i], b[i])
			return
		}
	}
}

// TestRealFilesReadAndConvert checks that the real program's blob files have no faults and convert to its own canonical files.
func TestRealFilesReadAndConvert(t *testing.T) {
	ctx := context.Background()
	for _, v := range vectors() {
		for _, kind := range []string{"pnetcdf_blob", "hdf5_blob"} {
			t.Run(v.String()+"_"+kind, func(t *testing.T) {
				v.sample(t, "np6_nodes1")
				dir := t.TempDir()
				for _, name := range v.real(t, kind, dir) {
					if !strings.HasSuffix(name, ".0000") {
						continue
					}
					base := strings.TrimSuffix(name, ".0000")
					notes := 0
					for f := range blob.Check(ctx, base, nil) {
						if f.Severity != blob.Note {
							t.Errorf("%v", f)
						}
						notes++
					}
					if v.canonical() {
						v.compareCanonical(t, base)
					}
				}
			})
		}
	}
}

// compareCanonical converts a dataset and compares it with the real program's canonical file.
func (v vector) compareCanonical(t *testing.T, base string) {
	t.Helper()
	ctx := context.Background()
	r, err := blob.Open(ctx, base, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	convert := func(o blob.ConvertOptions) []byte {
		out := filepath.Join(t.TempDir(), "canonical.nc")
		o.Durability = blob.DurableNone
		if err := blob.Convert(ctx, r, out, &o); err != nil {
			t.Fatal(err)
		}
		return read(t, out)
	}
	got := convert(blob.ConvertOptions{ZeroFill: true})
	canonical := strings.TrimSuffix(filepath.Base(base), filepath.Ext(base)) + ".nc"
	want := tight(t, canonical, testfiles.Unzstd(t, filepath.Join(v.folder(t, "pnetcdf_canonical"), canonical+".zst")))
	if len(got) > len(want) {
		// The real file ends at the last element that a rank wrote. In the I case the last cells are not land, so no rank
		// wrote them.
		for _, x := range got[len(want):] {
			if x != 0 {
				t.Fatal("bytes behind the end of the real file are not zero")
			}
		}
		got = got[:len(want)]
	}
	if v.letter() == "I" && !v.captured {
		// The real program writes uninitialized memory into cells that are not land. blobio gives these cells the fill value.
		clearUnowned(t, want, got, convert(blob.ConvertOptions{}))
	}
	same(t, filepath.Base(base)+" converted", got, want)
}

// clearUnowned replaces the elements of file that no rank owns by zeros. zeros and fills are two conversions of the same
// dataset: elements without an owner are zeros in one, and fill values in the other.
func clearUnowned(t *testing.T, file, zeros, fills []byte) {
	t.Helper()
	h, _, err := cdf5.DecodeHeader(bytes.NewReader(zeros), int64(len(fills)), nil)
	if err != nil {
		t.Fatal(err)
	}
	unowned := 0
	for i := range h.Vars {
		size := int64(h.Vars[i].Type.Size())
		for rec := range max(1, h.NumRecs) {
			off, n := h.Extent(i, rec)
			if rec > 0 && !h.IsRecord(i) {
				break
			}
			for at := off; at+size <= min(off+n, int64(len(file))); at += size {
				if z := zeros[at : at+size]; !bytes.Equal(z, fills[at:at+size]) {
					copy(file[at:], z)
					unowned += int(size)
				}
			}
		}
	}
	if unowned == 0 || unowned > len(file)*3/4 {
		t.Fatalf("%d of %d bytes are of no rank", unowned, len(file))
	}
}
