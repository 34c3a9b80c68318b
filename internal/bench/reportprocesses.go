package bench

import (
	"fmt"
	"slices"
	"strings"
)

// processes are the tables that the page leads with: all that write the same by the same number of processes.
func (p *page) processes() {
	headed := false
	for _, place := range p.systems() {
		t, r := p.rows("processes", place)
		if len(t) == 0 {
			continue
		}
		if !headed {
			headed = true
			p.printf("## Ranks that are processes\n\n"+
				"Milliseconds from open to close, the median of the runs, and behind ± the spread: the middle half of the runs, relative to the median (bold above %.0f %%: not steady).\n"+
				"All of a row took turns. Load: cores that others kept busy just before the runs. Each process writes arrays that are in its memory; with more records than one, each\n"+
				"record overwrites the arrays of the last, so that nobody is handed cold memory and nothing is lent beyond a flush. \"Raw\": as many processes that write\n"+
				"the same arrays into one file with no library; \"swap, sum and write\": the same, but each block is first swapped to big-endian and its CRC-32C taken, in a buffer in the\n"+
				"cache, which a variable-centric file with checksums cannot do without. Peers run with the best of their tunings, with a version the real E3SM-IO, else it or the C program, whichever is faster;\n"+
				"of E3SM-IO the time in which it makes its data is not counted.\n\n", 100*steadySpread)
		}
		p.printf("### On %s: times\n\n%d runs, %s.\n\n%s\n", place, r.Runs, day(r), t.timesTable(matrixCounts...))
		p.processMarks(t, place)
	}
}

func day(r *Results) string {
	d, _, _ := strings.Cut(r.Date, "T")
	return d
}

// pnetCDFs are the names of the rows of PnetCDF blob, one for each version of the library.
func (t table) pnetCDFs() (out []string) {
	for i := range t {
		who := t[i].Who
		if (who == pnetCDFBlob.Name || strings.HasPrefix(who, realWho(pnetCDFBlob))) && !slices.Contains(out, who) {
			out = append(out, who)
		}
	}
	slices.Sort(out)
	return out
}

// timesTable has a line for each number of processes and data that both layouts were written with.
func (t table) timesTable(counts ...int) string {
	var b strings.Builder
	heads := []string{"data", "processes", "raw"}
	loops := slices.ContainsFunc(t, func(r Row) bool { return r.Who == sumProcesses.Name })
	if loops {
		heads = append(heads, sumProcesses.Name)
	}
	heads = append(heads, vcName)
	for _, who := range t.pnetCDFs() {
		heads = append(heads, strings.TrimPrefix(who, "E3SM-IO, "))
	}
	bp5 := slices.ContainsFunc(t, func(r Row) bool {
		return strings.HasSuffix(strings.TrimSpace(r.Who), adios2Blob.Name) || strings.HasPrefix(r.Who, realWho(adios2Blob))
	})
	heads = append(heads, pcName, hdf5Blob.Name)
	if bp5 {
		heads = append(heads, adios2Blob.Name)
	}
	heads = append(heads, "load")
	fmt.Fprintf(&b, "| %s |\n|%s\n", strings.Join(heads, " | "), strings.Repeat("---|", len(heads)))
	for _, short := range matrixData {
		data := t.longData("processes", short)
		for _, n := range counts {
			vc, pc := t.find("processes", data, "write", vcName, n), t.find("processes", data, "write", pcName, n)
			if vc == nil || pc == nil {
				continue
			}
			cells := []string{vc.data(), fmt.Sprint(n), timeCell(t.fastest(data, rawProcesses, n))}
			if loops {
				cells = append(cells, timeCell(t.fastest(data, sumProcesses, n)))
			}
			cells = append(cells, timeCell(vc))
			for _, who := range t.pnetCDFs() {
				cells = append(cells, timeCell(t.find("processes", data, "write", who, n)))
			}
			cells = append(cells, timeCell(pc), timeCell(t.fastest(data, hdf5Blob, n)))
			if bp5 {
				cells = append(cells, timeCell(t.fastest(data, adios2Blob, n)))
			}
			fmt.Fprintf(&b, "| %s | %.1f |\n", strings.Join(cells, " | "), max(vc.Others(), pc.Others()))
		}
	}
	return b.String()
}

// data says what is written: how much, and what of it is in memory once only.
func (r *Row) data() string {
	s := fmt.Sprintf("%s, %s MiB", strings.Replace(r.Data, " captured", "", 1), mebi(r.Bytes))
	if r.Note != "" {
		s += ", " + r.Note
	}
	return s
}

// canonical is the table of what users have today.
func (p *page) canonical() {
	headed := false
	for _, place := range p.systems() {
		t, r := p.rows("canonical", place)
		if len(t) == 0 {
			continue
		}
		if !headed {
			headed = true
			p.printf("## Canonical files by processes, as users write them today\n\n"+
				"Milliseconds as above, of at most %d runs, since some take long; in parentheses relative to the blobs. One process converts, on all cores.\n\n", canonicalRuns)
		}
		p.printf("### On %s: canonical\n\n%s.\n\n%s\n", place, day(r), t.canonicalTable())
	}
}

func (t table) canonicalTable() string {
	var b strings.Builder
	heads := []string{"data", "processes", vcName + " blobs", "the same, then converted", pnetCDFCanonical.Name, netcdf4Canonical.Name, "load"}
	fmt.Fprintf(&b, "| %s |\n|%s\n", strings.Join(heads, " | "), strings.Repeat("---|", len(heads)))
	for _, data := range t.peerData("canonical") {
		for _, n := range matrixCounts {
			blobs := t.find("canonical", data, "write", vcName, n)
			if blobs == nil {
				continue
			}
			cells := []string{blobs.data(), fmt.Sprint(n), timeCell(blobs)}
			for _, r := range []*Row{t.find("canonical", data, writeConvert, vcName, n), t.fastestOf("canonical", data, pnetCDFCanonical, n), t.fastestOf("canonical", data, netcdf4Canonical, n)} {
				cell := timeCell(r)
				if r != nil {
					digits := 0
					x := r.Median() / blobs.Median()
					if x < 10 {
						digits = 1
					}
					cell += fmt.Sprintf(" (x %.*f)", digits, x)
				}
				cells = append(cells, cell)
			}
			fmt.Fprintf(&b, "| %s | %.1f |\n", strings.Join(cells, " | "), blobs.Others())
		}
	}
	return b.String()
}

// processMarks is the table of what is reached and what is missed.
func (p *page) processMarks(t table, place string) {
	p.printf("### On %s: marks\n\n", place)
	p.printf("Rates of blobio relative to the others, what is wanted in parentheses; missed ones in bold, ? where a row is not steady. %s against PnetCDF blob: 1.3 where the raw write is 1.5 times as fast as PnetCDF, else not behind.\n\n"+
		"| data | processes | %s |\n|---|---|%s\n", strings.ToUpper(vcName[:1])+vcName[1:], strings.Join(markHeads, " | "), strings.Repeat("---|", len(markHeads)))
	reached, measured := 0, 0
	for _, short := range matrixData {
		for _, n := range matrixCounts {
			if t.find("processes", t.longData("processes", short), "write", vcName, n) == nil {
				continue
			}
			cells := []string{short, fmt.Sprint(n)}
			for _, m := range t.processMarks(short, n) {
				cell := ""
				if m.Measured != "" {
					cell = fmt.Sprintf("%.2f (%.3g)", m.ratio, m.least)
					if measured++; m.Good {
						reached++
					} else {
						cell = "**" + cell + "**"
					}
					if m.unsteady {
						cell += " ?"
					}
				}
				cells = append(cells, cell)
			}
			p.printf("| %s |\n", strings.Join(cells, " | "))
		}
	}
	p.printf("\n%d of %d measured marks are reached.\n\n", reached, measured)
}

// timeCell is a time with its spread.
func timeCell(r *Row) string {
	if r == nil {
		return ""
	}
	s := fmt.Sprintf("±%.0f %%", 100*r.Spread())
	if r.Spread() > steadySpread {
		s = "**" + s + "**"
	}
	s = fmt.Sprintf("%.0f %s", 1e3*r.Median(), s)
	return s
}
