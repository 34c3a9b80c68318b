package bench

import (
	"fmt"
	"strings"
)

// growths is the table of how costs grow.
func (p *page) growths(r *Results) {
	if len(r.Growth) == 0 {
		return
	}
	p.printf("Cost as ranks to the power of the exponent; by least squares, and between the last two sizes:\n\n")
	p.printf("| cost | who | ranks | at first | at last | exponent | at the end | at most linear |\n|---|---|---|---|---|---|---|---|\n")
	value := func(g *Growth, v float64) string {
		if strings.HasSuffix(g.What, "bytes") {
			return fmt.Sprintf("%.2f MiB", v/(1<<20))
		}
		return Seconds(v)
	}
	for i := range r.Growth {
		g := &r.Growth[i]
		verdict := "no"
		if g.Linear() {
			verdict = "yes"
		}
		p.printf("| %s | %s | %d to %d | %s | %s | %.2f | %.2f | %s |\n", g.What, g.Who, g.From, g.To, value(g, g.First), value(g, g.End), g.Exponent, g.Last, verdict)
	}
	p.printf("\n")
}

// production is the section of the newest results of `blobio bench production` on each file system.
func (p *page) production() {
	headed := false
	for _, fs := range p.systems() {
		t, r := p.rows(productionName, fs)
		if r == nil {
			continue
		}
		if !headed {
			p.printf("## production\n\nThe F case as large as in production, by `blobio bench production`: each phase a process, once; synced; files not in the page cache before they are read.\n\n")
			headed = true
		}
		day, _, _ := strings.Cut(r.Date, "T")
		p.printf("### On %s\n\n%s, %s; load %s before and %s after.\n\n", fs, r.Host, day, r.Host.Load, r.Host.LoadEnd)
		p.printf("| data | layout | ranks | phase | time | MiB | MiB/s | beside it | share | resident, MiB | remarks |\n|---|---|---|---|---|---|---|---|---|---|---|\n")
		for i := range t {
			row := &t[i]
			size, rate, beside, share, memory := "", "", "", "", ""
			if row.Bytes > 0 {
				size, rate = mebi(row.Bytes), fmt.Sprintf("%.0f", row.Rate()/(1<<20))
			}
			if len(row.Bounds) > 0 {
				b := &row.Bounds[0]
				beside, share = fmt.Sprintf("%s %.0f MiB/s", b.What, float64(b.Bytes)/(1<<20)/median(b.Seconds)), fmt.Sprintf("%.3f", row.Share(b.What))
			}
			if len(row.Memory) > 0 {
				memory = fmt.Sprint(row.Memory[0] >> 20)
			}
			note := row.Note
			for _, ph := range []string{"create", "flush", "close"} {
				if v, ok := row.Phases[ph]; ok {
					note = strings.Trim(note+fmt.Sprintf("; %s %s", ph, Seconds(median(v))), "; ")
				}
			}
			p.printf("| %s | %s | %d | %s | %s | %s | %s | %s | %s | %s | %s |\n", row.Data, row.Who, row.Ranks, row.What, Seconds(row.Median()), size, rate, beside, share, memory, note)
		}
		p.printf("\n")
		for _, f := range r.Profiles {
			if len(f.Lines) > 0 {
				p.printf("Processor time, %s:\n\n```\n%s\n```\n\n", f.What, strings.Join(f.Lines, "\n"))
			}
		}
	}
}
