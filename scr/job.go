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

// job holds what all parts of a session share: the ranks, their nodes and disks, the parameters, and the log. Open fills it in,
// and then it does not change. The parts use it to communicate with other ranks.
type job struct {
	c      comm.Comm
	cfg    Config
	knobs  knobs
	set    *config.Set
	p      *params
	node   nodes
	fs     *vfs.BindFS // the disks of this rank
	log    *slog.Logger
	runs   *runlog.Logger // rank 0 only; nil: disabled
	opened time.Time      // in system time, because file times are compared with it
	notes  []string       // for Session.Notes

	unfinished bool // a dataset may be whole but not listed, or may have hidden files; same on all ranks
}

// nodes describes the nodes and this rank's position.
type nodes struct {
	c     comm.Comm // ranks of this node
	name  string
	names []string // name of the node of each rank
	count int
}

func newJob(c comm.Comm, cfg *Config, k knobs) *job {
	j := &job{c: c, cfg: cfg.withDefaults(), knobs: k, opened: time.Now()}
	j.log = j.cfg.Logger
	return j
}

// agree returns an error on all ranks if any rank passes an error.
func (j *job) agree(ctx context.Context, err error) error { return comm.Agree(ctx, j.c, err) }

// onRoot calls f on rank 0 and returns its error on all ranks. Collective.
func (j *job) onRoot(ctx context.Context, f func() error) error {
	var err error
	if j.c.Rank() == 0 {
		err = f()
	}
	return j.agree(ctx, err)
}

// unanimous returns nil if all ranks pass valid. Otherwise it returns an ErrInvalid that names the lowest rank that passes
// false. All ranks get the same result. Collective. agree is not used because it could not transmit the error class between
// processes.
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

// anyRank reports whether v is true on at least one rank. Collective. After an error the ranks use it to decide how to continue.
// They cannot use the error for this decision, because the failed rank and the other ranks get different errors.
func (j *job) anyRank(ctx context.Context, v bool) (bool, error) {
	n := int64(0)
	if v {
		n = 1
	}
	out, err := j.c.AllreduceInt64(ctx, []int64{n}, comm.Max)
	return err == nil && out[0] != 0, err
}

// anyOrError combines agree and anyRank in one message.
func (j *job) anyOrError(ctx context.Context, v bool, err error) (bool, error) {
	n := int64(0)
	if v {
		n = -1
	}
	out, err := comm.AgreeMin(ctx, j.c, err, n)
	return err == nil && out[0] != 0, err
}

// rootSays returns rank 0's value of v on all ranks.
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

// step calls the hook that tests set.
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

// remark logs a warning and adds it to Session.Notes.
func (j *job) remark(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	j.notes = append(j.notes, text)
	j.warn(text)
}

// ownDir creates a folder of this node if it is missing, with access only for the user. It checks that no other user can change
// the content of the folder. If all nodes share the folder, its parents belong to the site and are not checked.
func (j *job) ownDir(dir string, shared bool) error {
	real := j.fs.Real(dir)
	err := vfs.MkdirOwn(j.cfg.FS, real)
	if err == nil && !shared {
		err = vfs.CheckWay(j.cfg.FS, real)
	}
	return err
}

// fileFS returns the file system in which the files of a dataset are.
func (j *job) fileFS(d *cachedSet) vfs.FS {
	if d.Bypass {
		return j.cfg.FS
	}
	return j.fs
}

// real returns the path in Config.FS of a dataset's file.
func (j *job) real(d *cachedSet, name string) string {
	if d.Bypass {
		return name
	}
	return j.fs.Real(name)
}

// join finds the ranks that are on the same node.
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

// openLog opens the log if it is enabled. name is the path of the text file. Rank 0 only.
func (j *job) openLog(name string) error {
	var err error
	j.runs, err = runlog.Open(j.set, j.cfg.FS, name, runlog.Options{Host: j.node.name, JobID: j.p.job.ID, Clock: j.cfg.Clock,
		Warn: func(err error) { j.log.Warn("scr: no syslog", "err", err) }})
	return err
}

// event writes an event to the log. If the log cannot be written, the run continues.
func (j *job) event(e runlog.Entry) {
	if err := j.runs.Put(e); err != nil {
		j.log.Warn("scr: log", "err", err)
	}
}

func (j *job) took(since time.Time) *time.Duration {
	return runlog.Num(j.cfg.Clock().Sub(since))
}

func (j *job) xfer(kind, from, to string, ds record.Dataset, name string, began time.Time) {
	j.event(runlog.Entry{Xfer: kind, From: from, To: to, Dset: runlog.Num(int64(ds.ID)), Name: name,
		Took: j.took(began), Bytes: runlog.Num(ds.Size), Files: runlog.Num(ds.Files)})
}
