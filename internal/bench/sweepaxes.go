package bench

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"blobio/blob"
	"blobio/e3smcases"
	"blobio/internal/subfile"
)

// A SweepAxis is a property that may differ between points of a sweep: the data, the way to write them, and each knob.
type SweepAxis struct {
	Name, Usage string
	Kind        KnobKind
	Words       []string
	Def         string
	check       func(value string) error
}

// evenCase is a case that needs no tables: some record variables over one dimension, with equal numbers of pieces of equal length
// on all ranks.
const evenCase = "even"

// SweepAxes lists all axes. From point to point, the last axis varies fastest.
func SweepAxes() []SweepAxis {
	word := func(name, usage, def string, words ...string) SweepAxis {
		return SweepAxis{name, usage, WordKnob, words, def, func(s string) error {
			if !slices.Contains(words, s) {
				return fmt.Errorf("%s %q, want one of %s", name, s, strings.Join(words, ", "))
			}
			return nil
		}}
	}
	number := func(name, usage, def string, least int64) SweepAxis {
		return SweepAxis{name, usage, NumberKnob, nil, def, func(s string) error {
			if n, err := strconv.ParseInt(s, 10, 32); err != nil || n < least {
				return fmt.Errorf("%s %q, want a number >= %d", name, s, least)
			}
			return nil
		}}
	}
	list := []SweepAxis{
		word("case", "what is written: even, or a history of E3SM", evenCase, append([]string{evenCase}, e3smcases.Names()...)...),
		word("layout", "variable-centric or process-centric", "variable", "variable", "process"),
		number("ranks", "numbers of ranks (default: all processes, or 16 in one process)", "16", 1),
		number("ranks-per-node", "number of ranks on each node, which are its first processes; in one process, this number of ranks simulates a node; 0: all", "0", 0),
		{"subfiles", "number of subfiles: in total, such as 8, per node, such as 1/node, or per target of the file system, such as 2/target", WordKnob, nil, "1/node", func(s string) error {
			_, _, err := parseSubfiles(s)
			return err
		}},
		number("flush", "number of records between flushes; 0: one flush at the end", "1", 0),
		word("async", "flushes in the background: no or yes", "no", "no", "yes"),
		{"compute", "seconds that each rank works before each record", WordKnob, nil, "0", func(s string) error {
			if x, err := strconv.ParseFloat(s, 64); err != nil || !(x >= 0 && x <= 1e6) {
				return fmt.Errorf("compute %q, want seconds", s)
			}
			return nil
		}},
		word("fixed-records", "process-centric: the number of records is known when the dataset is created: yes or no", "yes", "yes", "no"),
		word("read", "how the data are read back: none (not at all), warm, or cold (after they leave the page cache)", "warm", "none", "warm", "cold"),
	}
	for _, k := range Knobs() {
		if k.Field == "Open.AllowMissing" { // missing data are always errors in a sweep
			continue
		}
		list = append(list, SweepAxis{k.Name, k.Usage, k.Kind, k.Words, k.Def, func(s string) error { return k.Set(new(Settings), s) }})
	}
	return list
}

// parseSubfiles parses 8, 2/node or 2/target.
func parseSubfiles(s string) (n int, of string, err error) {
	count, of, _ := strings.Cut(s, "/")
	n, err = strconv.Atoi(count)
	if err != nil || n < 1 || of != "" && of != "node" && of != "target" || strings.HasSuffix(s, "/") {
		return 0, "", fmt.Errorf("subfiles %q, want a number such as 8, 1/node or 2/target", s)
	}
	return n, of, nil
}

// A SweepPoint holds a value for each axis.
type SweepPoint map[string]string

func (p SweepPoint) int(axis string) int {
	n, _ := strconv.Atoi(p[axis])
	return n
}

func (p SweepPoint) layout() blob.Layout {
	if p["layout"] == "process" {
		return blob.ProcessCentric
	}
	return blob.VariableCentric
}

// subfiles returns the number of subfiles, 0 for one per node.
func (p SweepPoint) subfiles(nodes, targets int) (int, error) {
	n, of, err := parseSubfiles(p["subfiles"])
	switch {
	case err != nil:
		return 0, err
	case of == "node" && n == 1:
		return 0, nil
	case of == "node":
		n *= nodes
	case of == "target" && targets == 0:
		return 0, fmt.Errorf("subfiles %s requires a known number of targets", p["subfiles"])
	case of == "target":
		n *= targets
	}
	if ranks := p.int("ranks"); n > ranks {
		return 0, fmt.Errorf("%d subfiles for %d ranks, want at most one per rank", n, ranks)
	}
	return n, nil
}

// settings returns the writer and reader options of the point.
func (p SweepPoint) settings() (s Settings, err error) {
	for _, k := range Knobs() {
		if v, ok := p[k.Name]; ok {
			if err := k.Set(&s, v); err != nil {
				return s, err
			}
		}
	}
	s.Write.Layout = p.layout()
	return s, cmp.Or(s.Write.Validate(), s.Read.Validate())
}

// possible returns an error if the values of a point cannot be combined.
func (p SweepPoint) possible(targets int) error {
	s, err := p.settings()
	if err != nil {
		return err
	}
	if s.Write.Layout == blob.VariableCentric && s.Write.Compress.On() {
		return fmt.Errorf("the variable-centric layout does not support compression")
	}
	nodes, per := 1, p.int("ranks-per-node")
	if per > 0 {
		nodes = (p.int("ranks") + per - 1) / per
	}
	n, err := p.subfiles(nodes, targets)
	if err == nil && n == 0 && s.Write.Grouping != subfile.ByNode {
		err = fmt.Errorf("grouping %s requires a number of subfiles", p["grouping"])
	}
	return err
}

// AxisText formats a value for display: a size gets its unit.
func AxisText(axis, value string) string {
	size := slices.ContainsFunc(SweepAxes(), func(a SweepAxis) bool { return a.Name == axis && a.Kind == SizeKnob })
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil || !size || n <= 0 {
		return value
	}
	for i, shift := range []int{30, 20, 10} {
		if n%(1<<shift) == 0 {
			return fmt.Sprintf("%d%c", n>>shift, "GMK"[i])
		}
	}
	return value
}
