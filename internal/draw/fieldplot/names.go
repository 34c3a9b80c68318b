package fieldplot

import (
	"strings"

	"blobio/blob"
	"blobio/cdf5"
	"blobio/internal/view/cf"
)

// att returns a text attribute, trimmed.
func att(v *blob.Variable, name string) string { return strings.TrimSpace(cf.Text(v.Atts, name)) }

// unit returns the unit of a variable in readable form, or "" for pure numbers.
func unit(v *blob.Variable) string {
	if cf.MeaningOf(v).Err != nil {
		return "" // the packing is invalid, so the unit of the stored numbers is unknown
	}
	switch u := att(v, "units"); strings.ToLower(u) {
	case "1", "unitless", "none", "-", "fraction", "dimensionless":
		return ""
	case "degrees celsius", "degree_celsius", "degc", "deg c":
		return "°C"
	default:
		switch {
		case cf.IsLatitude(u):
			return "°N"
		case cf.IsLongitude(u):
			return "°E"
		}
		return u
	}
}

// withUnit appends a unit to a text.
func withUnit(s, unit string) string {
	switch {
	case unit == "":
		return s
	case s == "":
		return unit
	}
	return s + " " + unit
}

// isLat and isLon report whether a variable holds latitudes or longitudes, by its standard name, unit, or name.
func isLat(v *blob.Variable) bool { return tells(v, "latitude", "lat", cf.IsLatitude) }
func isLon(v *blob.Variable) bool { return tells(v, "longitude", "lon", cf.IsLongitude) }

func tells(v *blob.Variable, standard, short string, is func(unit string) bool) bool {
	if v.Type == cdf5.Char {
		return false
	}
	if s := att(v, "standard_name"); s != "" {
		return s == standard
	}
	u := att(v, "units")
	if is(u) {
		return true
	}
	u = strings.ToLower(u)
	switch strings.ToLower(v.Name) {
	case short, standard, "nav_" + short, "t" + short, "u" + short, "x" + short, "grid_center_" + short, short + "cell", short + "edge", short + "vertex":
		return u == "" || strings.HasPrefix(u, "deg") || strings.HasPrefix(u, "rad") || u == "unitless"
	case "tlong", "ulong", "xlong":
		return short == "lon"
	}
	return false
}

// partner returns the name of the longitudes that match the name of latitudes.
func partner(lat string) string {
	if i := strings.LastIndex(strings.ToLower(lat), "lat"); i >= 0 {
		o := "lon"
		if lat[i] == 'L' {
			o = "Lon"
			if strings.ToUpper(lat) == lat {
				o = "LON"
			}
		}
		return lat[:i] + o + lat[i+3:]
	}
	return ""
}

// inRadians reports whether angles are in radians: by the unit, or because MPAS omits the unit.
func inRadians(v *blob.Variable) bool {
	u := strings.ToLower(att(v, "units"))
	if strings.HasPrefix(u, "rad") {
		return true
	}
	n := strings.ToLower(v.Name)
	return (u == "" || u == "unitless") && (strings.HasSuffix(n, "cell") || strings.HasSuffix(n, "edge") || strings.HasSuffix(n, "vertex"))
}
