package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"blobio/comm"
	"blobio/internal/base/crashtest"
	"blobio/scr"
	"blobio/versioned"
	"blobio/versioned/recovery"
)

var errAborted = errors.New("the job is over")

// deep runs the solver to its end or to a failure, with snapshots in an scr.Session. After a failure the session stays open.
// deep returns the coarse step at which the run began.
func deep(ctx context.Context, c comm.Comm, s settings, dir string) (*water, int64, error) {
	prefix, node := filepath.Join(dir, "prefix"), fmt.Sprint("node", c.Rank()/2)
	err := errors.Join(os.MkdirAll(prefix, 0o777), os.MkdirAll(filepath.Join(dir, node, "cache"), 0o777))
	if err != nil {
		return nil, 0, err
	}
	params, err := scr.LoadParams(scr.ParamSources{Dir: prefix, Environ: []string{"SCR_PREFIX=" + prefix, "SCR_CACHE_BASE=/cache", "SCR_CNTL_BASE=/cache", "SCR_USER_NAME=amr",
		"SCR_JOB_ID=1", "SCR_CACHE_BYPASS=0", "SCR_CACHE_SIZE=2", "SCR_COPY_TYPE=XOR", "SCR_FLUSH=4", "SCR_LOG_ENABLE=0"}})
	if err != nil {
		return nil, 0, err
	}
	session, err := scr.Open(ctx, c, &scr.Config{Params: params, Node: node, NodeRoot: filepath.Join(dir, node), Dir: prefix, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		return nil, 0, err
	}
	store := &versioned.Levels{Comm: c, Session: session}
	o := &recovery.Options{Snapshot: func(ctx context.Context, h *versioned.Hierarchy, n int64) error {
		parts, err := h.Parts(n)
		if err != nil {
			return err
		}
		return store.Commit(ctx, fmt.Sprint("snapshot", n), scr.Checkpoint, parts...)
	}}
	w := newWater(c, usual, &s.fail)
	arrays, saved, err := store.Restart(ctx, nil, nil)
	switch {
	case err != nil:
	case !saved:
		w.run, err = recovery.Open(ctx, c, nil, s.spec(), w, o)
	default:
		var h *versioned.Hierarchy
		if h, err = versioned.HierarchyOf(ctx, c, "water", arrays); err == nil {
			w.run, err = recovery.Of(ctx, c, h, w, o)
		}
	}
	if err != nil {
		return nil, 0, err
	}
	w.run.Registry.On(recovery.Pred{"kind": "abort"}, 0, func(context.Context, recovery.Event) error { return errAborted })
	from := w.run.Coarse()
	if err := w.run.Go(ctx, s.steps); err != nil {
		return nil, from, errors.Join(err, w.run.Close(ctx))
	}
	return w, from, errors.Join(w.run.Close(ctx), session.Close(ctx))
}

// TestLostNode kills the job in each step and removes a node's directory. The continued run ends with the same bytes as the
// undisturbed one.
func TestLostNode(t *testing.T) {
	const steps = 4
	want := undisturbed(t, steps)
	for ci, cadence := range cadences {
		if cadence[0] == 0 { // skip runs without snapshots
			continue
		}
		for i, at := range moments(int64(1 + ci%3)) {
			if !crashtest.Long() && (ci > 1 || i != 3*ci+2) {
				continue
			}
			dir := t.TempDir()
			err := comm.Run(t.Context(), 4, &comm.Options{RanksPerNode: 2}, func(ctx context.Context, c comm.Comm) error {
				s := settings{steps: steps, cadence: cadence, fail: injector{mode: "abort", at: at}}
				if _, _, err := deep(ctx, c, s, dir); !errors.Is(err, errAborted) {
					return fmt.Errorf("the job did not die: %w", err)
				}
				var err error
				if c.Rank() == 3 {
					err = os.RemoveAll(filepath.Join(dir, "node1"))
				}
				if err := comm.Agree(ctx, c, err); err != nil {
					return err
				}
				s.fail = injector{}
				w, from, err := deep(ctx, c, s, dir)
				if err != nil {
					return err
				}
				if last := at.Coarse / int64(cadence[0]) * int64(cadence[0]); from != last {
					return fmt.Errorf("gone on from coarse step %d, want %d", from, last)
				}
				if !bytes.Equal(w.result(), want) {
					return errors.New("another result")
				}
				return nil
			})
			if err != nil {
				t.Fatalf("cadence %v, died in %v: %v", cadence, at, err)
			}
		}
	}
}
