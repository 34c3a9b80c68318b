package rooms

import (
	"os/exec"
	"strings"
	"testing"
)

// layers of the rooms, by the longest prefix of the import path. Whatever is
// not listed fails the test, so that a new room is given its place.
var layers = map[string]int{
	"blobio/internal/base":           0,
	"blobio/blob/internal":           3,
	"blobio/blob/internal/checksum":  1,
	"blobio/blob/internal/layout":    1,
	"blobio/blob/internal/netcdf4":   1,
	"blobio/blob/internal/unpack":    1,
	"blobio/cdf5":                    1,
	"blobio/decomp":                  1,
	"blobio/ffformat":                1,
	"blobio/internal/amr/sfc":        1,
	"blobio/internal/draw":           1,
	"blobio/scr/kvtree":              1,
	"blobio/vfs":                     1,
	"blobio/comm":                    2,
	"blobio/internal/cdf5":           2,
	"blobio/internal/rooms":          5,
	"blobio/internal/comm":           2,
	"blobio/internal/scr":            2,
	"blobio/internal/view/dap":       2,
	"blobio/internal/subfile":        2,
	"blobio/subfile":                 2,
	"blobio/amr":                     3,
	"blobio/blob":                    3,
	"blobio/ffformat/ffstore":        3,
	"blobio/internal/amr":            3,
	"blobio/internal/scr/check":      3,
	"blobio/internal/scr/salvage":    3,
	"blobio/scr":                     3,
	"blobio/scr/redset":              3,
	"blobio/versioned":               3,
	"blobio/bench":                   4,
	"blobio/e3smcases":               4,
	"blobio/internal/bench":          4,
	"blobio/internal/blob":           4,
	"blobio/internal/cli":            4,
	"blobio/internal/fti":            4,
	"blobio/internal/draw/amrplot":   4,
	"blobio/internal/draw/fieldplot": 4,
	"blobio/internal/scr/runloop":    4,
	"blobio/internal/versioned":      1,
	"blobio/internal/view":           4,
	"blobio/pio":                     4,
	"blobio/capi":                    5,
	"blobio/cmd":                     5,
	"blobio/examples":                5,
	"blobio/python":                  5, // tests only
}

func layer(path string) (int, bool) {
	for p := path; p != ""; {
		if n, ok := layers[p]; ok {
			return n, true
		}
		i := strings.LastIndexByte(p, '/')
		if i < 0 {
			break
		}
		p = p[:i]
	}
	return 0, false
}

// everything are all packages of this module.
const everything = "blobio/..."

func TestImportsGoDown(t *testing.T) {
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, everything).Output()
	if err != nil {
		t.Skipf("SKIPPED: go list: %v", err)
	}
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		from, ok := layer(f[0])
		if !ok {
			t.Errorf("%s has no layer: add its room to the table", f[0])
			continue
		}
		for _, imp := range f[1:] {
			if !strings.HasPrefix(imp, strings.TrimSuffix(everything, "...")) {
				continue
			}
			if to, ok := layer(imp); !ok || to > from {
				t.Errorf("%s (layer %d) imports %s (layer %d)", f[0], from, imp, to)
			}
		}
	}
}
