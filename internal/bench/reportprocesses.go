package bench

import (
	"fmt"
	"strings"
)

// processes is the table that the page leads with: all that write the same by the same number of processes.
func (p *page) processes() {
	for _, fs := range p.systems() {
		t, r := p.rows("processes", fs)
		if len(t) == 0 {
			continue
		}
		p.printf("## Ranks that are processes, on %s\n\n", fs)
		p.printf("Milliseconds from open to close, the median of %d runs, and behind ± the spread: the middle half of the runs, relative to the median (bold above %.0f %%: not steady).\n"+
			"All of a row took turns. Load: cores that others kept busy just before the runs. Each process writes arrays that are in its memory; with more records than one, each\n"+
			"record overwrites the arrays of the last, so that nobody is handed cold memory and nothing is lent beyond a flush. \"Raw\": as many processes that write\n"+
			"the same arrays into one file with no library. Peers run with the best of their tunings; of E3SM-IO the time in which it makes its data is not counted.\n\n", r.Runs, 100*steadySpread)
		p.printf("| data | processes | raw | %s | %s | %s | %s | %s | load |\n|---|---|---|---|---|---|---|---|---|\n", vcName, pnetCDFBlob.Name, pcName, hdf5Blob.Name, adios2Blob.Name)
		for _, short := range matrixData {
			data := t.longData("processes", short)
			for _, n := range matrixCounts {
				vc, pc := t.find("processes", data, "write", vcName, n), t.find("processes", data, "write", pcName, n)
				if vc == nil || pc == nil {
					continue
				}
				cells := []string{short, fmt.Sprint(n), timeCell(t.fastest(data, rawProcesses, n)), timeCell(vc), timeCell(t.fastest(data, pnetCDFBlob, n)),
					timeCell(pc), timeCell(t.fastest(data, hdf5Blob, n)), timeCell(t.fastest(data, adios2Blob, n)), fmt.Sprintf("%.1f", max(vc.Others(), pc.Others()))}
				p.printf("| %s |\n", strings.Join(cells, " | "))
			}
		}
		p.printf("\n")
		p.processMarks(t)
	}
}

// processMarks is the table of what is reached and what is missed.
func (p *page) processMarks(t table) {
	p.printf("Rates of blobio relative to the others, what is wanted in parentheses; missed ones in bold, ? where a row is not steady. %s against PnetCDF blob: 1.3 where the raw write is 1.5 times as fast as PnetCDF, else not behind.\n\n"+
		"| data | processes | %s |\n|---|---|%s\n", strings.ToUpper(vcName[:1])+vcName[1:], strings.Join(markHeads, " | "), strings.Repeat("---|", len(markHeads)))
	reached, measured := 0, 0
	for _, short := range matrixData {
		for _, n := range matrixCounts {
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

// timeCell is a time with its spread, and for the real program the version of its library.
func timeCell(r *Row) string {
	if r == nil {
		return ""
	}
	s := fmt.Sprintf("±%.0f %%", 100*r.Spread())
	if r.Spread() > steadySpread {
		s = "**" + s + "**"
	}
	s = fmt.Sprintf("%.0f %s", 1e3*r.Median(), s)
	if f := strings.Fields(r.Who); isReal(r) && f[len(f)-1] != "blob" {
		s += " (" + f[len(f)-1] + ")"
	}
	return s
}
