package blob

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"blobio/blob/internal/dataset"
	"blobio/blob/internal/resume"
	"blobio/comm"
	"blobio/internal/base/vfs"
	"blobio/internal/subfile"
)

// TestPlusName renames a dataset to a.nc+1, the name that an append to a dataset a.nc gives to a set. The dataset is then
// listed, checked, read, continued and recovered, with and without a dataset a.nc in the same directory. The dataset a.nc must
// stay unchanged.
func TestPlusName(t *testing.T) {
	const base = "a.nc+1"
	for _, l := range []dataset.Layout{dataset.VariableCentric, dataset.ProcessCentric} {
		for _, beside := range []bool{false, true} {
			t.Run(fmt.Sprintf("%v/beside %v", l, beside), func(t *testing.T) {
				mem := vfs.NewMem()
				o := &dataset.Settings{Options: dataset.Options{Layout: l, Subfiles: 2}, Knobs: dataset.Knobs{Fs: mem}}
				first, m := tinyModel(1, 2), tinyModel(2, 5)
				write := func(m *model, name string, f func(ctx context.Context, c comm.Comm, base string, o *dataset.Settings) error) {
					t.Helper()
					must(run(m.ranks, func(ctx context.Context, c comm.Comm) error { return f(ctx, c, name, o) }))
				}
				want := []string{base}
				if beside {
					write(first, "a.nc", first.create)
					want = []string{"a.nc", base}
				}
				m3 := m.upTo(3)
				write(m3, "b.nc", m3.create)
				for _, end := range []string{".0000", ".0001", ".manifest"} {
					must(mem.Rename("b.nc"+end, base+end))
				}
				look := func(when string, m *model) {
					t.Helper()
					sets := need(subfile.ListAll(mem, "."))
					var got []string
					for _, s := range sets {
						got = append(got, s.Base)
					}
					if strings.Join(got, " ") != strings.Join(want, " ") {
						t.Errorf("%s: listed %v, want %v", when, got, want)
					}
					for _, name := range want {
						m := m
						if name == "a.nc" {
							m = first
						}
						readsAs(t, fmt.Sprintf("%s: %s read", when, name), mem, name, m)
						wantSound(t, fmt.Sprintf("%s: %s", when, name), mem, name)
					}
				}
				look("renamed", m3)
				write(m.upTo(4), base, m.upTo(4).add)
				look("continued", m.upTo(4))
				must(run(m.ranks, func(ctx context.Context, c comm.Comm) error { // and dies
					w := need(m.append(ctx, c, base, o))
					defer w.Abort()
					must(m.putRecord(w, 4, c.Rank(), false))
					return w.Commit(ctx)
				}))
				must(vfs.WriteFile(mem, base+".0000.w00000001.partial", nil)) // a file of another dead writer
				left, err := resume.UnfinishedIn(mem, ".")
				if must(err); len(left) != 1 || left[0] != base {
					t.Errorf("unfinished: %v, want %s", left, base)
				}
				for i := len(want); i > 0; i-- {
					if _, err := resume.RecoverWith(t.Context(), want[i-1], nil, dataset.Knobs{Fs: mem}); err != nil {
						t.Errorf("recover %s: %v", want[i-1], err)
					}
					look("recovered "+want[i-1], m)
				}
			})
		}
	}
}
