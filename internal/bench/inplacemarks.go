package bench

import "fmt"

// What is aimed at where data are read in place.
const (
	levelShare  = 0.1  // of converting, opening and reading
	openLimit   = 0.05 // seconds
	mountShare  = 0.7
	readAtShare = 0.9
	meanShare   = 0.5
	serverLimit = 512 << 20
)

// besideConverted finds the row of a first level, and that of converting and reading the same by a like tool.
func (t table) besideConverted(data string, w *way, who string) (row, converted *Row) {
	return t.find(inplaceName, data, firstLevel+w.name, who, 0), t.find(inplaceName, data, afterConvert+w.beside, who, 0)
}

// inplaceMarks are those of the workload inplace.
func (t table) inplaceMarks() (out []Mark) {
	whos := []string{vcName, pcName}
	for i := range ways {
		w := &ways[i]
		for _, who := range whos {
			m := Mark{What: fmt.Sprintf("%s: first level by %s", who, w.name), Want: "less than 1/10 of convert, open and read by " + w.beside}
			if r, c := t.besideConverted(ne30Data, w, who); r != nil && c != nil {
				x := r.Median() / c.Median()
				m.Measured, m.Good = fmt.Sprintf("1/%.1f (%s of %s)%s", 1/x, Seconds(r.Median()), Seconds(c.Median()), r.loaded()), x < levelShare
			}
			out = append(out, m)
		}
	}
	for _, w := range append([]way{library}, ways...) {
		if !w.own {
			continue
		}
		for _, who := range whos {
			m := Mark{What: fmt.Sprintf("%s: open by %s, 21,600 ranks", who, w.name), Want: "under 50 ms"}
			if r := t.find(inplaceName, manyRanksData(30, 21600), coldOpen+w.name, who, 0); r != nil {
				m.Measured, m.Good = Seconds(r.Median())+r.loaded(), r.Median() < openLimit
			}
			out = append(out, m)
		}
	}
	for _, who := range whos {
		out = append(out,
			t.rates(who+": whole file by dd through the mount", "the converted file through a pass-through", mountShare, ne30Data, wholeMount, who, wholePass, convertedName),
			t.rates(who+": whole file by ReadAt of 4 MiB", "convert", readAtShare, ne30Data, wholeReadAt, who, wholeConvert, who),
			t.rates(who+": mean by dask over Zarr", "dask over the converted file by netCDF4", meanShare, meanDataOf(30, 64, meanRecords), meanZarr, who, meanFile, convertedName))
	}
	m := Mark{What: "blobio serve: memory under greedy requests", Want: "under 512 MiB"}
	for i := range t {
		if r := &t[i]; r.Workload == inplaceName && r.What == serverLoad && len(r.Memory) > 0 {
			most := int64(0)
			for _, n := range r.Memory { // whatever is asked
				most = max(most, n)
			}
			m.Measured, m.Good = fmt.Sprintf("%d MiB, the most of %d runs", most>>20, len(r.Memory)), most < serverLimit
		}
	}
	return append(out, m)
}

// rates is the mark of a rate relative to another one of the same data.
func (t table) rates(what, beside string, want float64, data, oursWhat, ours, theirsWhat, theirs string) Mark {
	m := Mark{What: what, Want: fmt.Sprintf("at least %.2f of %s", want, beside)}
	a, b := t.find(inplaceName, data, oursWhat, ours, 0), t.find(inplaceName, data, theirsWhat, theirs, 0)
	if a == nil || b == nil {
		return m
	}
	x := a.Rate() / b.Rate()
	m.Measured, m.Good = fmt.Sprintf("%.2f (%.0f of %.0f MiB/s)%s", x, a.Rate()/(1<<20), b.Rate()/(1<<20), a.loaded()), x >= want
	return m
}

// loaded says of a row that others kept more than half a core busy just before its runs.
func (r *Row) loaded() string {
	if x := r.Others(); x > 0.5 {
		return fmt.Sprintf(", load %.1f", x)
	}
	return ""
}
