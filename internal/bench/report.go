package bench

import (
	"bytes"
	"cmp"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"blobio/internal/chart"
	"blobio/internal/vfs"
)

// remarks are what the results cannot say themselves: why a mark is missed.
//
//go:embed remarks.md
var remarks string

// ReportOptions of Report.
type ReportOptions struct {
	Results string // directory with files of results; plots go there
	Out     string // the page
	Docs    string // a page with a part that is made from the results, between docsBegin and docsEnd; "": none
	Quick   bool   // with results of quick runs
}

// Report writes the page of the newest results of each workload and place (file system, and of processes the MPI), its plots and the part of
// another page, and returns the names of what it made.
func Report(o ReportOptions) ([]string, error) {
	p, err := newPage(o)
	if err != nil {
		return nil, err
	}
	p.draw = true
	if err := p.write(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(o.Out), 0o777); err != nil {
		return nil, err
	}
	if o.Docs != "" {
		was, err := vfs.ReadStream(o.Docs, maxJSON)
		if err != nil {
			return nil, err
		}
		is, err := p.intoDocs(o.Docs, string(was))
		if err != nil {
			return nil, err
		}
		if err := os.WriteFile(o.Docs, []byte(is), 0o666); err != nil {
			return nil, err
		}
		p.made = append(p.made, o.Docs)
	}
	return append(p.made, o.Out), os.WriteFile(o.Out, p.b.Bytes(), 0o666)
}

// newPage loads the results.
func newPage(o ReportOptions) (*page, error) {
	names, err := filepath.Glob(filepath.Join(o.Results, "*.json"))
	if err != nil {
		return nil, err
	}
	p := &page{o: o, newest: map[pageKey]*Results{}}
	for _, n := range names {
		r, err := LoadResults(n)
		if err != nil {
			return nil, err
		}
		if r.Quick && !o.Quick {
			continue
		}
		for _, w := range r.Workloads {
			k := pageKey{w, r.place(w)}
			if old := p.newest[k]; old == nil || old.Date < r.Date {
				p.newest[k] = r
			}
		}
	}
	if len(p.newest) == 0 {
		return nil, pkg.Errorf("no results in %s", o.Results)
	}
	return p, nil
}

// place is where a workload ran, on the page: rows of processes are only compared with rows of the same MPI and its libraries.
func (r *Results) place(workload string) string {
	if mpi := r.Libraries["MPI"]; mpi != "" && (workload == "processes" || workload == "canonical") {
		return r.FileSystem + ", " + mpi
	}
	return r.FileSystem
}

type pageKey struct{ workload, place string }

type page struct {
	o      ReportOptions
	newest map[pageKey]*Results
	b      bytes.Buffer
	made   []string
	draw   bool // pictures too
}

func (p *page) printf(format string, a ...any) { fmt.Fprintf(&p.b, format, a...) }

// systems lists the places, memory first.
func (p *page) systems() (out []string) {
	for k := range p.newest {
		if !slices.Contains(out, k.place) {
			out = append(out, k.place)
		}
	}
	slices.SortFunc(out, func(a, b string) int {
		if inMemory(a) != inMemory(b) {
			if inMemory(a) {
				return -1
			}
			return 1
		}
		return cmp.Compare(a, b)
	})
	return out
}

func inMemory(place string) bool { return strings.HasPrefix(place, "tmpfs") }

// rows of one workload at one place.
func (p *page) rows(workload, place string) (table, *Results) {
	r := p.newest[pageKey{workload, place}]
	if r == nil {
		return nil, nil
	}
	var t table
	for _, row := range r.Rows {
		if row.Workload == workload {
			t = append(t, row)
		}
	}
	return t, r
}

func (p *page) write() error {
	p.printf("# Performance\n\nMade by `blobio bench report` from the results in %s; `blobio bench run` makes those.\n\n", filepath.ToSlash(filepath.Base(p.o.Results)))
	p.printf(`Each figure is the median of several runs, with the fastest and the slowest. Rows that are compared took turns. Each row also
shows, from the same run, the time of plain positional writes or reads of the same bytes: the best of several block sizes, into
a fresh file or one with its space reserved first, that time included. The clock runs from open to close and includes checksums
and the manifest; it excludes starting MPI, reading maps and making data, for the peers too. Every value differs from
all others, unless a row says that one record's buffers are reused. Nothing is synced unless a row says so; earlier output is flushed to its device before a clock starts. Ranks are
goroutines of one process or processes of mpirun, as the rows say.

`)
	p.printf("To repeat it:\n\n```\ninternal/bench/peers/install-debian                       # as root: MPI and the libraries that are compared with\n"+
		"go build -o /usr/local/bin/blobio ./cmd/blobio\nblobio bench run --dir /dev/shm --maps MAPS -o %s\nblobio bench report --results %s -o %s\n```\n\n"+
		"MAPS holds the captured maps of E3SM-IO (map_f_case_16p.nc, map_g_..., map_i_...); without it generated ones\nof the same size are taken. `blobio bench run --quick` tries everything in a minute.\n\n",
		filepath.ToSlash(p.o.Results), filepath.ToSlash(p.o.Results), filepath.ToSlash(p.o.Out))
	p.processes()
	p.canonical()
	p.marks()
	p.hosts()
	p.printf("%s\n", remarks)
	for _, w := range Workloads() {
		if err := p.section(w); err != nil {
			return err
		}
	}
	p.production()
	return nil
}

func (p *page) hosts() {
	p.printf("## Where and when\n\n| workload | place | date | host | load | runs | Go | libraries |\n|---|---|---|---|---|---|---|---|\n")
	for _, w := range Workloads() {
		for _, fs := range p.systems() {
			_, r := p.rows(w.Name, fs)
			if r == nil {
				continue
			}
			var libs []string
			for n, v := range r.Libraries {
				if !strings.Contains(v, n) {
					v = n + " " + v
				}
				libs = append(libs, v)
			}
			slices.Sort(libs)
			day, _, _ := strings.Cut(r.Date, "T")
			quick := ""
			if r.Quick {
				quick = " (quick: the figures mean nothing)"
			}
			p.printf("| %s%s | %s | %s | %s | %s | %d | %s | %s |\n", w.Name, quick, fs, day, r.Host, r.Host.Load, r.Runs, r.Go, strings.Join(libs, ", "))
		}
	}
	p.printf("\n")
}

// marks are those of every file system that has what they need.
func (p *page) marks() {
	p.printf("## Marks\n\nAims and measurements. Each ratio is of one run. In parentheses beside a peer: both rates, and the raw write rate of the same run relative to the peer.\n\n| what | mark | measured | reached | on |\n|---|---|---|---|---|\n")
	systems := p.systems()
	var all [][]Mark
	for _, fs := range systems {
		var t table
		for _, w := range Workloads() {
			rows, _ := p.rows(w.Name, fs)
			t = append(t, rows...)
		}
		all = append(all, t.marks())
	}
	missing := 0
	for i := range all[0] {
		found := false
		for k, fs := range systems {
			if i >= len(all[k]) || all[k][i].Measured == "" || all[k][i].What != all[0][i].What {
				continue
			}
			m := all[k][i]
			verdict := "no"
			if m.Good {
				verdict = "yes"
			}
			p.printf("| %s | %s | %s | %s | %s |\n", m.What, m.Want, m.Measured, verdict, fs)
			found = true
		}
		if !found {
			missing++
			p.printf("| %s | %s | not measured | | |\n", all[0][i].What, all[0][i].Want)
		}
	}
	if missing > 0 {
		p.printf("\n%d of them are not measured yet.\n", missing)
	}
	p.printf("\n")
}

func (p *page) section(w Workload) error {
	headed := false
	for _, fs := range p.systems() {
		t, r := p.rows(w.Name, fs)
		if r == nil {
			continue
		}
		if !headed {
			p.printf("## %s\n\n%s.\n\n", w.Name, strings.ToUpper(w.About[:1])+w.About[1:])
			headed = true
		}
		if len(t) > 0 {
			p.printf("### On %s\n\n", fs)
			p.table(t)
			if err := p.plot(w, fs, t, r); err != nil {
				return err
			}
		}
		if w.Name == "profile" {
			for _, f := range r.Profiles {
				p.printf("%s (%s):\n\n```\n%s\n```\n\n", f.What, fs, strings.Join(f.Lines, "\n"))
			}
		}
		for _, s := range r.Skipped {
			p.printf("Not measured: %s.\n\n", s)
		}
	}
	return nil
}

func (p *page) table(t table) {
	rates, shares, tunings, memory, phases := false, false, false, false, false
	for i := range t {
		_, ok := t[i].OfRaw()
		shares = shares || ok
		rates = rates || t[i].Bytes > 0
		tunings = tunings || t[i].Tuning != "" || t[i].Note != ""
		memory = memory || len(t[i].Memory) > 0
		phases = phases || len(t[i].Phases) > 0
	}
	heads := []string{"data", "what", "who", "ranks", "time (fastest to slowest)"}
	add := func(on bool, names ...string) {
		if on {
			heads = append(heads, names...)
		}
	}
	add(rates, "MiB", "MiB/s")
	add(shares, "raw MiB/s", "of raw")
	add(memory, "memory beyond the data, MiB")
	add(phases, "phases, ms")
	add(tunings, "remarks")
	p.printf("| %s |\n|%s\n", strings.Join(heads, " | "), strings.Repeat("---|", len(heads)))
	doubts := false
	for i := range t {
		r := &t[i]
		low, top := r.Range()
		ranks := ""
		if r.Ranks > 0 {
			ranks = ranksText(r.Ranks, r.As)
		}
		cells := []string{r.Data, r.What, r.Who, ranks, fmt.Sprintf("%s (%s to %s)", Seconds(r.Median()), Seconds(low), Seconds(top))}
		if rates {
			size, rate := "", ""
			if r.Bytes > 0 {
				size, rate = mebi(r.Bytes), fmt.Sprintf("%.0f", r.Rate()/(1<<20))
			}
			cells = append(cells, size, rate)
		}
		if shares {
			raw, share := "", ""
			if s, ok := r.OfRaw(); ok {
				raw, share = fmt.Sprintf("%.0f", r.Rate()/s/(1<<20)), fmt.Sprintf("%.2f", s)
				if r.Doubtful() {
					share += " ?"
					doubts = true
				}
			}
			cells = append(cells, raw, share)
		}
		if memory {
			m := ""
			if len(r.Memory) > 0 {
				m = fmt.Sprintf("%d", medianInt(r.Memory)>>20)
			}
			cells = append(cells, m)
		}
		if phases {
			cells = append(cells, phaseText(r.Phases))
		}
		if tunings {
			cells = append(cells, strings.Trim(r.Tuning+"; "+r.Note, "; "))
		}
		p.printf("| %s |\n", strings.Join(cells, " | "))
	}
	p.printf("\n")
	if doubts {
		p.printf("? Something else was at work: the slowest of the plain writes or reads beside this row took more than %d times as long as the fastest, or what can be no faster than they are was. Such a share says nothing.\n\n", unsteady)
	}
}

// phaseText lists the phases in the order of time.
func phaseText(phases map[string][]float64) string {
	var out []string
	for _, n := range append(slices.Clone(writePhases), "start", "open", "define", "post", "write", "complete", "read", "convert", "open it", "read it") {
		if v, ok := phases[n]; ok {
			out = append(out, fmt.Sprintf("%s %.1f", n, 1e3*median(v)))
		}
	}
	return strings.Join(out, ", ")
}

func mebi(n int64) string {
	if n < 10<<20 {
		return fmt.Sprintf("%.2f", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%d", n>>20)
}

// plot makes a picture of the rows that have a rate, if it says more than the table.
func (p *page) plot(w Workload, fs string, t table, r *Results) error {
	if w.Name == "open" || w.Name == "ceilings" || w.Name == "read" {
		return nil
	}
	day, _, _ := strings.Cut(r.Date, "T")
	if w.Name == "curve" {
		p.growths(r)
		return p.picture(w, fs, day, &chart.Figure{Title: "What ranks cost", Width: 860, Across: 2, Panels: t.curves(r.Growth),
			Lines: []string{fmt.Sprintf("F h1, the same 10 MB of data for any number of ranks; %s; %s, %s; runs: %d", r.Host.CPU, fs, day, r.Runs),
				"at the end of a line: the exponent of its growth between the last two sizes"}})
	}
	b := t.bars(w.Name == "peers" || w.Name == "processes" || w.Name == "canonical")
	if w.Name == inplaceName {
		b = t.inplaceBars()
	}
	if b == nil {
		return nil
	}
	return p.picture(w, fs, day, &chart.Figure{Title: "blobio bench: " + w.Name, Width: 820, Panels: []chart.Panel{b},
		Lines: []string{fmt.Sprintf("%s; %s, %s; medians of %d runs", r.Host, fs, day, r.Runs)}})
}

// picture writes both files of a picture beside the results, and puts it into the page.
func (p *page) picture(w Workload, fs, day string, f *chart.Figure) error {
	base := filepath.Join(p.o.Results, fmt.Sprintf("%s-%s-%s", day, w.Name, strings.NewReplacer(", ", "-", " ", "-", "/", "-").Replace(fs)))
	for _, ext := range []string{".png", ".svg"} {
		p.made = append(p.made, base+ext)
		if !p.draw {
			continue
		}
		var o bytes.Buffer
		if err := chart.Write(&o, ext, f); err != nil {
			return err
		}
		if err := os.WriteFile(base+ext, o.Bytes(), 0o666); err != nil {
			return err
		}
	}
	slices.Sort(p.made)
	rel, err := filepath.Rel(filepath.Dir(p.o.Out), base+".svg")
	if err != nil {
		rel = base + ".svg"
	}
	p.printf("![%s](%s)\n\n", w.About, filepath.ToSlash(rel))
	return nil
}

// ranksText is a number of goroutines or processes.
func ranksText(n int, as string) string {
	if n == 1 {
		as = map[string]string{"goroutines": "goroutine", "processes": "process"}[as]
	}
	return strings.TrimSpace(fmt.Sprintf("%d %s", n, as))
}
