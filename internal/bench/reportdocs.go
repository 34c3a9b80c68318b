package bench

import (
	"fmt"
	"math"
	"strings"
)

// Between these lines of a page stands what Report makes of the results.
const (
	docsBegin = "<!-- made by blobio bench report: begin -->\n"
	docsEnd   = "<!-- made by blobio bench report: end -->\n"
)

// intoDocs is the text of the page with its part made anew.
func (p *page) intoDocs(name, text string) (string, error) {
	before, rest, ok := strings.Cut(text, docsBegin)
	_, after, end := strings.Cut(rest, docsEnd)
	if !ok || !end {
		return "", pkg.Errorf("%s: no lines %q and %q, between which the results go", name, strings.TrimSpace(docsBegin), strings.TrimSpace(docsEnd))
	}
	return before + docsBegin + p.docs() + docsEnd + after, nil
}

// A docsJob is a line of the table of what is done within a process.
type docsJob struct {
	job, workload, data, what, bound string
	ranks                            int
}

// docs are the figures that a reader wants first.
func (p *page) docs() string {
	var b strings.Builder
	for _, place := range p.systems() {
		t, r := p.rows("processes", place)
		if len(t) == 0 {
			continue
		}
		fmt.Fprintf(&b, "16 processes against 16, on %s (%s), %d runs, milliseconds:\n\n%s\n", place, r.Host, r.Runs, t.timesTable(16))
		if low, top := t.memories(16); top > 0 {
			fmt.Fprintf(&b, "Memory of process-centric is %.2f to %.2f of HDF5 blob's, process against process, data included.\n\n", low, top)
		}
	}
	for _, place := range p.systems() {
		if t, _ := p.rows("canonical", place); len(t) > 0 {
			fmt.Fprintf(&b, "Canonical files, as users write them today, on %s, milliseconds:\n\n%s\n", place, t.canonicalTable())
		}
	}
	b.WriteString(p.inplaceDocs(p.systems()))
	head := "Within one process:\n\n| job | on | compared with | ratio of rates |\n|---|---|---|---|\n"
	for _, place := range p.systems() {
		jobs := []docsJob{
			{"write blobs", "ne30", ne30Data, "write", "raw write", 64},
			{"convert to canonical", "convert", ne30Data, "convert to canonical", "raw write", 0},
			{"read a whole variable, map loaded", "read", ne30Data, "read a variable (lev x ncol)", "gather", 0},
		}
		made, _ := p.rows("production", place)
		for _, data := range made.peerData("production") {
			jobs = append(jobs, docsJob{"write of 21,600 ranks with fsync, " + data, "production", data, "write", "raw write", 21600})
		}
		for _, k := range jobs {
			t, _ := p.rows(k.workload, place)
			low, top := math.Inf(1), math.Inf(-1)
			for _, who := range []string{vcName, pcName} {
				r := t.find(k.workload, k.data, k.what, who, k.ranks)
				if r != nil && r.Bound(k.bound) != nil && !r.Doubtful() {
					low, top = min(low, r.Share(k.bound)), max(top, r.Share(k.bound))
				}
			}
			if top > 0 {
				fmt.Fprintf(&b, "%s| %s | %s | %s | %s |\n", head, k.job, place, k.bound, from(low, top, "%.2f"))
				head = ""
			}
		}
	}
	fmt.Fprintf(&b, "\n")
	for _, place := range p.systems() {
		t, _ := p.rows("memory", place)
		low, top := t.beyond("memory", "write 1 records, memory")
		t, _ = p.rows("convert", place)
		less, more := t.beyond("convert", "convert to canonical")
		if top > 0 && more > 0 {
			fmt.Fprintf(&b, "A write on %s needs %s MiB beyond the data of the ranks, a conversion %s MiB.\n", place, from(low, top, "%.0f"), from(less, more, "%.0f"))
		}
	}
	return b.String()
}

// from is a range of figures, or one.
func from(low, top float64, form string) string {
	a, b := fmt.Sprintf(form, low), fmt.Sprintf(form, top)
	if a == b {
		return a
	}
	return a + " to " + b
}

// beyond are the least and the greatest memory beyond the data that both layouts need, in MiB.
func (t table) beyond(workload, what string) (low, top float64) {
	low = math.Inf(1)
	for _, who := range []string{vcName, pcName} {
		if r := t.find(workload, ne30Data, what, who, 0); r != nil && len(r.Memory) > 0 {
			x := float64(medianInt(r.Memory)) / (1 << 20)
			low, top = min(low, x), max(top, x)
		}
	}
	return low, top
}

// memories are the least and the greatest share of the memory of HDF5 blob, process against process.
func (t table) memories(n int) (low, top float64) {
	low = math.Inf(1)
	for _, short := range matrixData {
		for _, m := range t.processMarks(short, n) {
			if strings.Contains(m.What, "peak memory") && m.Measured != "" {
				low, top = min(low, m.ratio), max(top, m.ratio)
			}
		}
	}
	return low, top
}
