package bench

import (
	"fmt"
	"image/color"
	"strings"

	"blobio/internal/chart"
)

var (
	layoutHues = map[string]color.RGBA{"variable-centric": chart.Series[0], "process-centric": chart.Series[2]}
	otherHue   = color.RGBA{168, 172, 180, 255} // the work of others
)

// hueOf is the colour of who did something, as "variable-centric, 2 processes".
func hueOf(who string) color.RGBA {
	for name, h := range layoutHues {
		if strings.HasPrefix(who, name) {
			return h
		}
	}
	return otherHue
}

// bars draws the rates of the rows that have one; nil: none has. named says with how many ranks each was.
func (t table) bars(named bool) *chart.Bars {
	b := &chart.Bars{X: chart.Axis{Label: "MiB/s"}, Spread: "slowest to fastest run"}
	for i := range t {
		row := &t[i]
		if row.Bytes == 0 {
			continue
		}
		label := row.Data + ": " + row.What
		if n := len(b.Groups); n == 0 || b.Groups[n-1].Title != label {
			b.Groups = append(b.Groups, chart.BarGroup{Title: label})
		}
		mib := float64(row.Bytes) / (1 << 20)
		low, top := row.Range()
		rate := mib / row.Median()
		x := chart.Bar{Name: row.Who, Parts: []chart.Part{{Value: rate, Color: hueOf(row.Who)}},
			Low: mib / top, High: mib / low, Text: fmt.Sprintf("%.0f", rate)}
		if named {
			x.Name += ", " + ranksText(row.Ranks, row.As)
		}
		if s, ok := row.OfRaw(); ok {
			x.Limit = rate / s
			b.Limit = "plain writes of the same bytes, best way"
			if row.Bound("raw write") == nil {
				b.Limit = "plain reads of the same bytes, best way"
			}
		}
		g := &b.Groups[len(b.Groups)-1]
		g.Bars = append(g.Bars, x)
	}
	if len(b.Groups) == 0 {
		return nil
	}
	return b
}
