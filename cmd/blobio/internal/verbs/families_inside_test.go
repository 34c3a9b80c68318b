package verbs

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"blobio/internal/cli"
)

// TestOneKindOfFlag checks that a flag takes a value in all families or in none, so that paths can find the paths before the
// family is known.
func TestOneKindOfFlag(t *testing.T) {
	root := newRoot(&cli.Env{})
	for _, verb := range byContent {
		valued := map[string]bool{}
		for _, f := range families {
			cmd, _, err := root.Find(strings.Fields(f.verbs[verb]))
			if err != nil || cmd == root {
				continue
			}
			cmd.Flags().VisitAll(func(x *pflag.Flag) {
				for _, name := range []string{"--" + x.Name, "-" + x.Shorthand} {
					if was, ok := valued[name]; ok && was != (x.NoOptDefVal == "") && name != "-" {
						t.Errorf("%s: %s of %s has a value in one family and none in another", verb, name, f.verbs[verb])
					}
					valued[name] = x.NoOptDefVal == ""
				}
			})
		}
	}
}
