package fieldplot

import "blobio/internal/chart"

// date is a time in units "days since ..." as a date of a calendar.
func date(x float64, unit, calendar string) string {
	return chart.Text(x, 6) + " " + unit
}

// dates returns what tells the value of a date on the axis, nil if it is not of times.
func (a *axis) dates() func(text string) (float64, error) {
	return nil
}
