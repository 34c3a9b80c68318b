package redset

import (
	"strings"
	"testing"

	"blobio/internal/base/vfs"
)

// TestNoSums: Encode without checksums writes no checksum file. Losses are rebuilt as in sets of SCR, and nothing is verified.
// With Single no byte is read.
func TestNoSums(t *testing.T) {
	for _, o := range schemes {
		if o.Generation != GenC {
			continue
		}
		for _, mode := range []string{"shared", "isolated"} {
			t.Run(o.label()+"/"+mode, func(t *testing.T) {
				for _, noSums := range []bool{false, true} {
					o.NoSums = noSums
					cl := newCluster(t, o, uneven[:4])
					reads := false
					must(t, cl.encode(mode, func(r int) vfs.FS {
						return vfs.NewFault(cl.fs, func(op vfs.Op) error {
							if r == 0 && op.Kind == vfs.OpRead && op.Name == "n0/f0" {
								reads = true
							}
							return nil
						})
					}))
					if want := o.Scheme != Single || !noSums; reads != want {
						t.Errorf("NoSums %v: data were read: %v, want %v", noSums, reads, want)
					}
					whole := fromMem(t, cl.fs, ".")
					sums := 0
					for name := range whole {
						if strings.HasSuffix(name, sumSuffix) {
							sums++
						}
					}
					if noSums && sums != 0 || !noSums && sums != 4 {
						t.Errorf("NoSums %v: %d checksum files", noSums, sums)
					}
					if o.Scheme != Single {
						cl.lose(t, 1)
					}
					reps, err := cl.recover(mode, cl.own)
					must(t, err)
					if reps[0].Verified == noSums {
						t.Errorf("NoSums %v: Verified is %v", noSums, reps[0].Verified)
					}
					same(t, fromMem(t, cl.fs, "."), whole)
				}
			})
		}
	}
}
