package bench

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// A Mark is an aim, and what was measured for it.
type Mark struct {
	What, Want string
	Measured   string // "": not measured
	Good       bool

	ratio, least float64 // of processMarks: what is compared, and what it is to be (at most, of memory)
	unsteady     bool
}

// table are the rows of one file system.
type table []Row

// find returns the first row that fits; ranks 0 fits all.
func (t table) find(workload, data, what, who string, ranks int) *Row {
	for i := range t {
		r := &t[i]
		if r.Workload == workload && r.Data == data && r.What == what && r.Who == who && (ranks == 0 || r.Ranks == ranks) {
			return r
		}
	}
	return nil
}

const (
	vcName = "variable-centric"
	pcName = "process-centric"

	ne30Data = "F h0 ne30, 64 ranks"
)

// marks are those that are aimed at, but those of ranks that are processes, with what the rows say of them.
func (t table) marks() (out []Mark) {
	out = append(out,
		t.share("process-centric write", 0.90, "raw write", t.find("ne30", ne30Data, "write", pcName, 64)),
		t.share("variable-centric write, with byte swap", 0.80, "raw write", t.find("ne30", ne30Data, "write", vcName, 64)))
	for _, who := range []string{vcName, pcName} {
		r := t.find("convert", ne30Data, "convert to canonical", who, 0)
		out = append(out, t.share(who+" to canonical", 0.50, "raw write", r))
		m := Mark{What: who + " to canonical, memory", Want: "under 512 MiB"}
		if r != nil && len(r.Memory) > 0 {
			m.Measured, m.Good = fmt.Sprintf("%d MiB", medianInt(r.Memory)>>20), medianInt(r.Memory) < 512<<20
		}
		out = append(out, m)
		m = Mark{What: who + " to canonical on 1 core", Want: "at least 470 MiB/s"}
		if r := t.find("convert", ne30Data, "convert to canonical, 1 core", who, 0); r != nil {
			m.Measured, m.Good = fmt.Sprintf("%.0f MiB/s", r.Rate()/(1<<20)), r.Rate() >= 470<<20
		}
		out = append(out, m)
	}
	for _, who := range []string{vcName, pcName} {
		all := t.find("read", ne30Data, "read a variable (lev x ncol)", who, 0)
		m := t.share(who+": read a variable, map loaded", 0.50, "gather", all)
		if cold := t.find("read", ne30Data, "the same, cold", who, 0); cold != nil && all != nil {
			m.Measured += fmt.Sprintf("; cold %s instead of %s", Seconds(cold.Median()), Seconds(all.Median()))
		}
		out = append(out, m)
		for _, part := range []string{"read one level", "read one column"} {
			m := Mark{What: who + ": " + part, Want: "cost by what is touched"}
			if r := t.find("read", ne30Data, part, who, 0); r != nil && all != nil {
				share := r.Median() / all.Median()
				m.Measured = fmt.Sprintf("%s for 1/%d of the elements: 1/%.0f of the time", Seconds(r.Median()), all.Bytes/max(r.Bytes, 1), 1/share)
				m.Good = share < 0.25
			}
			out = append(out, m)
		}
	}
	for _, who := range []string{vcName, pcName} {
		m := Mark{What: who + ": open and list, 21,600 ranks", Want: "under 50 ms"}
		if r := t.find("open", "F h0, 21600 ranks", "open and list", who, 0); r != nil {
			m.Measured, m.Good = Seconds(r.Median()), r.Median() < 0.050
		}
		out = append(out, m)
	}
	for _, who := range []string{vcName, pcName} {
		m := Mark{What: who + " write: memory beyond the data of the ranks", Want: "at most 64 MiB"}
		r := t.find("memory", ne30Data, "write 1 records, memory", who, 0)
		if who == pcName {
			m.Want = "at most 5 %"
		}
		if r != nil && len(r.Memory) > 0 {
			x := medianInt(r.Memory)
			m.Measured, m.Good = fmt.Sprintf("%d MiB, %.1f %% of %d MiB", x>>20, 100*float64(x)/float64(r.Lent), r.Lent>>20), x <= 64<<20
			if who == pcName {
				m.Good = float64(x) <= 0.05*float64(r.Lent)
			}
		}
		out = append(out, m)
	}
	for _, who := range []string{vcName, pcName} {
		m := Mark{What: who + ": allocations for each put", Want: "none"}
		if r := t.find("memory", "F h0 ne8, 1 rank", "put", who, 0); r != nil && r.Allocs != nil {
			m.Measured, m.Good = fmt.Sprintf("%.2f", *r.Allocs), *r.Allocs < 0.05
		}
		out = append(out, m)
	}
	return append(append(append(out, t.asyncMarks()...), t.commitMarks()...), t.inplaceMarks()...)
}

// peerData lists the data of a workload, in order.
func (t table) peerData(workload string) (out []string) {
	for _, r := range t {
		if r.Workload == workload && !slices.Contains(out, r.Data) {
			out = append(out, r.Data)
		}
	}
	return out
}

// shortData drops how the maps are called, and the records.
func shortData(d string) string {
	f := strings.Split(strings.NewReplacer(" captured", "", " as captured", "", " quick", "").Replace(d), ", ")
	f = slices.DeleteFunc(f, func(s string) bool { return strings.HasSuffix(s, "records") })
	return strings.Join(f, ", ")
}

func (t table) share(what string, want float64, bound string, r *Row) Mark {
	m := Mark{What: what, Want: fmt.Sprintf("at least %.2f of the %s", want, bound)}
	if r != nil && r.Bound(bound) != nil {
		s := r.Share(bound)
		m.ratio, m.least = s, want
		m.Measured, m.Good = fmt.Sprintf("%.2f (%.0f of %.0f MiB/s)", s, r.Rate()/(1<<20), r.Rate()/s/(1<<20)), s >= want
		if bound == "raw write" && r.Doubtful() {
			m.Measured, m.Good = m.Measured+"; the plain writes were disturbed", false
		}
	}
	return m
}

// ahead is the ratio of rates.
func (t table) ahead(what string, want float64, ours, theirs *Row) Mark {
	m := Mark{What: what, Want: fmt.Sprintf("at least %g times", want)}
	if want == 1 {
		m.Want = "not behind"
	}
	if ours == nil || theirs == nil {
		return m
	}
	x := theirs.Median() / ours.Median()
	if math.IsNaN(x) {
		return m
	}
	m.Measured = fmt.Sprintf("%.2f times (%.0f to %.0f MiB/s", x, ours.Rate()/(1<<20), theirs.Rate()/(1<<20))
	if isReal(theirs) {
		m.Measured += " of the real program"
	}
	if raw := ours.Bound("raw write"); raw != nil {
		m.Measured += fmt.Sprintf("; the raw write %.2f times", x/ours.Share("raw write"))
	}
	m.Measured += ")"
	m.Good, m.ratio, m.least = x >= want, x, want
	return m
}
