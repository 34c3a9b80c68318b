package bench

import (
	"fmt"
	"slices"
	"strings"

	"blobio/internal/chart"
)

// inplaceTable has a line for each way to read a first level: the time in both layouts, and of converting, opening and reading by a like tool.
func (t table) inplaceTable(data string) string {
	var b strings.Builder
	for i := range ways {
		w := &ways[i]
		v, vc := t.besideConverted(data, w, vcName)
		p, pc := t.besideConverted(data, w, pcName)
		if v == nil || p == nil || vc == nil || pc == nil {
			continue
		}
		cell := func(r, converted *Row) string {
			return fmt.Sprintf("%s | %s (1/%.1f)", timeCell(r), timeCell(converted), converted.Median()/r.Median())
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %.1f |\n", w.name, cell(v, vc), cell(p, pc), max(v.Others(), p.Others()))
	}
	if b.Len() == 0 {
		return ""
	}
	return "| by | " + vcName + " | convert, open, read | " + pcName + " | convert, open, read | load |\n|---|---|---|---|---|---|\n" + b.String()
}

// inplaceDocs is what another page quotes: the first levels at the first of the places, and opens and rates at all of them, by layout.
func (p *page) inplaceDocs(places []string) string {
	var levels, head, line string
	at := map[string]map[string]string{} // what is measured: what was, by column
	var order []Mark
	var columns []string
	for _, place := range places {
		t, r := p.rows(inplaceName, place)
		if len(t) == 0 {
			continue
		}
		if s := t.inplaceTable(ne30Data); s != "" && levels == "" {
			levels = fmt.Sprintf("Read in place, on %s (%s), %d runs: one level of a variable of %s, nothing open and nothing in memory before, milliseconds:\n\n%s\n", place, r.Host, r.Runs, ne30Data, s)
		}
		for _, who := range []string{vcName, pcName} {
			columns = append(columns, place+", "+who)
			head, line = head+" "+place+", "+who+" |", line+"---|"
		}
		for _, m := range t.inplaceMarks() {
			if m.Measured == "" || strings.Contains(m.What, "first level") {
				continue
			}
			who, what, ok := strings.Cut(m.What, ": ")
			if !ok || who != vcName && who != pcName {
				who, what = vcName, m.What // of no layout: the first column
			}
			m.What = what
			if at[what] == nil {
				at[what] = map[string]string{}
				order = append(order, m)
			}
			at[what][place+", "+who] = m.Measured
		}
	}
	if len(order) == 0 {
		return levels
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%sOpens, whole files, means and memory:\n\n| what | aim |%s\n|---|---|%s\n", levels, head, line)
	for _, m := range order {
		fmt.Fprintf(&b, "| %s | %s |", m.What, m.Want)
		for _, c := range columns {
			fmt.Fprintf(&b, " %s |", at[m.What][c])
		}
		b.WriteString("\n")
	}
	b.WriteString("\n")
	return b.String()
}

// inplaceBars draws the times of first levels and opens, and a tenth of converting, opening and reading beside the former.
func (t table) inplaceBars() *chart.Bars {
	b := &chart.Bars{X: chart.Axis{Label: "ms"}, Spread: "fastest to slowest run"}
	for i := range t {
		r := &t[i]
		name, level := strings.CutPrefix(r.What, firstLevel)
		if !level && !strings.HasPrefix(r.What, coldOpen) {
			continue
		}
		title := r.Data + ": " + r.What
		g := slices.IndexFunc(b.Groups, func(g chart.BarGroup) bool { return g.Title == title })
		if g < 0 {
			g = len(b.Groups)
			b.Groups = append(b.Groups, chart.BarGroup{Title: title})
		}
		low, top := r.Range()
		x := chart.Bar{Name: r.Who, Parts: []chart.Part{{Value: 1e3 * r.Median(), Color: hueOf(r.Who)}}, Low: 1e3 * low, High: 1e3 * top, Text: fmt.Sprintf("%.1f", 1e3*r.Median())}
		if w := slices.IndexFunc(ways, func(w way) bool { return w.name == name }); level && w >= 0 && r.Data == ne30Data { // for others there is no aim
			if _, c := t.besideConverted(r.Data, &ways[w], r.Who); c != nil {
				x.Limit, b.Limit = 1e3*levelShare*c.Median(), "a tenth of convert, open and read by a like tool"
			}
		}
		b.Groups[g].Bars = append(b.Groups[g].Bars, x)
	}
	if len(b.Groups) == 0 {
		return nil
	}
	return b
}
