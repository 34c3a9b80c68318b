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

// TestAsyncMark: all I/O is hidden but the last flush; what hides more was disturbed.
func TestAsyncMark(t *testing.T) {
	_, data := asyncJob(false, 1, false)
	for seconds, want := range map[float64]bool{0.9: false, 1.0: true, 1.2: true, 1.25: false} {
		of := func(what string, s float64) Row {
			r := rowOf("async", data, what, vcName, 1, 100)
			r.Seconds = []float64{s}
			return r
		}
		turn := of(asyncSync, 2)
		turn.Phases = map[string][]float64{"compute": {1}, "create": {0}}
		measured := 0
		for _, m := range (table{of(asyncIdle, 1), turn, of(asyncBoth, seconds)}).asyncMarks() { // ideal: 1 + 1/12
			if m.Measured == "" {
				continue
			}
			if measured++; m.Good != want || !strings.Contains(m.Measured, "ideal 1.083 s, in turn 2.000 s") {
				t.Errorf("%v: %+v", seconds, m)
			}
		}
		if measured != 1 {
			t.Errorf("%d marks of one layout", measured)
		}
	}
}

// TestKeptPages: the pages of this checkout are what its results make; `blobio bench report --docs docs/performance.md` writes them anew.
func TestKeptPages(t *testing.T) {
	t.Chdir(filepath.Join("..", ".."))
	o := ReportOptions{Results: "bench/results", Out: "bench/results/performance.md", Docs: "docs/performance.md"}
	p, err := newPage(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.write(); err != nil {
		t.Fatal(err)
	}
	read := func(name string) string {
		b, err := os.ReadFile(filepath.FromSlash(name))
		if err != nil {
			t.Fatal(err)
		}
		return strings.ReplaceAll(string(b), "\r\n", "\n")
	}
	if p.b.String() != read(o.Out) {
		t.Errorf("%s is not what the results make", o.Out)
	}
	docs := read(o.Docs)
	if made, err := p.intoDocs(o.Docs, docs); err != nil || made != docs {
		t.Errorf("%s is not what the results make: %v", o.Docs, err)
	}
	used := map[string]bool{}
	for _, r := range p.newest {
		used[r.file] = true
	}
	for _, name := range p.made {
		used[filepath.ToSlash(name)] = true
	}
	kept, err := filepath.Glob("bench/results/2*")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range kept {
		if !used[filepath.ToSlash(name)] {
			t.Errorf("%s is used by no page", name)
		}
	}
}

// TestPlaces: rows of processes with one MPI are not set beside those with another, and each version of PnetCDF has a column.
func TestPlaces(t *testing.T) {
	p := &page{newest: map[pageKey]*Results{}}
	for mpi, adios := range map[string]bool{"Open MPI 4": false, "Open MPI 5": true} {
		r := &Results{Date: "2026-01-02T10:00:00Z", FileSystem: "tmpfs", Runs: 3, Libraries: map[string]string{"MPI": mpi}}
		for _, who := range []string{vcName, pcName, realWho(pnetCDFBlob) + " 1.12.3", realWho(pnetCDFBlob) + " 1.15.0", hdf5Blob.Name, adios2Blob.Name} {
			if who != adios2Blob.Name || adios {
				r.Rows = append(r.Rows, rowOf("processes", "G captured, 40 records", "write", who, 16, 289))
			}
		}
		for who, seconds := range map[string]float64{vcName: 0.1, pnetCDFCanonical.Name: 5, realWho(pnetCDFCanonical): 4} {
			row := rowOf("canonical", "F h0 captured", "write", who, 4, 33)
			row.Seconds = []float64{seconds}
			r.Rows = append(r.Rows, row)
		}
		for _, w := range []string{"processes", "canonical"} {
			p.newest[pageKey{w, r.place(w)}] = r
		}
	}
	if err := p.write(); err != nil {
		t.Fatal(err)
	}
	docs := p.docs()
	for text, n := range map[string]int{
		"16 processes against 16, on tmpfs, Open MPI 4 (": 1, "16 processes against 16, on tmpfs, Open MPI 5 (": 1, "captured": 0, "| PnetCDF blob 1.12.3 | PnetCDF blob 1.15.0 |": 2,
		"| HDF5 blob | ADIOS2 BP5 | load |": 1, "| HDF5 blob | load |": 1, "| G, 40 records, 289 MiB | 16 |": 2,
		"4000 ±0 % (x 40)": 2, // the faster one
	} {
		if got := strings.Count(docs, text); got != n {
			t.Errorf("%q: %d times, want %d, in\n%s", text, got, n, docs)
		}
	}
	for _, text := range []string{"### On tmpfs, Open MPI 4: times", "### On tmpfs, Open MPI 5: marks", "### On tmpfs, Open MPI 5: canonical"} {
		if !strings.Contains(p.b.String(), text) {
			t.Errorf("no %q in the page", text)
		}
	}
}

// TestIntoDocs: what stands around the part of the report stays, and a page without it is an error.
func TestIntoDocs(t *testing.T) {
	p := &page{newest: map[pageKey]*Results{}}
	made, err := p.intoDocs("page.md", "before\n"+docsBegin+"old\n"+docsEnd+"after\n")
	if err != nil || !strings.HasPrefix(made, "before\n"+docsBegin) || !strings.HasSuffix(made, docsEnd+"after\n") || strings.Contains(made, "old") {
		t.Errorf("%q, %v", made, err)
	}
	for _, bad := range []string{"", docsBegin, docsEnd, docsEnd + docsBegin} {
		if _, err := p.intoDocs("page.md", bad); err == nil {
			t.Errorf("no error for %q", bad)
		}
	}
}
