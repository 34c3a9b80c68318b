package dataset_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"blobio/cmd/blobio/internal/clitest"
	"blobio/cmd/blobio/internal/dataset"
	"blobio/internal/cli"
)

// TestJSONOfText checks that text that is not UTF-8 keeps its bytes.
func TestJSONOfText(t *testing.T) {
	_, canon, _, _ := clitest.Toys(t)
	b, err := os.ReadFile(canon)
	clitest.Check(t, err)
	for _, name := range []string{"latin.nc", "utf8.nc"} {
		unit, date := "degr\xe9s_\xff\x80\"n", "day\xc3(\x01"
		if name == "utf8.nc" {
			unit = "degr\u00e9s_\ufffdn"
		}
		path := filepath.Join(filepath.Dir(canon), name)
		changed := strings.Replace(string(b), "degrees_north", unit+strings.Repeat("\x00", len("degrees_north")-len(unit)), 1)
		i := strings.Index(changed, "day 0000")
		if i < 0 {
			t.Fatal("no date in the file")
		}
		changed = changed[:i] + date + changed[i+len(date):]
		clitest.Check(t, os.WriteFile(path, []byte(changed), 0o666))
		var d struct {
			Vars []struct {
				Name string
				Atts map[string]any `json:"attributes"`
				Data []any
			} `json:"variables"`
		}
		clitest.Check(t, json.Unmarshal([]byte(clitest.Good(t, "dump", "--json", path)), &d))
		// bytes decodes text like a reader of the JSON
		bytes := func(v any) string {
			if m, ok := v.(map[string]any); ok {
				var b []byte
				for _, r := range m["latin1"].(string) {
					b = append(b, byte(r))
				}
				return string(b)
			}
			return v.(string)
		}
		for _, v := range d.Vars {
			switch v.Name {
			case "lat":
				if _, object := v.Atts["units"].(map[string]any); bytes(v.Atts["units"]) != unit || object != (name == "latin.nc") {
					t.Errorf("%s: units are %v, want %q", name, v.Atts["units"], unit)
				}
			case "date_written":
				if got := bytes(v.Data[0]); !strings.HasPrefix(got, date) {
					t.Errorf("%s: date_written is %q, want %q", name, got, date)
				}
			}
		}
	}
}

func TestLs(t *testing.T) {
	dir, canon, variable, process := clitest.Toys(t)
	want := `: variable-centric blobs, 3 ranks, 2 subfiles, 3 records, SIZE
state: committed
dims: time 3 (unlimited), lev 2, ncol 6, chars 8
maps: D1(ncol=6), D2(lev=2, ncol=6)

VARIABLE      TYPE    MAP   SIZE  DIMENSIONS               UNITS          LONG NAME
lat           double  D1    48 B  (ncol=6)                 degrees_north  latitude
P0            double  -      8 B  ()                       -              -
T             float   D2   144 B  (time=3, lev=2, ncol=6)  -              -
time          double  -     24 B  (time=3)                 -              -
date_written  char    -     24 B  (time=3, chars=8)        -              -
count         int64   D1   144 B  (time=3, ncol=6)         -              -
`
	for _, path := range []string{variable, variable + ".0001", filepath.Dir(variable), variable + ".manifest"} {
		got := strings.TrimPrefix(clitest.Good(t, "ls", "-l", path), variable)
		head, rest, _ := strings.Cut(got, "\n")
		got = head[:strings.LastIndex(head, ", ")] + ", SIZE\n" + rest
		if got != want {
			t.Errorf("ls -l %s:\n%s\nwant\n%s", path, got, want)
		}
	}
	if out := clitest.Good(t, "ls", canon); !strings.Contains(out, "ordinary netCDF, CDF-5, 3 records, ") || strings.Contains(out, "maps:") {
		t.Errorf("ls of a canonical file:\n%s", out)
	}
	both := filepath.Join(dir, "both")
	clitest.Check(t, os.Mkdir(both, 0o777))
	clitest.Good(t, "convert", "--no-sync", "--to", "variable-centric", process, filepath.Join(both, "a.nc"))
	clitest.Good(t, "convert", "--no-sync", "--to", "process-centric", variable, filepath.Join(both, "b.h5"))
	clitest.Check(t, os.WriteFile(filepath.Join(both, "c.nc.0000.partial"), nil, 0o666))
	out := clitest.Good(t, "ls", both)
	clitest.Holds(t, out, "a.nc", "variable-centric", "b.h5", "process-centric", "c.nc", "not committed")
	var d struct {
		Datasets []struct {
			Layout string
			Bytes  int64
			Vars   []struct {
				Bytes int64
				Atts  map[string]any `json:"attributes"`
			} `json:"variables"`
		}
	}
	clitest.Check(t, json.Unmarshal([]byte(clitest.Good(t, "ls", "--json", variable, process)), &d))
	if len(d.Datasets) != 2 || d.Datasets[1].Layout != "process-centric" || d.Datasets[0].Vars[2].Bytes != 144 || d.Datasets[0].Bytes == 0 ||
		d.Datasets[0].Vars[0].Atts["units"] != "degrees_north" {
		t.Errorf("ls --json: %+v", d)
	}
	clitest.Check(t, os.Remove(variable+".0001"))
	clitest.Shows(t, "state: 1 subfile missing\nmissing: "+variable+".0001\n", "ls", variable)
	clitest.Bad(t, cli.Failed, "blobio: "+variable+".0001: this subfile of "+variable+" is missing", "ls", variable+".0001")
	if r := clitest.Blobio(t, "check", variable+".0001"); r.Code != cli.Findings || !strings.Contains(r.Out, variable+".0001: subfile: missing") {
		t.Errorf("check of a missing subfile: %d\n%s%s", r.Code, r.Out, r.Err)
	}
	if r := clitest.Blobio(t, "check", variable+".0009"); r.Code == cli.Good || !strings.Contains(r.Out+r.Err, variable+" has no subfile of this name") {
		t.Errorf("check of a subfile that never was, while another one is missing: %d\n%s%s", r.Code, r.Out, r.Err)
	}
	for _, verb := range [][]string{{"ls"}, {"ls", "--stats"}, {"dump", "-h", "--allow-missing"}, {"check"}, {"diff", process}} {
		clitest.Bad(t, cli.Failed, process+".0009: "+process+" has no subfile of this name", append(verb, process+".0009")...)
	}
}

const toyCDL = `netcdf toy {
dimensions:
	time = UNLIMITED ; // (3 currently)
	lev = 2 ;
	ncol = 6 ;
	chars = 8 ;
variables:
	double lat(ncol) ;
		lat:units = "degrees_north" ;
		lat:long_name = "latitude" ;
	double P0 ;
	float T(time, lev, ncol) ;
		T:_FillValue = -1.f ;
	double time(time) ;
	char date_written(time, chars) ;
	int64 count(time, ncol) ;

// global attributes:
		:title = "toy" ;
		:np = 4 ;
data:

 lat = -90, -54, -18, 18, 54, 90 ;

 P0 = 100000 ;

 T =
  0.5, 1.5, 2.5, 3.5, 4.5, _,
  6.5, 7.5, 8.5, 9.5, 10.5, 11.5,
  100.5, 101.5, 102.5, 103.5, 104.5, _,
  106.5, 107.5, 108.5, 109.5, 110.5, 111.5,
  200.5, 201.5, 202.5, 203.5, 204.5, _,
  206.5, 207.5, 208.5, 209.5, 210.5, 211.5 ;

 time = 0, 0.25, 0.5 ;

 date_written =
  "day 0000",
  "day 0001",
  "day 0002" ;

 count =
  1099511627776, 1099511627777, 1099511627778, 1099511627779, 1099511627780, 
    1099511627781,
  1099511627786, 1099511627787, 1099511627788, 1099511627789, 1099511627790, 
    1099511627791,
  1099511627796, 1099511627797, 1099511627798, 1099511627799, 1099511627800, 
    1099511627801 ;
}
`

func TestDump(t *testing.T) {
	_, canon, variable, process := clitest.Toys(t)
	head, _, _ := strings.Cut(toyCDL, "data:\n")
	for _, path := range []string{canon, variable, process} {
		if got := clitest.Good(t, "dump", path); got != toyCDL {
			t.Errorf("dump %s:\n%s", path, got)
		}
		if got := clitest.Good(t, "dump", "-h", path); got != head+"}\n" {
			t.Errorf("dump -h %s:\n%s", path, got)
		}
		if got := clitest.Good(t, "dump", "-v", "time,P0", path); got != head+"data:\n\n P0 = 100000 ;\n\n time = 0, 0.25, 0.5 ;\n}\n" {
			t.Errorf("dump -v %s:\n%s", path, got)
		}
		if got := clitest.Good(t, "dump", "-c", path); got != head+"data:\n\n time = 0, 0.25, 0.5 ;\n}\n" {
			t.Errorf("dump -c %s:\n%s", path, got)
		}
		var d struct {
			Vars []struct {
				Name string
				Data []any
				Atts map[string]any `json:"attributes"`
			} `json:"variables"`
		}
		clitest.Check(t, json.Unmarshal([]byte(clitest.Good(t, "dump", "--json", path)), &d))
		if v := d.Vars[2]; len(v.Data) != 36 || v.Data[5] != nil || v.Data[6] != 6.5 || v.Data[35] != 211.5 {
			t.Errorf("dump --json of %s: T is %v", path, v.Data)
		}
		if v := d.Vars[4]; len(v.Data) != 3 || v.Data[2] != "day 0002" {
			t.Errorf("dump --json of %s: date_written is %q", path, v.Data)
		}
	}
}

func TestDumpRaw(t *testing.T) {
	_, _, variable, process := clitest.Toys(t)
	const want = `blob 1, subfile 0: 4 elements in 2 requests
  4: 104.5 -1
  6: 106.5 107.5
`
	for _, path := range []string{variable, process} {
		if got := clitest.Good(t, "dump", "--raw", "-v", "T", "--records", "1", "--blob", "1", path); got != want {
			t.Errorf("dump --raw %s:\n%s", path, got)
		}
		var d struct {
			Blobs []struct {
				Subfile, Rank int
				Runs          [][2]int64
				Data          []float64
			}
		}
		clitest.Check(t, json.Unmarshal([]byte(clitest.Good(t, "dump", "--raw", "--json", "-v", "T", path)), &d))
		if len(d.Blobs) != 3 || d.Blobs[2].Subfile != 1 || len(d.Blobs[2].Data) != 4 || d.Blobs[2].Runs[0] != [2]int64{8, 4} {
			t.Errorf("dump --raw --json %s: %+v", path, d)
		}
	}
}

// Extents of a file must not overlap, and gaps must be padding.
func TestDumpLayout(t *testing.T) {
	_, canon, variable, process := clitest.Toys(t)
	for _, path := range []string{canon, variable, process} {
		var d struct{ Extents []dataset.Extent }
		clitest.Check(t, json.Unmarshal([]byte(clitest.Good(t, "dump", "--layout", "--json", path)), &d))
		end := map[string]int64{}
		sum := int64(0)
		for _, x := range d.Extents {
			if x.Offset < end[x.File] {
				t.Errorf("%s: %s of rank %d, record %d at %d overlaps the one before, which ends at %d", x.File, x.Name, x.Rank, x.Record, x.Offset, end[x.File])
			}
			end[x.File] = x.Offset + x.Bytes
			if x.Name == "T" || x.Name == "lat" || x.Name == "count" {
				sum += x.Bytes
			}
		}
		if sum != 144+48+144 {
			t.Errorf("%s: %d bytes of T, lat and count, want %d", path, sum, 144+48+144)
		}
		for name, n := range end {
			info, err := os.Stat(name)
			clitest.Check(t, err)
			if n > info.Size() || n < info.Size()-3 {
				t.Errorf("%s: the last extent ends at %d, the file at %d", name, n, info.Size())
			}
		}
	}
	out := clitest.Good(t, "dump", "--layout", "-v", "T", "--records", "2", "--blob", "0", variable)
	if strings.Count(out, "\n") != 2 {
		t.Errorf("dump --layout of one blob:\n%s", out)
	}
}

func TestCheck(t *testing.T) {
	dir, canon, variable, process := clitest.Toys(t)
	if out := clitest.Good(t, "check", canon, variable, process); strings.Count(out, ": good") != 3 {
		t.Errorf("check:\n%s", out)
	}
	if r := clitest.Blobio(t, "check", "--quick", variable); r.Code != 0 || !strings.Contains(r.Out, "data not read") {
		t.Errorf("check --quick: %d\n%s", r.Code, r.Out)
	}
	// Only the checksum can detect a changed byte of data.
	file := process + ".0001"
	b := clitest.Read(t, file)
	b[len(b)-1] ^= 1
	clitest.Check(t, os.WriteFile(file, b, 0o666))
	r := clitest.Blobio(t, "check", process)
	if r.Code != cli.Findings || !strings.Contains(r.Out, "error: "+file) || !strings.Contains(r.Out, "checksum mismatch") || !strings.Contains(r.Out, "1 error, 0 warnings") {
		t.Errorf("check of a flipped bit: %d\n%s%s", r.Code, r.Out, r.Err)
	}
	if r := clitest.Blobio(t, "check", "--quick", process); r.Code != 0 {
		t.Errorf("check --quick of a flipped bit of data: %d\n%s%s", r.Code, r.Out, r.Err)
	}
	r = clitest.Blobio(t, "check", "--json", process)
	var raw struct {
		Version int
		Checked []struct {
			Path     string
			Errors   int
			Findings []map[string]any
		}
		Failed []struct {
			Path  string
			Error map[string]any
		}
	}
	clitest.Check(t, json.Unmarshal([]byte(r.Out), &raw))
	if r.Code != cli.Findings || raw.Version != 1 || raw.Checked[0].Errors != 1 || raw.Checked[0].Findings[0]["severity"] != "error" || raw.Failed != nil {
		t.Errorf("check --json: %d %+v", r.Code, raw)
	}
	gone := filepath.Join(dir, "gone.nc")
	for _, paths := range [][]string{{gone}, {process, gone}} { // an unreadable path does not hide readable ones
		r = clitest.Blobio(t, append([]string{"check", "--json"}, paths...)...)
		clitest.Check(t, json.Unmarshal([]byte(r.Out), &raw))
		if want := []int{cli.Failed, cli.Findings}[len(paths)-1]; r.Code != want || len(raw.Checked) != len(paths)-1 || len(raw.Failed) != 1 || raw.Failed[0].Path != gone || raw.Failed[0].Error["class"] != "missing" {
			t.Errorf("check --json %s: %d %+v", paths, r.Code, raw)
		}
	}
	// A dataset without a manifest gives a note, which only --notes prints.
	clitest.Check(t, os.Remove(variable+".manifest"))
	if out := clitest.Good(t, "check", variable); !strings.Contains(out, "1 note (--notes shows them)") || strings.Contains(out, "another program") {
		t.Errorf("check of a foreign dataset:\n%s", out)
	}
	clitest.Shows(t, "another program", "check", "--notes", variable)
	// Truncated, then missing.
	clitest.Check(t, os.Truncate(variable+".0001", 2000))
	if r := clitest.Blobio(t, "check", variable); r.Code != cli.Findings || !strings.Contains(r.Out, variable+".0001") {
		t.Errorf("check of a truncated file: %d\n%s", r.Code, r.Out)
	}
	clitest.Bad(t, cli.Findings, "blobio check lists all faults", "dump", variable)
	clitest.Check(t, os.Remove(variable+".0001"))
	clitest.Bad(t, cli.Findings, "missing", "check", variable)
	_ = dir
}

func TestConvert(t *testing.T) {
	dir, canon, variable, process := clitest.Toys(t)
	out := filepath.Join(dir, "out.nc")
	text := clitest.Good(t, "convert", "--no-sync", variable, out)
	if !strings.HasPrefix(text, out+": ordinary netCDF, CDF-5, 3 records, ") || !strings.Contains(text, "MiB/s") {
		t.Errorf("convert prints %q", text)
	}
	a := clitest.Read(t, canon)
	b := clitest.Read(t, out)
	if string(a) != string(b) {
		t.Error("the canonical file is not the one that was converted to blobs")
	}
	clitest.Bad(t, cli.Failed, out+" already exists (--force replaces the output)", "convert", variable, out)
	clitest.Bad(t, cli.Failed, "already exists (--force replaces the output)", "convert", "--to", "process-centric", variable, process)
	clitest.Good(t, "convert", "--force", "--no-sync", "--vars", "T,time", "--records", "1:", process, out)
	cdl := clitest.Good(t, "dump", out)
	if !strings.Contains(cdl, "// (2 currently)") || strings.Contains(cdl, "count") || !strings.Contains(cdl, "  100.5, 101.5") || strings.Contains(cdl, " 0.5,") {
		t.Errorf("convert of some variables and records:\n%s", cdl)
	}
	clitest.Bad(t, cli.Failed, "--format cdf5 has no such limits", "convert", "--force", "--format", "cdf2", variable, out)
	clitest.Good(t, "convert", "--force", "--format", "cdf1", "--vars", "T,lat", variable, out)
	// The output uses the map of another dataset.
	mapped := filepath.Join(dir, "mapped.nc")
	m := filepath.Join(dir, "maps.nc")
	clitest.Good(t, "decomp", "convert", variable, m)
	clitest.Good(t, "convert", "--to", "variable-centric", "--map", m, "--ranks", "2", canon, mapped)
	clitest.Good(t, "diff", canon, mapped)
	clitest.Shows(t, "2 ranks", "ls", mapped)
	var res struct {
		Bytes   int64
		Seconds float64
	}
	clitest.Check(t, json.Unmarshal([]byte(clitest.Good(t, "convert", "--json", "--force", variable, out)), &res))
	if res.Bytes != int64(len(a)) {
		t.Errorf("convert --json says %d bytes, want %d", res.Bytes, len(a))
	}
	// A missing subfile.
	clitest.Check(t, os.Remove(variable+".0001"))
	part := filepath.Join(dir, "part.nc")
	clitest.Bad(t, cli.Findings, "--allow-missing", "convert", variable, part)
	r := clitest.Blobio(t, "convert", "--allow-missing", variable, part)
	if r.Code != 0 || !strings.Contains(r.Err, "warning: 1 subfile") {
		t.Errorf("convert --allow-missing: %d %s%s", r.Code, r.Out, r.Err)
	}
	if r := clitest.Blobio(t, "diff", canon, part); r.Code != cli.Findings {
		t.Errorf("what was lost reads as if it were there: %d %s%s", r.Code, r.Out, r.Err)
	}
}

// An interruption at any point must leave nothing or the whole output.
func TestInterrupted(t *testing.T) {
	_, canon, variable, _ := clitest.Toys(t)
	for _, to := range []string{"canonical", "process-centric"} {
		whole := 0
		for n := int64(1); whole < 2 && n < 300; n++ {
			dir := t.TempDir()
			out := filepath.Join(dir, "out")
			ctx := &clitest.StopCtx{Context: t.Context(), Ended: make(chan struct{})}
			ctx.Left.Store(n)
			r := clitest.BlobioCtx(ctx, "convert", "--no-sync", "--to", to, variable, out)
			got := clitest.Names(t, dir)
			switch {
			case r.Code == cli.Failed && got == "" && strings.HasPrefix(r.Err, "blobio: interrupted"):
			case strings.Contains(got, "partial") || strings.Contains(got, "next"):
				t.Fatalf("to %s, cancelled at look %d: exit code %d, left %q, %s", to, n, r.Code, got, r.Err)
			default:
				clitest.Good(t, "diff", canon, out)
				whole++
			}
		}
		if whole == 0 {
			t.Errorf("to %s: never came to its end", to)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, args := range [][]string{{"ls", variable}, {"dump", variable}, {"check", variable}, {"diff", canon, variable}, {"replay", "--ne", "1"}, {"decomp", "info", variable}} {
		if r := clitest.BlobioCtx(ctx, args...); r.Code != cli.Failed || !strings.Contains(r.Err, "interrupted") {
			t.Errorf("blobio %s, cancelled: exit code %d %s", strings.Join(args, " "), r.Code, r.Err)
		}
	}
}

func TestDiff(t *testing.T) {
	dir, canon, variable, process := clitest.Toys(t)
	clitest.Good(t, "diff", variable, process)
	clitest.Good(t, "diff", canon, variable+".0001")
	b := clitest.Read(t, canon)
	// Change the last element of the last variable, count[2,5].
	b[len(b)-1]++
	other := filepath.Join(dir, "other.nc")
	clitest.Check(t, os.WriteFile(other, b, 0o666))
	r := clitest.Blobio(t, "diff", variable, other)
	if r.Code != cli.Findings || !strings.HasPrefix(r.Out, `variable "count": 1 of 18 values differ; the first at [2,5]`) || !strings.HasSuffix(r.Out, "differ: 1 difference\n") {
		t.Errorf("diff: %d\n%s%s", r.Code, r.Out, r.Err)
	}
	if r := clitest.Blobio(t, "diff", "-q", variable, other); r.Code != cli.Findings || r.Out != "" {
		t.Errorf("diff -q: %d\n%s", r.Code, r.Out)
	}
	clitest.Good(t, "diff", "--abs", "1", variable, other)
	clitest.Good(t, "diff", "--vars", "T,time", variable, other)
	var d struct {
		Equal       bool
		Differences []map[string]any
	}
	clitest.Check(t, json.Unmarshal([]byte(clitest.Blobio(t, "diff", "--json", variable, other).Out), &d))
	if d.Equal || len(d.Differences) != 1 {
		t.Errorf("diff --json: %+v", d)
	}
	clitest.Bad(t, cli.Failed, `no variable "nix"`, "diff", "--vars", "nix", variable, other)
}
