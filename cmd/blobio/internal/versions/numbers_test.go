package versions_test

import (
	"context"
	"encoding/json"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"blobio/cmd/blobio/internal/clitest"
	"blobio/comm"
	"blobio/internal/cli"
	"blobio/versioned"
)

// numberStore makes versions with numbers that are hard to format: neighbours beyond 2^53, the limits of int64, a level at an
// invalid time.
func numberStore(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	st := &versioned.Store{Dir: dir}
	clitest.Check(t, comm.Run(t.Context(), 1, nil, func(ctx context.Context, c comm.Comm) error {
		o := &versioned.Options{Durability: versioned.DurableNone}
		a, err := versioned.Create(ctx, c, st, versioned.Spec{Name: "n", Type: versioned.TypeOf[int64](), Shape: []int64{3}, Chunk: 512}, o)
		if err != nil {
			return err
		}
		for _, v := range [][]int64{{1 << 53, 0, math.MinInt64}, {1<<53 + 1, 0, math.MinInt64}, {1<<53 + 1, 0, math.MaxInt64}} {
			if err := versioned.Put(ctx, a, []int64{0}, []int64{3}, v); err != nil {
				return err
			}
			if _, err := a.Inc(ctx, 1, ""); err != nil {
				return err
			}
		}
		u, err := versioned.Create(ctx, c, st, versioned.Spec{Name: "u", Type: versioned.TypeOf[uint64](), Shape: []int64{1}, Chunk: 512}, o)
		if err != nil {
			return err
		}
		for _, v := range []uint64{math.MaxUint64, math.MaxUint64 - 1} {
			if err := versioned.Put(ctx, u, []int64{0}, []int64{1}, []uint64{v}); err != nil {
				return err
			}
			if _, err := u.Inc(ctx, 1, ""); err != nil {
				return err
			}
		}
		h, err := versioned.CreateHierarchy(ctx, c, st, versioned.HierarchySpec{Name: "amr", Dim: 1, Comps: []string{"u"}, Dx: math.Inf(1), Chunk: 512,
			Subcycling: versioned.Subcycling{Levels: 1, Ratio: 2}, Config: versioned.Config{Cadence: versioned.Cadence{1}}}, o)
		if err != nil {
			return err
		}
		if _, err := h.Regrid(ctx, 0, []versioned.BoxInfo{{Hi: [3]int32{1}}}); err != nil {
			return err
		}
		_, err = h.Save(ctx, 0, math.NaN(), 1, 1, map[int][]float64{0: {1, math.NaN()}})
		return err
	}))
	return dir
}

func TestVersionsNumbers(t *testing.T) {
	dir := numberStore(t)
	for _, x := range []struct{ words, args string }{
		{"by at most 1\n", "n --from 1 --to 2"},
		{"by at most 1.8446744073709552e+19\n", "n --from 2 --to 3"},
		{"by at most 1\n", "u"},
	} {
		args := strings.Fields(x.args)
		args[0] = filepath.Join(dir, args[0])
		clitest.Bad(t, cli.Findings, x.words, append([]string{"versions", "diff"}, args...)...)
	}
	level := filepath.Join(dir, "amr.level0")
	for _, args := range [][]string{{"dump", level}, {"ls", level}, {"ls", dir}, {"dump", level, "--values"}} {
		clitest.Good(t, append([]string{"versions"}, args...)...)
		var v map[string]any
		if err := json.Unmarshal([]byte(clitest.Good(t, append(append([]string{"versions"}, args...), "--json")...)), &v); err != nil {
			t.Errorf("%v --json: %v", args, err)
		}
	}
}
