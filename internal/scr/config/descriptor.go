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

// maxDescriptors is the maximum number of descriptors of one kind. GROUPS has no maximum, because there is one line for each
// node.
const maxDescriptors = 1000

func tooMany(key string, at Origin) error {
	return fmt.Errorf("%s: more than %d %s lines: %w", at.File, maxDescriptors, key, fault.ErrTooLarge)
}

// Groups holds the failure groups besides NODE and WORLD: GROUPS=<host> <NAME>=<value> ...
type Groups struct {
	Names []string // names in the order of their first line, without NODE and WORLD
	hosts map[string][]Pair
}

// Value returns the value of a host for a group name. Hosts with equal values form a group. For NODE the value is the host's
// name, and for WORLD it is "". ok is false if no GROUPS line of the host has the name.
func (g *Groups) Value(host, name string) (string, bool) {
	switch name {
	case "NODE":
		return host, true
	case "WORLD":
		return "", true
	}
	for _, p := range g.hosts[host] {
		if p.Key == name {
			return p.Value, true
		}
	}
	return "", false
}

// Has reports whether a group with this name exists.
func (g *Groups) Has(name string) bool {
	return name == "NODE" || name == "WORLD" || slices.Contains(g.Names, name)
}

// GroupsOf returns the groups of the GROUPS lines.
func GroupsOf(s *Set) (*Groups, error) {
	lines, at := Lines(s, "GROUPS")
	g := &Groups{hosts: map[string][]Pair{}}
	var errs []error
	seen := map[string]bool{}
	for _, l := range lines {
		at.Line = l.Line
		for _, c := range l.Children {
			if c.Key == "NODE" || c.Key == "WORLD" {
				errs = append(errs, &ValueError{"GROUPS=" + l.Value, c.Key, at, "another name, because NODE and WORLD always exist"})
				continue
			}
			if !seen[c.Key] {
				seen[c.Key] = true
				g.Names = append(g.Names, c.Key)
			}
		}
		g.hosts[l.Value] = l.Children
	}
	return g, errors.Join(errs...)
}

// Store is a class of storage devices.
type Store struct {
	Name    string // mount directory of the device
	Group   string // group of ranks that share the store
	Count   int64  // maximum number of datasets in the store
	Enabled bool
	Mkdir   bool   // the library creates directories in the store
	Type    string // transfer type, upper case
	Origin  Origin
}

// StoresOf returns the stores, sorted by name and identical on all ranks. The STORE lines define them. If no line defines the
// cache base, it is added with SCR_CACHE_SIZE as its count. If no line defines the control base, it is added with count 0.
func StoresOf(s *Set) ([]Store, error) {
	count, err := s.Int("SCR_CACHE_SIZE")
	if err != nil {
		return nil, err
	}
	transfer, err := s.Choice("SCR_FLUSH_TYPE")
	if err != nil {
		return nil, err
	}
	groups, err := GroupsOf(s)
	if err != nil {
		return nil, err
	}
	lines, at := Lines(s, "STORE")
	if len(lines) > maxDescriptors {
		return nil, tooMany("STORE", at)
	}
	var out []Store
	var errs []error
	for i := range lines {
		f := newFields(&lines[i], at)
		st := Store{
			Name:    path.Clean(lines[i].Value),
			Group:   f.text("GROUP", "NODE"),
			Count:   f.integer("COUNT", count, 0, 1<<31-1),
			Enabled: f.flag("ENABLED", true),
			Mkdir:   f.flag("MKDIR", true),
			// The user guide calls this key TYPE, but SCR 3 reads FLUSH.
			Type:   strings.ToUpper(f.text("FLUSH", f.text("TYPE", transfer))),
			Origin: f.at,
		}
		f.want(groups.Has(st.Group), "GROUP", st.Group, "NODE, WORLD or a group of the GROUPS lines")
		f.known("GROUP", "COUNT", "ENABLED", "MKDIR", "TYPE", "FLUSH", "VIEW")
		errs = append(errs, f.errs...)
		out = append(out, st)
	}
	add := func(name string, count int64) {
		v := s.Lookup(name)
		base := path.Clean(v.Text)
		if !slices.ContainsFunc(out, func(st Store) bool { return st.Name == base }) {
			out = append(out, Store{Name: base, Group: "NODE", Count: count, Enabled: true, Mkdir: true, Type: transfer, Origin: v.Origin})
		}
	}
	add("SCR_CACHE_BASE", count)
	add("SCR_CNTL_BASE", 0)
	slices.SortStableFunc(out, func(a, b Store) int { return strings.Compare(a.Name, b.Name) })
	return out, errors.Join(errs...)
}

// Capacity is the space that a CNTLDIR or CACHEDIR line requires on a node: CACHEDIR=<dir> BYTES=<size>.
type Capacity struct {
	Dir   string
	Bytes int64 // 0: not specified
}

// CapacitiesOf returns the CNTLDIR or CACHEDIR lines, in file order. If there are no such lines, it returns the control base or
// the cache base without a size.
func CapacitiesOf(s *Set, key string) ([]Capacity, error) {
	lines, at := Lines(s, key)
	if len(lines) == 0 {
		base := "SCR_CACHE_BASE"
		if key == "CNTLDIR" {
			base = "SCR_CNTL_BASE"
		}
		return []Capacity{{Dir: s.Get(base)}}, nil
	}
	var out []Capacity
	var errs []error
	for i := range lines {
		f := newFields(&lines[i], at)
		c := Capacity{Dir: path.Clean(lines[i].Value)}
		if t, ok := lines[i].Child("BYTES"); ok {
			n, err := ParseSize(t)
			f.want(err == nil, "BYTES", t, sizeWant)
			c.Bytes = n
		}
		f.known("BYTES")
		errs = append(errs, f.errs...)
		out = append(out, c)
	}
	return out, errors.Join(errs...)
}

// fields reads the children of a line and collects their errors.
type fields struct {
	e    *Entry
	at   Origin
	errs []error
}

func newFields(e *Entry, at Origin) *fields {
	at.Line = e.Line
	return &fields{e: e, at: at}
}

func (f *fields) want(ok bool, key, value, msg string) {
	if !ok {
		name := fmt.Sprintf("%s=%s %s", f.e.Key, f.e.Value, key)
		f.errs = append(f.errs, &ValueError{name, value, f.at, msg})
	}
}

func (f *fields) text(key, none string) string {
	if v, ok := f.e.Child(key); ok {
		return v
	}
	return none
}

func (f *fields) integer(key string, none, lo, hi int64) int64 {
	v, ok := f.e.Child(key)
	if !ok {
		return none
	}
	n, err := parseInt(v)
	f.want(err == nil && lo <= n && n <= hi, key, v, "an integer from "+strconv.FormatInt(lo, 10)+" to "+strconv.FormatInt(hi, 10))
	return n
}

func (f *fields) flag(key string, none bool) bool {
	v, ok := f.e.Child(key)
	if !ok {
		return none
	}
	n, err := parseInt(v)
	f.want(err == nil, key, v, "0 or 1")
	return n != 0
}

// known reports unknown children. Without this check a misspelled key would silently have no effect.
func (f *fields) known(keys ...string) {
	for _, c := range f.e.Children {
		f.want(slices.Contains(keys, c.Key), c.Key, c.Value, "one of the keys "+strings.Join(keys, ", "))
	}
}
