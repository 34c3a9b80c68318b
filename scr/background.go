package scr

import (
	"context"
	"encoding/hex"
	"errors"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"sync"
	"time"

	"blobio/comm"
	"blobio/kvtree"
	"blobio/scr/prefixdir"
	"blobio/scr/runlog"
	"blobio/scr/transfer"
)

// background is the asynchronous flush of a rank. Each rank copies its files in a goroutine of its own, which
// communicates with nobody: messages belong to the calls of the application. Ranks of one process hand what they wrote
// to a hub in memory; each other process leaves it in a file of the dataset's metadata folder, part.<rank>. A goroutine
// of rank 0 waits for all parts and finishes the flush, whether or not anybody calls anything.
type background struct {
	s       *Session
	hub     *hub
	heads   []int // the lowest rank of each process
	ctx     context.Context
	cancel  context.CancelFunc
	flights []*flight        // of this rank, oldest first; the same ids on all ranks
	waiting []func()         // flights that launch starts
	last    *flight          // the one that the next follows
	failed  map[string]error // by name of the dataset: what went wrong with flights that ended without anybody waiting
}

// hub is shared by the ranks of one process.
type hub struct {
	head  int // lowest rank
	ranks int
	mu    sync.Mutex
	sets  map[int]*landing
}

// landing collects the parts of the ranks of a process of one dataset.
type landing struct {
	parts map[int][]byte
	full  chan struct{}
}

func (h *hub) land(id int) *landing {
	h.mu.Lock()
	defer h.mu.Unlock()
	l := h.sets[id]
	if l == nil {
		l = &landing{parts: map[int][]byte{}, full: make(chan struct{})}
		h.sets[id] = l
	}
	return l
}

func (h *hub) put(id, rank int, part []byte) {
	l := h.land(id)
	h.mu.Lock()
	defer h.mu.Unlock()
	l.parts[rank] = part
	if len(l.parts) == h.ranks {
		close(l.full)
	}
}

func (h *hub) forget(id int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.sets, id)
}

// flight is a flush of one dataset in the background.
type flight struct {
	d     *cachedSet
	began time.Time
	stop  context.CancelFunc
	files map[string]bool // that this rank writes
	done  chan struct{}   // this rank is done; on rank 0: the flush is
	err   error           // valid after done
}

// ended waits until a flight is over on this rank. The next begins after it: the limits are for what is copied in the
// background altogether, and an application that always writes the same files must end with those of its last dataset.
func (f *flight) ended(ctx context.Context) error {
	if f == nil {
		return nil
	}
	select {
	case <-f.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func newBackground(ctx context.Context, s *Session) (*background, error) {
	b := &background{s: s, failed: map[string]error{}}
	mine := &hub{head: s.c.Rank(), sets: map[int]*landing{}}
	all, err := s.c.Share(ctx, mine)
	if err != nil {
		return nil, err
	}
	for r, v := range all {
		h, ok := v.(*hub)
		if !ok {
			continue
		}
		if b.hub == nil {
			b.hub = h
		}
		if r == s.c.Rank() && b.hub == mine {
			for _, w := range all {
				if _, ok := w.(*hub); ok {
					mine.ranks++
				}
			}
		}
	}
	heads, err := s.c.Allgather(ctx, []byte(strconv.Itoa(b.hub.head)))
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for _, h := range heads {
		if !seen[string(h)] {
			seen[string(h)] = true
			n, err := strconv.Atoi(string(h))
			if err != nil {
				return nil, err
			}
			b.heads = append(b.heads, n)
		}
	}
	b.ctx, b.cancel = context.WithCancel(ctx)
	return b, nil
}

func (b *background) part(id, head int) string {
	return path.Join(b.s.prefix.DatasetDir(id), "part."+strconv.Itoa(head))
}

// start prepares to flush a dataset; a collective. Nothing is copied before launch.
func (b *background) start(ctx context.Context, d *cachedSet) error {
	s := b.s
	in, err := s.flushed(ctx, d)
	if err != nil || in {
		return err
	}
	if err := s.step("async"); err != nil {
		return err
	}
	if s.c.Rank() == 0 {
		for _, h := range b.heads {
			// Of a crashed run.
			if rerr := s.cfg.FS.Remove(b.part(d.ID, h)); rerr != nil && !errors.Is(rerr, fs.ErrNotExist) {
				err = rerr
			}
		}
	}
	err = s.agree(ctx, err)
	var jobs []transfer.Job
	if err == nil {
		jobs, err = s.beginFlush(ctx, d, prefixdir.Flushing, nil)
	}
	if err != nil {
		return pkg.Errorf("flush of %s: %w", d.Dataset.Name, err)
	}
	s.event(runlog.Entry{Event: runlog.AsyncFlushStart, Dset: runlog.Num(int64(d.ID)), Name: d.Dataset.Name})
	f := &flight{d: d, began: s.cfg.Clock(), files: map[string]bool{}, done: make(chan struct{})}
	var same []int // flights that write files of the same names
	for _, j := range jobs {
		f.files[j.Dst] = j.Dst != ""
	}
	for _, e := range b.flights {
		for name := range f.files {
			if e.files[name] {
				same = append(same, e.d.ID)
				break
			}
		}
	}
	copying, stop := context.WithCancel(b.ctx)
	f.stop = stop
	before := b.last
	b.flights, b.last = append(b.flights, f), f
	delete(b.failed, d.Dataset.Name)
	b.waiting = append(b.waiting, func() {
		defer close(f.done)
		defer stop()
		err := before.ended(copying)
		if err == nil && s.c.Rank() != 0 { // on rank 0 it is over when it is listed
			err = b.listed(copying, same)
		}
		var files []prefixdir.File
		if err == nil {
			files, err = s.copyOut(copying, d, jobs, true)
		}
		f.err = err
		b.deliver(d.ID, files, err)
		switch s.c.Rank() {
		case 0:
			err := b.finish(d)
			s.logFlush(d.Dataset, d.Path, err == nil, true, f.began)
			f.err = err
		case b.hub.head:
			if err := b.post(d.ID); err != nil {
				f.err = errors.Join(f.err, err)
			}
		}
	})
	return nil
}

// launch lets the flushes go that start has prepared: as the last thing of a call, for they take the processors away
// from what the ranks still have to tell each other.
func (b *background) launch() {
	for _, fly := range b.waiting {
		go fly()
	}
	b.waiting = nil
}

// deliver hands what this rank wrote, or why it could not, to the hub.
func (b *background) deliver(id int, files []prefixdir.File, err error) {
	t := kvtree.New()
	if err == nil {
		if ft, ferr := prefixdir.FilesTree(files); ferr != nil {
			err = ferr
		} else {
			t.SetAt(ft, "MAP")
		}
	}
	if err != nil {
		t.SetStr("ERROR", hex.EncodeToString(comm.EncodeError(err))) // with its classes
	}
	p, perr := t.Pack()
	if perr != nil {
		t = kvtree.New()
		t.SetStr("ERROR", hex.EncodeToString(comm.EncodeError(perr)))
		p, _ = t.Pack()
	}
	b.hub.put(id, b.s.c.Rank(), p)
}

// collect waits for the parts of the ranks of this process.
func (b *background) collect(id int) (*kvtree.Tree, error) {
	l := b.hub.land(id)
	select {
	case <-l.full:
	case <-b.ctx.Done():
		return nil, b.ctx.Err()
	}
	out := kvtree.New()
	for r, p := range l.parts {
		t, err := kvtree.Unpack(p, nil)
		if err != nil {
			return nil, err
		}
		out.SetAt(t, "RANK", strconv.Itoa(r))
	}
	b.hub.forget(id)
	return out, nil
}

// post leaves the parts of a process other than that of rank 0 in a file.
func (b *background) post(id int) error {
	t, err := b.collect(id)
	if err != nil {
		return err
	}
	return kvtree.WriteFile(b.s.cfg.FS, b.part(id, b.hub.head), t)
}

// finish waits for all parts, and writes map, summary and index. Rank 0.
func (b *background) finish(d *cachedSet) error {
	s := b.s
	err := func() error {
		parts := make([][]byte, s.c.Size())
		if err := b.wanted(d, parts); err != nil {
			return err
		}
		return s.finishFlush(b.ctx, d.Dataset, parts)
	}()
	if err != nil {
		err = errors.Join(err, s.flushFile(b.ctx, func(f *flushEdit) error { return f.moved(d.ID, false) }))
	}
	for _, h := range b.heads {
		_ = s.cfg.FS.Remove(b.part(d.ID, h))
	}
	return err
}

// wanted collects the map of each rank.
func (b *background) wanted(d *cachedSet, parts [][]byte) error {
	for _, h := range b.heads {
		var t *kvtree.Tree
		var err error
		if h == b.hub.head {
			t, err = b.collect(d.ID)
		} else {
			t, err = b.await(d.ID, h)
		}
		if err != nil {
			return err
		}
		for key, p := range t.Get("RANK").All() {
			r, err := strconv.Atoi(key)
			if err != nil || r < 0 || r >= len(parts) {
				return pkg.Errorf("%s: %w: rank %q of %d", b.part(d.ID, h), ErrCorrupt, key, len(parts))
			}
			if p.Has("ERROR") {
				msg, _ := p.Str("ERROR")
				b, _ := hex.DecodeString(msg) // of one that cannot be decoded this is told
				return pkg.Errorf("rank %d: %w", r, comm.DecodeError(b))
			}
			if parts[r], err = p.Get("MAP").Pack(); err != nil {
				return err
			}
		}
	}
	for r, p := range parts {
		if p == nil {
			return pkg.Errorf("%w: no part of rank %d", ErrMissing, r)
		}
	}
	return nil
}

// await waits for the file in which another process leaves its parts.
func (b *background) await(id, head int) (*kvtree.Tree, error) {
	name := b.part(id, head)
	for pause := time.Millisecond; ; pause = min(2*pause, 250*time.Millisecond) {
		t, err := kvtree.ReadFile(b.s.cfg.FS, name, nil)
		if err == nil || !errors.Is(err, fs.ErrNotExist) {
			return t, err
		}
		select {
		case <-time.After(pause):
		case <-b.ctx.Done():
			return nil, b.ctx.Err()
		}
	}
}

// listed waits until rank 0 has listed datasets whose files are to be written again, or given them up: what is listed must
// have its own bytes at that moment. Rank 0 says so in the flush file.
func (b *background) listed(ctx context.Context, ids []int) error {
	pause := time.Millisecond
	for _, id := range ids {
		for {
			if err := b.s.step("listed"); err != nil {
				return err
			}
			f, err := b.s.prefix.ReadFlush()
			if err != nil {
				return err
			}
			if e, ok := f.Entry(id); !ok || e.Location&(prefixdir.Flushing|prefixdir.SyncFlushing) == 0 {
				break
			}
			select {
			case <-time.After(pause):
			case <-ctx.Done():
				return ctx.Err()
			}
			pause = min(2*pause, 250*time.Millisecond)
		}
	}
	return nil
}

func (b *background) flight(id int) *flight {
	for _, f := range b.flights {
		if f.d.ID == id {
			return f
		}
	}
	return nil
}

// cancelFlight ends the flush of a dataset, or of all (name ""); a collective.
func (b *background) cancelFlight(ctx context.Context, name string) (bool, error) {
	found := false
	for _, f := range append([]*flight(nil), b.flights...) {
		if name != "" && f.d.Dataset.Name != name {
			continue
		}
		found = true
		f.stop()
		if err := b.wait(ctx, f.d.ID); err != nil && fatal(ctx, err) {
			return true, err
		}
	}
	return found, nil
}

// busy says whether a dataset is being flushed; a collective only if it was started.
func (b *background) busy(ctx context.Context, id int) (bool, error) {
	f := b.flight(id)
	if f == nil {
		return false, nil
	}
	running := int64(0)
	select {
	case <-f.done:
	default:
		running = 1
	}
	out, err := b.s.c.AllreduceInt64(ctx, []int64{running}, comm.Max)
	if err != nil {
		return false, err
	}
	return out[0] != 0, nil
}

// wait waits until a dataset is flushed, or all are (id 0), and returns what went wrong, on all ranks.
func (b *background) wait(ctx context.Context, id int) error {
	if b == nil {
		return nil
	}
	b.launch()
	var errs []error
	for _, f := range append([]*flight(nil), b.flights...) {
		if id != 0 && f.d.ID != id {
			continue
		}
		select {
		case <-f.done:
		case <-ctx.Done():
			return b.s.agree(ctx, ctx.Err()) // the others wait for this rank
		}
		if err := b.s.agree(ctx, f.err); err != nil {
			errs = append(errs, pkg.Errorf("flush of %s: %w", f.d.Dataset.Name, err))
		}
		b.remove(f)
	}
	return errors.Join(errs...)
}

func (b *background) remove(f *flight) {
	for i, e := range b.flights {
		if e == f {
			b.flights = append(b.flights[:i:i], b.flights[i+1:]...)
			return
		}
	}
}

// reap tells of flushes that ended. Their errors do not concern the dataset at hand and are logged: the next flush
// follows, and Close flushes the newest checkpoint again.
func (b *background) reap(ctx context.Context) error {
	for _, f := range append([]*flight(nil), b.flights...) {
		busy, err := b.busy(ctx, f.d.ID)
		if err != nil {
			return err
		}
		if busy {
			continue
		}
		if err := b.settle(ctx, f.d); err != nil {
			return err
		}
	}
	return nil
}

// settle waits for the flush of a dataset while something else is done. What goes wrong with it is logged, and kept for
// WaitFlush. An error is one after which the ranks cannot go on.
func (b *background) settle(ctx context.Context, d *cachedSet) error {
	err := b.wait(ctx, d.ID)
	if err == nil {
		return nil
	}
	if fatal(ctx, err) {
		return err
	}
	b.failed[d.Dataset.Name] = err
	b.s.warn("scr: background flush", "dataset", d.Dataset.Name, "err", err)
	return nil
}

// settleAll is settle for all flights.
func (b *background) settleAll(ctx context.Context) error {
	for _, f := range slices.Clone(b.flights) {
		if err := b.settle(ctx, f.d); err != nil {
			return err
		}
	}
	return nil
}

// abandon ends the flush of a dataset that is given up; a collective.
func (b *background) abandon(ctx context.Context, d *cachedSet) error {
	f := b.flight(d.ID)
	if f == nil {
		return nil
	}
	f.stop()
	err := b.wait(ctx, d.ID)
	if err != nil && !fatal(ctx, err) {
		err = nil
	}
	return err
}

// failures are what went wrong with flights of a dataset, or of all (name ""), that nobody waited for; told once.
func (b *background) failures(name string) error {
	var errs []error
	for _, n := range slices.Sorted(maps.Keys(b.failed)) {
		if name == "" || n == name {
			errs = append(errs, b.failed[n])
			delete(b.failed, n)
		}
	}
	return errors.Join(errs...)
}

// stop cancels what is still running and waits for it.
func (b *background) stop() {
	if b == nil {
		return
	}
	b.cancel()
	b.launch()
	for _, f := range b.flights {
		<-f.done
	}
	b.flights = nil
}
