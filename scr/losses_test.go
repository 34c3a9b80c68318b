package scr

import (
	"bytes"
	"context"
	"fmt"
	"math/rand"
	"os"
	"testing"

	"blobio/internal/base/vfs"
	"blobio/scr/redset"
)

// lossCase is a run with several ranks on each node, in sets of unequal sizes, that loses some nodes.
type lossCase struct {
	scheme     redset.Scheme
	nodes, now []string // name of the node of each rank, in the first run and afterwards
	lost       []string
	set, k     int
	files      [][]int // sizes of the files of each rank
	apart      bool
}

func drawLosses(r *rand.Rand) lossCase {
	c := lossCase{scheme: []redset.Scheme{redset.Single, redset.Partner, redset.XOR, redset.RS}[r.Intn(4)], set: 2 + r.Intn(4), apart: r.Intn(3) == 0}
	c.k = 1 + r.Intn(c.set-1)
	n := 2 + r.Intn(6)
	for i := range n {
		for range 1 + r.Intn(3)*r.Intn(2) {
			c.nodes = append(c.nodes, fmt.Sprint("n", i))
		}
	}
	r.Shuffle(len(c.nodes), func(i, j int) { c.nodes[i], c.nodes[j] = c.nodes[j], c.nodes[i] })
	for range c.nodes {
		var sizes []int
		for range r.Intn(4) {
			sizes = append(sizes, []int{0, 1, r.Intn(100), r.Intn(20_000)}[r.Intn(4)])
		}
		c.files = append(c.files, sizes)
	}
	for _, i := range r.Perm(n)[:r.Intn(min(n, 3)+1)] {
		c.lost = append(c.lost, fmt.Sprint("n", i))
	}
	// Afterwards the ranks run on new nodes, on remaining nodes, or on lost nodes, which are empty.
	hosts := []string{"s0", "s1"}
	for i := range n {
		hosts = append(hosts, fmt.Sprint("n", i))
	}
	for rank := range c.nodes {
		if r.Intn(3) > 0 {
			c.now = append(c.now, c.nodes[rank])
		} else {
			c.now = append(c.now, hosts[r.Intn(len(hosts))])
		}
	}
	return c
}

// survives reports whether all sets survive the loss. Files on nodes in away are not accessible, because no rank runs there.
func (c *lossCase) survives() bool {
	gone := map[string]bool{}
	for _, n := range c.nodes {
		gone[n] = true
	}
	for _, n := range c.now {
		gone[n] = false
	}
	for _, n := range c.lost {
		gone[n] = true
	}
	places := redset.Form(c.scheme, c.nodes, c.set)
	single := c.scheme == redset.Single
	for _, p := range places { // if a set is too small for the scheme, all sets become SINGLE, and Notes report it
		single = single || len(p.Ranks) == 1 || c.scheme == redset.RS && len(p.Ranks) <= c.k
	}
	for rank, p := range places {
		if !gone[c.nodes[rank]] {
			continue
		}
		n := 0
		for _, q := range p.Ranks {
			if gone[c.nodes[q]] {
				n++
			}
		}
		switch {
		case single, c.scheme == redset.XOR && n > 1, c.scheme == redset.RS && n > c.k:
			return false
		case c.scheme == redset.Partner && gone[c.nodes[p.Ranks[(p.Rank+1)%len(p.Ranks)]]]:
			return false
		}
	}
	return true
}

// TestRandomLosses tries random losses and new positions of ranks. If every set survives, a checkpoint must be offered. Any
// checkpoint that is offered must have its own bytes. Sets with little data survive more losses than their scheme guarantees,
// because the zeros after the end of files cannot be lost.
func TestRandomLosses(t *testing.T) {
	runs := int64(20)
	if os.Getenv("BLOBIO_LONG") != "" {
		runs = 1000
	}
	for seed := range runs {
		c := drawLosses(rand.New(rand.NewSource(seed)))
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			cl := newCluster(t, c.nodes...).set("SCR_COPY_TYPE", c.scheme.String(), "SCR_SET_SIZE", fmt.Sprint(c.set), "SCR_SET_FAILURES", fmt.Sprint(c.k), "SCR_FLUSH", "0")
			cl.apart = c.apart
			cl.log = &bytes.Buffer{}
			name := func(rank, i int) string { return fmt.Sprintf("d%d/rank%d.%d", i%2, rank, i) }
			data := func(rank, i int) []byte {
				b := make([]byte, c.files[rank][i])
				rand.New(rand.NewSource(int64(rank*10 + i))).Read(b)
				return b
			}
			each(t, cl, func(ctx context.Context, s *Session, rank int) error {
				must(t, s.Start(ctx, "ckpt", Checkpoint))
				for i := range c.files[rank] {
					at, err := s.Route(name(rank, i))
					must(t, err)
					must(t, put(cl.fs, at, data(rank, i)))
				}
				return s.Complete(ctx, true)
			})
			cl.lose(c.lost...)
			next := cl.on(c.now...)
			for again := range 2 { // afterwards the dataset must have the same protection in its new place
				each(t, next, func(ctx context.Context, s *Session, rank int) error {
					_, ok, err := s.HaveRestart(ctx)
					if c.survives() && !ok || err != nil {
						t.Errorf("%d: offered %v, %v; %+v", again, ok, err, c)
					}
					if !ok || err != nil {
						return err
					}
					if _, err := s.StartRestart(ctx); err != nil {
						return err
					}
					for i := range c.files[rank] {
						at, err := s.Route(name(rank, i))
						must(t, err)
						if b, err := vfs.ReadFile(cl.fs, at, 1<<20); err != nil || !bytes.Equal(b, data(rank, i)) {
							t.Errorf("%d: rank %d, file %d: wrong bytes: %v; %+v", again, rank, i, err, c)
						}
					}
					return s.CompleteRestart(ctx, true)
				})
				if !c.survives() {
					break
				}
			}
			if t.Failed() {
				t.Log(cl.log)
			}
		})
	}
}
