package fieldplot

import (
	"blobio/internal/draw/chart"
	"blobio/internal/view/cftime"
)

// date is a time as a date of its calendar. Without units, or far away, it is a number.
func date(x float64, u *cftime.Units) string {
	if u != nil {
		if d, ok := u.Date(x); ok {
			return d.Text(" ")
		}
	}
	return chart.Text(x, 6)
}

// dates returns what tells the value of a date on the axis, nil if it is not of times.
func (a *axis) dates() func(text string) (float64, error) {
	if a.times == nil {
		return nil
	}
	return a.times.Parse
}
