package chart

import (
	"math"
	"strconv"
	"strings"
)

// ticks returns about n round values or fewer from lo to hi, in ascending order. Both ends are finite, with lo < hi, and 0 < lo
// on a logarithmic axis.
func ticks(log bool, lo, hi float64, n int) []float64 {
	if n = min(max(n, 2), 100); log {
		return decades(lo, hi, n)
	}
	return linear(lo, hi, n)
}

// linear returns multiples of 1, 2, 2.5 or 5 times a power of ten.
func linear(lo, hi float64, n int) (out []float64) {
	least := (hi/2 - lo/2) / float64(n) * 2 // halved, because the difference may overflow
	power := math.Pow(10, math.Floor(math.Log10(least)))
	step := 0.0
	for _, m := range []float64{1, 2, 2.5, 5, 10} {
		if step = power * m; step >= least*(1-1e-9) {
			break
		}
	}
	if !(step > 0) || math.IsInf(step, 0) {
		return []float64{lo, hi}
	}
	const slack = 1e-9 // include round ends despite rounding errors
	for i := math.Ceil(lo/step - slack); i <= hi/step+slack; i++ {
		v := i*step + 0
		if n := len(out); v < lo-slack*step || v > hi+slack*step || n > 0 && v <= out[n-1] {
			break // the step is near the precision of the numbers
		}
		out = append(out, v)
	}
	if len(out) == 0 {
		return []float64{lo, hi}
	}
	return out
}

// decades returns 1, 2 and 5 times each power of ten. If there are more than n of these values, it returns only powers of ten.
// If there are fewer than three, it returns linear ticks.
func decades(lo, hi float64, n int) (out []float64) {
	for e := math.Floor(math.Log10(lo)); e <= math.Log10(hi); e++ {
		for _, m := range []float64{1, 2, 5} {
			if v := m * math.Pow(10, e); v >= lo*(1-1e-9) && v <= hi*(1+1e-9) {
				out = append(out, v)
			}
		}
	}
	switch {
	case len(out) < 3:
		return linear(lo, hi, n)
	case len(out) > n:
		return powers(lo, hi, n)
	}
	return out
}

// powers returns powers of ten, or every second, third, ... power if there are many.
func powers(lo, hi float64, n int) (out []float64) {
	from, to := math.Ceil(math.Log10(lo)-1e-9), math.Floor(math.Log10(hi)+1e-9)
	if to-from < 1 {
		return linear(lo, hi, n)
	}
	stride := 1.0
	for _, m := range []float64{1, 2, 3, 5, 10, 20, 30, 50, 100, 200, 300, 500} {
		if stride = m; (to-from+1)/m <= float64(n) {
			break
		}
	}
	for e := math.Ceil(from/stride) * stride; e <= to; e += stride {
		out = append(out, math.Pow(10, e))
	}
	return out
}

// digitsOf returns the number of digits that distinguish each value from its neighbours.
func digitsOf(values []float64) int {
	wrong := func(i, digits int) bool {
		v, gap := values[i], math.Inf(1)
		if i > 0 {
			gap = v - values[i-1]
		}
		if i+1 < len(values) {
			gap = min(gap, values[i+1]-v)
		}
		r, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', digits, 64), 64)
		return math.Abs(r-v) > 1e-6*gap
	}
	most := 1
	for i := range values {
		for most < 17 && len(values) > 1 && wrong(i, most) {
			most++
		}
	}
	if len(values) == 1 {
		return 6
	}
	return most
}

// Text formats a value with at most the given number of significant digits, and a typographic minus sign.
func Text(v float64, digits int) string {
	s := strconv.FormatFloat(v, 'g', digits, 64)
	if a := math.Abs(v); a == 0 || a >= 1e-4 && a < 1e7 {
		r, _ := strconv.ParseFloat(s, 64)
		s = strconv.FormatFloat(r, 'f', -1, 64)
	} else {
		s = strings.NewReplacer("e+0", "e", "e-0", "e-", "e+", "e").Replace(strconv.FormatFloat(v, 'e', digits-1, 64))
	}
	return strings.ReplaceAll(s, "-", "−")
}

// Plural formats a count with commas, and its noun.
func Plural[N int | int64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return Count(int64(n)) + " " + noun + "s"
}

// Count formats a number with commas and a typographic minus sign.
func Count(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return strings.Replace(s, "-", "−", 1)
}
