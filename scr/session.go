package scr

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path"
	"sync"
	"time"

	"blobio/comm"
	"blobio/internal/vfs"
	"blobio/kvtree"
	"blobio/redset"
	"blobio/scr/cachedir"
	"blobio/scr/cadence"
	"blobio/scr/config"
	"blobio/scr/prefixdir"
	"blobio/scr/runlog"
	"blobio/scr/transfer"
)

// Session is one rank's part of a run that takes checkpoints. There may be any number of sessions in a process, one
// after another or at once. A session is used by one goroutine at a time.
type Session struct {
	c    comm.Comm
	cfg  Config
	set  *config.Set
	p    *params
	off  bool        // SCR_ENABLE is 0
	bind *vfs.BindFS // the disks of this rank
	fs   *packFS     // the same, with packed metadata as files
	log  *slog.Logger
	runs *runlog.Logger // rank 0; nil: off

	node   nodes
	levels []level
	prefix *prefixdir.Dir

	state    State
	ids      counters
	cached   []*cachedSet // of this run, oldest first: the same on all ranks
	cur      *writing
	restart  *restoring
	offer    *offer
	below    int // number of a checkpoint that the application could not use: what follows is older; 0: none
	pacer    *cadence.Pacer
	opened   time.Time // by the clock of the system, as the times of files are
	computed time.Time // when the computing between two datasets began

	remade *cachedir.Catalog // of this node, if the one on disk could not be used; first rank of the node

	saved int // number of the newest cached checkpoint of other ranks that was brought into the prefix directory

	async  *background
	prefMu sync.Mutex // rank 0: index and flush file, also changed by the background flush
	notes  []string
}

// counters are the numbers of the last dataset and the last checkpoint.
type counters struct{ set, ckpt int }

// cachedSet is a dataset in the caches, as all ranks know it.
type cachedSet struct {
	cachedir.Cached
	level  int
	maps   *cachedir.Filemap         // of this rank
	held   []holding                 // what the devices had before the ranks were given theirs
	copies map[int]*cachedir.Filemap // that this device keeps of maps of other ranks, as it was found [packed]
	usable bool                      // rebuilt, or made, in this run: all its files are there
	summed bool                      // bypass: the checksums in the map were made just now
}

// Open is SCR_Init, a collective: it finds what the caches and the prefix directory hold, rebuilds what was lost,
// and is ready to restart or to write. The ranks of c must give the same Config but for FS, Node and NodeRoot. ctx
// bounds the call, and what goes on in the background until Close.
func Open(ctx context.Context, c comm.Comm, cfg *Config) (*Session, error) {
	s := &Session{c: c, cfg: cfg.withDefaults()}
	s.log = s.cfg.Logger
	s.opened = time.Now()
	if err := s.open(ctx); err != nil {
		s.async.stop()
		if s.runs != nil {
			_ = s.runs.Close()
		}
		return nil, err
	}
	return s, nil
}

func (s *Session) open(ctx context.Context) (err error) {
	if s.set, s.p, err = loadParams(ctx, s.c, &s.cfg); err != nil {
		return pkg.Errorf("parameters: %w", err)
	}
	if !s.p.enable {
		s.off = true
		return nil
	}
	if err := s.join(ctx); err != nil {
		return err
	}
	s.prefix = prefixdir.Open(s.cfg.FS, s.p.prefix)
	s.prefix.Logger, s.prefix.Shared = s.log, s.cfg.Shared
	if err := s.formLevels(ctx); err != nil {
		return err
	}
	if err := s.prepare(ctx); err != nil {
		return err
	}
	now := s.cfg.Clock()
	s.pacer = cadence.NewPacer(s.p.pace, now)
	if s.async, err = newBackground(ctx, s); err != nil {
		return err
	}
	if err := s.loadCache(ctx); err != nil {
		return err
	}
	if err := s.adopt(ctx); err != nil {
		return err
	}
	if err := s.loadIDs(ctx); err != nil {
		return err
	}
	if s.p.flushRestart {
		if err := s.flushCached(ctx); err != nil {
			return err
		}
	}
	s.computed = s.cfg.Clock()
	s.event(runlog.Entry{Event: runlog.ComputeStart})
	return s.c.Barrier(ctx)
}

// prepare makes the directories, opens the log and writes how many nodes there are.
func (s *Session) prepare(ctx context.Context) error {
	err := func() error {
		if s.c.Rank() == 0 {
			if err := s.prefix.Create(); err != nil {
				return err
			}
			if err := s.prefix.CheckLocks(); errors.Is(err, kvtree.ErrNoLocks) {
				s.note("scr: %v: the run goes on without, and \"blobio scr halt\" and \"index\" must not change anything meanwhile", err)
			} else if err != nil {
				return err
			}
			if err := s.openLog(); err != nil {
				return err
			}
			if err := s.prefix.WriteNodes(s.node.count); err != nil {
				return err
			}
			if err := s.writeAppConf(); err != nil {
				return err
			}
			if s.p.prefixPurge {
				if err := s.purgePrefix(ctx); err != nil {
					return err
				}
			}
		}
		if s.node.c.Rank() == 0 {
			if err := s.own(s.p.control, false); err != nil {
				return err
			}
			for _, name := range []string{s.cindex(), path.Join(s.p.control, transfer.FileName)} {
				if err := vfs.CheckOwner(s.cfg.FS, s.bind.Real(name), vfs.AnyMode); err != nil && !errors.Is(err, fs.ErrNotExist) {
					return err
				}
			}
			s.leftScratch()
		}
		for i := range s.levels {
			if l := &s.levels[i]; l.Enabled && l.dc.Rank() == 0 {
				if err := s.own(l.dir, l.shared); err != nil {
					return err
				}
			}
		}
		return s.stopDaemon(ctx)
	}()
	if err := s.agree(ctx, err); err != nil {
		return pkg.Errorf("open: %w", err)
	}
	unlocked, err := s.flag(ctx, s.prefix.Lock == kvtree.NoLock)
	if err != nil {
		return err
	}
	if unlocked { // rank 0 has found out
		s.prefix.Lock = kvtree.NoLock
	}
	s.event(runlog.Entry{Event: runlog.Start, Procs: runlog.Num(int64(s.c.Size())), Nodes: runlog.Num(int64(s.node.count))})
	return nil
}

// own makes a folder of this node for the user alone, if it is not there, and checks that nobody else can change what is in it.
// The folders above one that all nodes share are the site's.
func (s *Session) own(dir string, shared bool) error {
	real := s.bind.Real(dir)
	err := vfs.MkdirOwn(s.cfg.FS, real)
	if err == nil && !shared {
		err = vfs.CheckWay(s.cfg.FS, real)
	}
	return err
}

// writeAppConf tells commands outside of the run what the program has set. Rank 0.
func (s *Session) writeAppConf() error {
	t := kvtree.New()
	for p := range s.set.Paths(config.Program) {
		t.Touch(p...)
	}
	return s.prefix.WriteAppConf(t)
}

// purgePrefix deletes all datasets of the prefix directory. Rank 0.
func (s *Session) purgePrefix(ctx context.Context) error {
	x, _, _, err := s.prefix.LoadIndex()
	if err != nil {
		return err
	}
	for _, e := range x.Entries() {
		if err := s.prefix.Delete(ctx, e.Name); err != nil {
			return err
		}
	}
	return nil
}

// loadIDs makes the numbers go on after all that is in caches or prefix directory.
func (s *Session) loadIDs(ctx context.Context) error {
	var v [2]int64
	var err error
	if s.c.Rank() == 0 {
		var x *prefixdir.Index
		if x, _, _, err = s.prefix.LoadIndex(); err == nil {
			var id int
			if id, err = s.prefix.LastID(x); err == nil {
				v = [2]int64{int64(id), int64(x.LastCkpt())}
			}
		}
	}
	for _, d := range s.cached {
		v[0], v[1] = max(v[0], int64(d.ID)), max(v[1], int64(d.Dataset.Ckpt))
	}
	v[0], v[1] = max(v[0], int64(s.ids.set)), max(v[1], int64(s.ids.ckpt))
	if err := s.agree(ctx, err); err != nil {
		return pkg.Errorf("index: %w", err)
	}
	out, err := s.c.AllreduceInt64(ctx, v[:], comm.Max)
	if err != nil {
		return err
	}
	s.ids = counters{int(out[0]), int(out[1])}
	return nil
}

// agree gives the error of one rank to all.
func (s *Session) agree(ctx context.Context, err error) error { return comm.Agree(ctx, s.c, err) }

// unanimous is a collective: nil if all ranks say that it is valid, otherwise an ErrInvalid of the lowest rank that does
// not, the same on all ranks: agree could not tell the class of it to other processes.
func (s *Session) unanimous(ctx context.Context, valid bool, what string) (verdict, err error) {
	no := int64(s.c.Size())
	if !valid {
		no = int64(s.c.Rank())
	}
	v, err := s.c.AllreduceInt64(ctx, []int64{no}, comm.Min)
	if err != nil || v[0] == int64(s.c.Size()) {
		return nil, err
	}
	return pkg.Errorf("%s: %w: rank %d", what, ErrInvalid, v[0]), nil
}

// any is a collective: whether some rank says so. What the ranks do after an error they decide by it, and not by the
// error: a rank that has one of its own sees another one than the rest.
func (s *Session) any(ctx context.Context, v bool) (bool, error) {
	n := int64(0)
	if v {
		n = 1
	}
	out, err := s.c.AllreduceInt64(ctx, []int64{n}, comm.Max)
	return err == nil && out[0] != 0, err
}

// flag gives the answer of rank 0 to all.
func (s *Session) flag(ctx context.Context, v bool) (bool, error) {
	var b []byte
	if s.c.Rank() == 0 {
		b = []byte{0}
		if v {
			b[0] = 1
		}
	}
	b, err := s.c.Bcast(ctx, 0, b)
	if err != nil {
		return false, err
	}
	return len(b) == 1 && b[0] == 1, nil
}

// Close is SCR_Finalize, a collective: it finishes the flushes, writes output and the newest checkpoint to the prefix directory
// if they are not there (the checkpoint unless flushing is off), and says in the halt file that the run ended well. It may be called
// in any state; a dataset that was not completed is dropped. The session can do nothing more.
func (s *Session) Close(ctx context.Context) error {
	if s.off || s.state == Closed {
		s.state = Closed
		return nil
	}
	var errs []error
	if s.state == Writing {
		_, err := s.complete(ctx, false)
		if err != nil && !errors.Is(err, ErrInvalid) {
			errs = append(errs, err)
		}
	}
	if s.state == Restoring {
		s.restart = nil
		s.clearScratch(s.scratch(s.c.Rank()))
	}
	s.state = Closed
	clear(s.async.failed) // they were told, and the newest checkpoint follows
	errs = append(errs, s.async.settleAll(ctx))
	newest := s.newest()
	for _, d := range s.cached {
		if d.usable && d.Dataset.Output || d == newest && s.p.flush > 0 {
			errs = append(errs, s.flushSync(ctx, d))
		}
	}
	errs = append(errs, s.async.failures(""))
	var err error
	if s.c.Rank() == 0 {
		err = s.prefix.UpdateHalt(ctx, func(h *cadence.Halt) error {
			if h.ExitReason == "" {
				h.ExitReason = cadence.FinalizeCalled
			}
			return nil
		})
	}
	s.event(runlog.Entry{Event: runlog.Halt, Note: cadence.FinalizeCalled}) // as the reference: the next run does not follow a failure
	errs = append(errs, s.agree(ctx, err))
	s.async.stop()
	if s.runs != nil {
		errs = append(errs, s.runs.Close())
	}
	errs = append(errs, s.c.Barrier(ctx))
	return errors.Join(errs...)
}

// newest is the newest usable checkpoint in the caches, or nil.
func (s *Session) newest() *cachedSet {
	for i := len(s.cached) - 1; i >= 0; i-- {
		if d := s.cached[i]; d.usable && d.Dataset.Checkpoint {
			return d
		}
	}
	return nil
}

// find is the dataset of a name in the caches, or nil.
func (s *Session) find(name string) *cachedSet {
	for _, d := range s.cached {
		if d.Dataset.Name == name {
			return d
		}
	}
	return nil
}

// Params are the parameters in effect, for questions.
func (s *Session) Params() *config.Set { return s.set }

// Notes are warnings of Open that nobody should miss, such as a scheme that cannot be had.
func (s *Session) Notes() []string { return s.notes }

func (s *Session) warn(msg string, args ...any) {
	if s.c.Rank() == 0 {
		s.log.Warn(msg, args...)
	}
}

func (s *Session) note(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	s.notes = append(s.notes, text)
	s.warn(text)
}

// nodes is where a rank stands among the nodes.
type nodes struct {
	c     comm.Comm // ranks of this node
	name  string
	names []string // of all ranks, by rank
	count int
}

// join finds the ranks of the same node.
func (s *Session) join(ctx context.Context) error {
	b, err := s.c.Allgather(ctx, []byte(s.cfg.Node))
	if err != nil {
		return err
	}
	n := nodes{name: s.cfg.Node}
	first := map[string]int{}
	for r, v := range b {
		name := string(v)
		n.names = append(n.names, name)
		if _, ok := first[name]; !ok {
			first[name] = r
		}
	}
	n.count = len(first)
	if n.c, err = s.c.Split(ctx, first[n.name], s.c.Rank()); err != nil {
		return err
	}
	s.node = n

	var binds []vfs.Bind
	if s.cfg.NodeRoot != "" {
		stores, err := s.set.Stores()
		if err != nil {
			return err
		}
		seen := map[string]bool{}
		for _, dir := range append([]string{s.set.Get("SCR_CNTL_BASE")}, storeNames(stores)...) {
			if dir = path.Clean(dir); !seen[dir] {
				seen[dir] = true
				binds = append(binds, vfs.Bind{At: dir, To: path.Join(s.cfg.NodeRoot, dir)})
			}
		}
	}
	under := s.cfg.FS
	if s.cfg.NoCacheSync {
		under = vfs.NoSync(under)
	}
	s.bind = vfs.NewBind(under, binds)
	s.fs = newPackFS(s.bind)
	return nil
}

func storeNames(stores []config.Store) []string {
	var out []string
	for _, st := range stores {
		if st.Group != "WORLD" {
			out = append(out, st.Name)
		}
	}
	return out
}

// level is a redundancy descriptor and what a rank needs for it.
type level struct {
	config.Descriptor
	count   int64       // datasets kept in its store
	dir     string      // cache directory of its store
	shared  bool        // all ranks share the store
	device  int         // number of the store's device of this rank: ranks of equal numbers share it
	devices []int       // that of each rank, by rank
	dc      comm.Comm   // the ranks of the device
	set     *redset.Set // of the scheme
}
