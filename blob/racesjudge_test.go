package blob

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"blobio/blob/internal/check"
	"blobio/blob/internal/dataset"
	"blobio/blob/internal/read"
	"blobio/blob/internal/resume"
	"blobio/internal/base/crashtest"
	"blobio/internal/base/vfs"
	"blobio/internal/subfile"
)

// race is a group of racers that write the same dataset.
type race struct {
	seed  int
	base  string
	start *racer // has written the initial dataset; nil: no initial dataset
	all   []*racer
	late  *racer // starts when the first racer has ended; nil: no such racer
	pids  []int
	clock atomic.Int64
}

func (r *race) String() string {
	s := fmt.Sprintf("race %d, at first: %v\n", r.seed, r.first())
	for _, j := range r.all {
		s += "  " + j.String() + "\n"
	}
	return s + fmt.Sprintf("files: %v", names(vfs.OS, filepath.Dir(r.base)))
}

func (r *race) first() *raceState {
	if r.start == nil {
		return nil
	}
	s, _ := r.start.after(nil)
	return s
}

// newRace draws a race of n racers. dirs are names of one directory on several clients, and racers use them in turn.
func newRace(dirs []string, sources []string, n, seed int) *race {
	rnd := rand.New(rand.NewPCG(uint64(seed), uint64(n)))
	r := &race{seed: seed, base: filepath.Join(dirs[len(dirs)-1], "d.nc")}
	draw := func(k int, verbs ...string) *racer {
		j := &racer{Name: filepath.Join(dirs[k%len(dirs)], "d.nc"), Client: k % len(dirs), Source: sources[k], Do: verbs[rnd.IntN(len(verbs))], Seed: int64(10 + k), Records: int64(1 + k%2),
			Layout: dataset.Layout(rnd.IntN(2)), Subfiles: 1 + rnd.IntN(3), Mode: rnd.IntN(3) - 1, Packed: rnd.IntN(3) == 0, Apart: rnd.IntN(3) == 0,
			Delays: 1 + rnd.Uint64()>>1, Pace: 1 + rnd.IntN(3)}
		if j.Do == "to canonical" { // a conversion to one file needs few operations
			j.Pace *= 4
		}
		return j
	}
	verbs := []string{"replace", "append", "append", "to blobs"}
	switch rnd.IntN(8) {
	case 0: // no initial dataset
		verbs = []string{"replace", "to blobs", "to canonical"}
	case 1: // the initial dataset is an ordinary file
		verbs = []string{"to canonical", "to canonical", "to canonical", "replace"}
		r.start = draw(3, "to canonical")
	default:
		r.start = draw(3, "replace")
	}
	for k := range n {
		r.all = append(r.all, draw(k, verbs...))
	}
	if r.start != nil {
		r.start.Delays = 0
	}
	switch victim := r.all[rnd.IntN(n)]; rnd.IntN(4) {
	case 0:
		victim.KillAt = 1 + rnd.Int64N(120)
	case 1:
		victim.killAfter = time.Duration(1+rnd.IntN(250)) * time.Millisecond
	}
	if rnd.IntN(2) == 0 {
		r.late = draw(4, verbs...)
		r.all = append(r.all, r.late)
	}
	return r
}

// raceLimit is the time after which a race counts as hung.
const raceLimit = 3 * time.Minute

// run runs the racers and checks the result.
func (r *race) run(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, raceLimit)
	defer cancel()
	if r.start != nil {
		if _, err := r.start.work(ctx); err != nil {
			return err
		}
	}
	var ready []*raceProcess
	for _, j := range r.all {
		p, err := j.begin(ctx)
		if err != nil {
			cancel() // ends the processes that have started
			for _, p := range ready {
				_ = errors.Join(<-p.read, p.cmd.Wait())
			}
			return err
		}
		ready = append(ready, p)
		r.pids = append(r.pids, p.cmd.Process.Pid)
	}
	watching, stop := context.WithCancel(ctx)
	reads := make(chan error, 1)
	var saw [][]byte
	go func() { reads <- r.watch(watching, &saw) }()
	errs := make([]error, len(ready))
	var wg sync.WaitGroup
	gone, once := make(chan struct{}), sync.Once{}
	for i, p := range ready {
		wg.Go(func() {
			if p.racer == r.late {
				<-gone
			}
			errs[i] = p.finish(ctx, &r.clock)
			once.Do(func() { close(gone) })
		})
	}
	wg.Wait()
	stop()
	err := errors.Join(append(errs, <-reads)...)
	if err == nil {
		err = r.judge(ctx, saw)
	}
	return err
}

// watch reads the dataset again and again and collects the different contents.
func (r *race) watch(ctx context.Context, saw *[][]byte) error {
	for ctx.Err() == nil {
		b, err := r.look()
		switch {
		case errors.Is(err, dataset.ErrBroken): // the dataset was replaced after the open
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, dataset.ErrNotCommitted):
			if r.start != nil {
				return fmt.Errorf("while they write: %w", err)
			}
		case err != nil:
			return fmt.Errorf("while they write: %w", err)
		case len(*saw) == 0 || !bytes.Equal(b, (*saw)[len(*saw)-1]):
			*saw = append(*saw, b)
		}
	}
	return nil
}

// look returns the bytes of the dataset's canonical file.
func (r *race) look() ([]byte, error) { return canonicalOf(vfs.OS, r.base) }

// judge checks the outcomes that the racers reported, and the files.
func (r *race) judge(ctx context.Context, saw [][]byte) error {
	ever, final := map[string]bool{}, map[string]bool{}
	r.orders(func(s *raceState, all bool) {
		b := string(s.canonical())
		ever[b] = true
		if all {
			final[b] = true
		}
	})
	if len(final) == 0 {
		return errors.New("in no order can all have succeeded that say so")
	}
	for _, b := range saw {
		if !ever[string(b)] {
			return errors.New("while they wrote, something was read that nobody had committed")
		}
	}
	if err := r.refused(); err != nil {
		return err
	}
	got, err := r.look()
	// A client of a shared file system may see names for some time that another client has already replaced.
	for from := time.Now(); crashtest.Places() != nil && !final[string(got)] && time.Since(from) < time.Minute; {
		time.Sleep(read.LookAgain)
		got, err = r.look()
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, dataset.ErrNotCommitted) {
		return fmt.Errorf("in the end: %w", err)
	}
	if !final[string(got)] {
		return fmt.Errorf("in the end: not what those that say so have committed, in any order (%d bytes, %w)", len(got), err)
	}
	if got != nil {
		if bad := checkErrors(vfs.OS, r.base); len(bad) > 0 {
			return fmt.Errorf("in the end: Check finds %v", bad)
		}
	}
	if _, err := resume.RecoverWith(ctx, r.base, nil, dataset.Knobs{Lease: leaseOn(-1)}); err != nil {
		return fmt.Errorf("Recover: %w", err)
	}
	if again, err := resume.Recover(ctx, r.base, &resume.RecoverOptions{DryRun: true}); err != nil || len(again) > 0 {
		return fmt.Errorf("after Recover: %v, %w", again, err)
	}
	return r.recovered(got)
}

// refused checks that each racer without a commit has a valid reason.
func (r *race) refused() error {
	somebody, killed, legal := false, false, false
	for _, j := range r.all {
		o := j.outcome
		_, perhaps := o.committed()
		somebody, killed = somebody || perhaps, killed || o.What == "killed"
		_, ok := j.after(r.first())
		legal = legal || ok || j.Do == "append"
		others := func(f func(o *racer) bool) bool {
			return slices.ContainsFunc(r.all, func(o *racer) bool { return o != j && f(o) })
		}
		if strings.Contains(o.Err, "taken over") {
			return fmt.Errorf("%s: but locks work here, and it lives", j)
		}
		switch o.What {
		case "in use":
			if !others(func(o *racer) bool { return o.start < j.end && j.start < o.end }) {
				return fmt.Errorf("%s: but nobody was there", j)
			}
			// A racer that has just taken over the lease may not have written its content yet. The content then names the previous
			// holder. Another machine may still see the lease of the process that wrote the initial dataset.
			pids := r.pids
			if crashtest.Places() != nil {
				pids = append(slices.Clip(pids), os.Getpid())
			}
			if !slices.ContainsFunc(pids, func(pid int) bool { return strings.Contains(o.Err, fmt.Sprintf("process %d,", pid)) }) &&
				!strings.Contains(o.Err, "an unknown writer") {
				return fmt.Errorf("%s: it does not say by whom", j)
			}
		case "exists": // an ordinary file and subfiles cannot replace each other
			other := func(o *racer) bool {
				_, perhaps := o.outcome.committed()
				return perhaps && (o.Do == "to canonical") != (j.Do == "to canonical")
			}
			if !others(other) && (r.start == nil || (r.start.Do == "to canonical") == (j.Do == "to canonical")) {
				return fmt.Errorf("%s: but there was nothing of another kind", j)
			}
		case "error", "not there", "unfinished", "in doubt": // no operation fails, and no racer takes over from a live one, so these outcomes are wrong
			return fmt.Errorf("%s: want another error", j)
		}
	}
	if legal && !somebody && !killed {
		return errors.New("nobody has committed, and nobody was killed")
	}
	return nil
}

// recovered checks that Recover has kept the dataset was and left no other files.
func (r *race) recovered(was []byte) error {
	var want []string
	if was != nil {
		got, err := r.look()
		if err != nil || !bytes.Equal(got, was) {
			return fmt.Errorf("after Recover, it is another one: %s, %w", firstDiff(got, was), err)
		}
		for f := range check.Check(context.Background(), r.base, &check.CheckOptions{Workers: 1}) {
			if f.Severity != dataset.Note {
				return fmt.Errorf("after Recover, Check finds %v", f)
			}
		}
		found, st := read.Look(vfs.OS, r.base)
		if st.Err != nil {
			return st.Err
		}
		if found.Single {
			want = append(want, filepath.Base(r.base))
		} else {
			want = append(want, filepath.Base(subfile.ManifestName(r.base)))
			for _, s := range st.Manifest.Sets {
				for i := range s.Subfiles {
					want = append(want, subfile.Name(s.Base, i))
				}
			}
		}
	}
	entries, err := os.ReadDir(filepath.Dir(r.base))
	if err != nil {
		return err
	}
	var left []string
	for _, e := range entries {
		left = append(left, e.Name())
	}
	slices.Sort(want)
	if !slices.Equal(left, want) {
		return fmt.Errorf("after Recover, there is %v, want %v", left, want)
	}
	return nil
}
