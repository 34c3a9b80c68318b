package ffstore_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"blobio/comm"
	"blobio/ffformat/ffstore"
)

// A solver of the heat equation on four ranks takes a differential checkpoint every 100 steps. All ranks die once, and the solver
// restarts from the last checkpoint.
func Example() {
	tmp, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(tmp)
	dir := filepath.Join(tmp, "checkpoints")
	crash := errors.New("power failure")

	solve := func(ctx context.Context, c comm.Comm, dieAt int) error {
		s, err := ffstore.Open(ctx, c, dir, &ffstore.Options{Keep: 2, BlockSize: 4096})
		if err != nil {
			return err
		}
		defer s.Close(ctx) //nolint:errcheck // committed checkpoints do not depend on Close

		// The state is the step and this rank's part of a rod. The end of the rod on rank 0 is hot.
		const n = 10000
		step := make([]int64, 1)
		t := make([]float64, n)
		if c.Rank() == 0 {
			t[0] = 100
		}
		if err := errors.Join(s.Protect(1, ffstore.Bytes(step)), s.Protect(2, ffstore.Bytes(t))); err != nil {
			return err
		}
		if len(s.List()) > 0 {
			id, skipped, err := s.Recover(ctx)
			if err != nil {
				return err
			}
			if c.Rank() == 0 {
				fmt.Printf("restart from checkpoint %d at step %d, %d skipped\n", id, step[0], len(skipped))
			}
		}
		next := make([]float64, n)
		for step[0] < 400 {
			copy(next, t)
			for i := 1; i < n-1; i++ {
				next[i] = t[i] + 0.4*(t[i-1]-2*t[i]+t[i+1])
			}
			copy(t, next)
			step[0]++
			if step[0] == int64(dieAt) {
				return crash
			}
			if step[0]%100 == 0 {
				st, err := s.CheckpointDiff(ctx, int32(step[0]/100))
				if err != nil {
					return err
				}
				if c.Rank() == 0 {
					fmt.Printf("checkpoint %d: %d of %d blocks written\n", step[0]/100, st.Dirty, st.Blocks)
				}
			}
		}
		if c.Rank() == 0 {
			fmt.Printf("step %d: %.3f %.3f %.3f\n", step[0], t[1], t[10], t[40])
		}
		return nil
	}
	for _, dieAt := range []int{350, 0} {
		err := comm.Run(context.Background(), 4, nil, func(ctx context.Context, c comm.Comm) error { return solve(ctx, c, dieAt) })
		if errors.Is(err, crash) {
			fmt.Println("all ranks are gone:", crash)
		} else if err != nil {
			fmt.Println(err)
		}
	}
	v, err := ffstore.OpenView(dir, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, x := range v.List() {
		fmt.Printf("kept: checkpoint %d of %d ranks, %d bytes\n", x.ID, x.Ranks, x.Data)
	}
	// Output:
	// checkpoint 1: 84 of 84 blocks written
	// checkpoint 2: 84 of 84 blocks written
	// checkpoint 3: 84 of 84 blocks written
	// all ranks are gone: power failure
	// restart from checkpoint 3 at step 300, 0 skipped
	// checkpoint 4: 5 of 84 blocks written
	// step 400: 95.546 57.644 2.533
	// kept: checkpoint 3 of 4 ranks, 320032 bytes
	// kept: checkpoint 4 of 4 ranks, 320032 bytes
}

// A tool reads a checkpoint without ranks.
func ExampleOpenView() {
	tmp, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(tmp)
	err = comm.Run(context.Background(), 3, nil, func(ctx context.Context, c comm.Comm) error {
		s, err := ffstore.Open(ctx, c, tmp, nil)
		if err != nil {
			return err
		}
		if err := s.Protect(1, fmt.Appendf(nil, "state of rank %d", c.Rank())); err != nil {
			return err
		}
		_, err = s.Checkpoint(ctx, 1)
		return errors.Join(err, s.Close(ctx))
	})
	if err != nil {
		panic(err)
	}

	v, err := ffstore.OpenView(tmp, nil) // nil selects the operating system's files
	if err != nil {
		panic(err)
	}
	newest := v.List()[len(v.List())-1]
	for rank := range newest.Ranks {
		r, file, err := v.Reader(newest.ID, rank)
		if err != nil {
			panic(err)
		}
		size, err := r.VarSize(1)
		if err != nil {
			panic(err)
		}
		data := make([]byte, size)
		err = errors.Join(r.ReadVar(context.Background(), 1, data), file.Close())
		fmt.Printf("%s %v\n", data, err)
	}
	// Output:
	// state of rank 0 <nil>
	// state of rank 1 <nil>
	// state of rank 2 <nil>
}
