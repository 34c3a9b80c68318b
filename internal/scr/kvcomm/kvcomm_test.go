package kvcomm_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"blobio/comm"
	"blobio/internal/base/fault"
	"blobio/internal/scr/kvcomm"
	"blobio/scr/kvtree"
)

func run(t testing.TB, n int, f func(ctx context.Context, c comm.Comm) error) {
	t.Helper()
	if err := comm.Run(context.Background(), n, nil, f); err != nil {
		t.Fatal(err)
	}
}

func treeOf(from, to int) *kvtree.Tree {
	t := kvtree.New()
	t.Value("FROM").SetInt(from)
	t.SetKVInt("TO", to).Value("x").SetStr(strings.Repeat("y", from%7))
	return t
}

func TestExchange(t *testing.T) {
	for _, n := range []int{1, 2, 5, 16} {
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			// Patterns of senders and receivers with different densities.
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
					for range 2 { // twice in a row: messages of the two calls must not mix
						got, err := kvcomm.Exchange(ctx, c, send, nil)
						if err != nil {
							return err
						}
						a, _ := kvtree.Pack(got)
						b, _ := kvtree.Pack(want)
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
				if _, err := kvcomm.Exchange(ctx, c, send, nil); !errors.Is(err, fault.ErrUsage) {
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
		if err := kvcomm.Send(ctx, c, next, 5, treeOf(c.Rank(), next)); err != nil {
			return err
		}
		got, err := kvcomm.Recv(ctx, c, prev, 5, nil)
		if err != nil || !got.Equal(treeOf(prev, c.Rank())) {
			return fmt.Errorf("recv: %v", err)
		}
		got, err = kvcomm.Bcast(ctx, c, 1, treeOf(c.Rank(), 9), nil, nil)
		if err != nil || !got.Equal(treeOf(1, 9)) {
			return fmt.Errorf("bcast: %v", err)
		}
		var bad kvtree.Tree
		bad.Set("a\x00b", nil)
		if _, err = kvcomm.Bcast(ctx, c, 0, &bad, nil, nil); !errors.Is(err, fault.ErrUsage) {
			return fmt.Errorf("bcast of a bad key: %v", err)
		}
		return nil
	})
}
