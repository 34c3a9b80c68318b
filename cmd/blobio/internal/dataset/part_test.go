package dataset_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"blobio/cdf5"
	"blobio/cmd/blobio/internal/clitest"
	"blobio/internal/base/testfiles"
	"blobio/internal/cdf5/cdftest"
	"blobio/internal/cli"
)

// globe writes an ordinary file with coordinates of each kind: ascending, descending, longitudes, times, unordered columns.
func globe(t *testing.T, dir string) string {
	t.Helper()
	text := func(name, v string) cdf5.Att { return cdf5.Att{Name: name, Type: cdf5.Char, Value: v} }
	h := &cdf5.Header{Version: cdf5.CDF5, NumRecs: 7,
		Dims: []cdf5.Dim{{Name: "time"}, {Name: "lat", Len: 7}, {Name: "lon", Len: 8}, {Name: "lev", Len: 5}, {Name: "nb", Len: 2}, {Name: "ncol", Len: 11}},
		Atts: []cdf5.Att{text("Conventions", "CF-1.7"), text("title", "a globe")},
		Vars: []cdf5.Var{
			{Name: "lat", Type: cdf5.Double, Dims: []int{1}, Atts: []cdf5.Att{text("units", "degrees_north")}},
			{Name: "lon", Type: cdf5.Double, Dims: []int{2}},
			{Name: "lev", Type: cdf5.Float, Dims: []int{3}, Atts: []cdf5.Att{text("bounds", "lev_b")}},
			{Name: "lev_b", Type: cdf5.Float, Dims: []int{3, 4}},
			{Name: "time", Type: cdf5.Double, Dims: []int{0}, Atts: []cdf5.Att{text("units", "days since 2000-02-27"), text("calendar", "noleap"), text("bounds", "time_b"),
				{Name: "valid_range", Type: cdf5.Double, Value: []float64{0, 400.5}}}},
			{Name: "time_b", Type: cdf5.Double, Dims: []int{0, 4}},
			{Name: "T", Type: cdf5.Float, Dims: []int{0, 3, 1, 2}, Atts: []cdf5.Att{text("coordinates", "area")}},
			{Name: "area", Type: cdf5.Double, Dims: []int{1, 2}},
			{Name: "U", Type: cdf5.Int, Dims: []int{1}},
			{Name: "n", Type: cdf5.Short},
			{Name: "clat", Type: cdf5.Double, Dims: []int{5}},
			{Name: "Q", Type: cdf5.Short, Dims: []int{0, 5}},
		}}
	count := func(v int, from float64) []float64 {
		n := h.Elems(v)
		if h.IsRecord(v) {
			n *= h.NumRecs
		}
		x := make([]float64, n)
		for i := range x {
			x[i] = from + float64(i)
		}
		return x
	}
	values := []any{[]float64{-90, -60, -30, 0, 30, 60, 90}, []float64{0, 45, 90, 135, 180, 225, 270, 315}, []float64{1000, 850, 500, 200, 100},
		count(3, 0), []float64{0, 0.25, 0.5, 1, 2, 59, 365}, count(5, 0), count(6, 0), count(7, 1000), count(8, 1), []float64{4},
		[]float64{10, -20, 30, 12, -80, 11, 85, 10.5, -20, 0, 44}, count(11, -20)}
	path := filepath.Join(dir, "globe.nc")
	clitest.Check(t, os.WriteFile(path, cdftest.Build(t, h, false, values...), 0o666))
	return path
}

// globes writes the globe in all layouts.
func globes(t *testing.T) (paths []string) {
	t.Helper()
	dir := t.TempDir()
	canon := globe(t, dir)
	paths = append(paths, canon)
	for _, layout := range []string{"variable-centric", "process-centric"} {
		p := filepath.Join(dir, layout, "globe.nc")
		clitest.Check(t, os.Mkdir(filepath.Dir(p), 0o777))
		clitest.Good(t, "convert", "--no-sync", "--to", layout, "--ranks", "3", "--subfiles", "2", canon, p)
		paths = append(paths, p)
	}
	return paths
}

// cdlData returns the data section of CDL, by variable.
func cdlData(cdl string) map[string]string {
	_, data, _ := strings.Cut(cdl, "\ndata:\n")
	out := map[string]string{}
	for part := range strings.SplitSeq(strings.TrimSuffix(data, "}\n"), ";") {
		if name, v, ok := strings.Cut(part, "="); ok {
			out[strings.TrimSpace(name)] = strings.Join(strings.Fields(v), " ")
		}
	}
	return out
}

func TestDumpPart(t *testing.T) {
	for _, path := range globes(t) {
		for _, c := range []struct{ args, name, want, vars string }{
			{"-v U -d lat,30.,60.", "U", "5, 6", "U lat"}, {"-v U -d lat,-2", "U", "6", "U lat"}, {"-C -v U -d lat,0,,3", "U", "1, 4, 7", "U"},
			{"-v lon -d lon,260.,90.", "lon", "270, 315, 0, 45, 90", "lon"}, {"-C -v Q -d clat,10.,12. -d time,1,2", "Q", "-9, -6, -4, -2, 2, 5, 7, 9", "Q"},
			{"-C -v T -d lev,500. -d time,0,6,3 -d lat,0 -d lon,-1", "T", "119, 959, 1799", "T"}, {"-v time -d time,2000-02-28,", "time", "1, 2, 59, 365", "time time_b"},
			{"-v T -d lev,0 -d time,0 -d lat,0 -d lon,0", "area", "1000", "T lat lon lev lev_b time time_b area"},
			{"-C -v time_b -d nb,1", "time_b", "1, 3, 5, 7, 9, 11, 13", "time_b"}, {"-v n", "n", "4", "n"},
		} {
			args := strings.Fields(c.args)
			got := cdlData(clitest.Good(t, append(append([]string{"dump"}, args...), path)...))
			if got[c.name] != c.want {
				t.Errorf("%s: %s is %q, want %q", c.args, c.name, got[c.name], c.want)
			}
			names := strings.Fields(c.vars)
			for name := range got {
				if !slices.Contains(names, name) {
					t.Errorf("%s: %s is printed, too", c.args, name)
				}
			}
			if len(got) != len(names) {
				t.Errorf("%s: %d variables are printed, want %v", c.args, len(got), names)
			}
			// convert writes the values that dump prints.
			out := filepath.Join(t.TempDir(), filepath.Base(path))
			clitest.Good(t, append(append([]string{"convert", "--no-sync"}, args...), path, out)...)
			if c.args != "-v n" {
				if a, b := clitest.Good(t, append(append([]string{"dump"}, args...), path)...), clitest.Good(t, "dump", out); a != b {
					t.Errorf("%s: dump prints\n%s\nof what convert writes\n%s", c.args, a, b)
				}
			}
		}
		// A part as blobs.
		out := filepath.Join(t.TempDir(), "part.h5")
		clitest.Good(t, "convert", "--no-sync", "--to", "process-centric", "--ranks", "2", "-d", "lat,1,5,2", "-d", "time,1,,2", path, out)
		if got := cdlData(clitest.Good(t, "dump", "-v", "U", out)); got["U"] != "2, 4, 6" {
			t.Errorf("as blobs: %v", got)
		}
	}
}

func TestPartRefuses(t *testing.T) {
	path := globes(t)[2]
	out := filepath.Join(t.TempDir(), "out.nc")
	for args, want := range map[string]string{
		"-d lat,7": "want 0 to 6", "-d lat,31.,59.": "no value", "-d nolat,1": "no dimension", "-d lat": "want NAME", "-C": "needs --vars", "-v none -d lat,0": "no variable",
		"-d ncol,1.": "no coordinate variable", "-d lat,1,2,0": "stride", "-d lev,900.,150.": "smaller limit",
	} {
		clitest.Bad(t, cli.Failed, want, append(append([]string{"dump"}, strings.Fields(args)...), path)...)
		clitest.Bad(t, cli.Failed, want, append(append([]string{"convert"}, strings.Fields(args)...), path, out)...)
	}
	clitest.Bad(t, cli.Failed, "--ranks or --map", "convert", "--to", "process-centric", "-d", "lat,0", path, out)
	clitest.Bad(t, cli.Failed, "both directly", "convert", "--records", "1:3", "-d", "time,0", path, out)
	for _, args := range []string{"--xml --layout", "--xml --json", "--binary big", "--binary big -v T,U", "-o x", "--stored -v T", "--raw -v T -d lat,0", "--layout -d lat,0", "--binary big -v T --json"} {
		clitest.Bad(t, cli.Failed, "--", append(append([]string{"dump"}, strings.Fields(args)...), path)...)
	}
	if clitest.There(out) {
		t.Error("an output is left")
	}
}

func TestDumpBinary(t *testing.T) {
	paths := globes(t)
	for _, path := range paths {
		var want []float32
		for _, rec := range []int{0, 5} {
			for lon := range 8 {
				want = append(want, float32(rec*280+2*56+3*8+lon))
			}
		}
		out := filepath.Join(t.TempDir(), "T.bin")
		for order, o := range map[string]binary.ByteOrder{"big": binary.BigEndian, "little": binary.LittleEndian, "native": binary.NativeEndian} {
			args := []string{"dump", "--binary", order, "-v", "T", "-d", "time,0,,5", "-d", "lev,2", "-d", "lat,0.", path}
			var b bytes.Buffer
			clitest.Check(t, binary.Write(&b, o, want))
			if got := clitest.Good(t, args...); got != b.String() {
				t.Errorf("%s: %x, want %x", order, got, b.String())
			}
			got := clitest.Good(t, append(args, "-o", out, "--force", "--json")...)
			var said struct {
				Bytes int64
				Shape []int64
				Type  string
			}
			clitest.Check(t, json.Unmarshal([]byte(got), &said))
			file := clitest.Read(t, out)
			if said.Bytes != int64(b.Len()) || !slices.Equal(said.Shape, []int64{2, 1, 1, 8}) || said.Type != "float" || string(file) != b.String() {
				t.Errorf("%s: %+v, the file has %d bytes", order, said, len(file))
			}
		}
		clitest.Bad(t, cli.Failed, "exist", "dump", "--binary", "big", "-v", "n", "-o", out, path)
		if got := clitest.Good(t, "dump", "--binary", "big", "-v", "n", path); got != "\x00\x04" {
			t.Errorf("a scalar: %q", got)
		}
	}
}

// TestDumpStored checks that a process-centric file and a variable-centric file have the same header, except for the name.
func TestDumpStored(t *testing.T) {
	paths := globes(t)
	v, p := clitest.Good(t, "dump", "--stored", paths[1]), clitest.Good(t, "dump", "--stored", paths[2])
	if v != p || !strings.Contains(v, "\n D1.nreqs = ") || !strings.Contains(v, "\n D1.lengths =\n ") || !strings.Contains(v, "D1.nreqs(nblobs)") || !strings.Contains(v, ":decomposition_ID = 1 ;") || !strings.Contains(v, ":num_subfiles = 2 ;") {
		t.Errorf("variable-centric\n%s\nprocess-centric\n%s", v, p)
	}
	head := clitest.Good(t, "dump", "--stored", "-h", paths[2])
	if want, _, _ := strings.Cut(p, "data:"); head != want+"}\n" {
		t.Errorf("with -h\n%s\nwithout\n%s", head, p)
	}
	second := clitest.Good(t, "dump", "--stored", paths[2]+".0001")
	if second == p || !strings.HasPrefix(second, "netcdf globe.nc {") {
		t.Errorf("the second subfile\n%s", second)
	}
	var said struct {
		Dims []struct {
			Name   string
			Length int64
		}
		Variables []struct {
			Name       string
			Attributes map[string]any
			Data       []int64
		}
	}
	clitest.Check(t, json.Unmarshal([]byte(clitest.Good(t, "dump", "--stored", "--json", paths[2])), &said))
	if len(said.Variables[0].Data) != 2 || len(said.Variables[len(said.Variables)-1].Data) != 0 {
		t.Errorf("%s has the values %v", said.Variables[0].Name, said.Variables[0].Data)
	}
	for _, v := range said.Variables {
		if v.Name == "T" && (v.Attributes["decomposition_ID"] == nil || v.Attributes["global_dimids"] == nil) {
			t.Errorf("T has %v", v.Attributes)
		}
	}
	if i := slices.IndexFunc(said.Dims, func(d struct {
		Name   string
		Length int64
	}) bool {
		return d.Name == "nblobs"
	}); i < 0 || said.Dims[i].Length != 2 {
		t.Errorf("dimensions %v", said.Dims)
	}
}

// TestDumpStoredLong checks a process-centric file that declares rows longer than its content.
func TestDumpStoredLong(t *testing.T) {
	path := globes(t)[2]
	clitest.Check(t, os.Remove(path+".manifest"))
	b := clitest.Read(t, path+".0000")
	i := bytes.Index(b, []byte("D1.max_nreqs"))
	if i < 0 {
		t.Fatal("no D1.max_nreqs")
	}
	binary.NativeEndian.PutUint64(b[i+12:], 1<<30)
	clitest.Check(t, os.WriteFile(path+".0000", b, 0o666))
	clitest.Good(t, "dump", "--stored", "-h", path)
	clitest.Bad(t, cli.Failed, "D1.offsets has 2147483648 elements, want at most 67108864 in JSON", "dump", "--stored", "--json", path)
}

func TestDumpTimes(t *testing.T) {
	for _, path := range globes(t) {
		got := cdlData(clitest.Good(t, "dump", "-t", "-v", "time,time_b,lat", path))
		if got["time"] != `"2000-02-27", "2000-02-27 06", "2000-02-27 12", "2000-02-28", "2000-03-01", "2000-04-27", "2001-02-27"` || !strings.HasPrefix(got["time_b"], `"2000-02-27", "2000-02-28"`) ||
			!strings.HasPrefix(got["lat"], "-90,") {
			t.Errorf("%v", got)
		}
		if got := clitest.Good(t, "dump", "-t", "--json", "-v", "time", path); !strings.Contains(got, `"2000-02-27 06"`) || !json.Valid([]byte(got)) {
			t.Errorf("%s", got)
		}
	}
}

// TestJudgeNcdumpForms compares dump with ncdump -t and -x for an ordinary file, and dump --stored with ncdump's header of a
// variable-centric subfile.
func TestJudgeNcdumpForms(t *testing.T) {
	paths := globes(t)
	t.Chdir(filepath.Dir(paths[0])) // NcML contains the path as given
	same := func(what, got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%s prints\n%s\nwant\n%s", what, got, want)
		}
	}
	name := filepath.Base(paths[0])
	for _, flags := range [][]string{{"-t"}, {"-t", "-v", "time,time_b"}, {"-x"}} {
		args := append(flags, name)
		same("dump "+strings.Join(flags, " "), clitest.Good(t, append([]string{"dump"}, args...)...), testfiles.Run(t, "ncdump", args...))
	}
	toy := filepath.Base(clitest.Toy(t, "."))
	same("dump -x", clitest.Good(t, "dump", "-x", toy), testfiles.Run(t, "ncdump", "-x", toy))
	same("dump --stored -h", clitest.Good(t, "dump", "--stored", "-h", paths[1]+".0000"), testfiles.Run(t, "ncdump", "-h", paths[1]+".0000"))
	for k, file := range []string{paths[1] + ".0000", paths[1] + ".0001"} {
		var maps []string
		for _, line := range strings.Split(testfiles.Run(t, "ncdump", "-h", file), "\n") {
			if name, _, ok := strings.Cut(strings.TrimSpace(line), "(nblobs"); ok {
				maps = append(maps, name[strings.LastIndex(name, " ")+1:])
			}
		}
		if len(maps) < 5 || len(maps)%5 != 0 {
			t.Errorf("%s has the maps %v", file, maps)
		}
		want := testfiles.Run(t, "ncdump", "-v", strings.Join(maps, ","), file)
		same("dump --stored", clitest.Good(t, "dump", "--stored", file), want)
		_, got, _ := strings.Cut(clitest.Good(t, "dump", "--stored", fmt.Sprintf("%s.%04d", paths[2], k)), "{") // the same header in the other layout
		_, want, _ = strings.Cut(want, "{")
		same("dump --stored", got, want)
	}
}

// TestJudgeNcks checks that ncks and convert select the same data for the same arguments.
func TestJudgeNcks(t *testing.T) {
	testfiles.Judge(t, "ncks")
	paths := globes(t)
	dir := t.TempDir()
	words := "-v U -d lat,30.,60.|-v U -d lat,31.|-v U -d lat,15.|-v U -d lat,-75.|-v U -d lat,31.,59.|-v U -d lat,60.,30.|-v U -d lat,5,1|-v lon -d lon,260.,90.|-v lon -d lon,5,1,2|" +
		"-v lon -d lon,225.,90.,3|-v lev -d lev,900.,150.|-v lev -d lev,150.,900.|-v lev -d lev,600.|-v U -d lat,0,3 -d lat,2,6,2|-v U -d lat,,3|-v U -d lat,3,|-v U -d lat,,,2|-v U -d lat,-3,-1|" +
		"-v U -d lat,-1,1|-v U -d lat,30.,|-v U -d lat,,30.|-v U -d lat,9|-v U -d lat,30,60.|-v U -d lat,30.,30.|-v U -d lat,31.,31.|-v U -d lat,1e1,4e1|-v U -d lat,0,6,0|-v U -d lat,1000.|" +
		"-v U -d lat,100.,200.|-v U -d lat,200.,100.|-v U -d lat,0,6,100|-v U -d lat,6 -d lat,0|-v n -d lat,0|-v time -d time,5,1|-v time -d time,2000-02-28,2000-03-01|-v T|-v lev|-C -v T -d lev,1,3,2|" +
		"-v T -d lon,350.,10.|-v lon -d lon,316.,359.|-v area -d lon,270.,90.|-v T -d lon,270.,90.,2|-v T -d lon,5,2,2 -d lat,,,3|-v lon -d lon,-45.,45.|-v lon -d lon,315.,315.|-v lon -d lon,300.,0.|" +
		"-v lon -d lon,314.,46.,3|-v lon -d lon,45.,0.|-d lon,225.,45. -d time,6|-v lon -d lon,270.,0. -d lon,90.,135.|-v lon -d lon,400.,10.|-v lon -d lon,350.,-10.|" +
		"-v T -d time,1,,2 -d lat,0.,60. -d lon,300.,50. -d lev,850.|-d time,0,6,3 -d ncol,3,9,2|-v Q -d ncol,-4,-2 -d time,2|-v area|-v U -d lat,1,2,3,4|-v U -d lat,x|-v U -d nolat,1"
	for c := range strings.SplitSeq(words, "|") {
		k, o := filepath.Join(dir, "k.nc"), filepath.Join(dir, "o.nc")
		args := strings.Fields(c)
		failed := exec.Command("ncks", append(append([]string{"-O", "-h"}, args...), paths[0], k)...).Run()
		got := clitest.Blobio(t, append(append([]string{"convert", "--force", "--no-sync"}, args...), paths[2], o)...)
		if (failed != nil) != (got.Code != 0) {
			t.Errorf("%s: ncks says %v, blobio exits with %d: %s", c, failed, got.Code, got.Err)
		}
		if failed != nil || got.Code != 0 {
			continue
		}
		want, have := cdlData(clitest.Good(t, "dump", "-p", "9,17", k)), cdlData(clitest.Good(t, "dump", "-p", "9,17", o))
		for name, v := range want {
			if have[name] != v {
				t.Errorf("%s: %s is %q, ncks has %q", c, name, have[name], v)
			}
		}
		for name := range have {
			if _, ok := want[name]; !ok {
				t.Errorf("%s: ncks does not take %s", c, name)
			}
		}
	}
}

// TestDumpTimesUnknown checks that times with uninterpretable units are printed as numbers, with one message, and that no date
// can select them.
func TestDumpTimesUnknown(t *testing.T) {
	for _, atts := range [][]cdf5.Att{
		{{Name: "units", Type: cdf5.Char, Value: "months since 2000-01-01"}},
		{{Name: "units", Type: cdf5.Char, Value: "days since 2000-01-01"}, {Name: "calendar", Type: cdf5.Char, Value: "none"}},
	} {
		h := &cdf5.Header{Version: cdf5.CDF5, Dims: []cdf5.Dim{{Name: "time", Len: 2}}, Vars: []cdf5.Var{{Name: "time", Type: cdf5.Double, Dims: []int{0}, Atts: atts}}}
		path := filepath.Join(t.TempDir(), "t.nc")
		clitest.Check(t, os.WriteFile(path, cdftest.Build(t, h, false, []float64{1, 2}), 0o666))
		r := clitest.Blobio(t, "dump", "-t", path)
		if r.Code != cli.Good || cdlData(r.Out)["time"] != "1, 2" || strings.Count(r.Err, "time is printed as numbers: ") != 1 {
			t.Errorf("%d\n%s%s", r.Code, r.Out, r.Err)
		}
		word := strings.Fields(atts[len(atts)-1].Value.(string))[0]
		clitest.Bad(t, cli.Failed, word, "dump", "-d", "time,2000-01-01,2000-02-01", path)
	}
}
