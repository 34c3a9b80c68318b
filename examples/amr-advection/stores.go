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
	"strconv"

	"blobio/comm"
	"blobio/scr"
	"blobio/scr/config"
	"blobio/versioned"
	"blobio/versioned/levels"
)

// home is the directory of an scr.Session, to which the snapshots go: it survives the loss of nodes. These have the directories node0, node1 and so on in it.
type home string

// node is the directory of this rank's node.
func (h home) node(ctx context.Context, c comm.Comm) (string, error) {
	node, err := c.SplitNode(ctx)
	if err != nil {
		return "", err
	}
	lead, err := node.Bcast(ctx, 0, []byte(strconv.Itoa(c.Rank())))
	if err != nil {
		return "", err
	}
	all, err := c.Allgather(ctx, lead)
	if err != nil {
		return "", err
	}
	n, last := -1, []byte(nil)
	for r := range all {
		if !bytes.Equal(all[r], last) {
			n, last = n+1, all[r]
		}
		if bytes.Equal(all[r], lead) {
			break
		}
	}
	return filepath.Join(string(h), fmt.Sprint("node", n)), nil
}

// open returns the store for snapshots; end ends it.
func (h home) open(ctx context.Context, c comm.Comm) (deep *levels.Store, end func(ctx context.Context) error, err error) {
	node, err := h.node(ctx, c)
	if err == nil {
		err = os.MkdirAll(filepath.Join(node, "cache"), 0o777)
	}
	if err := comm.Agree(ctx, c, err); err != nil {
		return nil, nil, err
	}
	prefix := filepath.Join(string(h), "prefix")
	var params *config.Set
	if err = os.MkdirAll(prefix, 0o777); err == nil {
		params, err = config.Load(config.Sources{Dir: prefix, Environ: []string{"SCR_PREFIX=" + prefix, "SCR_CACHE_BASE=/cache", "SCR_CNTL_BASE=/cache", "SCR_USER_NAME=amr",
			"SCR_JOB_ID=1", "SCR_CACHE_BYPASS=0", "SCR_CACHE_SIZE=2", "SCR_COPY_TYPE=XOR", "SCR_FLUSH=4", "SCR_LOG_ENABLE=0"}})
	}
	if err := comm.Agree(ctx, c, err); err != nil {
		return nil, nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	s, err := scr.Open(ctx, c, &scr.Config{Params: params, Node: filepath.Base(node), NodeRoot: node, Dir: prefix, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		stop()
		return nil, nil, err
	}
	return levels.New(c, s, nil), func(ctx context.Context) error { defer stop(); return s.Close(ctx) }, nil
}

// restart is OpenHierarchy from an scr.Session; ErrMissing: it has nothing.
func restart(ctx context.Context, c comm.Comm, deep *levels.Store) (*versioned.Hierarchy, error) {
	arrays, ok, err := deep.Restart(ctx, nil, nil)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, versioned.ErrMissing
	}
	return versioned.HierarchyOf(ctx, c, "phi", arrays)
}

// lostNode runs the solver until the job dies in the step of the failure, takes the directory of the last node away, and goes on. It returns the
// solver at its end, and the coarse step that it went on from.
func lostNode(ctx context.Context, c comm.Comm, o settings, fail failure, h home) (*solver, int64, error) {
	one := func(o settings) (*solver, int64, error) {
		deep, closeStore, err := h.open(ctx, c)
		if err != nil {
			return nil, 0, err
		}
		o.deep = deep
		s, err := newSolver(ctx, c, o)
		if err != nil {
			return nil, 0, err
		}
		from := s.r.Coarse()
		err = s.run(ctx)
		if errors.Is(err, errAborted) { // the job is killed: nothing is closed in order but the memory is given back
			return s, from, errors.Join(err, s.r.Close(ctx))
		}
		if err != nil {
			return nil, 0, err
		}
		return s, from, closeStore(ctx)
	}
	died := o
	died.fail = fail
	died.fail.Mode = "abort"
	if _, _, err := one(died); !errors.Is(err, errAborted) {
		return nil, 0, fmt.Errorf("the job did not die: %w", err)
	}
	node, err := h.node(ctx, c)
	if err != nil {
		return nil, 0, err
	}
	all, err := c.Allgather(ctx, []byte(node))
	if err == nil && c.Rank() == c.Size()-1 {
		err = os.RemoveAll(string(all[c.Size()-1]))
	}
	if err := comm.Agree(ctx, c, err); err != nil {
		return nil, 0, err
	}
	return one(o)
}
