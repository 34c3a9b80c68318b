package config

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"blobio/internal/base/fault"
)

// Descriptor describes how checkpoints are cached and protected.
type Descriptor struct {
	Index    int
	Enabled  bool
	Interval int64  // the descriptor applies to checkpoints whose number is a multiple; if several apply, the largest interval wins
	Output   bool   // for datasets that are not checkpoints
	Bypass   bool   // the descriptor is for datasets that are not checkpoints
	Group    string // files are written directly to the prefix directory, not to the cache
	Store    string // directory of the store
	Type     string // SINGLE, PARTNER, XOR or RS

	SetSize     int64 // minimum number of ranks in a set
	SetFailures int64 // number of lost ranks that an RS set survives
	Replicas    int64 // number of PARTNER copies; the original SCR has no such key
	HopDistance int64 // generation A only

	Origin Origin
}

// maxSet is the maximum number of ranks in a set. The files store member numbers in 31 bits.
const maxSet = 1<<31 - 1

// DescriptorsOf returns the redundancy descriptors. If SCR_COPY_TYPE is FILE, they are read from the CKPT lines. Otherwise
// DescriptorsOf makes one descriptor from the parameters. The error joins all faults, each a *ValueError with its line.
func DescriptorsOf(s *Set) ([]Descriptor, error) {
	base, err := implied(s)
	if err != nil {
		return nil, err
	}
	groups, err := GroupsOf(s)
	if err != nil {
		return nil, err
	}
	stores, err := StoresOf(s)
	if err != nil {
		return nil, err
	}
	var out []Descriptor
	var errs []error
	if base.Type != "FILE" {
		errs = base.check(groups, stores, func(key string) (string, Origin) {
			v := s.Lookup(impliedNames[key])
			return impliedNames[key], v.Origin
		})
		return []Descriptor{base}, errors.Join(errs...)
	}
	// A CKPT line without TYPE must not inherit the type FILE.
	base.Type = "XOR"
	lines, at := Lines(s, "CKPT")
	if len(lines) == 0 {
		return nil, fault.Usage("SCR_COPY_TYPE is FILE, but there is no CKPT line")
	}
	if len(lines) > maxDescriptors {
		return nil, tooMany("CKPT", at)
	}
	for i := range lines {
		f := newFields(&lines[i], at)
		d := base
		n, err := parseInt(lines[i].Value)
		if err != nil || n < 0 || n >= int64(len(lines)) {
			errs = append(errs, &ValueError{"CKPT", lines[i].Value, f.at, fmt.Sprintf("numbers from 0 to %d, one for each line", len(lines)-1)})
			continue
		}
		d.Index = int(n)
		d.Enabled = f.flag("ENABLED", true)
		d.Interval = f.integer("INTERVAL", 1, 1, 1<<62)
		d.Output = f.flag("OUTPUT", false)
		d.Bypass = f.flag("BYPASS", base.Bypass)
		d.Group = f.text("GROUP", base.Group)
		d.Store = path.Clean(f.text("STORE", base.Store))
		d.Type = strings.ToUpper(f.text("TYPE", base.Type))
		d.SetSize = f.integer("SET_SIZE", base.SetSize, 1, maxSet)
		d.SetFailures = f.integer("SET_FAILURES", base.SetFailures, 1, maxSet)
		d.Replicas = f.integer("REPLICAS", base.Replicas, 1, maxSet)
		d.HopDistance = f.integer("HOP_DISTANCE", base.HopDistance, 1, maxSet)
		d.Origin = f.at
		f.known("INTERVAL", "GROUP", "STORE", "TYPE", "SET_SIZE", "SET_FAILURES", "REPLICAS", "HOP_DISTANCE", "OUTPUT", "BYPASS", "ENABLED")
		if len(f.errs) == 0 {
			f.errs = d.check(groups, stores, func(key string) (string, Origin) { return "CKPT=" + lines[i].Value + " " + key, f.at })
		}
		errs = append(errs, f.errs...)
		out = append(out, d)
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	slices.SortStableFunc(out, func(a, b Descriptor) int { return a.Index - b.Index })
	for i := 1; i < len(out); i++ {
		if out[i].Index == out[i-1].Index {
			return nil, &ValueError{"CKPT", strconv.Itoa(out[i].Index), out[i].Origin, "each number once"}
		}
	}
	if !slices.ContainsFunc(out, func(d Descriptor) bool { return d.Enabled && d.Interval == 1 }) {
		return nil, &ValueError{"CKPT", "", out[0].Origin, "one enabled descriptor of INTERVAL=1, for checkpoints that no other interval divides"}
	}
	return out, nil
}

// Select returns the index of the descriptor for checkpoint ckpt (from 1). Of the enabled descriptors whose interval divides
// ckpt, it is the first with the largest interval. For output without a checkpoint it is the first descriptor with Output, or
// else the descriptor of checkpoint 1. The error is ErrUsage if no interval divides ckpt. This cannot happen if a descriptor has
// interval 1.
func Select(list []Descriptor, ckpt int64, output bool) (int, error) {
	if output {
		if i := slices.IndexFunc(list, func(d Descriptor) bool { return d.Enabled && d.Output }); i >= 0 {
			return i, nil
		}
		ckpt = 1
	}
	best := -1
	for i, d := range list {
		if d.Enabled && d.Interval > 0 && ckpt%d.Interval == 0 && (best < 0 || d.Interval > list[best].Interval) {
			best = i
		}
	}
	if best < 0 {
		return 0, fault.Usage("no enabled descriptor has an interval that divides checkpoint %d", ckpt)
	}
	return best, nil
}

var impliedNames = map[string]string{
	"GROUP": "SCR_GROUP", "STORE": "SCR_CACHE_BASE", "TYPE": "SCR_COPY_TYPE", "SET_SIZE": "SCR_SET_SIZE", "SET_FAILURES": "SCR_SET_FAILURES",
}

// implied returns the descriptor made from the parameters. Its type may be FILE.
func implied(s *Set) (d Descriptor, err error) {
	d = Descriptor{Enabled: true, Interval: 1, Replicas: 1, Group: s.Get("SCR_GROUP"), Store: path.Clean(s.Get("SCR_CACHE_BASE"))}
	d.Origin = s.Lookup("SCR_COPY_TYPE").Origin
	var errs []error
	keep := func(err error) { errs = append(errs, err) }
	d.Type, err = s.Choice("SCR_COPY_TYPE")
	keep(err)
	d.Bypass, err = s.Flag("SCR_CACHE_BYPASS")
	keep(err)
	for _, p := range []struct {
		to   *int64
		name string
	}{{&d.SetSize, "SCR_SET_SIZE"}, {&d.SetFailures, "SCR_SET_FAILURES"}, {&d.HopDistance, "SCR_HOP_DISTANCE"}} {
		*p.to, err = s.Int(p.name)
		if err == nil && (*p.to < 1 || *p.to > maxSet) {
			v := s.Lookup(p.name)
			err = &ValueError{p.name, v.Text, v.Origin, "an integer from 1 on"}
		}
		keep(err)
	}
	return d, errors.Join(errs...)
}

// check validates a descriptor, including its group and its store.
func (d *Descriptor) check(groups *Groups, stores []Store, at func(key string) (string, Origin)) []error {
	var errs []error
	want := func(ok bool, key, value, msg string) {
		if !ok {
			name, origin := at(key)
			errs = append(errs, &ValueError{name, value, origin, msg})
		}
	}
	i := slices.IndexFunc(stores, func(st Store) bool { return st.Name == d.Store })
	want(i >= 0, "STORE", d.Store, "a store: SCR_CACHE_BASE, SCR_CNTL_BASE or one of the STORE lines")
	want(i < 0 || stores[i].Enabled || !d.Enabled, "STORE", d.Store, "a store that is enabled")
	want(groups.Has(d.Group), "GROUP", d.Group, "NODE, WORLD or a group of the GROUPS lines")
	types := []string{"SINGLE", "PARTNER", "XOR", "RS"}
	want(slices.Contains(types, d.Type), "TYPE", d.Type, "one of "+strings.Join(types, ", "))
	want(d.Type != "XOR" || d.SetSize >= 2, "SET_SIZE", strconv.FormatInt(d.SetSize, 10), "at least 2 for XOR")
	want(d.Type != "RS" || d.SetFailures < d.SetSize, "SET_FAILURES", strconv.FormatInt(d.SetFailures, 10), fmt.Sprintf("less than SET_SIZE, which is %d", d.SetSize))
	want(d.Type != "RS" || d.SetSize+d.SetFailures <= 256, "SET_SIZE", strconv.FormatInt(d.SetSize, 10), "at most 256 together with SET_FAILURES, for RS")
	return errs
}
