package bench

import (
	"errors"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"blobio/internal/vfs"
)

// rowOf is a row of as many MiB as its rate, so that it took a second.
func rowOf(workload, data, what, who string, ranks int, mib int64) Row {
	return Row{Workload: workload, Data: data, What: what, Who: who, Ranks: ranks, As: "processes", Bytes: mib << 20, Seconds: []float64{0.5, 1, 2}}
}

func TestShare(t *testing.T) {
	r := rowOf("ne30", ne30Data, "write", pcName, 64, 900)
	if !math.IsNaN(r.Share("raw write")) {
		t.Error("a share without a bound")
	}
	r.bound("raw write", 500<<20, 0.5) // 1000 MiB/s
	r.bound("raw write", 500<<20, 0.4)
	r.bound("raw write", 500<<20, 0.6)
	if s := r.Share("raw write"); math.Abs(s-0.9) > 1e-12 {
		t.Errorf("share %v, want 0.9", s)
	}
}

func TestMarks(t *testing.T) {
	w := rowOf("ne30", ne30Data, "write", pcName, 64, 950)
	w.bound("raw write", 1000<<20, 1)
	const g = "G captured, 40 records"
	at := func(who string, ranks int, seconds ...float64) Row {
		r := rowOf("processes", g, "write", who, ranks, 3000)
		r.Seconds = seconds
		return r
	}
	ours, peer := at(vcName, 16, 1, 1, 1), at(pnetCDFBlob.Name, 16, 4, 4, 4)
	fast := at(pnetCDFBlob.Name, 2, 0.9, 0.9, 0.9)
	find := func(t table, words ...string) Mark {
		list := t.marks()
		for _, n := range matrixCounts {
			list = append(list, t.processMarks("G", n)...)
		}
		for _, m := range list {
			if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(m.What, w) }) {
				return m
			}
		}
		return Mark{}
	}
	rows := table{w, ours, peer, fast}
	if m := find(rows, "process-centric write"); !m.Good || m.Measured != "0.95 (950 of 1000 MiB/s)" {
		t.Errorf("%+v", m)
	}
	if m := find(rows, "variable-centric write, with"); m.Good || m.Measured != "" {
		t.Errorf("%+v", m)
	}
	if m := find(rows, "G, 16", vcName, "PnetCDF"); !m.Good || !strings.HasPrefix(m.Measured, "4.00 times (3000 to 750 MiB/s)") {
		t.Errorf("%+v", m)
	}
	if m := find(append(rows, at(vcName, 2, 1, 1, 1)), "G, 2", vcName, "PnetCDF"); m.Good || m.Want != "not behind" || !strings.HasPrefix(m.Measured, "0.90 times") {
		t.Errorf("%+v", m)
	}
	// what is faster counts, the real program with any version of its library or the peer of ours
	if m := find(append(rows, at(realWho(pnetCDFBlob)+" 1.15.0", 16, 2, 2, 2)), "G, 16", vcName, "PnetCDF"); !m.Good || !strings.Contains(m.Measured, "2.00 times (3000 to 1500 MiB/s of the real program)") {
		t.Errorf("%+v", m)
	}
	// where plain writes are 1.5 times as fast as the peer, so must we nearly be
	close := ours
	close.Bounds = []Bound{{What: "raw write", Bytes: close.Bytes, Seconds: []float64{0.5, 0.5, 0.5}}}
	if m := find(table{close, at(pnetCDFBlob.Name, 16, 1.2, 1.2, 1.2)}, "G, 16", vcName, "PnetCDF"); m.Good || m.Want != "at least 1.3 times" {
		t.Errorf("%+v", m)
	}
	// what is not steady says so
	wild := at(vcName, 16, 0.5, 1, 2)
	wild.Load = []float64{0, 1.5, 1.5}
	if m := find(table{wild, peer}, "G, 16", vcName, "PnetCDF"); !strings.HasSuffix(m.Measured, "load 1.5: not steady") {
		t.Errorf("%+v", m)
	}
	// memory: all processes of one against all of the other
	mem, theirs := at(pcName, 16, 1, 1, 1), at(hdf5Blob.Name, 16, 1, 1, 1)
	mem.Memory, mem.Lent, theirs.Memory, theirs.Lent = []int64{20 << 20}, 80<<20, []int64{120 << 20}, 80<<20
	if m := find(table{mem, theirs}, "G, 16", pcName, "memory"); !m.Good || m.Measured != "0.50 (100 of 200 MiB)" {
		t.Errorf("%+v", m)
	}
}

func TestReport(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "pages", "performance.md")
	o := ReportOptions{Results: dir, Out: out}
	if _, err := Report(o); err == nil {
		t.Error("a report of nothing")
	}
	row := rowOf("ne30", ne30Data, "write", pcName, 64, 950)
	row.bound("raw write", 1000<<20, 1)
	save := func(date, fs string, quick bool, rows ...Row) {
		r := &Results{Version: resultsVersion, Date: date, Workloads: []string{"ne30"}, FileSystem: fs, Runs: 3, Quick: quick, Rows: rows}
		if _, err := r.Save(dir); err != nil {
			t.Fatal(err)
		}
	}
	old := row
	old.Data = "of an older run"
	save("2026-01-01T10:00:00Z", "tmpfs", false, old)
	save("2026-01-02T10:00:00Z", "tmpfs", false, row)
	save("2026-01-03T10:00:00Z", "ext4", false, row)
	quick := row
	quick.Data = "of a quick run"
	save("2026-01-04T10:00:00Z", "tmpfs", true, quick)
	made, err := Report(o)
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	page := string(b)
	for _, want := range []string{"## ne30", "### On tmpfs", "### On ext4", "| process-centric write | at least 0.90 of the raw write | 0.95 (950 of 1000 MiB/s) | yes | tmpfs |",
		"| process-centric write | at least 0.90 of the raw write | 0.95 (950 of 1000 MiB/s) | yes | ext4 |",
		"../2026-01-02-ne30-tmpfs.svg", "not measured"} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in the page", want)
		}
	}
	if strings.Contains(page, "older run") || strings.Contains(page, "quick run") {
		t.Error("old or quick results are in the page")
	}
	if strings.Index(page, "### On tmpfs") > strings.Index(page, "### On ext4") {
		t.Error("memory does not come first")
	}
	for line := range strings.Lines(page) { // tables hold together
		if strings.HasPrefix(line, "|") && !strings.HasSuffix(strings.TrimSpace(line), "|") {
			t.Errorf("broken line %q", line)
		}
	}
	pngs := 0
	for _, m := range made {
		if strings.HasSuffix(m, ".png") {
			f, err := os.Open(m)
			if err != nil {
				t.Fatal(err)
			}
			img, err := png.Decode(f)
			f.Close()
			if err != nil || img.Bounds().Dx() < 1000 {
				t.Errorf("%s: %v", m, err)
			}
			pngs++
		}
	}
	if pngs != 2 {
		t.Errorf("%d pictures, want 2", pngs)
	}
}

func TestResultsAreChecked(t *testing.T) {
	name := filepath.Join(t.TempDir(), "r.json")
	for _, text := range []string{"", "{", `{"version": 7}`, `{"version": 1, "rows": [{"data": "x"}]}`,
		`{"version": 1, "rows": []}`,
		`{"version": 1, "date": "yesterday", "rows": []}`,
		`{"version": 1, "date": "2026-11-22T00:00:00Z", "rows": [{"bytes": 5, "seconds": [1], "bounds": [{"what": "raw write", "bytes": 5}]}]}`,
		`{"version": 1, "date": "2026-11-22T00:00:00Z", "rows": [{"bytes": 5, "seconds": [1], "bounds": [{"what": "raw write", "seconds": [1]}]}]}`,
		`{"version": 1, "date": "2026-11-22T00:00:00Z", "rows": [{"bytes": 5, "seconds": [1, 1e300]}]}`,
		`{"version": 1, "date": "2026-11-22T00:00:00Z", "rows": [{"bytes": -5, "seconds": [1]}]}`,
	} {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := LoadResults(name); err == nil {
			t.Errorf("no error for %q", text)
		}
	}
}

// TestSaveWhole: results replace no others, and on a full disk no part of them stays, which a report would stumble over.
func TestSaveWhole(t *testing.T) {
	mem := vfs.NewMem()
	r := Results{Version: resultsVersion, Date: "2026-11-21T10:11:12Z", Workloads: []string{"check"}, FileSystem: "tmpfs"}
	for _, want := range []string{"2026-11-21-1011-check-tmpfs.json", "2026-11-21-1011-check-tmpfs-2.json"} {
		if name, err := r.save(mem, "d/out"); err != nil || filepath.Base(name) != want {
			t.Fatalf("saved as %s: %v, want %s", name, err, want)
		}
	}
	full := vfs.NewFault(mem, func(op vfs.Op) error {
		if op.Kind == vfs.OpWrite {
			return vfs.ErrNoSpace
		}
		return nil
	})
	if _, err := r.save(full, "d/out"); !errors.Is(err, vfs.ErrNoSpace) {
		t.Errorf("full disk: %v", err)
	}
	if list, err := mem.ReadDir("d/out"); err != nil || len(list) != 2 {
		t.Errorf("%v, %v", list, err)
	}
}

// TestDoubtful: a share of plain writes that were held up is marked, on the page and among the marks.
func TestDoubtful(t *testing.T) {
	row := func(raw ...float64) Row {
		r := rowOf("ne30", ne30Data, "write", pcName, 64, 950)
		for _, s := range raw {
			r.bound("raw write", 950<<20, s)
		}
		return r
	}
	for _, tc := range []struct {
		raw  []float64
		want bool
	}{{[]float64{1, 1, 1}, false}, {[]float64{1.2, 1.1, 1}, false}, {[]float64{0.3, 1, 1}, true}, {[]float64{2, 2, 2}, true}} {
		r := row(tc.raw...)
		if got := r.Doubtful(); got != tc.want {
			t.Errorf("%v: doubtful %v", tc.raw, got)
		}
		m := table{r}.marks()[0]
		if m.Good == tc.want || strings.Contains(m.Measured, "disturbed") != tc.want {
			t.Errorf("%v: %+v", tc.raw, m)
		}
		p := &page{}
		p.table(table{r})
		if got := strings.Contains(p.b.String(), " ? |") && strings.Contains(p.b.String(), "says nothing"); got != tc.want {
			t.Errorf("%v: the table is %s", tc.raw, p.b.String())
		}
	}
}

// TestAsyncMarkTooGood: two parts of equal length cannot gain more than twice.
func TestAsyncMarkTooGood(t *testing.T) {
	_, data := asyncJob(false, 1, false)
	for in, want := range map[float64]bool{1.5: false, 1.9: true, 2.1: true, 2.4: false} {
		turn, both := rowOf("async", data, asyncSync, vcName, 1, 100), rowOf("async", data, asyncBoth, vcName, 1, 100)
		turn.Seconds, both.Seconds = []float64{in}, []float64{1}
		for _, m := range (table{turn, both}).asyncMarks() {
			if m.Measured != "" && m.Good != want {
				t.Errorf("%v: %+v", in, m)
			}
		}
	}
}
