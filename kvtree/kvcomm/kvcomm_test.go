package kvcomm_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"blobio/comm"
	"blobio/internal/testfiles"
	"blobio/internal/vfs"
	"blobio/kvtree"
	"blobio/kvtree/kvcomm"
)

func run(t testing.TB, n int, f func(ctx context.Context, c comm.Comm) error) {
	t.Helper()
	if err := comm.Run(context.Background(), n, nil, f); err != nil {
		t.Fatal(err)
	}
}

func treeOf(from, to int) *kvtree.Tree {
	t := kvtree.New()
	t.SetInt("FROM", from)
	t.SetKVInt("TO", to).SetStr("x", strings.Repeat("y", from%7))
	return t
}

func TestExchange(t *testing.T) {
	for _, n := range []int{1, 2, 3, 4, 5, 7, 8, 9, 16, 31, 33} {
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			// Who sends to whom, each pattern another density.
			for _, percent := range []int{0, 5, 50, 100} {
				rng := rand.New(rand.NewPCG(1, uint64(n*1000+percent)))
				sends := make([][]bool, n)
				for from := range sends {
					sends[from] = make([]bool, n)
					for to := range n {
						sends[from][to] = rng.IntN(100) < percent
					}
				}
				run(t, n, func(ctx context.Context, c comm.Comm) error {
					send, want := kvtree.New(), kvtree.New()
					for r := range n {
						if sends[c.Rank()][r] {
							send.Set(strconv.Itoa(r), treeOf(c.Rank(), r))
						}
						if sends[r][c.Rank()] {
							want.Set(strconv.Itoa(r), treeOf(r, c.Rank()))
						}
					}
					for range 2 { // at once again: messages of both must not mix
						got, err := kvcomm.Exchange(ctx, c, send, nil)
						if err != nil {
							return err
						}
						a, _ := got.Pack()
						b, _ := want.Pack()
						if !bytes.Equal(a, b) {
							return fmt.Errorf("rank %d: %d trees, want %d", c.Rank(), got.Len(), want.Len())
						}
					}
					return nil
				})
			}
		})
	}
}

func TestExchangeErrorsReachAll(t *testing.T) {
	for name, key := range map[string]string{"no number": "x", "too high": "4", "negative": "-1", "not canonical": "01"} {
		t.Run(name, func(t *testing.T) {
			run(t, 4, func(ctx context.Context, c comm.Comm) error {
				send := kvtree.New()
				if c.Rank() == 2 {
					send.Set(key, nil)
				}
				if _, err := kvcomm.Exchange(ctx, c, send, nil); !errors.Is(err, kvtree.ErrUsage) {
					return fmt.Errorf("rank %d: %v", c.Rank(), err)
				}
				_, err := kvcomm.Exchange(ctx, c, nil, nil) // the Comm stays usable
				return err
			})
		})
	}
	t.Run("over a limit at one receiver", func(t *testing.T) {
		run(t, 4, func(ctx context.Context, c comm.Comm) error {
			send := kvtree.New()
			send.Set("3", treeOf(c.Rank(), 3))
			if _, err := kvcomm.Exchange(ctx, c, send, &kvtree.Options{MaxElements: 3}); !errors.Is(err, kvtree.ErrTooLarge) {
				return fmt.Errorf("rank %d: %v", c.Rank(), err)
			}
			return nil
		})
	})
}

func TestMessages(t *testing.T) {
	run(t, 3, func(ctx context.Context, c comm.Comm) error {
		next, prev := (c.Rank()+1)%3, (c.Rank()+2)%3
		got, err := kvcomm.SendRecv(ctx, c, treeOf(c.Rank(), next), next, prev, 5, nil)
		if err != nil || !got.Equal(treeOf(prev, c.Rank())) {
			return fmt.Errorf("sendrecv: %v", err)
		}
		got, err = kvcomm.Bcast(ctx, c, 1, treeOf(c.Rank(), 9), nil)
		if err != nil || !got.Equal(treeOf(1, 9)) {
			return fmt.Errorf("bcast: %v", err)
		}
		var bad kvtree.Tree
		bad.Set("a\x00b", nil)
		if _, err = kvcomm.Bcast(ctx, c, 0, &bad, nil); !errors.Is(err, kvtree.ErrUsage) {
			return fmt.Errorf("bcast of a bad key: %v", err)
		}
		return nil
	})
}

func TestGatherScatter(t *testing.T) {
	for _, tc := range []struct {
		ranks, bytes int
		segment      int64
		levels, max  int
	}{
		{1, 10, 0, 1, 3}, {4, 10, 0, 1, 3}, {9, 0, 0, 1, 3}, {40, 1000, 4096, 1, 16}, {250, 5000, 4096, 2, 260},
	} {
		t.Run(fmt.Sprintf("%d ranks of %d bytes", tc.ranks, tc.bytes), func(t *testing.T) {
			fsys := vfs.NewMem()
			tree := func(rank int) *kvtree.Tree {
				t := treeOf(rank, 0)
				t.SetStr("long", strings.Repeat("z", tc.bytes))
				return t
			}
			run(t, tc.ranks, func(ctx context.Context, c comm.Comm) error {
				if err := kvcomm.Gather(ctx, c, fsys, "rank2file", tree(c.Rank()), &kvcomm.GatherOptions{Segment: tc.segment}); err != nil {
					return err
				}
				got, err := kvcomm.Scatter(ctx, c, fsys, "rank2file", nil)
				if err == nil && !got.Equal(tree(c.Rank())) {
					err = fmt.Errorf("rank %d has another tree", c.Rank())
				}
				return err
			})
			root, err := kvtree.ReadGatherFile(fsys, "rank2file", kvtree.GatherRef{}, nil)
			if err != nil || root.Level != tc.levels || root.Ranks != tc.ranks {
				t.Errorf("root %+v, %v, want level %d", root, err, tc.levels)
			}
			all, err := kvtree.ReadGather(fsys, "rank2file", nil)
			if err != nil {
				t.Fatal(err)
			}
			for rank := range tc.ranks {
				if !all.Get(strconv.Itoa(rank)).Equal(tree(rank)) {
					t.Errorf("rank %d has another tree", rank)
				}
			}
			if names, err := fsys.ReadDir("."); err != nil || len(names) > tc.max || len(names) < 2 {
				t.Errorf("%d files, %v, want up to %d", len(names), err, tc.max)
			}
		})
	}
}

// TestGatherLikeSCR scatters what real SCR gathered and gathers it again: the same bytes.
func TestGatherLikeSCR(t *testing.T) {
	prefix := filepath.Join(testfiles.Dir(t, "scr", "xor_1_after_crash"), "prefix", ".scr", "scr.dataset.3", "rank2file")
	out := filepath.Join(t.TempDir(), "rank2file")
	run(t, 4, func(ctx context.Context, c comm.Comm) error {
		tree, err := kvcomm.Scatter(ctx, c, nil, prefix, nil)
		if err != nil {
			return err
		}
		if tree.Get("FILE").Len() != 2 {
			return fmt.Errorf("rank %d has %d files", c.Rank(), tree.Get("FILE").Len())
		}
		return kvcomm.Gather(ctx, c, nil, out, tree, nil)
	})
	for _, suffix := range []string{"", ".0.0"} {
		want, err := os.ReadFile(prefix + suffix)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(out + suffix); err != nil || !bytes.Equal(got, want) {
			t.Errorf("rank2file%s differs (%v)", suffix, err)
		}
	}
}

func TestScatterErrorsReachAll(t *testing.T) {
	fsys := vfs.NewMem()
	run(t, 6, func(ctx context.Context, c comm.Comm) error {
		tree := treeOf(c.Rank(), 0)
		tree.SetStr("long", strings.Repeat("z", 5000))
		return kvcomm.Gather(ctx, c, fsys, "g", tree, &kvcomm.GatherOptions{Segment: 4096})
	})
	expect := func(name string, ranks int, class error) {
		t.Helper()
		run(t, ranks, func(ctx context.Context, c comm.Comm) error {
			if _, err := kvcomm.Scatter(ctx, c, fsys, name, nil); !errors.Is(err, class) {
				return fmt.Errorf("rank %d: %v, want %v", c.Rank(), err, class)
			}
			return nil
		})
	}
	expect("none", 6, os.ErrNotExist)
	expect("g", 5, kvtree.ErrUsage)
	expect("g.0.2", 6, kvtree.ErrCorrupt)
	if err := fsys.Rename("g.0.3", "away"); err != nil {
		t.Fatal(err)
	}
	expect("g", 6, kvtree.ErrMissing)
	empty := &kvtree.GatherFile{Ranks: 6}
	if err := kvtree.WriteFile(fsys, "g.0.3", empty.Tree()); err != nil {
		t.Fatal(err)
	}
	expect("g", 6, kvtree.ErrMissing)
}

// TestGatherFault fails each operation of the file system once: all ranks hear of it, and there is no index of a gather
// that is not whole.
func TestGatherFault(t *testing.T) {
	gather := func(fsys vfs.FS) error {
		return comm.Run(context.Background(), 3, nil, func(ctx context.Context, c comm.Comm) error {
			tree := treeOf(c.Rank(), 0)
			tree.SetStr("long", strings.Repeat("z", 5000))
			err := kvcomm.Gather(ctx, c, fsys, "g", tree, &kvcomm.GatherOptions{Segment: 4096})
			if all, _ := comm.AllreduceOne(ctx, c, btoi(err != nil), comm.Sum); all != 0 && all != 3 {
				t.Errorf("%d of 3 ranks failed", all)
			}
			return err
		})
	}
	counter := vfs.Count(vfs.NewMem())
	if err := gather(counter); err != nil {
		t.Fatal(err)
	}
	for n := int64(1); n <= counter.Ops(); n++ {
		mem := vfs.NewMem()
		if err := gather(vfs.FailNth(mem, n, errors.New("injected"))); err == nil {
			t.Errorf("operation %d: no error", n)
		}
		if _, err := mem.Stat("g"); err == nil {
			if _, err := kvtree.ReadGather(mem, "g", nil); err != nil {
				t.Errorf("operation %d: index of %v", n, err)
			}
		}
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func BenchmarkExchange(b *testing.B) {
	const n = 64
	for _, distance := range []int{1, n / 2} {
		b.Run(fmt.Sprintf("distance %d", distance), func(b *testing.B) {
			t := treeOf(6, 1)
			size, _ := t.PackedSize()
			b.SetBytes(size * n)
			run(b, n, func(ctx context.Context, c comm.Comm) error {
				send := kvtree.New()
				send.Set(strconv.Itoa((c.Rank()+distance)%n), t.Clone())
				for range b.N {
					if _, err := kvcomm.Exchange(ctx, c, send, nil); err != nil {
						return err
					}
				}
				return nil
			})
		})
	}
}
