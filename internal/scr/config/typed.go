package config

import (
	"errors"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Flag reports whether a parameter is not 0. It is false if the parameter is not set. The errors of Flag and of the other typed
// getters are *ValueErrors with the place of the setting.
func (s *Set) Flag(name string) (bool, error) {
	n, err := s.Int(name)
	return n != 0, err
}

// Int returns a parameter as an integer, or 0 if it is not set. Counts must not be negative.
func (s *Set) Int(name string) (int64, error) {
	n, err := typed(s, name, "an integer", parseInt)
	if err == nil && n < 0 {
		err = s.negative(name, kindInteger, "an integer from 0 on")
	}
	return n, err
}

// Float returns a parameter as a number, or 0 if it is not set.
func (s *Set) Float(name string) (float64, error) {
	x, err := typed(s, name, "a number", parseFloat)
	if err == nil && x < 0 {
		err = s.negative(name, kindNumber, "a number from 0 on")
	}
	return x, err
}

// negative returns an error for a negative value if the parameter does not allow negative values.
func (s *Set) negative(name string, kind Kind, want string) error {
	if p := find(name); p == nil || p.Kind != kind || p.Negative {
		return nil
	}
	v := s.Lookup(name)
	return &ValueError{name, v.Text, v.Origin, want}
}

// Size returns a parameter as a number of bytes, or 0 if it is not set.
func (s *Set) Size(name string) (int64, error) { return typed(s, name, sizeWant, ParseSize) }

// Seconds returns a parameter that counts whole seconds as a duration, or 0 if it is not set.
func (s *Set) Seconds(name string) (time.Duration, error) {
	n, err := s.Int(name)
	const most = int64(math.MaxInt64 / time.Second)
	return time.Duration(min(max(n, -most), most)) * time.Second, err
}

// Time returns a parameter in seconds since 1970 as a time. It returns the zero time if the parameter is not set or not
// positive.
func (s *Set) Time(name string) (time.Time, error) {
	n, err := s.Int(name)
	if err != nil || n <= 0 {
		return time.Time{}, err
	}
	return time.Unix(n, 0), nil
}

// Choice returns a parameter in upper case. The error lists the possible values.
func (s *Set) Choice(name string) (string, error) {
	v := s.Lookup(name)
	p := find(name)
	up := strings.ToUpper(v.Text)
	if p != nil && p.Kind == kindChoice && v.Text != "" && !slices.Contains(p.Choices, up) {
		return "", &ValueError{name, v.Text, v.Origin, "one of " + strings.Join(p.Choices, ", ")}
	}
	return up, nil
}

func typed[T any](s *Set, name, want string, parse func(string) (T, error)) (T, error) {
	var zero T
	v := s.Lookup(name)
	if v.Text == "" {
		return zero, nil
	}
	t, err := parse(v.Text)
	if err != nil {
		return zero, &ValueError{name, v.Text, v.Origin, want}
	}
	return t, nil
}

func parseInt(s string) (int64, error) { return strconv.ParseInt(strings.TrimSpace(s), 10, 64) }

func parseFloat(s string) (float64, error) {
	f, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err == nil && (math.IsNaN(f) || math.IsInf(f, 0)) {
		err = strconv.ErrRange
	}
	return f, err
}

const sizeWant = "a size: 4096, 512k, 1.5m, 2GB"

// units are the unit letters of sizes. The n-th letter, counted from 1, stands for 1024 to the power n.
const units = "kmgtpe"

// ParseSize parses a number of bytes: a decimal number, optionally followed by a unit. The units are the letters k m g t p e
// (powers of 1024), in upper or lower case, with an optional b. A fraction is allowed only with a unit. Fractions of a byte are
// cut off. The error is ErrUsage.
func ParseSize(s string) (int64, error) {
	t := strings.ToLower(strings.TrimSpace(s))
	t = strings.TrimSuffix(t, "b")
	shift := uint(0)
	if n := len(t); n > 0 {
		if i := strings.IndexByte(units, t[n-1]); i >= 0 {
			shift = 10 * uint(i+1)
			t = strings.TrimRight(t[:n-1], " \t")
		}
	}
	whole, frac, point := strings.Cut(t, ".")
	if !digits(whole) || !digits(frac) || whole+frac == "" || point && shift == 0 || len(t) > 40 {
		return 0, ErrUsage
	}
	r, ok := new(big.Rat).SetString("0" + whole + "." + frac + "0")
	if !ok {
		return 0, ErrUsage
	}
	r.Mul(r, new(big.Rat).SetInt(new(big.Int).Lsh(big.NewInt(1), shift)))
	n := new(big.Int).Quo(r.Num(), r.Denom())
	if !n.IsInt64() {
		return 0, ErrUsage
	}
	return n.Int64(), nil
}

func digits(s string) bool { return strings.Trim(s, "0123456789") == "" }

// Check validates all parameters and descriptors. The error joins all faults.
func (s *Set) Check() error {
	var errs []error
	for i := range params {
		p := &params[i]
		var err error
		switch p.Kind {
		case kindFlag, kindInteger, kindTime:
			_, err = s.Int(p.Name)
		case kindNumber:
			_, err = s.Float(p.Name)
		case kindSize:
			_, err = s.Size(p.Name)
		case kindChoice:
			_, err = s.Choice(p.Name)
		}
		errs = append(errs, err)
	}
	_, err := GroupsOf(s)
	errs = append(errs, err)
	if err == nil {
		_, err = DescriptorsOf(s)
		errs = append(errs, err)
	}
	for _, key := range []string{"CNTLDIR", "CACHEDIR"} {
		_, err := CapacitiesOf(s, key)
		errs = append(errs, err)
	}
	_, err = JobOf(s)
	errs = append(errs, err)
	return errors.Join(errs...)
}
