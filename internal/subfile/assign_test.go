package subfile

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"blobio/comm"
	"blobio/internal/base/fault"
)

// deal runs Assign on n ranks and returns "subfile/sub rank" of each rank.
func deal(t *testing.T, n int, o *comm.Options, g Grouping, files int) ([]string, error) {
	t.Helper()
	out := make([]string, n)
	var mu sync.Mutex
	err := comm.Run(context.Background(), n, o, func(ctx context.Context, c comm.Comm) error {
		grp, err := Assign(ctx, c, g, files)
		if err != nil {
			return err
		}
		mu.Lock()
		out[c.Rank()] = fmt.Sprintf("%d/%d", grp.Index, grp.Comm.Rank())
		mu.Unlock()
		return nil
	})
	return out, err
}

func TestAssign(t *testing.T) {
	for _, c := range []struct {
		name  string
		n     int
		o     comm.Options
		g     Grouping
		files int
		want  string
	}{
		{"one node", 3, comm.Options{}, ByNode, 0, "[0/0 0/1 0/2]"},
		{"nodes in blocks", 5, comm.Options{RanksPerNode: 2}, ByNode, 0, "[0/0 0/1 1/0 1/1 2/0]"},
		{"nodes round robin", 5, comm.Options{RanksPerNode: 2, RoundRobin: true}, ByNode, 3, "[0/0 1/0 2/0 0/1 1/1]"},
		{"blocks", 5, comm.Options{}, Blocks, 2, "[0/0 0/1 0/2 1/0 1/1]"},
		{"round robin", 5, comm.Options{}, RoundRobin, 2, "[0/0 1/0 0/1 1/1 0/2]"},
		{"as many as ranks", 2, comm.Options{}, Blocks, 2, "[0/0 1/0]"},
	} {
		got, err := deal(t, c.n, &c.o, c.g, c.files)
		if err != nil || fmt.Sprint(got) != c.want {
			t.Errorf("%s: %v, %v, want %s", c.name, got, err, c.want)
		}
	}
	for _, bad := range []struct {
		g     Grouping
		files int
	}{{Blocks, 0}, {Blocks, 4}, {ByNode, 2}, {RoundRobin, -1}, {9, 1}} {
		if _, err := deal(t, 3, nil, bad.g, bad.files); !errors.Is(err, fault.ErrUsage) {
			t.Errorf("grouping %v with %d subfiles: %v", bad.g, bad.files, err)
		}
	}
}
