package pio

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"blobio/blob"
	"blobio/comm"
	"blobio/internal/base/crashtest"
	"blobio/internal/comm/commtest"
)

// TestRandom checks that random programmes on random numbers of ranks produce the content of a model in memory.
func TestRandom(t *testing.T) {
	for seed := range uint64(crashtest.Times(8, 24)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			playSeed(t, seed)
		})
	}
}

// programme is a random sequence of legs; each leg opens and closes the file.
type programme struct {
	seed uint64
	path string
	o    FileOptions
}

const legs = 4

func newProgramme(seed uint64, path string) programme {
	r := rand.New(rand.NewPCG(seed, 1))
	o := FileOptions{Write: true, Auto: true, Form: Form(r.IntN(5)) % 3, Durability: blob.DurableNone}
	if r.IntN(3) == 0 {
		o.Buffer = r.Int64N(2000) - 500
	}
	if r.IntN(3) == 0 {
		o.Subfiles = 2
	}
	return programme{seed, path, o}
}

// leg runs one leg on the ranks of c, starting from the content of a model. It returns the resulting model and the calls.
func (g programme) leg(ctx context.Context, c comm.Comm, leg int, was *model) (m *model, said []string, err error) {
	p := &player{large: int64(1 + g.seed%11/10*20), m: was.clone(), r: rand.New(rand.NewPCG(g.seed, uint64(leg)+2)), ctx: ctx}
	err = func() error {
		if p.s, err = NewSystem(ctx, c, &SystemOptions{Base: c.Size() / 2}); err != nil {
			return err
		}
		o := g.o
		o.Subfiles = min(o.Subfiles, c.Size())
		if leg == 0 {
			p.f, err = p.s.Create(ctx, g.path, &o)
		} else {
			p.f, err = p.s.Open(ctx, g.path, &o)
		}
		if err != nil {
			return err
		}
		if g.seed%3 == 0 {
			p.f.tx.limits = limits{whole: int64(g.seed % 9), fresh: int64(g.seed % 36), batch: 200}
		}
		if leg > 0 {
			if err := p.look(); err != nil {
				return fmt.Errorf("opened: %w", err)
			}
		} else if err := errors.Join(p.define(true), p.define(false), p.define(true), p.define(false)); err != nil {
			return err
		}
		for range p.r.IntN(25) {
			if err := p.step(); err != nil {
				return err
			}
		}
		if p.r.IntN(2) == 0 {
			if err := p.look(); err != nil {
				return err
			}
		}
		return p.f.Close(ctx)
	}()
	return p.m, p.said, err
}

func playSeed(t *testing.T, seed uint64) {
	g := newProgramme(seed, filepath.Join(t.TempDir(), "d.nc"))
	m := &model{atts: map[string]float64{}}
	for leg := range legs {
		ranks := []int{1, 4, 7, 2}[(seed+uint64(leg))%4]
		var after *model
		var said []string
		err := comm.Run(t.Context(), ranks, nil, func(ctx context.Context, c comm.Comm) error {
			if seed%2 == 1 {
				c = commtest.Isolate(c)
			}
			now, did, err := g.leg(ctx, c, leg, m)
			if c.Rank() == 0 {
				after, said = now, did
			}
			return err
		})
		if err != nil {
			t.Fatalf("leg %d on %d ranks as %v: %v\n%s", leg, ranks, g.o.Form, err, strings.Join(said, "\n"))
		}
		m = after
		for x := range blob.Check(t.Context(), g.path, nil) {
			if x.Severity > blob.Note {
				t.Errorf("leg %d: %v", leg, x)
			}
		}
	}
}
