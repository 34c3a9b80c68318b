package ffstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"blobio/comm"
	"blobio/ffformat"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
	"blobio/internal/comm/commtest"
)

// A history is a random sequence of sessions over one directory. A session uses one Store. The model of the store is a list of
// checkpoints, each with the bytes of all variables of all ranks. A session ends regularly, by a kill, or by a power loss at a
// random operation, or it continues after an I/O error. Between sessions side files are lost or damaged.
type history struct {
	rnd   *rand.Rand
	mem   *vfs.Mem
	o     Options
	ranks int
	now   image   // content of the memory
	list  []saved // committed checkpoints, oldest first
	doubt [][]saved
	id    int32
	log   []string
}

type image []map[int32][]byte // by rank

type saved struct {
	id int32
	m  image
}

func (m image) clone() image {
	c := make(image, len(m))
	for r := range m {
		c[r] = map[int32][]byte{}
		for id, b := range m[r] {
			c[r][id] = bytes.Clone(b)
		}
	}
	return c
}

// action is one step of a session.
type action struct {
	kind string // full, diff, incr, abort or recover
	id   int32
	m    image // content of the protected memory
	want []saved
}

// mutate changes the memory: bytes, sizes, new variables, or a return to an earlier state.
func (h *history) mutate() {
	h.now = h.now.clone()
	for r := range h.now {
		for range 1 + h.rnd.Intn(3) {
			id := int32(1 + h.rnd.Intn(4))
			b := h.now[r][id]
			switch h.rnd.Intn(6) {
			case 0: // change the size
				n := h.rnd.Intn(5000)
				if h.rnd.Intn(4) == 0 {
					n = n / 512 * 512
				}
				for len(b) < n {
					b = append(b, byte(h.rnd.Intn(256)))
				}
				h.now[r][id] = b[:n]
			case 1: // restore the content of an older checkpoint
				if len(h.list) > 0 {
					s := h.list[h.rnd.Intn(len(h.list))]
					if old, ok := s.m[r][id]; ok {
						h.now[r][id] = bytes.Clone(old)
					}
				}
			default:
				for range 1 + h.rnd.Intn(3) {
					if len(b) > 0 {
						b[h.rnd.Intn(len(b))] ^= byte(1 + h.rnd.Intn(255))
					}
				}
				h.now[r][id] = b
			}
		}
	}
}

// plan makes the actions of a session, and the results that they have without failures.
func (h *history) plan(keep int) []action {
	list := slices.Clone(h.list)
	last := int32(0)
	if len(list) > 0 {
		last = list[len(list)-1].id
	}
	h.id = max(h.id, last)
	var l []action
	for range 1 + h.rnd.Intn(4) {
		kind := []string{"full", "diff", "diff", "diff", "incr", "abort", "recover"}[h.rnd.Intn(7)]
		if kind == "recover" {
			if len(list) == 0 {
				continue
			}
			s := list[h.rnd.Intn(len(list))]
			h.now, last = s.m, s.id
			l = append(l, action{kind, s.id, s.m, slices.Clone(list)})
			if h.rnd.Intn(2) == 0 {
				h.id = last // ids after the recovered one are used again
			}
			continue
		}
		h.mutate()
		h.id++
		a := action{kind: kind, id: h.id, m: h.now}
		if kind != "abort" {
			list = slices.DeleteFunc(list, func(s saved) bool { return s.id > last })
			list = append(list, saved{h.id, h.now})
			list = list[max(0, len(list)-keep):]
			last = h.id
		}
		a.want = slices.Clone(list)
		l = append(l, a)
	}
	return l
}

// do performs one action on one rank.
func (a *action) do(ctx context.Context, c comm.Comm, s *Store, seed int64) error {
	mine := a.m[c.Rank()]
	ids := make([]int32, 0, len(mine))
	for id := range mine {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	if a.kind == "recover" {
		for id := range s.data { // protected in this session, but not stored in the checkpoint
			if _, ok := mine[id]; !ok {
				s.Protect(id, nil)
			}
		}
		for _, id := range ids {
			s.Protect(id, make([]byte, len(mine[id])))
		}
		if err := s.RecoverID(ctx, a.id); err != nil {
			return err
		}
		for _, id := range ids {
			if !bytes.Equal(s.data[id], mine[id]) {
				return fmt.Errorf("rank %d: variable %d of checkpoint %d: %w", c.Rank(), id, a.id, errWrong)
			}
		}
		return nil
	}
	for id := range s.data {
		if _, ok := mine[id]; !ok {
			s.Protect(id, nil)
		}
	}
	for _, id := range ids {
		if err := s.Protect(id, mine[id]); err != nil {
			return err
		}
	}
	switch a.kind {
	case "full":
		_, err := s.Checkpoint(ctx, a.id)
		return err
	case "diff":
		_, err := s.CheckpointDiff(ctx, a.id)
		return err
	}
	inc, err := s.Begin(ctx, a.id, true)
	if err != nil {
		return err
	}
	order := slices.Clone(s.order)
	rand.New(rand.NewSource(seed)).Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	for i, id := range order {
		if a.kind == "abort" && i == len(order)/2 {
			return inc.Abort(ctx)
		}
		if err := inc.Add(ctx, id); err != nil {
			break // Commit returns the error on all ranks
		}
	}
	if a.kind == "abort" {
		return inc.Abort(ctx)
	}
	_, err = inc.Commit(ctx)
	return err
}

var (
	errWrong = errors.New("wrong bytes")
	errDied  = errors.New("killed")
	errFault = errors.New("input/output error")
)

// session runs the actions of a session, and checks that the store then has one of the lists of checkpoints that the failures
// allow.
func (h *history) session() error {
	o := h.o
	o.Keep = 1 + h.rnd.Intn(3)
	if h.o.Hash == ffformat.MD5 && h.rnd.Intn(8) == 0 {
		o.BlockSize = 1024
	}
	perNode, isolate := 1+h.rnd.Intn(3), h.rnd.Intn(4) == 0
	before := h.now
	acts := h.plan(o.Keep)
	end := []string{"well", "well", "kill", "power", "torn", "fault"}[h.rnd.Intn(6)]
	if o.Durability != DurableCommit && (end == "power" || end == "torn") {
		end = "kill"
	}
	at := int64(1 + h.rnd.Intn(30+20*len(acts)*h.ranks))
	var mu sync.Mutex
	var n int64
	var clone *vfs.Mem
	settled := false // the directory was synced, which ends the uncertainty that an earlier session left
	o.FS = vfs.NewFault(h.mem, func(op vfs.Op) error {
		mu.Lock()
		defer mu.Unlock()
		n++
		switch {
		case end == "well" || n < at:
			settled = settled || op.Kind == vfs.OpSyncDir && op.Name == "d"
		case end == "fault":
			if n == at {
				return errFault
			}
		case end != "kill" && n == at:
			co := vfs.CrashOptions{}
			if end == "torn" {
				co.Rand = rand.New(rand.NewSource(at))
			}
			clone = h.mem.CrashClone(co)
			fallthrough
		default:
			return errDied
		}
		return nil
	})
	h.log = append(h.log, fmt.Sprintf("session keep %d, %d per node, isolate %v, bs %d, end %s at %d:", o.Keep, perNode, isolate, o.BlockSize, end, at))
	for _, a := range acts {
		h.log = append(h.log, fmt.Sprintf("  %s %d", a.kind, a.id))
	}
	list, maybe := h.list, [][]saved(nil)
	now := before
	seed := h.rnd.Int63()
	err := comm.Run(context.Background(), h.ranks, &comm.Options{RanksPerNode: perNode}, func(ctx context.Context, c comm.Comm) error {
		if isolate {
			c = commtest.Isolate(c)
		}
		s, err := Open(ctx, c, "d", &o)
		if err != nil {
			return err
		}
		for i := range acts {
			a := &acts[i]
			if a.id <= s.ledger.last && a.kind != "recover" && i > 0 {
				break // an earlier fault has invalidated the plan
			}
			err := a.do(ctx, c, s, seed)
			if errors.Is(err, errWrong) {
				return errors.Join(err, s.Close(ctx))
			}
			if c.Rank() == 0 {
				switch {
				case err == nil && a.kind != "abort":
					list, maybe, now = a.want, nil, a.m
				case err == nil:
				case errors.Is(err, ErrBroken) || end != "fault":
					maybe = append(maybe, a.want)
				}
			}
			if err != nil && end != "fault" {
				return errors.Join(err, s.Close(ctx)) // the lock ends, as with the process
			}
			if err != nil {
				break // later actions depend on this one
			}
		}
		return s.Close(ctx)
	})
	if err != nil && (end == "well" || !strings.Contains(err.Error(), errDied.Error()) && !strings.Contains(err.Error(), errFault.Error())) {
		return fmt.Errorf("session: %w", err)
	}
	if clone != nil {
		h.mem = clone
	}
	h.now = now
	// After a kill in the middle of a commit, it is unknown which record is in force until the next Open.
	candidates := append([][]saved{list}, maybe...)
	earlier := h.doubt
	if settled {
		earlier = nil
	}
	switch {
	case clone != nil: // after a power loss only the durable state exists, so no uncertainty remains
		candidates = append(candidates, earlier...)
		h.doubt = nil
	case len(maybe) > 0:
		h.doubt = append(slices.Clone(candidates), earlier...)
	default:
		h.doubt = earlier
	}
	var all error
	for _, want := range candidates {
		err := h.matches(want)
		if err == nil {
			h.list = want
			return nil
		}
		all = errors.Join(all, err)
	}
	return all
}

// matches compares the store with a list of checkpoints.
func (h *history) matches(want []saved) error {
	v, err := OpenView("d", h.mem)
	if err != nil {
		if len(want) == 0 && (errors.Is(err, ErrNotCommitted) || errors.Is(err, fault.ErrNotFormat) || errors.Is(err, fs.ErrNotExist)) {
			return nil
		}
		return err
	}
	l := v.List()
	if len(l) != len(want) {
		return fmt.Errorf("%d checkpoints %v, want %d", len(l), l, len(want))
	}
	for i, s := range want {
		if l[i].ID != s.id {
			return fmt.Errorf("checkpoint %d, want %d", l[i].ID, s.id)
		}
	}
	for _, s := range want {
		for r := range s.m {
			if err := h.compare(v, s, r); err != nil {
				return fmt.Errorf("checkpoint %d, rank %d: %w: %w", s.id, r, err, errWrong)
			}
		}
	}
	return nil
}

func (h *history) compare(v *View, s saved, r int) error {
	rd, file, err := v.Reader(s.id, r)
	if err != nil {
		return err
	}
	defer file.Close()
	var vars []ffformat.VarBuf
	for _, x := range rd.File().Vars() {
		if x.Size != int64(len(s.m[r][x.ID])) {
			return fmt.Errorf("variable %d has %d bytes, want %d", x.ID, x.Size, len(s.m[r][x.ID]))
		}
		vars = append(vars, ffformat.VarBuf{ID: x.ID, Data: make([]byte, x.Size)})
	}
	if err := rd.ReadVars(context.Background(), vars, &ffformat.Options{Workers: 1}); err != nil {
		return err
	}
	n := 0
	for _, x := range vars {
		if !bytes.Equal(x.Data, s.m[r][x.ID]) {
			return fmt.Errorf("variable %d", x.ID)
		}
		n += len(x.Data)
	}
	for _, b := range s.m[r] {
		n -= len(b)
	}
	if n != 0 {
		return errors.New("a variable is not there")
	}
	return nil
}

// hurtLogs removes or damages side files.
func (h *history) hurtLogs() {
	logs, err := nodeLogs(h.mem, "d")
	if err != nil {
		return
	}
	for r := range h.ranks {
		name, ok := logs[r]
		if !ok || h.rnd.Intn(2) == 0 {
			continue
		}
		f, err := h.mem.OpenRW(name)
		if err != nil {
			continue
		}
		size, _ := f.Size()
		switch h.rnd.Intn(3) {
		case 0:
			h.mem.Remove(name)
		case 1:
			f.Truncate(h.rnd.Int63n(size + 1))
		case 2:
			f.WriteAt([]byte{byte(h.rnd.Intn(256))}, h.rnd.Int63n(size+1))
		}
		f.Close()
		h.log = append(h.log, "side file "+name+" is hurt")
	}
}

// TestHistories runs random histories against the model.
func TestHistories(t *testing.T) {
	n := 60
	if long {
		n = 20000
	}
	const parts = 4
	for part := range parts {
		t.Run(fmt.Sprint(part), func(t *testing.T) {
			t.Parallel()
			for i := part; i < n; i += parts {
				rnd := rand.New(rand.NewSource(int64(i)))
				h := &history{rnd: rnd, mem: vfs.NewMem(), ranks: 1 + rnd.Intn(3)}
				h.o = Options{BlockSize: 512, Workers: 1, Clock: func() time.Time { return testTime }}
				h.o.Layout = ffformat.LayoutF
				switch rnd.Intn(6) {
				case 0:
					h.o.Layout = ffformat.LayoutA + ffformat.Layout(rnd.Intn(7))
				case 1:
					h.o.Hash = ffformat.Fast
				}
				if rnd.Intn(5) == 0 {
					h.o.Durability = DurableNone
				}
				h.now = make(image, h.ranks)
				for r := range h.now {
					h.now[r] = map[int32][]byte{1: make([]byte, rnd.Intn(4000))}
				}
				for range 2 + rnd.Intn(6) {
					if err := h.session(); err != nil {
						t.Fatalf("history %d (%v, %v, %d ranks, durability %d):\n%v\n%v", i, h.o.Layout, h.o.Hash, h.ranks, h.o.Durability, h.log, err)
					}
					if rnd.Intn(5) == 0 {
						h.hurtLogs()
					}
				}
			}
		})
	}
}
