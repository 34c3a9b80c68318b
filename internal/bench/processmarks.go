package bench

import (
	"fmt"
	"slices"
	"strings"
)

// matrixData are the short names of what is written by processes, matrixCounts how many.
var (
	matrixData   = []string{"F h0", "F h0, runs x10", "G", "I h0"}
	matrixCounts = []int{1, 2, 4, 16}
)

// processMarks are those of ranks that are processes, at the same number of them, in the order of markHeads.
func (t table) processMarks(short string, n int) (out []Mark) {
	data := t.longData("processes", short)
	for _, who := range []string{vcName, pcName} {
		ours := t.find("processes", data, "write", who, n)
		name := fmt.Sprintf("%s, %s: %s", short, ranksText(n, "processes"), who)
		want := 0.85
		if short == "F h0" {
			want = 0.6
		}
		out = append(out, t.share(name+" against as many processes that only write", want, "raw write", ours).told(ours))
		p, factor := pnetCDFBlob, 1.0
		if who == pcName {
			p, factor = hdf5Blob, 3
		}
		theirs := t.fastest(data, p, n)
		if who == vcName && ours != nil && theirs != nil && ours.Bound("raw write") != nil && theirs.Median()/ours.Median()/ours.Share("raw write") >= 1.5 {
			factor = 1.3 // the plain writes leave room for it
		}
		out = append(out, t.ahead(name+" against "+p.Name, factor, ours, theirs).told(ours, theirs))
		bp5 := t.fastest(data, adios2Blob, n)
		out = append(out, t.ahead(name+" against "+adios2Blob.Name, 1.2, ours, bp5).told(ours, bp5))
		if who == pcName {
			out = append(out, t.memoryMark(name, ours, t.find("processes", data, "write", hdf5Blob.Name, n)))
		}
	}
	return out
}

// markHeads name the columns of processMarks.
var markHeads = []string{vcName + " / raw", "/ PnetCDF blob", "/ ADIOS2 BP5", pcName + " / raw", "/ HDF5 blob", "/ ADIOS2 BP5", "memory / HDF5 blob"}

// longData is what the rows of a workload call the data with this short name.
func (t table) longData(workload, short string) string {
	list := t.peerData(workload)
	if i := slices.IndexFunc(list, func(d string) bool { return shortData(d) == short }); i >= 0 {
		return list[i]
	}
	return short
}

// fastest is the best row of a peer: of the real program with any version of its library, or of the peer of ours.
func (t table) fastest(data string, p Peer, ranks int) *Row {
	return t.fastestOf("processes", data, p, ranks)
}

func (t table) fastestOf(workload, data string, p Peer, ranks int) (best *Row) {
	for i := range t {
		r := &t[i]
		if r.Workload == workload && r.Data == data && r.Ranks == ranks && (r.Who == p.Name || strings.HasPrefix(r.Who, realWho(p))) &&
			(best == nil || r.Median() < best.Median()) {
			best = r
		}
	}
	return best
}

// memoryMark compares memory process by process: the peaks of all processes of both, the data included.
func (t table) memoryMark(name string, ours, theirs *Row) Mark {
	m := Mark{What: name + ", peak memory over that of as many processes of " + hdf5Blob.Name, Want: "at most 0.5"}
	if ours == nil || theirs == nil || medianInt(theirs.Memory)+theirs.Lent <= 0 || len(ours.Memory) == 0 {
		return m
	}
	a, b := medianInt(ours.Memory)+ours.Lent, medianInt(theirs.Memory)+theirs.Lent
	x := float64(a) / float64(b)
	m.Measured, m.Good = fmt.Sprintf("%.2f (%d of %d MiB)", x, a>>20, b>>20), x <= 0.5
	m.ratio, m.least = x, 0.5
	return m
}

// told adds how far the rows are to be trusted.
func (m Mark) told(rows ...*Row) Mark {
	if m.Measured == "" {
		return m
	}
	var most, load float64
	for _, r := range rows {
		most = max(most, r.Spread())
		load = max(load, r.Others())
	}
	m.Measured += fmt.Sprintf("; spread %.0f %%, load %.1f", 100*most, load)
	if most > steadySpread {
		m.Measured += ": not steady"
		m.unsteady = true
	}
	return m
}

// Others is how many cores others kept busy before the runs, in the median; 0 if that is not known.
func (r *Row) Others() float64 {
	if len(r.Load) == 0 {
		return 0
	}
	return median(r.Load)
}
