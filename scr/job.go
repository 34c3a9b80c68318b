package scr

import (
	"context"
	"fmt"
	"log/slog"
	"path"
	"time"

	"blobio/comm"
	"blobio/internal/base/vfs"
	"blobio/internal/scr/config"
	"blobio/internal/scr/record"
	"blobio/internal/scr/runlog"
)

// job is known to all parts of a session: the ranks, where they are, their disks, the parameters, the log. Open fills it in, and
// it does not change after that. The parts talk to other ranks through it.
type job struct {
	c      comm.Comm
	cfg    Config
	knobs  knobs
	set    *config.Set
	p      *params
	node   nodes
	fs     *vfs.BindFS // the disks of this rank
	log    *slog.Logger
	runs   *runlog.Logger // rank 0; nil: off
	opened time.Time      // by the clock of the system, as the times of files are
	notes  []string       // for Session.Notes

	unfinished bool // a dataset may be whole and not be listed, or lack names of its files; the same on all ranks
}

// nodes is where a rank stands among the nodes.
type nodes struct {
	c     comm.Comm // ranks of this node
	name  string
	names []string // of all ranks, by rank
	count int
}

func newJob(c comm.Comm, cfg *Config, k knobs) *job {
	j := &job{c: c, cfg: cfg.withDefaults(), knobs: k, opened: time.Now()}
	j.log = j.cfg.Logger
	return j
}

// agree gives the error of one rank to all.
func (j *job) agree(ctx context.Context, err error) error { return comm.Agree(ctx, j.c, err) }

// onRoot is a collective: rank 0 calls f, and all get its error.
func (j *job) onRoot(ctx context.Context, f func() error) error {
	var err error
	if j.c.Rank() == 0 {
		err = f()
	}
	return j.agree(ctx, err)
}

// unanimous is a collective: nil if all ranks say that it is valid, otherwise an ErrInvalid of the lowest rank that does
// not, the same on all ranks: agree could not tell the class of it to other processes.
func (j *job) unanimous(ctx context.Context, valid bool, what string) (verdict, err error) {
	no := int64(j.c.Size())
	if !valid {
		no = int64(j.c.Rank())
	}
	v, err := j.c.AllreduceInt64(ctx, []int64{no}, comm.Min)
	if err != nil || v[0] == int64(j.c.Size()) {
		return nil, err
	}
	return fmt.Errorf("%s: %w: rank %d", what, ErrInvalid, v[0]), nil
}

// anyRank is a collective: it reports whether v is true on some rank. After an error the ranks use it to decide how to go on. They cannot use the
// error for that: a rank that failed itself sees another error than the rest.
func (j *job) anyRank(ctx context.Context, v bool) (bool, error) {
	n := int64(0)
	if v {
		n = 1
	}
	out, err := j.c.AllreduceInt64(ctx, []int64{n}, comm.Max)
	return err == nil && out[0] != 0, err
}

// anyOrError is agree and anyRank in one message.
func (j *job) anyOrError(ctx context.Context, v bool, err error) (bool, error) {
	n := int64(0)
	if v {
		n = -1
	}
	out, err := comm.AgreeMin(ctx, j.c, err, n)
	return err == nil && out[0] != 0, err
}

// rootSays gives the answer of rank 0 to all.
func (j *job) rootSays(ctx context.Context, v bool) (bool, error) {
	var b []byte
	if j.c.Rank() == 0 {
		b = []byte{0}
		if v {
			b[0] = 1
		}
	}
	b, err := j.c.Bcast(ctx, 0, b)
	if err != nil {
		return false, err
	}
	return len(b) == 1 && b[0] == 1, nil
}

// step calls the hook of tests.
func (j *job) step(name string) error {
	if j.knobs.hook == nil {
		return nil
	}
	if err := j.knobs.hook(name); err != nil {
		return &hookError{err}
	}
	return nil
}

func (j *job) warn(msg string, args ...any) {
	if j.c.Rank() == 0 {
		j.log.Warn(msg, args...)
	}
}

// remark is a warning for Session.Notes, too.
func (j *job) remark(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	j.notes = append(j.notes, text)
	j.warn(text)
}

// ownDir makes a folder of this node for the user alone, if it is not there, and checks that nobody else can change its content.
// The folders above one that all nodes share are the site's.
func (j *job) ownDir(dir string, shared bool) error {
	real := j.fs.Real(dir)
	err := vfs.MkdirOwn(j.cfg.FS, real)
	if err == nil && !shared {
		err = vfs.CheckWay(j.cfg.FS, real)
	}
	return err
}

// fileFS is where the files of a dataset are.
func (j *job) fileFS(d *cachedSet) vfs.FS {
	if d.Bypass {
		return j.cfg.FS
	}
	return j.fs
}

// real is the name in Config.FS of a file of a dataset.
func (j *job) real(d *cachedSet, name string) string {
	if d.Bypass {
		return name
	}
	return j.fs.Real(name)
}

// join finds the ranks of the same node.
func (j *job) join(ctx context.Context) error {
	b, err := j.c.Allgather(ctx, []byte(j.cfg.Node))
	if err != nil {
		return err
	}
	n := nodes{name: j.cfg.Node}
	first := map[string]int{}
	for r, v := range b {
		name := string(v)
		n.names = append(n.names, name)
		if _, ok := first[name]; !ok {
			first[name] = r
		}
	}
	n.count = len(first)
	if n.c, err = j.c.Split(ctx, first[n.name], j.c.Rank()); err != nil {
		return err
	}
	j.node = n

	var binds []vfs.Bind
	if j.cfg.NodeRoot != "" {
		stores, err := config.StoresOf(j.set)
		if err != nil {
			return err
		}
		seen := map[string]bool{}
		for _, dir := range append([]string{j.set.Get("SCR_CNTL_BASE")}, storeNames(stores)...) {
			if dir = path.Clean(dir); !seen[dir] {
				seen[dir] = true
				binds = append(binds, vfs.Bind{At: dir, To: path.Join(j.cfg.NodeRoot, dir)})
			}
		}
	}
	under := j.cfg.FS
	if j.cfg.NoCacheSync {
		under = vfs.NoSync(under)
	}
	j.fs = vfs.NewBind(under, binds)
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

// openLog opens the log, if there is to be one; name is the file of the text. Rank 0.
func (j *job) openLog(name string) error {
	var err error
	j.runs, err = runlog.Open(j.set, j.cfg.FS, name, runlog.Options{Host: j.node.name, JobID: j.p.job.ID, Clock: j.cfg.Clock,
		Warn: func(err error) { j.log.Warn("scr: no syslog", "err", err) }})
	return err
}

// event writes to the log. A run goes on when its log cannot be written.
func (j *job) event(e runlog.Entry) {
	if err := j.runs.Put(e); err != nil {
		j.log.Warn("scr: log", "err", err)
	}
}

func (j *job) took(since time.Time) *time.Duration {
	return runlog.Num(j.cfg.Clock().Sub(since))
}

// xfer logs a transfer of a dataset.
func (j *job) xfer(kind, from, to string, ds record.Dataset, name string, began time.Time) {
	j.event(runlog.Entry{Xfer: kind, From: from, To: to, Dset: runlog.Num(int64(ds.ID)), Name: name,
		Took: j.took(began), Bytes: runlog.Num(ds.Size), Files: runlog.Num(ds.Files)})
}
