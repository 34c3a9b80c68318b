package verbs_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"blobio/cmd/blobio/internal/verbs"
	"blobio/internal/cli"
)

// shorthands are the short flags with the same meaning everywhere. The meaning of other short flags depends on the verb.
var shorthands = map[string]string{"o": "output", "v": "vars", "q": "quiet", "n": "dry-run", "s": "set"}

// kinds maps the name of a flag to the kind of its value, which is the same in all verbs, and to the minimum number of verbs
// with the flag.
var kinds = map[string]struct {
	kind  string
	verbs int
}{
	"output": {"string", 9}, "vars": {"strings", 5}, "quiet": {"", 3}, "dry-run": {"", 6}, "set": {"stringArray", 2},
	"json": {"", 40}, "force": {"", 15}, "quick": {"", 6}, "strict": {"", 4}, "notes": {"", 5}, "workers": {"int", 10},
	"records": {"string", 2}, "elements": {"string", 2}, "width": {"int", 3}, "memory": {"size", 3},
	"no-sync": {"", 6}, "no-verify": {"", 6},
}

var flagLine = regexp.MustCompile("^ +(?:-(.), )?--([a-z0-9-]+)(?: ([A-Za-z0-9:=]+))?(?:   |$)")

// TestFlags checks that flags with the same name or letter have the same meaning. Negations are --no-x, and no flag is on by
// default.
func TestFlags(t *testing.T) {
	count := map[string]int{}
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			walk(sub)
		}
		path := strings.TrimPrefix(c.CommandPath(), "blobio ")
		for line := range strings.Lines(c.LocalFlags().FlagUsages()) {
			m := flagLine.FindStringSubmatch(strings.TrimRight(line, "\n"))
			if m == nil {
				t.Errorf("%s: %q", path, line)
				continue
			}
			short, name, kind := m[1], m[2], m[3]
			t.Logf("%-20s -%1s --%s %s", path, short, name, kind)
			if is := shorthands[short]; is != "" && is != name {
				t.Errorf("%s: -%s is --%s, elsewhere --%s", path, short, name, is)
			}
			if k, ok := kinds[name]; ok {
				count[name]++
				if l := c.Flags().Lookup(name); strings.Contains(l.Usage, "`") { // the usage names the kind of value
				} else if kind != k.kind {
					t.Errorf("%s: --%s takes %q, elsewhere %q", path, name, kind, k.kind)
				}
			}
			if l := c.Flags().Lookup(name); l != nil && l.Value.Type() == "bool" && l.DefValue == "true" {
				t.Errorf("%s: --%s is on by default: want --no-%s", path, name, name)
			}
			if strings.HasPrefix(name, "un") && !slices.Contains([]string{"union", "unset"}, name) || strings.HasPrefix(name, "without-") || strings.HasPrefix(name, "skip-") {
				t.Errorf("%s: --%s, want --no-...", path, name)
			}
			if name == "out" || name == "plot" || name == "rec" || name == "range" {
				t.Errorf("%s: --%s has another name elsewhere", path, name)
			}
		}
	}
	walk(verbs.NewRoot(&cli.Env{}))
	for name, k := range kinds {
		if count[name] < k.verbs {
			t.Errorf("only %d verbs have --%s", count[name], name)
		}
	}
}
