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
